//! `man`: the manual page (roff), from the tables that dispatch.

use super::commands::COMMANDS;
use super::help;
use super::own::{self, Failure, OWN, Words};
use std::fmt::Write as _;

/// Prints the page.
pub fn run(words: &Words) -> Result<(), Failure> {
    words.plain([])?;
    own::write_stdout(|out| out.write_all(page().as_bytes()))
}

/// Text as roff takes it: backslashes and dashes as they are, no request at the start of a line.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn page() -> String {
    let mut page = format!(
        ".TH XPROF\\-RS 1 \"\" \"xprof\\-rs {}\"\n.SH NAME\nxprof\\-rs \\- {}\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION"),
        roff("XProf's interface and answers for TPU and GPU profiles"),
    );
    let overview = help::text(None);
    let mut sections = overview.split("\n\n");
    let usage = sections.nth(1).unwrap_or_default();
    page += &verbatim(usage.lines().skip(1));
    page += ".SH DESCRIPTION\n";
    for paragraph in [overview.rsplit("\n\n").nth(1), overview.rsplit("\n\n").next()] {
        let paragraph = paragraph.unwrap_or_default().replace('\n', " ");
        let _ = writeln!(page, "{}\n.PP", roff(&paragraph));
    }
    page += ".SH COMMANDS\n";
    let own = OWN.iter().map(help::own);
    let others = COMMANDS.iter().map(|command| help::text(Some(command)));
    for text in own.chain(others) {
        let mut lines = text.lines();
        let title = lines.next().unwrap_or_default().trim_start_matches("xprof-rs ");
        let _ = writeln!(page, ".SS \"{}\"", roff(title).replace('"', "\\(dq"));
        page += &verbatim(lines.skip(1));
    }
    page
}

/// Lines that keep their shape.
fn verbatim<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = ".nf\n".to_owned();
    for line in lines {
        text += &roff(line);
        text.push('\n');
    }
    text + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command() {
        let page = page();
        for command in COMMANDS {
            assert!(page.contains(&format!(".SS \"{}: ", command.name)), "{}", command.name);
        }
        assert!(page.contains("LOGDIR") && page.contains("\\-\\-start\\-ms"));
        assert!(page.lines().all(|line| !line.starts_with('\'')));
    }
}
