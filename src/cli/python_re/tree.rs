//! A pattern as Python's `re` understands it.

/// Python's "no upper limit" of a repeat.
pub const MAX_REPEAT: u64 = 4_294_967_295;

/// Python's "any width".
const MAX_WIDTH: u64 = u64::MAX;

/// Parts that follow one another.
pub type Sequence = Vec<Node>;

/// One part of a pattern.
#[derive(Debug, Clone)]
pub enum Node {
    Literal(char),
    Any,
    Class {
        negated: bool,
        items: Vec<ClassItem>,
    },
    At(At),
    Branch(Vec<Sequence>),
    /// A group; `index` where it captures.
    Group {
        index: Option<usize>,
        add: Flags,
        remove: Flags,
        body: Sequence,
    },
    Atomic(Sequence),
    Repeat {
        kind: RepeatKind,
        min: u64,
        max: u64,
        body: Sequence,
    },
    Backreference(usize),
    Condition {
        group: usize,
        yes: Sequence,
        no: Option<Sequence>,
    },
    Look {
        is_behind: bool,
        is_negative: bool,
        body: Sequence,
    },
}

/// A place, not a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// `^`.
    Beginning,
    /// `$`.
    End,
    /// `\A`.
    StartOfText,
    /// `\Z`.
    EndOfText,
    /// `\b`.
    WordBoundary,
    /// `\B`.
    NotWordBoundary,
}

/// How eagerly a repeat takes characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatKind {
    Greedy,
    Lazy,
    Possessive,
}

/// A member of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassItem {
    Range(char, char),
    /// The category, and whether it is negated.
    Category(Category, bool),
}

/// `\d`, `\s`, `\w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Digit,
    Space,
    Word,
}

/// Flags of a pattern or a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "Python's flags are independent switches")]
pub struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
    pub ascii: bool,
    pub unicode: bool,
    pub template: bool,
}

impl Flags {
    /// The flag of a letter.
    pub fn letter(letter: char) -> Option<Self> {
        let mut flags = Self::default();
        let flag = match letter {
            'i' => &mut flags.ignore_case,
            'm' => &mut flags.multi_line,
            's' => &mut flags.dot_all,
            'x' => &mut flags.verbose,
            'a' => &mut flags.ascii,
            'u' => &mut flags.unicode,
            't' => &mut flags.template,
            _ => return None,
        };
        *flag = true;
        Some(flags)
    }

    /// The flags of both.
    pub fn with(self, other: Self) -> Self {
        Self {
            ignore_case: self.ignore_case || other.ignore_case,
            multi_line: self.multi_line || other.multi_line,
            dot_all: self.dot_all || other.dot_all,
            verbose: self.verbose || other.verbose,
            ascii: self.ascii || other.ascii,
            unicode: self.unicode || other.unicode,
            template: self.template || other.template,
        }
    }

    fn without(self, other: Self) -> Self {
        Self {
            ignore_case: self.ignore_case && !other.ignore_case,
            multi_line: self.multi_line && !other.multi_line,
            dot_all: self.dot_all && !other.dot_all,
            verbose: self.verbose && !other.verbose,
            ascii: self.ascii && !other.ascii,
            unicode: self.unicode && !other.unicode,
            template: self.template && !other.template,
        }
    }

    /// Whether any flag is in both.
    pub fn shares(self, other: Self) -> bool {
        self.without(other) != self
    }

    /// The flags inside a group that adds and removes some; `a` and `u` replace each other.
    pub fn inside(self, add: Self, remove: Self) -> Self {
        let mut flags = self;
        if add.ascii || add.unicode {
            (flags.ascii, flags.unicode) = (false, false);
        }
        flags.with(add).without(remove)
    }
}

impl Node {
    /// The sequences inside.
    pub fn children(&self) -> Vec<&Sequence> {
        match self {
            Self::Literal(_)
            | Self::Any
            | Self::Class { .. }
            | Self::At(_)
            | Self::Backreference(_) => Vec::new(),
            Self::Branch(branches) => branches.iter().collect(),
            Self::Group { body, .. }
            | Self::Atomic(body)
            | Self::Repeat { body, .. }
            | Self::Look { body, .. } => vec![body],
            Self::Condition { yes, no, .. } => std::iter::once(yes).chain(no).collect(),
        }
    }
}

/// The smallest and the largest number of characters that a sequence can take; `groups` holds
/// those of the groups that are closed.
pub fn width(sequence: &[Node], groups: &[Option<(u64, u64)>]) -> (u64, u64) {
    let mut total = (0u64, 0u64);
    for node in sequence {
        let (low, high) = node_width(node, groups);
        total = (total.0.saturating_add(low), total.1.saturating_add(high));
    }
    total
}

fn node_width(node: &Node, groups: &[Option<(u64, u64)>]) -> (u64, u64) {
    let widest = |left: (u64, u64), right: (u64, u64)| (left.0.min(right.0), left.1.max(right.1));
    match node {
        Node::Literal(_) | Node::Any | Node::Class { .. } => (1, 1),
        Node::At(_) | Node::Look { .. } => (0, 0),
        Node::Branch(branches) => {
            branches.iter().map(|branch| width(branch, groups)).reduce(widest).unwrap_or_default()
        }
        Node::Group { body, .. } | Node::Atomic(body) => width(body, groups),
        Node::Repeat { min, max, body, .. } => {
            let (low, high) = width(body, groups);
            let high =
                if *max == MAX_REPEAT && high > 0 { MAX_WIDTH } else { high.saturating_mul(*max) };
            (low.saturating_mul(*min), high)
        }
        Node::Backreference(group) => groups.get(*group).copied().flatten().unwrap_or_default(),
        Node::Condition { yes, no, .. } => {
            let yes = width(yes, groups);
            no.as_ref().map_or((0, yes.1), |no| widest(yes, width(no, groups)))
        }
    }
}
