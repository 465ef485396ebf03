//! Embeds the user interface: each file of `ui/dist` compressed once, with a name for its content.
//! Without that folder (`make ui` fills it) the program serves a page that says so. And the names of
//! characters, for `\N{NAME}`, and of hardware counters.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io, thread};

#[path = "src/server/content_tag.rs"]
mod content_tag;

/// The names of the counters of each chip.
const COUNTER_NAMES: &str = "src/opstats/counters/names";

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/server/content_tag.rs");
    println!("cargo::rerun-if-changed=ui");
    println!("cargo::rerun-if-changed={COUNTER_NAMES}");
    let mut files = interface_files(Path::new("ui/dist"))?;
    files.sort();
    fs::create_dir_all(out.join("ui"))?;
    // The best level takes half a minute: only for what is released.
    let quality = if out.components().any(|part| part.as_os_str() == "release") { 11 } else { 9 };
    let rows: Vec<io::Result<String>> = thread::scope(|scope| {
        let threads: Vec<_> =
            files.iter().map(|file| scope.spawn(|| embed(file, &out, quality))).collect();
        let broken = |_| Err(io::Error::other("compression failed"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(broken)).collect()
    });
    let mut table = String::from("&[\n");
    for row in rows {
        table.push_str(&row?);
    }
    table.push_str("]\n");
    fs::write(out.join("ui.rs"), table)?;
    fs::write(out.join("character_names.br"), brotli(character_names().as_bytes(), quality))?;
    let counters =
        ["v6e", "v7x"].map(|chip| fs::read_to_string(format!("{COUNTER_NAMES}/{chip}.txt")));
    let [v6e, v7x] = counters;
    fs::write(out.join("counter_names.br"), brotli(format!("{}\n{}", v6e?, v7x?).as_bytes(), 11))
}

/// Names in the order of their characters, one a line; where characters without a name come before
/// one, their number goes first: `2F;NAME`. Names that a rule makes are left out.
fn character_names() -> String {
    let mut names = String::new();
    let mut skipped = 0;
    for code in 0..=u32::from(char::MAX) {
        let name = char::from_u32(code).and_then(unicode_names2::name);
        let name = name.map(|name| name.to_string()).filter(|name| {
            !name.starts_with("HANGUL SYLLABLE ") && !name.ends_with(&format!("-{code:04X}"))
        });
        let Some(name) = name else {
            skipped += 1;
            continue;
        };
        if skipped > 0 {
            let _ = write!(names, "{skipped:X};");
        }
        names.push_str(&name);
        names.push('\n');
        skipped = 0;
    }
    names
}

/// The files of a folder that need not exist; no hidden ones, no subfolders.
fn interface_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() && !entry.file_name().to_string_lossy().starts_with('.') {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// Compresses a file unless an earlier build did; returns its row of the table.
fn embed(file: &Path, out: &Path, quality: u32) -> io::Result<String> {
    let bytes = fs::read(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tag = content_tag::content_tag(&bytes);
    // Fonts are compressed in themselves.
    let compressed = file.extension().is_none_or(|extension| extension != "woff2");
    let stored = format!("ui/{tag}-{}", if compressed { quality } else { 0 });
    let path = out.join(&stored);
    if !path.exists() {
        let content = if compressed { brotli(&bytes, quality) } else { bytes.clone() };
        // Written under another name first: a build that is interrupted leaves no half file.
        let part = out.join(format!("{stored}.part"));
        fs::write(&part, content)?;
        fs::rename(&part, &path)?;
    }
    let mut row = String::new();
    let _ = writeln!(
        row,
        "    Embedded {{ name: {name:?}, length: {}, tag: {tag:?}, compressed: {compressed}, bytes: \
         include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{stored}\")) }},",
        bytes.len(),
    );
    Ok(row)
}

fn brotli(bytes: &[u8], quality: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut out, 1 << 16, quality, 24);
    // Writing to a vector does not fail.
    let _ = io::Write::write_all(&mut encoder, bytes);
    drop(encoder);
    out
}
