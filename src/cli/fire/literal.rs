//! The value of one word: a Python literal where it is one, else the word as text.
//!
//! Fire parses a word as a Python expression, takes bare names in it as text, and accepts the
//! result where `ast.literal_eval` does. Everything else (calls, operators, broken syntax) is the
//! word itself. So only that part of the grammar is read here, and any other turn gives up.

use super::token::{Token, Tokens};
use crate::cli::value::{Value, surrogate};
use num_bigint::BigInt;

/// Python's limit of open brackets.
const MAX_BRACKETS: usize = 200;

/// Python's `TypeError` for a list, set or dict as a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unhashable(pub &'static str);

/// Reads one word as Fire does.
pub fn parse(word: &str) -> Result<Value, Unhashable> {
    if word.chars().any(|character| surrogate(character).is_some()) {
        return Ok(Value::text(word));
    }
    let parsed = Tokens::of(word).and_then(|tokens| {
        let mut parser = Parser { tokens: &tokens, position: 0, brackets: 0 };
        parser.root()
    });
    match parsed {
        Some(node) => node.into_value().map(|value| value.unwrap_or_else(|| Value::text(word))),
        None => Ok(Value::text(word)),
    }
}

/// A syntactically good expression. What Python only refuses when it evaluates (unhashable keys,
/// signs before text) is decided in [`Node::into_value`], because a syntax error elsewhere in the
/// word wins.
enum Node {
    Constant(Value),
    /// A bare word.
    Name(String),
    Signed(bool, Box<Node>),
    /// `left ± right`.
    Sum(Box<Node>, bool, Box<Node>),
    List(Vec<Node>),
    Tuple(Vec<Node>),
    Set(Vec<Node>),
    Dict(Vec<(Node, Node)>),
}

type Evaluated = Result<Option<Value>, Unhashable>;

impl Node {
    /// `None` where `literal_eval` refuses.
    fn into_value(self) -> Evaluated {
        match self {
            Self::Constant(value) => Ok(Some(value)),
            Self::Name(name) => Ok(Some(Value::Str(name))),
            Self::Signed(..) => Ok(self.into_number(true)),
            Self::Sum(left, is_minus, right) => Ok(left
                .into_number(true)
                .zip(right.into_number(false))
                .and_then(|(left, right)| {
                    let (real, Value::Complex(other, imaginary)) = (real_of(&left)?, right) else {
                        return None;
                    };
                    Some(if is_minus {
                        Value::Complex(real - other, -imaginary)
                    } else {
                        Value::Complex(real + other, imaginary)
                    })
                })),
            Self::List(items) => Ok(all(items)?.map(Value::List)),
            Self::Tuple(items) => Ok(all(items)?.map(Value::Tuple)),
            Self::Set(items) => {
                let Some(items) = all(items)? else { return Ok(None) };
                let mut members: Vec<Value> = Vec::with_capacity(items.len());
                for item in items {
                    check_hashable(&item)?;
                    if !members.iter().any(|member| member.equals(&item)) {
                        members.push(item);
                    }
                }
                Ok(Some(Value::Set(members)))
            }
            Self::Dict(items) => {
                let (keys, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                let (Some(keys), Some(values)) = (all(keys)?, all(values)?) else {
                    return Ok(None);
                };
                let mut entries: Vec<(Value, Value)> = Vec::with_capacity(keys.len());
                for (key, value) in keys.into_iter().zip(values) {
                    check_hashable(&key)?;
                    match entries.iter_mut().find(|(existing, _)| existing.equals(&key)) {
                        Some(entry) => entry.1 = value,
                        None => entries.push((key, value)),
                    }
                }
                Ok(Some(Value::Dict(entries)))
            }
        }
    }

    /// A number, with one sign where that is allowed.
    fn into_number(self, may_be_signed: bool) -> Option<Value> {
        match self {
            Self::Constant(value @ (Value::Int(_) | Value::Float(_) | Value::Complex(..))) => {
                Some(value)
            }
            Self::Signed(is_minus, operand) if may_be_signed => {
                let value = operand.into_number(false)?;
                Some(if is_minus { negated(value) } else { value })
            }
            _ => None,
        }
    }
}

fn all(nodes: Vec<Node>) -> Result<Option<Vec<Value>>, Unhashable> {
    let mut values = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node.into_value()? {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(values))
}

fn check_hashable(value: &Value) -> Result<(), Unhashable> {
    value.unhashable().map_or(Ok(()), |type_name| Err(Unhashable(type_name)))
}

fn negated(value: Value) -> Value {
    match value {
        Value::Int(value) => Value::Int(-value),
        Value::Float(value) => Value::Float(-value),
        Value::Complex(real, imaginary) => Value::Complex(-real, -imaginary),
        other => other,
    }
}

fn real_of(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(crate::cli::value::int_to_float(value)),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    position: usize,
    brackets: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position)
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol);
        self.position += usize::from(found);
        found
    }

    fn at_end(&self) -> bool {
        self.position == self.tokens.len()
    }

    /// The whole word: one expression, or several with commas (a tuple).
    fn root(&mut self) -> Option<Node> {
        let first = self.sum()?;
        let node = if matches!(self.peek(), Some(Token::Symbol(','))) {
            let mut items = vec![first];
            while self.take(',') && !self.at_end() {
                items.push(self.sum()?);
            }
            Node::Tuple(items)
        } else {
            first
        };
        // Fire takes `1+2j` as text, to spare words like `1-2`.
        (self.at_end() && !matches!(node, Node::Sum(..))).then_some(node)
    }

    fn sum(&mut self) -> Option<Node> {
        let left = self.signed()?;
        let is_minus = match self.peek() {
            Some(Token::Symbol('+')) => false,
            Some(Token::Symbol('-')) => true,
            _ => return Some(left),
        };
        self.position += 1;
        let right = self.signed()?;
        Some(Node::Sum(Box::new(left), is_minus, Box::new(right)))
    }

    fn signed(&mut self) -> Option<Node> {
        let is_minus = match self.peek() {
            Some(Token::Symbol('+')) => false,
            Some(Token::Symbol('-')) => true,
            _ => return self.atom(),
        };
        self.position += 1;
        // Two signs are never a literal.
        Some(Node::Signed(is_minus, Box::new(self.atom()?)))
    }

    fn atom(&mut self) -> Option<Node> {
        let token = self.peek()?.clone();
        self.position += 1;
        match token {
            Token::Name(name) => Some(match name.as_str() {
                "None" => Node::Constant(Value::None),
                "True" => Node::Constant(Value::Bool(true)),
                "False" => Node::Constant(Value::Bool(false)),
                _ if is_keyword(&name) => return None,
                _ => Node::Name(name),
            }),
            Token::Int(value) => Some(Node::Constant(Value::Int(value))),
            Token::Float(value) => Some(Node::Constant(Value::Float(value))),
            Token::Imaginary(value) => Some(Node::Constant(Value::Complex(0.0, value))),
            Token::Text(text) => self.joined_text(text),
            Token::Bytes(bytes) => self.joined_bytes(bytes),
            Token::Ellipsis => Some(Node::Constant(Value::Ellipsis)),
            Token::Symbol(open @ ('(' | '[' | '{')) => {
                self.brackets += 1;
                if self.brackets > MAX_BRACKETS {
                    return None;
                }
                let node = match open {
                    '(' => self.parenthesized(),
                    '[' => self.items(']').map(Node::List),
                    _ => self.braces(),
                };
                self.brackets -= 1;
                node
            }
            Token::Symbol(_) => None,
        }
    }

    /// Adjacent strings are one string.
    fn joined_text(&mut self, mut text: String) -> Option<Node> {
        loop {
            match self.peek() {
                Some(Token::Text(more)) => text.push_str(more),
                Some(Token::Bytes(_)) => return None,
                _ => return Some(Node::Constant(Value::Str(text))),
            }
            self.position += 1;
        }
    }

    fn joined_bytes(&mut self, mut bytes: Vec<u8>) -> Option<Node> {
        loop {
            match self.peek() {
                Some(Token::Bytes(more)) => bytes.extend_from_slice(more),
                Some(Token::Text(_)) => return None,
                _ => return Some(Node::Constant(Value::Bytes(bytes))),
            }
            self.position += 1;
        }
    }

    fn parenthesized(&mut self) -> Option<Node> {
        if self.take(')') {
            return Some(Node::Tuple(Vec::new()));
        }
        let first = self.sum()?;
        if self.take(')') {
            return Some(first);
        }
        if !self.take(',') {
            return None;
        }
        let mut items = vec![first];
        items.extend(self.items(')')?);
        Some(Node::Tuple(items))
    }

    /// Items with commas between and perhaps one at the end, up to the closing bracket.
    fn items(&mut self, close: char) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                return Some(items);
            }
            items.push(self.sum()?);
            if !self.take(',') {
                return self.take(close).then_some(items);
            }
        }
    }

    fn braces(&mut self) -> Option<Node> {
        if self.take('}') {
            return Some(Node::Dict(Vec::new()));
        }
        let first = self.sum()?;
        if self.take(':') {
            let mut items = vec![(first, self.sum()?)];
            while self.take(',') {
                if matches!(self.peek(), Some(Token::Symbol('}'))) {
                    break;
                }
                let key = self.sum()?;
                if !self.take(':') {
                    return None;
                }
                items.push((key, self.sum()?));
            }
            return self.take('}').then_some(Node::Dict(items));
        }
        let mut items = vec![first];
        if self.take(',') {
            items.extend(self.items('}')?);
            return Some(Node::Set(items));
        }
        self.take('}').then_some(Node::Set(items))
    }
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "and"
            | "as"
            | "assert"
            | "async"
            | "await"
            | "break"
            | "class"
            | "continue"
            | "def"
            | "del"
            | "elif"
            | "else"
            | "except"
            | "finally"
            | "for"
            | "from"
            | "global"
            | "if"
            | "import"
            | "in"
            | "is"
            | "lambda"
            | "nonlocal"
            | "not"
            | "or"
            | "pass"
            | "raise"
            | "return"
            | "try"
            | "while"
            | "with"
            | "yield"
    )
}

/// An integer in the digits of a base.
pub(super) fn integer(digits: &[u8], base: u32) -> Option<BigInt> {
    BigInt::parse_bytes(digits, base)
}
