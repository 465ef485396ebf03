//! Reads a pattern as Python's `re` module does, with its errors: same words, same positions.

use super::tree::{At, Category, ClassItem, Flags, MAX_REPEAT, Node, RepeatKind, Sequence, width};
use crate::cli::fire::character_of;
use crate::cli::unicode::named_character;
use crate::cli::value::Value;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Groups inside one another; Python's own limit is its recursion limit.
const MAX_NESTING: usize = 400;

/// Why Python refuses a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternError {
    /// `re.error`: the text, with the position.
    Syntax(String),
    /// `OverflowError`, `RecursionError`.
    Limit(&'static str),
    /// `ValueError`.
    Value(&'static str),
}

type Parsed<T> = Result<T, PatternError>;

/// A pattern that Python accepts.
#[derive(Debug)]
pub struct Pattern {
    pub body: Sequence,
    pub flags: Flags,
}

/// Reads a pattern.
pub fn parse(pattern: &str) -> Parsed<Pattern> {
    let mut parser = Parser {
        source: Source { characters: pattern.chars().collect(), index: 0, next: None },
        flags: Flags::default(),
        names: HashMap::new(),
        group_widths: vec![None],
        lookbehind_groups: None,
        condition_positions: Vec::new(),
        depth: 0,
    };
    parser.source.advance()?;
    let body = parser.alternatives(false, 0)?;
    if parser.flags.ascii && parser.flags.unicode {
        return Err(PatternError::Value("ASCII and UNICODE flags are incompatible"));
    }
    if parser.source.next.is_some() {
        return Err(parser.source.error("unbalanced parenthesis", 0));
    }
    for &(group, position) in &parser.condition_positions {
        if group >= parser.group_widths.len() as u64 {
            let text = format!("invalid group reference {group}");
            return Err(parser.source.error_at(&text, position));
        }
    }
    check_lookbehinds(&body, &parser.group_widths)?;
    Ok(Pattern { body, flags: parser.flags })
}

/// Python's compiler wants look-behinds of one width.
fn check_lookbehinds(sequence: &[Node], groups: &[Option<(u64, u64)>]) -> Parsed<()> {
    for node in sequence {
        if let Node::Look { is_behind: true, body, .. } = node {
            let (low, high) = width(body, groups);
            if low != high {
                let text = "look-behind requires fixed-width pattern".to_owned();
                return Err(PatternError::Syntax(text));
            }
        }
        for body in node.children() {
            check_lookbehinds(body, groups)?;
        }
    }
    Ok(())
}

/// One character, or a backslash and the character after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    Escape(char),
}

impl Token {
    fn length(self) -> usize {
        match self {
            Self::Char(_) => 1,
            Self::Escape(_) => 2,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Char(character) => character.to_string(),
            Self::Escape(character) => format!("\\{character}"),
        }
    }
}

struct Source {
    characters: Vec<char>,
    index: usize,
    next: Option<Token>,
}

impl Source {
    fn advance(&mut self) -> Parsed<()> {
        self.next = match self.characters.get(self.index) {
            None => None,
            Some('\\') => match self.characters.get(self.index + 1) {
                Some(&character) => Some(Token::Escape(character)),
                None => {
                    let position = self.characters.len() - 1;
                    return Err(self.error_at("bad escape (end of pattern)", position));
                }
            },
            Some(&character) => Some(Token::Char(character)),
        };
        self.index += self.next.map_or(0, Token::length);
        Ok(())
    }

    fn get(&mut self) -> Parsed<Option<Token>> {
        let token = self.next;
        self.advance()?;
        Ok(token)
    }

    fn take(&mut self, character: char) -> Parsed<bool> {
        let found = self.next == Some(Token::Char(character));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn peek_char(&self, accept: impl Fn(char) -> bool) -> Option<char> {
        match self.next {
            Some(Token::Char(character)) if accept(character) => Some(character),
            _ => None,
        }
    }

    fn take_while(&mut self, count: usize, accept: impl Fn(char) -> bool) -> Parsed<String> {
        let mut text = String::new();
        while text.len() < count
            && let Some(character) = self.peek_char(&accept)
        {
            text.push(character);
            self.advance()?;
        }
        Ok(text)
    }

    /// The text up to a character, which is taken too.
    fn take_until(&mut self, terminator: char, what: &str) -> Parsed<String> {
        let mut text = String::new();
        loop {
            match self.get()? {
                None if text.is_empty() => return Err(self.error(&format!("missing {what}"), 0)),
                None => {
                    let message = format!("missing {terminator}, unterminated name");
                    return Err(self.error(&message, text.chars().count()));
                }
                Some(Token::Char(character)) if character == terminator => {
                    if text.is_empty() {
                        return Err(self.error(&format!("missing {what}"), 1));
                    }
                    return Ok(text);
                }
                Some(token) => text.push_str(&token.text()),
            }
        }
    }

    fn tell(&self) -> usize {
        self.index - self.next.map_or(0, Token::length)
    }

    fn seek(&mut self, index: usize) -> Parsed<()> {
        self.index = index;
        self.advance()
    }

    /// An error `back` characters before the present place.
    fn error(&self, message: &str, back: usize) -> PatternError {
        self.error_at(message, self.tell().saturating_sub(back))
    }

    fn error_at(&self, message: &str, position: usize) -> PatternError {
        let before = &self.characters[..position.min(self.characters.len())];
        let mut text = format!("{message} at position {position}");
        if self.characters.contains(&'\n') {
            let line = before.iter().filter(|&&character| character == '\n').count() + 1;
            let start = before.iter().rposition(|&character| character == '\n');
            let column = start.map_or(position + 1, |start| position - start);
            let _ = write!(text, " (line {line}, column {column})");
        }
        PatternError::Syntax(text)
    }
}

fn is_octal(character: char) -> bool {
    character.is_digit(8)
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|character| character == '_' || character.is_alphanumeric())
}

/// Python's `%r` of a name.
fn repr(name: &str) -> String {
    Value::text(name).repr()
}

/// What an escape stands for.
enum Escape {
    Literal(char),
    Category(Category, bool),
    At(At),
    Group(usize),
}

struct Parser {
    source: Source,
    flags: Flags,
    names: HashMap<String, usize>,
    /// Width of each closed group; `None` for an open one. Group 0 is the whole.
    group_widths: Vec<Option<(u64, u64)>>,
    /// Number of groups where the outermost look-behind started.
    lookbehind_groups: Option<usize>,
    /// Groups that conditions name by number, and where.
    condition_positions: Vec<(u64, usize)>,
    depth: usize,
}

impl Parser {
    fn alternatives(&mut self, verbose: bool, nested: usize) -> Parsed<Sequence> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(PatternError::Limit("maximum recursion depth exceeded"));
        }
        let mut verbose = verbose;
        let mut branches = Vec::new();
        loop {
            let is_first = nested == 0 && branches.is_empty();
            branches.push(self.sequence(verbose, nested + 1, is_first)?);
            if !self.source.take('|')? {
                break;
            }
            if nested == 0 {
                verbose = self.flags.verbose;
            }
        }
        self.depth -= 1;
        if branches.len() == 1 {
            return Ok(branches.pop().unwrap_or_default());
        }
        Ok(vec![Node::Branch(branches)])
    }

    fn sequence(&mut self, verbose: bool, nested: usize, first: bool) -> Parsed<Sequence> {
        let mut verbose = verbose;
        let mut nodes: Sequence = Vec::new();
        loop {
            let token = match self.source.next {
                None | Some(Token::Char('|' | ')')) => return Ok(nodes),
                Some(token) => token,
            };
            self.source.advance()?;
            let character = match token {
                Token::Escape(character) => {
                    nodes.push(match self.escape(character)? {
                        Escape::Literal(character) => Node::Literal(character),
                        Escape::Category(category, negated) => Node::Class {
                            negated: false,
                            items: vec![ClassItem::Category(category, negated)],
                        },
                        Escape::At(at) => Node::At(at),
                        Escape::Group(group) => Node::Backreference(group),
                    });
                    continue;
                }
                Token::Char(character) => character,
            };
            if verbose {
                if matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') {
                    continue;
                }
                if character == '#' {
                    while let Some(token) = self.source.get()? {
                        if token == Token::Char('\n') {
                            break;
                        }
                    }
                    continue;
                }
            }
            match character {
                '[' => nodes.push(self.class()?),
                '?' | '*' | '+' | '{' => self.repeat(character, &mut nodes)?,
                '.' => nodes.push(Node::Any),
                '^' => nodes.push(Node::At(At::Beginning)),
                '$' => nodes.push(Node::At(At::End)),
                '(' => {
                    let may_set_flags = first && nodes.is_empty();
                    match self.group(verbose, nested, may_set_flags)? {
                        Some(node) => nodes.push(node),
                        None => verbose = if may_set_flags { self.flags.verbose } else { verbose },
                    }
                }
                _ => nodes.push(Node::Literal(character)),
            }
        }
    }

    fn hexadecimal(&mut self, escape: char, count: usize) -> Parsed<u32> {
        let digits = self.source.take_while(count, |character| character.is_ascii_hexdigit())?;
        if digits.len() != count {
            let text = format!("incomplete escape \\{escape}{digits}");
            return Err(self.source.error(&text, digits.len() + 2));
        }
        Ok(u32::from_str_radix(&digits, 16).unwrap_or(u32::MAX))
    }

    /// Escapes that mean one character, inside and outside of classes.
    fn character_escape(&mut self, escape: char) -> Parsed<Option<char>> {
        let count = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'N' => return self.named_escape().map(Some),
            'a' => return Ok(Some('\u{7}')),
            'f' => return Ok(Some('\u{c}')),
            'n' => return Ok(Some('\n')),
            'r' => return Ok(Some('\r')),
            't' => return Ok(Some('\t')),
            'v' => return Ok(Some('\u{b}')),
            _ => return Ok(None),
        };
        let start = self.source.tell();
        let code = self.hexadecimal(escape, count)?;
        match character_of(code) {
            Some(character) => Ok(Some(character)),
            None => {
                let digits: String = self.source.characters[start..start + count].iter().collect();
                Err(self.source.error(&format!("bad escape \\{escape}{digits}"), count + 2))
            }
        }
    }

    fn named_escape(&mut self) -> Parsed<char> {
        if !self.source.take('{')? {
            return Err(self.source.error("missing {", 0));
        }
        let name = self.source.take_until('}', "character name")?;
        named_character(&name).ok_or_else(|| {
            let text = format!("undefined character name {}", repr(&name));
            self.source.error(&text, name.chars().count() + 4)
        })
    }

    fn octal(&self, digits: &str) -> Parsed<char> {
        let code = u32::from_str_radix(digits, 8).unwrap_or(u32::MAX);
        char::from_u32(code).filter(|_| code <= 0o377).ok_or_else(|| {
            let text = format!("octal escape value \\{digits} outside of range 0-0o377");
            self.source.error(&text, digits.len() + 1)
        })
    }

    fn bad_escape(&self, escape: char) -> PatternError {
        self.source.error(&format!("bad escape \\{escape}"), 2)
    }

    fn escape(&mut self, escape: char) -> Parsed<Escape> {
        if let Some(category) = category_escape(escape) {
            return Ok(category);
        }
        match escape {
            'A' => return Ok(Escape::At(At::StartOfText)),
            'Z' => return Ok(Escape::At(At::EndOfText)),
            'b' => return Ok(Escape::At(At::WordBoundary)),
            'B' => return Ok(Escape::At(At::NotWordBoundary)),
            '0' => {
                let digits = format!("0{}", self.source.take_while(2, is_octal)?);
                return self.octal(&digits).map(Escape::Literal);
            }
            '1'..='9' => return self.group_or_octal(escape),
            _ => {}
        }
        if let Some(character) = self.character_escape(escape)? {
            return Ok(Escape::Literal(character));
        }
        if escape.is_ascii_alphabetic() {
            return Err(self.bad_escape(escape));
        }
        Ok(Escape::Literal(escape))
    }

    /// A group reference of one or two digits, or a character of three octal digits.
    fn group_or_octal(&mut self, first: char) -> Parsed<Escape> {
        let mut digits = first.to_string();
        if let Some(second) = self.source.peek_char(|character| character.is_ascii_digit()) {
            digits.push(second);
            self.source.advance()?;
            if is_octal(first)
                && is_octal(second)
                && let Some(third) = self.source.peek_char(is_octal)
            {
                digits.push(third);
                self.source.advance()?;
                return self.octal(&digits).map(Escape::Literal);
            }
        }
        let group: usize = digits.parse().unwrap_or(usize::MAX);
        match self.group_widths.get(group) {
            Some(Some(_)) => {
                self.check_lookbehind_group(group)?;
                Ok(Escape::Group(group))
            }
            Some(None) => Err(self.source.error("cannot refer to an open group", digits.len() + 1)),
            None => {
                let text = format!("invalid group reference {group}");
                Err(self.source.error(&text, digits.len()))
            }
        }
    }

    fn check_lookbehind_group(&self, group: usize) -> Parsed<()> {
        let Some(outside) = self.lookbehind_groups else { return Ok(()) };
        if !matches!(self.group_widths.get(group), Some(Some(_))) {
            return Err(self.source.error("cannot refer to an open group", 0));
        }
        if group >= outside {
            let text = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(self.source.error(text, 0));
        }
        Ok(())
    }

    fn class_escape(&mut self, escape: char) -> Parsed<ClassItem> {
        if let Some(Escape::Category(category, negated)) = category_escape(escape) {
            return Ok(ClassItem::Category(category, negated));
        }
        if escape == 'b' {
            return Ok(ClassItem::Range('\u{8}', '\u{8}'));
        }
        if is_octal(escape) {
            let digits = format!("{escape}{}", self.source.take_while(2, is_octal)?);
            return self.octal(&digits).map(|character| ClassItem::Range(character, character));
        }
        if let Some(character) = self.character_escape(escape)? {
            return Ok(ClassItem::Range(character, character));
        }
        if escape.is_ascii_alphanumeric() {
            return Err(self.bad_escape(escape));
        }
        Ok(ClassItem::Range(escape, escape))
    }

    fn class_item(&mut self, token: Token) -> Parsed<ClassItem> {
        match token {
            Token::Escape(escape) => self.class_escape(escape),
            Token::Char(character) => Ok(ClassItem::Range(character, character)),
        }
    }

    /// A class, from after its bracket on.
    fn class(&mut self) -> Parsed<Node> {
        let start = self.source.tell() - 1;
        let negated = self.source.take('^')?;
        let mut items = Vec::new();
        let unterminated =
            |source: &Source| source.error("unterminated character set", source.tell() - start);
        loop {
            let Some(token) = self.source.get()? else { return Err(unterminated(&self.source)) };
            if token == Token::Char(']') && !items.is_empty() {
                break;
            }
            let item = self.class_item(token)?;
            if !self.source.take('-')? {
                items.push(item);
                continue;
            }
            let Some(end) = self.source.get()? else { return Err(unterminated(&self.source)) };
            if end == Token::Char(']') {
                items.push(item);
                items.push(ClassItem::Range('-', '-'));
                break;
            }
            let end_item = self.class_item(end)?;
            match (item, end_item) {
                (ClassItem::Range(low, _), ClassItem::Range(high, _)) if low <= high => {
                    items.push(ClassItem::Range(low, high));
                }
                _ => {
                    let (low, high) = (token.text(), end.text());
                    let back = token.length() + 1 + end.length();
                    let text = format!("bad character range {low}-{high}");
                    return Err(self.source.error(&text, back));
                }
            }
        }
        Ok(Node::Class { negated, items })
    }

    fn repeat(&mut self, character: char, nodes: &mut Sequence) -> Parsed<()> {
        let start = self.source.tell();
        let (min, max) = match character {
            '?' => (0, 1),
            '*' => (0, MAX_REPEAT),
            '+' => (1, MAX_REPEAT),
            _ => match self.counts(start)? {
                Some(counts) => counts,
                None => {
                    nodes.push(Node::Literal('{'));
                    return Ok(());
                }
            },
        };
        let back = self.source.tell() - start + 1;
        match nodes.last() {
            None | Some(Node::At(_)) => return Err(self.source.error("nothing to repeat", back)),
            Some(Node::Repeat { .. }) => return Err(self.source.error("multiple repeat", back)),
            Some(_) => {}
        }
        let body: Sequence = nodes.pop().into_iter().collect();
        let kind = if self.source.take('?')? {
            RepeatKind::Lazy
        } else if self.source.take('+')? {
            RepeatKind::Possessive
        } else {
            RepeatKind::Greedy
        };
        nodes.push(Node::Repeat { kind, min, max, body });
        Ok(())
    }

    /// The numbers of `{m,n}`; `None` where the brace is a plain character.
    fn counts(&mut self, start: usize) -> Parsed<Option<(u64, u64)>> {
        if self.source.next == Some(Token::Char('}')) {
            return Ok(None);
        }
        let is_digit = |character: char| character.is_ascii_digit();
        let low = self.source.take_while(usize::MAX, is_digit)?;
        let high = if self.source.take(',')? {
            self.source.take_while(usize::MAX, is_digit)?
        } else {
            low.clone()
        };
        if !self.source.take('}')? {
            self.source.seek(start)?;
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u64>() {
            Ok(number) if number < MAX_REPEAT => Ok(number),
            _ => Err(PatternError::Limit("the repetition number is too large")),
        };
        let min = if low.is_empty() { 0 } else { number(&low)? };
        let max = if high.is_empty() { MAX_REPEAT } else { number(&high)? };
        if max < min {
            let text = "min repeat greater than max repeat";
            return Err(self.source.error(text, self.source.tell() - start));
        }
        Ok(Some((min, max)))
    }

    /// What follows an opening parenthesis; `None` for comments and flags.
    fn group(&mut self, verbose: bool, nested: usize, may_set: bool) -> Parsed<Option<Node>> {
        let start = self.source.tell() - 1;
        if !self.source.take('?')? {
            return self.capture(None, verbose, nested, start).map(Some);
        }
        let Some(token) = self.source.get()? else {
            return Err(self.source.error("unexpected end of pattern", 0));
        };
        match token {
            Token::Char('P') => self.python_extension(verbose, nested, start).map(Some),
            Token::Char(':') => {
                let body = self.closed(verbose, nested, start)?;
                Ok(Some(Node::Group {
                    index: None,
                    add: Flags::default(),
                    remove: Flags::default(),
                    body,
                }))
            }
            Token::Char('>') => Ok(Some(Node::Atomic(self.closed(verbose, nested, start)?))),
            Token::Char('#') => loop {
                if self.source.next.is_none() {
                    let back = self.source.tell() - start;
                    return Err(self.source.error("missing ), unterminated comment", back));
                }
                if self.source.get()? == Some(Token::Char(')')) {
                    return Ok(None);
                }
            },
            Token::Char(kind @ ('=' | '!' | '<')) => {
                self.look(kind, verbose, nested, start).map(Some)
            }
            Token::Char('(') => self.condition(verbose, nested, start).map(Some),
            Token::Char(flag) if flag == '-' || Flags::letter(flag).is_some() || flag == 'L' => {
                match self.inline_flags(flag)? {
                    None if may_set => Ok(None),
                    None => {
                        let back = self.source.tell() - start;
                        let text = "global flags not at the start of the expression";
                        Err(self.source.error(text, back))
                    }
                    Some((add, remove)) => {
                        let verbose = (verbose || add.verbose) && !remove.verbose;
                        let body = self.closed(verbose, nested, start)?;
                        Ok(Some(Node::Group { index: None, add, remove, body }))
                    }
                }
            }
            other => {
                let text = format!("unknown extension ?{}", other.text());
                Err(self.source.error(&text, other.length() + 1))
            }
        }
    }

    /// The inside of a group and its closing parenthesis.
    fn closed(&mut self, verbose: bool, nested: usize, start: usize) -> Parsed<Sequence> {
        let body = self.alternatives(verbose, nested + 1)?;
        self.close(start)?;
        Ok(body)
    }

    fn close(&mut self, start: usize) -> Parsed<()> {
        if self.source.take(')')? {
            return Ok(());
        }
        let back = self.source.tell() - start;
        Err(self.source.error("missing ), unterminated subpattern", back))
    }

    fn capture(
        &mut self,
        name: Option<String>,
        verbose: bool,
        nested: usize,
        start: usize,
    ) -> Parsed<Node> {
        let index = self.group_widths.len();
        self.group_widths.push(None);
        if let Some(name) = name {
            if let Some(previous) = self.names.get(&name) {
                let text = format!(
                    "redefinition of group name {} as group {index}; was group {previous}",
                    repr(&name)
                );
                return Err(self.source.error(&text, name.chars().count() + 1));
            }
            self.names.insert(name, index);
        }
        let body = self.closed(verbose, nested, start)?;
        self.group_widths[index] = Some(width(&body, &self.group_widths));
        let (add, remove) = (Flags::default(), Flags::default());
        Ok(Node::Group { index: Some(index), add, remove, body })
    }

    fn check_name(&self, name: &str) -> Parsed<()> {
        if is_identifier(name) {
            return Ok(());
        }
        let text = format!("bad character in group name {}", repr(name));
        Err(self.source.error(&text, name.chars().count() + 1))
    }

    fn named_group(&self, name: &str) -> Parsed<usize> {
        self.names.get(name).copied().ok_or_else(|| {
            let text = format!("unknown group name {}", repr(name));
            self.source.error(&text, name.chars().count() + 1)
        })
    }

    /// `(?P<name>…)` and `(?P=name)`.
    fn python_extension(&mut self, verbose: bool, nested: usize, start: usize) -> Parsed<Node> {
        if self.source.take('<')? {
            let name = self.source.take_until('>', "group name")?;
            self.check_name(&name)?;
            return self.capture(Some(name), verbose, nested, start);
        }
        if self.source.take('=')? {
            let name = self.source.take_until(')', "group name")?;
            self.check_name(&name)?;
            let group = self.named_group(&name)?;
            if !matches!(self.group_widths.get(group), Some(Some(_))) {
                let back = name.chars().count() + 1;
                return Err(self.source.error("cannot refer to an open group", back));
            }
            self.check_lookbehind_group(group)?;
            return Ok(Node::Backreference(group));
        }
        match self.source.get()? {
            None => Err(self.source.error("unexpected end of pattern", 0)),
            Some(token) => {
                let text = format!("unknown extension ?P{}", token.text());
                Err(self.source.error(&text, token.length() + 2))
            }
        }
    }

    fn look(&mut self, kind: char, verbose: bool, nested: usize, start: usize) -> Parsed<Node> {
        let is_behind = kind == '<';
        let mut kind = kind;
        let outer = self.lookbehind_groups;
        if is_behind {
            kind = match self.source.get()? {
                None => return Err(self.source.error("unexpected end of pattern", 0)),
                Some(Token::Char(kind @ ('=' | '!'))) => kind,
                Some(token) => {
                    let text = format!("unknown extension ?<{}", token.text());
                    return Err(self.source.error(&text, token.length() + 2));
                }
            };
            self.lookbehind_groups = outer.or(Some(self.group_widths.len()));
        }
        let body = self.alternatives(verbose, nested + 1)?;
        if is_behind {
            self.lookbehind_groups = outer;
        }
        self.close(start)?;
        Ok(Node::Look { is_behind, is_negative: kind == '!', body })
    }

    /// `(?(group)yes|no)`.
    fn condition(&mut self, verbose: bool, nested: usize, start: usize) -> Parsed<Node> {
        let name = self.source.take_until(')', "group name")?;
        let length = name.chars().count();
        let group = if is_identifier(&name) {
            self.named_group(&name)?
        } else {
            let number: u64 = name.trim().trim_start_matches('+').parse().map_err(|_| {
                let text = format!("bad character in group name {}", repr(&name));
                self.source.error(&text, length + 1)
            })?;
            if number == 0 {
                return Err(self.source.error("bad group number", length + 1));
            }
            // Python's limit of groups.
            if number >= 1_073_741_823 {
                let text = format!("invalid group reference {number}");
                return Err(self.source.error(&text, length + 1));
            }
            if !self.condition_positions.iter().any(|&(known, _)| known == number) {
                let position = self.source.tell() - length - 1;
                self.condition_positions.push((number, position));
            }
            number as usize
        };
        self.check_lookbehind_group(group)?;
        let yes = self.sequence(verbose, nested + 1, false)?;
        let mut no = None;
        if self.source.take('|')? {
            no = Some(self.sequence(verbose, nested + 1, false)?);
            if self.source.next == Some(Token::Char('|')) {
                let text = "conditional backref with more than two branches";
                return Err(self.source.error(text, 0));
            }
        }
        self.close(start)?;
        Ok(Node::Condition { group, yes, no })
    }

    /// Flags after `(?`; `None` for flags of the whole pattern.
    fn inline_flags(&mut self, first: char) -> Parsed<Option<(Flags, Flags)>> {
        let mut add = Flags::default();
        let mut end = first;
        if first != '-' {
            let mut flag = first;
            loop {
                self.add_flag(flag, &mut add)?;
                let Some(token) = self.source.get()? else {
                    return Err(self.source.error("missing -, : or )", 0));
                };
                match token {
                    Token::Char(next @ (')' | '-' | ':')) => {
                        end = next;
                        break;
                    }
                    Token::Char(next) if Flags::letter(next).is_some() || next == 'L' => {
                        flag = next;
                    }
                    other => return Err(self.bad_flag(other, "missing -, : or )")),
                }
            }
        }
        if end == ')' {
            self.flags = self.flags.with(add);
            return Ok(None);
        }
        if add.template {
            return Err(self.source.error("bad inline flags: cannot turn on global flag", 1));
        }
        let mut remove = Flags::default();
        if end == '-' {
            self.removed_flags(&mut remove)?;
        }
        if remove.template {
            return Err(self.source.error("bad inline flags: cannot turn off global flag", 1));
        }
        if add.shares(remove) {
            return Err(self.source.error("bad inline flags: flag turned on and off", 1));
        }
        Ok(Some((add, remove)))
    }

    fn add_flag(&mut self, flag: char, add: &mut Flags) -> Parsed<()> {
        let Some(bit) = Flags::letter(flag) else {
            let text = "bad inline flags: cannot use 'L' flag with a str pattern";
            return Err(self.source.error(text, 0));
        };
        *add = add.with(bit);
        if add.ascii && add.unicode {
            let text = "bad inline flags: flags 'a', 'u' and 'L' are incompatible";
            return Err(self.source.error(text, 0));
        }
        Ok(())
    }

    fn removed_flags(&mut self, remove: &mut Flags) -> Parsed<()> {
        let mut missing = "missing flag";
        loop {
            let Some(token) = self.source.get()? else {
                return Err(self.source.error(missing, 0));
            };
            match token {
                Token::Char(':') if missing == "missing :" => return Ok(()),
                Token::Char('a' | 'u' | 'L') => {
                    let text = "bad inline flags: cannot turn off flags 'a', 'u' and 'L'";
                    return Err(self.source.error(text, 0));
                }
                Token::Char(flag) => match Flags::letter(flag) {
                    Some(bit) => *remove = remove.with(bit),
                    None => return Err(self.bad_flag(token, missing)),
                },
                Token::Escape(_) => return Err(self.bad_flag(token, missing)),
            }
            missing = "missing :";
        }
    }

    fn bad_flag(&self, token: Token, missing: &str) -> PatternError {
        let is_letter = matches!(token, Token::Char(character) if character.is_alphabetic());
        let text = if is_letter { "unknown flag" } else { missing };
        self.source.error(text, token.length())
    }
}

fn category_escape(escape: char) -> Option<Escape> {
    Some(match escape {
        'd' => Escape::Category(Category::Digit, false),
        'D' => Escape::Category(Category::Digit, true),
        's' => Escape::Category(Category::Space, false),
        'S' => Escape::Category(Category::Space, true),
        'w' => Escape::Category(Category::Word, false),
        'W' => Escape::Category(Category::Word, true),
        _ => return None,
    })
}
