//! Characters by name: `\N{NAME}` in Python's strings and regular expressions.
//!
//! The names of the Unicode standard are compressed when the program is built, and decompressed when
//! the first one is asked for, which hardly anyone does.

use std::io::Read;
use std::sync::OnceLock;

/// Names in the order of their characters, one a line; see `build.rs`.
static NAMES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/character_names.br"));
/// Other names: `NAME;CODE` a line.
const ALIASES: &str = include_str!("aliases.txt");

/// Names of which the standard lists only the first and the last, with their characters.
const IDEOGRAPHS: [(u32, u32); 8] = [
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFC),
    (0x20000, 0x2A6DD),
    (0x2A700, 0x2B734),
    (0x2B740, 0x2B81D),
    (0x2B820, 0x2CEA1),
    (0x2CEB0, 0x2EBE0),
    (0x30000, 0x3134A),
];

/// The character of a Unicode name or alias, in any case, as `unicodedata.lookup` finds it.
pub fn named_character(name: &str) -> Option<char> {
    if let Some(syllable) = name.strip_prefix("HANGUL SYLLABLE ") {
        return hangul_syllable(syllable);
    }
    if let Some(code) = name.strip_prefix("CJK UNIFIED IDEOGRAPH-") {
        return ideograph(code);
    }
    listed(name).or_else(|| alias(name)).and_then(char::from_u32)
}

fn listed(name: &str) -> Option<u32> {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let mut text = String::new();
        // What was compressed at build time can be decompressed.
        let _ = brotli_decompressor::Decompressor::new(NAMES, 1 << 16).read_to_string(&mut text);
        text
    });
    let mut code = 0;
    for line in text.lines() {
        code += 1;
        let mut line = line;
        if let Some((skipped, rest)) = line.split_once(';') {
            code += u32::from_str_radix(skipped, 16).unwrap_or(0);
            line = rest;
        }
        if line.eq_ignore_ascii_case(name) {
            return Some(code - 1);
        }
    }
    None
}

fn alias(name: &str) -> Option<u32> {
    let mut rows = ALIASES.lines().filter_map(|line| line.split_once(';'));
    let (_, code) = rows.find(|(alias, _)| alias.eq_ignore_ascii_case(name))?;
    u32::from_str_radix(code, 16).ok()
}

/// Python takes the code in capitals only.
fn ideograph(code: &str) -> Option<char> {
    let is_code = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    if !matches!(code.len(), 4 | 5) || !code.bytes().all(is_code) {
        return None;
    }
    let code = u32::from_str_radix(code, 16).ok()?;
    let is_listed = IDEOGRAPHS.iter().any(|&(first, last)| (first..=last).contains(&code));
    char::from_u32(code).filter(|_| is_listed)
}

/// A syllable by its letters: Unicode composes it of a lead, a vowel and a tail.
fn hangul_syllable(name: &str) -> Option<char> {
    const LEADS: [&str; 19] = [
        "G", "GG", "N", "D", "DD", "R", "M", "B", "BB", "S", "SS", "", "J", "JJ", "C", "K", "T",
        "P", "H",
    ];
    const VOWELS: [&str; 21] = [
        "A", "AE", "YA", "YAE", "EO", "E", "YEO", "YE", "O", "WA", "WAE", "OE", "YO", "U", "WEO",
        "WE", "WI", "YU", "EU", "YI", "I",
    ];
    const TAILS: [&str; 28] = [
        "", "G", "GG", "GS", "N", "NJ", "NH", "D", "L", "LG", "LM", "LB", "LS", "LT", "LP", "LH",
        "M", "B", "BS", "S", "SS", "NG", "J", "C", "K", "T", "P", "H",
    ];
    for (lead, text) in LEADS.iter().enumerate() {
        let Some(rest) = name.strip_prefix(text) else { continue };
        for (vowel, text) in VOWELS.iter().enumerate() {
            let Some(rest) = rest.strip_prefix(text) else { continue };
            if let Some(tail) = TAILS.iter().position(|tail| *tail == rest) {
                let place = (lead * VOWELS.len() + vowel) * TAILS.len() + tail;
                return char::from_u32(0xAC00 + place as u32);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_be_exact_but_for_case() {
        assert_eq!(named_character("digit one"), Some('1'));
        assert_eq!(named_character("DIGIT-ONE"), None);
        assert_eq!(named_character("DIGIT  ONE"), None);
        assert_eq!(named_character(""), None);
        assert_eq!(named_character("SPACE"), Some(' '));
        assert_eq!(named_character("LATIN SMALL LETTER E WITH ACUTE"), Some('é'));
        assert_eq!(named_character("grinning face"), Some('\u{1f600}'));
    }

    #[test]
    fn aliases_are_names_too() {
        assert_eq!(named_character("LINE FEED"), Some('\n'));
        assert_eq!(named_character("nbsp"), Some('\u{a0}'));
        assert_eq!(named_character("LATIN SMALL LETTER GHA"), Some('\u{1a3}'));
    }

    #[test]
    fn names_that_follow_a_rule() {
        assert_eq!(named_character("HANGUL SYLLABLE GA"), Some('\u{ac00}'));
        assert_eq!(named_character("HANGUL SYLLABLE HIH"), Some('\u{d7a3}'));
        assert_eq!(named_character("HANGUL SYLLABLE A"), Some('\u{c544}'));
        assert_eq!(named_character("HANGUL SYLLABLE GGAGG"), Some('\u{ae4e}'));
        assert_eq!(named_character("hangul syllable ga"), None);
        assert_eq!(named_character("CJK UNIFIED IDEOGRAPH-4E00"), Some('\u{4e00}'));
        assert_eq!(named_character("CJK UNIFIED IDEOGRAPH-4e00"), None);
        assert_eq!(named_character("CJK UNIFIED IDEOGRAPH-0041"), None);
    }
}
