//! Writes a pattern of Python's in the syntax of `fancy-regex`, with Python's meaning.
//!
//! Only whether a text matches counts here, never where, so groups that nothing refers to are
//! plain. Every character is written as its code; classes are written out, because Python's
//! categories are not those of the regex crates.

use super::parse::Pattern;
use super::tree::{At, Category, ClassItem, Flags, MAX_REPEAT, Node, RepeatKind, Sequence};
use std::fmt::Write as _;

/// Letters that Python takes for one another where case does not count, beside simple folding.
const DOTTED_I: [char; 4] = ['i', 'I', '\u{130}', '\u{131}'];

/// Which texts the expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// ASCII without new lines: shorter and faster forms mean the same.
    Simple,
    /// Any.
    All,
}

/// Writes the expression.
pub fn emit(pattern: &Pattern, texts: Texts) -> String {
    let mut emitter = Emitter { out: String::new(), texts, captures: Vec::new() };
    collect_references(&pattern.body, &mut emitter.captures);
    emitter.captures.sort_unstable();
    emitter.captures.dedup();
    emitter.sequence(&pattern.body, pattern.flags);
    emitter.out
}

/// The groups that something refers to.
fn collect_references(sequence: &[Node], groups: &mut Vec<usize>) {
    for node in sequence {
        match node {
            Node::Backreference(group) | Node::Condition { group, .. } => groups.push(*group),
            _ => {}
        }
        for body in node.children() {
            collect_references(body, groups);
        }
    }
}

struct Emitter {
    out: String,
    texts: Texts,
    /// Groups that capture, in order: the new number is the place, from 1.
    captures: Vec<usize>,
}

impl Emitter {
    fn sequence(&mut self, sequence: &[Node], flags: Flags) {
        for node in sequence {
            self.node(node, flags);
        }
    }

    fn grouped(&mut self, open: &str, sequence: &[Node], flags: Flags) {
        self.out.push_str(open);
        self.sequence(sequence, flags);
        self.out.push(')');
    }

    fn number(&self, group: usize) -> usize {
        self.captures.binary_search(&group).map_or(0, |index| index + 1)
    }

    fn node(&mut self, node: &Node, flags: Flags) {
        match node {
            Node::Literal(character) => {
                if needs_class(*character, flags) {
                    self.class(false, &[ClassItem::Range(*character, *character)], flags);
                } else if flags.ignore_case && character.is_alphabetic() {
                    self.out.push_str("(?i:");
                    push_code(&mut self.out, *character);
                    self.out.push(')');
                } else {
                    push_code(&mut self.out, *character);
                }
            }
            Node::Any if flags.dot_all => self.out.push_str("(?s:.)"),
            Node::Any => self.out.push_str("[^\\n]"),
            Node::Class { negated, items } => self.class(*negated, items, flags),
            Node::At(at) => self.at(*at, flags),
            Node::Branch(branches) => {
                self.out.push_str("(?:");
                self.branches(branches, flags);
                self.out.push(')');
            }
            Node::Group { index, add, remove, body } => {
                let captures = index.is_some_and(|index| self.number(index) > 0);
                let flags = flags.inside(*add, *remove);
                match body.as_slice() {
                    // No need for parentheses, which may nest deeper than the matcher allows.
                    [single] if !captures => self.node(single, flags),
                    _ => self.grouped(if captures { "(" } else { "(?:" }, body, flags),
                }
            }
            Node::Atomic(body) => self.grouped("(?>", body, flags),
            Node::Repeat { kind, min, max, body } => self.repeat(*kind, *min, *max, body, flags),
            Node::Backreference(group) => {
                let number = self.number(*group);
                let case = if flags.ignore_case { "(?i:" } else { "(?:" };
                let _ = write!(self.out, "{case}\\{number})");
            }
            Node::Condition { group, yes, no } => {
                let number = self.number(*group);
                let _ = write!(self.out, "(?({number})(?:");
                self.sequence(yes, flags);
                self.out.push_str(")|(?:");
                self.sequence(no.as_deref().unwrap_or_default(), flags);
                self.out.push_str("))");
            }
            Node::Look { is_behind, is_negative, body } => {
                let open = match (is_behind, is_negative) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                };
                self.grouped(open, body, flags);
            }
        }
    }

    /// Alternatives, those of alternatives inside among them: the matcher has a limit of nesting.
    fn branches(&mut self, branches: &[Sequence], flags: Flags) {
        for (index, branch) in branches.iter().enumerate() {
            if index > 0 {
                self.out.push('|');
            }
            match self.only_branches(branch) {
                Some(inside) => self.branches(inside, flags),
                None => self.sequence(branch, flags),
            }
        }
    }

    /// The alternatives that are all there is in a sequence, perhaps in plain groups.
    fn only_branches<'a>(&self, sequence: &'a [Node]) -> Option<&'a [Sequence]> {
        match sequence {
            [Node::Branch(branches)] => Some(branches),
            [Node::Group { index, add, remove, body }] => {
                let is_plain = index.is_none_or(|index| self.number(index) == 0)
                    && *add == Flags::default()
                    && *remove == Flags::default();
                if is_plain { self.only_branches(body) } else { None }
            }
            _ => None,
        }
    }

    fn repeat(&mut self, kind: RepeatKind, min: u64, max: u64, body: &Sequence, flags: Flags) {
        if is_zero_width(body) {
            // Once says it all, and the matcher repeats no look-around.
            match (min, kind) {
                (0, RepeatKind::Lazy) => self.grouped("(?:|", body, flags),
                (0, _) => {
                    self.grouped("(?:(?:", body, flags);
                    self.out.push_str("|)");
                }
                _ => self.grouped("(?:", body, flags),
            }
            return;
        }
        if kind == RepeatKind::Possessive {
            self.out.push_str("(?>");
        }
        self.grouped("(?:", body, flags);
        let _ = match (min, max) {
            (0, 1) => write!(self.out, "?"),
            (0, MAX_REPEAT) => write!(self.out, "*"),
            (1, MAX_REPEAT) => write!(self.out, "+"),
            (_, MAX_REPEAT) => write!(self.out, "{{{min},}}"),
            _ => write!(self.out, "{{{min},{max}}}"),
        };
        match kind {
            RepeatKind::Greedy => {}
            RepeatKind::Lazy => self.out.push('?'),
            RepeatKind::Possessive => self.out.push(')'),
        }
    }

    fn at(&mut self, at: At, flags: Flags) {
        let is_simple = self.texts == Texts::Simple;
        self.out.push_str(match at {
            At::Beginning if flags.multi_line => "(?m:^)",
            At::Beginning | At::StartOfText => "\\A",
            At::End if flags.multi_line => "(?m:$)",
            At::End if is_simple => "\\z",
            At::End => "(?=\\n?\\z)",
            At::EndOfText => "\\z",
            At::WordBoundary if is_simple => "\\b",
            At::NotWordBoundary if is_simple => "(?:\\B(?!\\A\\z))",
            At::WordBoundary | At::NotWordBoundary => {
                self.boundary(at == At::NotWordBoundary, flags);
                return;
            }
        });
    }

    /// Between two characters of which one is a word character and the other is not.
    fn boundary(&mut self, negated: bool, flags: Flags) {
        let mut word = String::new();
        push_category(&mut word, Category::Word, false, flags);
        if negated {
            // Python finds no place at all in an empty text.
            let _ = write!(
                self.out,
                "(?:(?!\\A\\z)(?:(?<=[{word}])(?=[{word}])|(?<![{word}])(?![{word}])))"
            );
        } else {
            let _ = write!(self.out, "(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))");
        }
    }

    fn class(&mut self, negated: bool, items: &[ClassItem], flags: Flags) {
        let folds = flags.ignore_case && !flags.ascii;
        if folds {
            self.out.push_str("(?i:");
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        let mut has_dotted_i = false;
        for item in items {
            match *item {
                ClassItem::Range(low, high) => {
                    push_range(&mut self.out, low, high);
                    has_dotted_i |= DOTTED_I.iter().any(|i| (low..=high).contains(i));
                    if flags.ignore_case && flags.ascii {
                        push_other_case(&mut self.out, low, high);
                    }
                }
                ClassItem::Category(category, negated) => {
                    push_category(&mut self.out, category, negated, flags);
                }
            }
        }
        if folds && has_dotted_i {
            for letter in DOTTED_I {
                push_code(&mut self.out, letter);
            }
        }
        self.out.push(']');
        if folds {
            self.out.push(')');
        }
    }
}

/// Whether a sequence takes no character, whatever the text.
fn is_zero_width(sequence: &[Node]) -> bool {
    sequence.iter().all(|node| match node {
        Node::At(_) | Node::Look { .. } => true,
        Node::Literal(_) | Node::Any | Node::Class { .. } | Node::Backreference(_) => false,
        Node::Branch(branches) => branches.iter().all(|branch| is_zero_width(branch)),
        Node::Group { body, .. } | Node::Atomic(body) | Node::Repeat { body, .. } => {
            is_zero_width(body)
        }
        Node::Condition { yes, no, .. } => {
            is_zero_width(yes) && no.as_deref().is_none_or(is_zero_width)
        }
    })
}

/// A literal whose case rule no folding of the regex crates has.
fn needs_class(character: char, flags: Flags) -> bool {
    flags.ignore_case
        && if flags.ascii { character.is_ascii_alphabetic() } else { DOTTED_I.contains(&character) }
}

fn push_code(out: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || character == '_' {
        out.push(character);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(character));
    }
}

fn push_range(out: &mut String, low: char, high: char) {
    push_code(out, low);
    if low != high {
        out.push('-');
        push_code(out, high);
    }
}

/// The ASCII letters of a range, in the other case.
fn push_other_case(out: &mut String, low: char, high: char) {
    for (first, last) in [('a', 'z'), ('A', 'Z')] {
        let (low, high) = (low.max(first), high.min(last));
        if low <= high {
            let swap = |letter: char| {
                if letter.is_ascii_lowercase() {
                    letter.to_ascii_uppercase()
                } else {
                    letter.to_ascii_lowercase()
                }
            };
            push_range(out, swap(low), swap(high));
        }
    }
}

/// A category as members of a class.
fn push_category(out: &mut String, category: Category, negated: bool, flags: Flags) {
    out.push_str(match (category, negated, flags.ascii) {
        (Category::Digit, false, false) => "\\p{Nd}",
        (Category::Digit, true, false) => "\\P{Nd}",
        (Category::Digit, false, true) => "0-9",
        (Category::Digit, true, true) => "[^0-9]",
        // Python also counts four separators that Unicode's White_Space leaves out.
        (Category::Space, false, false) => "\\s\\x{1C}-\\x{1F}",
        (Category::Space, true, false) => "[^\\s\\x{1C}-\\x{1F}]",
        (Category::Space, false, true) => "\\x{9}-\\x{D}\\x{20}",
        (Category::Space, true, true) => "[^\\x{9}-\\x{D}\\x{20}]",
        (Category::Word, false, false) => "\\p{L}\\p{N}_",
        (Category::Word, true, false) => "[^\\p{L}\\p{N}_]",
        (Category::Word, false, true) => "0-9A-Za-z_",
        (Category::Word, true, true) => "[^0-9A-Za-z_]",
    });
}
