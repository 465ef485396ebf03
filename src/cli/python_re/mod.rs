//! Python's `re.search`, as far as "does it match": its syntax, its errors, its meaning, in bounded
//! time.

mod emit;
mod parse;
mod tree;

pub use parse::PatternError;

use emit::Texts;
use fancy_regex::{Regex, RegexBuilder};
use parse::Pattern;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Steps back that one search may take. Python would go on for ever.
const BACKTRACK_LIMIT: usize = 10_000_000;

/// Bytes from which on a text is long: there one step can take as long as many, so that time is
/// counted instead.
const LONG_TEXT: usize = 4096;

/// Time for one long text, and for all texts together.
const LONGEST_SEARCH: Duration = Duration::from_secs(10);
const LONGEST_SEARCHES: Duration = Duration::from_secs(20);

/// What is said of a search that is given up.
const TOO_LONG: &str = "this pattern takes too long: more than ten million steps, or ten seconds, on \
                        one name, or twenty seconds on all of them";

/// Bytes that one compiled expression may take (`a{1000000}`).
const SIZE_LIMIT: usize = 256 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub struct PythonRegex {
    pattern: Pattern,
    /// Compiled when the first text of its kind comes.
    simple: OnceLock<Result<Regex, String>>,
    all: OnceLock<Result<Regex, String>>,
    /// Nanoseconds of all searches so far; the largest number once one was given up.
    spent: AtomicU64,
}

impl PythonRegex {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let pattern = parse::parse(pattern)?;
        let (simple, all) = (OnceLock::new(), OnceLock::new());
        Ok(Self { pattern, simple, all, spent: AtomicU64::new(0) })
    }

    /// Whether the pattern matches anywhere in the text. Fails where this search, or all together,
    /// take too long, and then always; and where the pattern is too large.
    pub fn search(&self, text: &str) -> Result<bool, String> {
        let is_simple = text.is_ascii() && !text.contains('\n');
        let (slot, texts) =
            if is_simple { (&self.simple, Texts::Simple) } else { (&self.all, Texts::All) };
        let regex = slot.get_or_init(|| compile(&emit::emit(&self.pattern, texts)));
        let regex = regex.as_ref().map_err(Clone::clone)?;
        let limit = LONGEST_SEARCHES.as_nanos() as u64;
        if self.spent.load(Ordering::Relaxed) > limit {
            return Err(TOO_LONG.to_owned());
        }
        let start = Instant::now();
        let found = if text.len() < LONG_TEXT {
            regex.is_match(text).ok()
        } else {
            search_long(regex, text, LONGEST_SEARCH)
        };
        let spent = if found.is_some() { start.elapsed().as_nanos() as u64 } else { limit + 1 };
        // No sum of these comes near the end of the range.
        self.spent.fetch_add(spent, Ordering::Relaxed);
        found.ok_or_else(|| TOO_LONG.to_owned())
    }
}

/// Searches on a thread of its own, which is left behind when the time is over: the program ends
/// with the error soon after. Where the system gives no thread only steps are limited.
fn search_long(regex: &Regex, text: &str, limit: Duration) -> Option<bool> {
    let (sender, receiver) = mpsc::channel();
    let (own_regex, own_text) = (regex.clone(), text.to_owned());
    let search = move || sender.send(own_regex.is_match(&own_text).ok());
    if thread::Builder::new().spawn(search).is_err() {
        return regex.is_match(text).ok();
    }
    receiver.recv_timeout(limit).ok()?
}

fn compile(expression: &str) -> Result<Regex, String> {
    RegexBuilder::new(expression)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| format!("this pattern is too large or too deep here: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn error(pattern: &str) -> String {
        match PythonRegex::new(pattern).unwrap_err() {
            PatternError::Syntax(text) => text,
            PatternError::Limit(text) | PatternError::Value(text) => text.to_owned(),
        }
    }

    fn matches(pattern: &str, text: &str) -> bool {
        PythonRegex::new(pattern).unwrap().search(text).unwrap()
    }

    #[test]
    fn errors_are_pythons() {
        for (pattern, text) in [
            ("(", "missing ), unterminated subpattern at position 0"),
            ("[", "unterminated character set at position 0"),
            ("*", "nothing to repeat at position 0"),
            ("a**", "multiple repeat at position 2"),
            ("a{2,1}", "min repeat greater than max repeat at position 2"),
            (")", "unbalanced parenthesis at position 0"),
            ("\\", "bad escape (end of pattern) at position 0"),
            ("(?P<n", "missing >, unterminated name at position 4"),
            (
                "(?P<n>a)(?P<n>b)",
                "redefinition of group name 'n' as group 2; was group 1 at position 12",
            ),
            ("a(?i)b", "global flags not at the start of the expression at position 1"),
            ("(?<=a+)b", "look-behind requires fixed-width pattern"),
            ("a\n(", "missing ), unterminated subpattern at position 2 (line 2, column 1)"),
            ("\\N{NO SUCH}", "undefined character name 'NO SUCH' at position 0"),
            ("a{4294967295}", "the repetition number is too large"),
        ] {
            assert_eq!(error(pattern), text, "{pattern}");
        }
    }

    #[test]
    fn the_end_comes_before_a_last_new_line() {
        assert!(matches("a$", "a\n"));
        assert!(!matches("a$", "a\n\n"));
        assert!(!matches("a\\Z", "a\n"));
    }

    #[test]
    fn words_are_letters_and_numbers() {
        assert!(matches("\\bé\\b", "é"));
        // A combining mark is no word character in Python.
        assert!(!matches("^\\w+$", "e\u{301}"));
        assert!(matches("^\\w+$", "½"));
    }

    #[test]
    fn conditions_and_references_work() {
        assert!(matches("^(a)?(?(1)b|c)$", "ab"));
        assert!(!matches("^(a)?(?(1)b|c)$", "ac"));
        assert!(matches("(?i)(x)y\\1", "XYx"));
        assert!(matches("(?P<q>['\"]).*(?P=q)", "'a'"));
    }

    #[test]
    fn groups_nest_deeply() {
        let deep = format!("{}a{}", "(".repeat(200), ")".repeat(200));
        assert!(matches(&deep, "xa"));
    }

    #[test]
    fn a_search_ends_and_so_do_many() {
        let hostile = PythonRegex::new("(?:(a)\\1?)+c").unwrap();
        let start = Instant::now();
        let name = "a".repeat(64);
        assert_eq!(hostile.search(&name), Err(TOO_LONG.to_owned()));
        // Given up for good, whatever the number of names.
        for _ in 0..100_000 {
            assert_eq!(hostile.search(&name), Err(TOO_LONG.to_owned()));
        }
        assert!(start.elapsed() < LONGEST_SEARCHES);
    }

    #[test]
    fn a_search_of_a_long_text_ends() {
        let regex = compile("(?:(?=(a.*c))|a)+b").unwrap();
        let long = "a".repeat(1 << 16);
        let start = Instant::now();
        assert_eq!(search_long(&regex, &long, Duration::from_millis(20)), None);
        assert!(start.elapsed() < Duration::from_secs(10));
        let regex = compile("(?<=a)b").unwrap();
        assert_eq!(search_long(&regex, &(long + "b"), LONGEST_SEARCH), Some(true));
    }
}
