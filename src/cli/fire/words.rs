//! What XProf does to the words before Fire sees them.

use super::is_flag;

/// Flags that stand for the first positional argument.
const SESSION_FLAGS: [&str; 3] = ["--session_dir", "--session_path", "--source"];

/// Moves the session flags' value to the first place after the command, and quotes timestamps.
pub fn preprocess(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(words.len() + 1);
    let mut session = None;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if word.starts_with('-') => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if !SESSION_FLAGS.contains(&flag) {
            kept.push(word);
            continue;
        }
        let next = value.is_none().then(|| words.next_if(|next| !next.starts_with('-'))).flatten();
        session = Some(value.or(next).unwrap_or_default());
    }
    if let Some(session) = session {
        let place = kept.len().min(1);
        kept.insert(place, session);
    }
    kept.into_iter().map(quote_timestamps).collect()
}

/// `2024_01_02` would be the integer 20240102.
fn quote_timestamps(word: String) -> String {
    if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
        return if is_timestamp(value) { format!("{name}=\"{value}\"") } else { word };
    }
    if !word.starts_with('-') && is_timestamp(&word) { format!("\"{word}\"") } else { word }
}

/// Groups of digits with single underscores between them, two groups or more.
fn is_timestamp(word: &str) -> bool {
    // Python's `$` also matches before a new line at the end.
    let word = word.strip_suffix('\n').unwrap_or(word);
    word.contains('_')
        && word
            .split('_')
            .all(|group| !group.is_empty() && group.chars().all(crate::cli::unicode::is_decimal))
}

/// Whether the first word that is no session flag can name a command.
pub fn first_word(words: &[String]) -> Option<String> {
    preprocess(words.to_vec()).into_iter().next().filter(|word| !is_flag(word))
}

#[cfg(test)]
mod tests {
    use super::preprocess;

    fn check(words: &[&str], expected: &[&str]) {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(preprocess(words), expected);
    }

    #[test]
    fn session_flags_become_the_first_argument() {
        check(&["get_hosts", "--session_dir=R", "x"], &["get_hosts", "R", "x"]);
        check(&["get_hosts", "a", "--source", "R"], &["get_hosts", "R", "a"]);
        check(&["get_hosts", "--session_path"], &["get_hosts", ""]);
        check(&["get_hosts", "--session_path", "-x"], &["get_hosts", "", "-x"]);
        check(&["--session_dir", "R", "get_hosts"], &["get_hosts", "R"]);
        check(&["c", "--session_dir=R", "--source=S"], &["c", "S"]);
    }

    #[test]
    fn timestamps_stay_text() {
        check(
            &["c", "2024_01_02", "--a=1_2", "-b", "1_2"],
            &["c", "\"2024_01_02\"", "--a=\"1_2\"", "-b", "\"1_2\""],
        );
        check(&["c", "1__2", "12", "-1_2"], &["c", "1__2", "12", "-1_2"]);
    }
}
