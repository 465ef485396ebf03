//! Python's tokens, as far as literals need them.

use super::literal::integer;
use crate::cli::value::SURROGATE_SHIFT;
use num_bigint::BigInt;

/// Python refuses longer decimal integers.
const MAX_DECIMAL_DIGITS: usize = 4300;

/// One token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(BigInt),
    Float(f64),
    Imaginary(f64),
    Text(String),
    Bytes(Vec<u8>),
    Ellipsis,
    /// A bracket, comma, colon or sign.
    Symbol(char),
}

/// Splits a word into tokens.
pub(super) struct Tokens {
    characters: Vec<char>,
    position: usize,
    /// Open brackets; inside them new lines do not count.
    depth: usize,
    found: Vec<Token>,
}

impl Tokens {
    /// The tokens of a word; `None` where it has anything that no literal has.
    pub fn of(word: &str) -> Option<Vec<Token>> {
        let word = word.replace("\r\n", "\n").replace('\r', "\n");
        let mut tokens =
            Self { characters: word.chars().collect(), position: 0, depth: 0, found: Vec::new() };
        tokens.skip_to_first_token()?;
        while tokens.next_token()? {}
        Some(tokens.found)
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    /// The first line with a token must not be indented.
    fn skip_to_first_token(&mut self) -> Option<()> {
        loop {
            let mut column = 0;
            // The column counts from before the first backslash that joins lines.
            let mut joined_column = 0;
            loop {
                match self.peek() {
                    Some('\u{c}') => column = 0,
                    Some(' ' | '\t') => column += 1,
                    Some('\\') if self.peek_at(1) == Some('\n') => {
                        if joined_column == 0 {
                            joined_column = column;
                        }
                        self.position += 1;
                    }
                    _ => break,
                }
                self.position += 1;
            }
            if joined_column > 0 {
                column = joined_column;
            }
            match self.peek() {
                Some('#') => self.skip_comment(),
                Some('\n') => {}
                _ => return (column == 0).then_some(()),
            }
            if self.peek() == Some('\n') {
                self.position += 1;
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|character| character != '\n') {
            self.position += 1;
        }
    }

    /// Reads one token; `Some(false)` at the end.
    fn next_token(&mut self) -> Option<bool> {
        loop {
            match self.peek() {
                None => return Some(false),
                Some(' ' | '\t' | '\u{c}') => self.position += 1,
                Some('#') => self.skip_comment(),
                Some('\\') if self.peek_at(1) == Some('\n') => {
                    self.position += 2;
                    // A line must follow.
                    self.peek()?;
                }
                Some('\n') if self.depth > 0 => self.position += 1,
                Some('\n') => return self.only_blank_lines_follow().then_some(false),
                Some(_) => break,
            }
        }
        let token = self.token()?;
        self.found.push(token);
        Some(true)
    }

    fn only_blank_lines_follow(&mut self) -> bool {
        // White space at the very end counts as an indented line.
        let mut column = 0;
        while let Some(character) = self.peek() {
            match character {
                '\n' | '\u{c}' => column = 0,
                ' ' | '\t' => column += 1,
                '#' => {
                    self.skip_comment();
                    column = 0;
                    continue;
                }
                _ => return false,
            }
            self.position += 1;
        }
        column == 0
    }

    fn token(&mut self) -> Option<Token> {
        let character = self.peek()?;
        match character {
            '(' | '[' | '{' => {
                self.depth += 1;
                Some(self.symbol(character))
            }
            ')' | ']' | '}' => {
                self.depth = self.depth.checked_sub(1)?;
                Some(self.symbol(character))
            }
            ',' | ':' | '+' | '-' => {
                // `:=`, `+=`, `->` and the like are other tokens.
                if character != ',' && matches!(self.peek_at(1), Some('=' | '>')) {
                    return None;
                }
                Some(self.symbol(character))
            }
            '"' | '\'' => self.string(""),
            '.' if self.peek_at(1) == Some('.') && self.peek_at(2) == Some('.') => {
                self.position += 3;
                Some(Token::Ellipsis)
            }
            '.' | '0'..='9' => self.number(),
            _ if is_name_start(character) => self.name_or_string(),
            _ => None,
        }
    }

    fn symbol(&mut self, character: char) -> Token {
        self.position += 1;
        Token::Symbol(character)
    }

    fn name_or_string(&mut self) -> Option<Token> {
        let start = self.position;
        while self.peek().is_some_and(is_name_part) {
            self.position += 1;
        }
        let name: String = self.characters[start..self.position].iter().collect();
        if matches!(self.peek(), Some('"' | '\'')) {
            return match name.to_ascii_lowercase().as_str() {
                prefix @ ("r" | "b" | "u" | "br" | "rb") => self.string(prefix),
                _ => None,
            };
        }
        Some(Token::Name(name))
    }

    fn number(&mut self) -> Option<Token> {
        let token = match (self.peek(), self.peek_at(1)) {
            (Some('0'), Some('x' | 'X')) => self.based_integer(16)?,
            (Some('0'), Some('o' | 'O')) => self.based_integer(8)?,
            (Some('0'), Some('b' | 'B')) => self.based_integer(2)?,
            _ => self.decimal()?,
        };
        // Digits that run into a word are no number.
        let runs_on = self.peek().is_some_and(is_name_part);
        (!runs_on).then_some(token)
    }

    fn based_integer(&mut self, base: u32) -> Option<Token> {
        self.position += 2;
        if self.peek() == Some('_') {
            self.position += 1;
        }
        let digits = self.digits(base)?;
        integer(digits.as_bytes(), base).map(Token::Int)
    }

    fn decimal(&mut self) -> Option<Token> {
        let mut text = String::new();
        let mut is_integer = true;
        if self.peek() != Some('.') {
            text = self.digits(10)?;
        }
        let whole_digits = text.clone();
        if self.peek() == Some('.') {
            is_integer = false;
            self.position += 1;
            text.push('.');
            if self.peek().is_some_and(|character| character.is_ascii_digit()) {
                text.push_str(&self.digits(10)?);
            } else if whole_digits.is_empty() {
                return None;
            }
        }
        if let Some('e' | 'E') = self.peek() {
            let sign = matches!(self.peek_at(1), Some('+' | '-'));
            if self.peek_at(1 + usize::from(sign)).is_some_and(|next| next.is_ascii_digit()) {
                is_integer = false;
                text.push('e');
                self.position += 1;
                if sign {
                    text.extend(self.peek());
                    self.position += 1;
                }
                text.push_str(&self.digits(10)?);
            }
        }
        if let Some('j' | 'J') = self.peek() {
            self.position += 1;
            return text.parse().ok().map(Token::Imaginary);
        }
        if !is_integer {
            return text.parse().ok().map(Token::Float);
        }
        let is_zero = text.bytes().all(|digit| digit == b'0');
        let is_padded = text.len() > 1 && text.starts_with('0');
        if !is_zero && (is_padded || text.len() > MAX_DECIMAL_DIGITS) {
            return None;
        }
        integer(text.as_bytes(), 10).map(Token::Int)
    }

    /// Digits with single underscores between them, without those.
    fn digits(&mut self, base: u32) -> Option<String> {
        let mut digits = String::new();
        loop {
            let character = self.peek().filter(|character| character.is_digit(base))?;
            digits.push(character);
            self.position += 1;
            match self.peek() {
                Some('_') => self.position += 1,
                Some(next) if next.is_digit(base) => {}
                _ => return Some(digits),
            }
        }
    }

    /// A string from its opening quote on; `prefix` in lower case.
    fn string(&mut self, prefix: &str) -> Option<Token> {
        let quote = self.peek()?;
        let is_triple = self.peek_at(1) == Some(quote) && self.peek_at(2) == Some(quote);
        let width = if is_triple { 3 } else { 1 };
        self.position += width;
        let start = self.position;
        loop {
            match self.peek()? {
                '\\' => self.position += 2,
                '\n' if !is_triple => return None,
                character
                    if character == quote
                        && (!is_triple
                            || self.peek_at(1) == Some(quote)
                                && self.peek_at(2) == Some(quote)) =>
                {
                    break;
                }
                _ => self.position += 1,
            }
        }
        let body = self.characters.get(start..self.position)?.to_vec();
        self.position += width;
        let is_raw = prefix.contains('r');
        if prefix.contains('b') {
            return bytes_body(&body, is_raw).map(Token::Bytes);
        }
        if is_raw {
            return Some(Token::Text(body.into_iter().collect()));
        }
        text_body(&body).map(Token::Text)
    }
}

fn is_name_start(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

fn is_name_part(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// The value of an escape like `\n`.
fn simple_escape(character: char) -> Option<&'static str> {
    Some(match character {
        '\n' => "",
        '\\' => "\\",
        '\'' => "'",
        '"' => "\"",
        'a' => "\u{7}",
        'b' => "\u{8}",
        'f' => "\u{c}",
        'n' => "\n",
        'r' => "\r",
        't' => "\t",
        'v' => "\u{b}",
        _ => return None,
    })
}

/// Up to three octal digits from `position` on, and how many there are.
fn octal(body: &[char], position: usize) -> Option<(u32, usize)> {
    let digits: Vec<u32> =
        body.iter().skip(position).take(3).map_while(|character| character.to_digit(8)).collect();
    (!digits.is_empty())
        .then(|| (digits.iter().fold(0, |value, digit| value * 8 + digit), digits.len()))
}

fn hexadecimal(body: &[char], position: usize, count: usize) -> Option<u32> {
    let digits = body.get(position..position + count)?;
    digits.iter().try_fold(0u32, |value, character| Some(value << 4 | character.to_digit(16)?))
}

/// A character of any code that Python allows; lone surrogates are shifted.
pub(in crate::cli) fn character_of(code: u32) -> Option<char> {
    char::from_u32(code).or_else(|| {
        (0xD800..=0xDFFF).contains(&code).then(|| char::from_u32(SURROGATE_SHIFT + code))?
    })
}

fn text_body(body: &[char]) -> Option<String> {
    let mut text = String::with_capacity(body.len());
    let mut position = 0;
    while let Some(&character) = body.get(position) {
        position += 1;
        if character != '\\' {
            text.push(character);
            continue;
        }
        let escape = *body.get(position)?;
        if let Some((code, length)) = octal(body, position) {
            text.push(character_of(code)?);
            position += length;
            continue;
        }
        position += 1;
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'N' => {
                let close = body[position..].iter().position(|&character| character == '}')?;
                let name: String = body[position..position + close].iter().collect();
                text.push(crate::cli::unicode::named_character(name.strip_prefix('{')?)?);
                position += close + 1;
                continue;
            }
            _ => {
                match simple_escape(escape) {
                    Some(value) => text.push_str(value),
                    None => text.extend(['\\', escape]),
                }
                continue;
            }
        };
        text.push(character_of(hexadecimal(body, position, digits)?)?);
        position += digits;
    }
    Some(text)
}

fn bytes_body(body: &[char], is_raw: bool) -> Option<Vec<u8>> {
    if !body.iter().all(char::is_ascii) {
        return None;
    }
    if is_raw {
        return Some(body.iter().map(|&character| character as u8).collect());
    }
    let mut bytes = Vec::with_capacity(body.len());
    let mut position = 0;
    while let Some(&character) = body.get(position) {
        position += 1;
        if character != '\\' {
            bytes.push(character as u8);
            continue;
        }
        let escape = *body.get(position)?;
        if let Some((code, length)) = octal(body, position) {
            bytes.push(code as u8);
            position += length;
            continue;
        }
        position += 1;
        match (escape, simple_escape(escape)) {
            ('x', _) => {
                bytes.push(hexadecimal(body, position, 2)? as u8);
                position += 2;
            }
            (_, Some(value)) => bytes.extend_from_slice(value.as_bytes()),
            (_, None) => bytes.extend_from_slice(&[b'\\', escape as u8]),
        }
    }
    Some(bytes)
}
