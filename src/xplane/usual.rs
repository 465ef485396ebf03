//! Events as profilers write them, read without the general reader: messages of less than 512 bytes,
//! tags of one byte, lengths below 128, numbers of at most eight bytes. Whatever is written otherwise
//! is left to the general reader, which decides and says what is wrong.

// The reader's few steps run for every field of every event; a call each would double the cost.
#![allow(clippy::inline_always)]

use super::event::{NumberKind, NumberStat, Numbers};
use crate::wire::{ends_in_eight, number_in_eight};

/// Places in a message are below this, so that they need no check.
const PLACES: usize = 512;

/// Bytes that are looked at with a message: a number can be loaded at every place.
const WINDOW: usize = PLACES + 8;

/// A message in a buffer that goes on for some bytes behind it. Those can be loaded with it, which is
/// faster than looking where it ends, but never count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    window: &'a [u8; WINDOW],
    at: usize,
    end: usize,
}

impl<'a> Message<'a> {
    /// The message of some bytes at `start`; `None` where it is too long, or the buffer ends too soon
    /// behind it.
    #[inline(always)]
    pub fn new(buffer: &'a [u8], start: usize, length: usize) -> Option<Self> {
        let window = buffer.get(start..)?.first_chunk()?;
        (length < PLACES).then_some(Self { window, at: 0, end: length })
    }

    /// The message whose length prefix is at `position`, where that is one byte.
    #[inline(always)]
    pub fn at_short(buffer: &'a [u8], position: u64) -> Option<Self> {
        let position = position as usize;
        let &[length, ref window @ ..] = buffer.get(position..)?.first_chunk::<{ WINDOW + 1 }>()?;
        (length < 0x80).then_some(Self { window, at: 0, end: length.into() })
    }

    /// What is left of the message.
    pub fn rest(&self) -> &'a [u8] {
        self.window.get(self.at..self.end).unwrap_or_default()
    }

    /// Whether there is nothing left.
    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.window[at % PLACES]
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let word = self.window[at % PLACES..].first_chunk();
        u64::from_le_bytes(word.copied().unwrap_or_default())
    }

    /// The tag, where there is another field.
    #[inline(always)]
    fn tag(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.byte(self.at))
    }

    /// The number behind a tag.
    #[inline(always)]
    fn number(&mut self) -> Option<u64> {
        let word = self.word(self.at + 1);
        let ends = ends_in_eight(word);
        self.skip_number_of(ends)?;
        Some(number_in_eight(word, ends))
    }

    /// The number behind a tag, where it has mostly one byte.
    #[inline(always)]
    fn small_number(&mut self) -> Option<u64> {
        let byte = self.byte(self.at + 1);
        if byte < 0x80 { self.skip(2).then_some(u64::from(byte)) } else { self.number() }
    }

    /// Goes over the number behind a tag.
    #[inline(always)]
    fn skip_number(&mut self) -> Option<()> {
        self.skip_number_of(ends_in_eight(self.word(self.at + 1)))
    }

    /// Goes over a tag and a number; `ends` says where it ends.
    #[inline(always)]
    fn skip_number_of(&mut self, ends: u64) -> Option<()> {
        // Without an end there are nine bytes or more: too many also if they are in the message.
        (ends != 0 && self.skip(1 + bytes_of_number(ends))).then_some(())
    }

    /// The message behind a tag, which has less than 128 bytes.
    #[inline(always)]
    fn message(&mut self) -> Option<Self> {
        let length = usize::from(self.byte(self.at + 1));
        let start = self.at + 2;
        let is_whole = length < 0x80 && self.skip(2 + length);
        is_whole.then_some(Self { window: self.window, at: start, end: start + length })
    }

    /// Goes over the numbers that an event starts with, as far as they are usual.
    #[inline(always)]
    pub fn skip_first_numbers(&mut self) {
        for tag in [0x08, 0x10, 0x18] {
            if self.byte(self.at) == tag && self.skip_number().is_none() {
                break;
            }
        }
    }

    /// The next field, where it is a stat that has an id and then an integer.
    #[inline(always)]
    pub fn next_integer(&mut self) -> Option<NumberStat> {
        let head = self.stat_head()?;
        let kind = match head.value_tag() {
            UINT64_VALUE => NumberKind::Uint,
            INT64_VALUE => NumberKind::Int,
            _ => return None,
        };
        let mut after = *self;
        let value = after.pass_integer(head)?;
        (after.at <= after.end).then(|| {
            *self = after;
            NumberStat::new(head.id(), kind, value)
        })
    }

    /// The numbers of an event's stats, where it has these two and nothing behind them.
    #[inline(always)]
    pub fn uint_pair(mut self, [first, second]: UintPair) -> Option<[u64; 2]> {
        // Nobody looks where the event ends: that all of this ends there says that it lies in it.
        self.pass_number(0x08)?;
        self.pass_number(0x10)?;
        self.pass_number(0x18)?;
        let pair = [self.pass_integer(first)?, self.pass_integer(second)?];
        (self.at == self.end).then_some(pair)
    }

    /// The number of the next field, where that has this tag, else 0; the end of the message does not
    /// count.
    #[inline(always)]
    fn pass_number(&mut self, tag: u8) -> Option<u64> {
        if self.byte(self.at) != tag {
            return Some(0);
        }
        let word = self.word(self.at + 1);
        let ends = ends_in_eight(word);
        if ends == 0 {
            return None;
        }
        self.at += 1 + bytes_of_number(ends);
        Some(number_in_eight(word, ends))
    }

    /// The number of the next field, where it is a stat with this head and nothing behind its integer;
    /// the end of the message does not count.
    #[inline(always)]
    fn pass_integer(&mut self, expected: StatHead) -> Option<u64> {
        let (head, word) = (StatHead(self.word(self.at)), self.word(self.at + HEAD + 1));
        let ends = ends_in_eight(word);
        let length = HEAD - 2 + 1 + bytes_of_number(ends);
        if !head.is_same(expected) || head.length() != length || ends == 0 {
            return None;
        }
        self.at += 2 + length;
        Some(number_in_eight(word, ends))
    }

    /// The numbers of an event of less than 128 bytes with the stats that are expected and nothing else:
    /// metadata id, start, duration.
    #[inline(always)]
    pub fn expected_numbers(mut self, shapes: &Shapes) -> Option<[u64; 3]> {
        // Where the event ends is looked at behind each stat, and then none lies far behind it.
        let metadata_id = self.pass_number(0x08)?;
        let (offset_ps, duration_ps) = (self.pass_number(0x10)?, self.pass_number(0x18)?);
        for &head in shapes.of(metadata_id).heads() {
            if self.is_at_end() {
                break;
            }
            self.pass_value(head)?;
        }
        (self.at == self.end).then_some([metadata_id, offset_ps, duration_ps])
    }

    /// Goes over the next field, where it is a stat with this head and its value, and nothing else; the
    /// end of the message does not count.
    #[inline(always)]
    fn pass_value(&mut self, expected: StatHead) -> Option<()> {
        match expected.value_tag() {
            STR_VALUE => {
                let (head, text) = (StatHead(self.word(self.at)), self.at + HEAD + 2);
                let length = usize::from(self.byte(text - 1));
                let is_whole = head.is_same(expected) && head.length() == HEAD + length;
                let text = self.window.get(text..text + length)?;
                (is_whole && head.length() < 0x80 && text.is_ascii()).then_some(())?;
                self.at += 2 + head.length();
            }
            DOUBLE_VALUE => {
                let head = StatHead(self.word(self.at));
                (head.is_same(expected) && head.length() == HEAD + 7).then_some(())?;
                self.at += 2 + HEAD + 7;
            }
            UINT64_VALUE | INT64_VALUE | REF_VALUE => _ = self.pass_integer(expected)?,
            _ => return None,
        }
        Some(())
    }

    /// What is written before the value of the next stat, if there is a stat; whether the message goes
    /// so far is not looked at.
    #[inline(always)]
    fn stat_head(&self) -> Option<StatHead> {
        let head = StatHead(self.word(self.at));
        head.is_usual().then_some(head)
    }

    /// The next stat of an event; `None` at the end, or where something is not written as usual.
    #[inline(always)]
    pub fn next_stat(&mut self) -> Option<Self> {
        if self.tag()? == 0x22 {
            return self.message();
        }
        self.skip_first_numbers();
        loop {
            match self.tag()? {
                0x08 | 0x10 | 0x18 | 0x28 => self.skip_number()?,
                0x22 => return self.message(),
                _ => return None,
            }
        }
    }

    /// Goes on by some bytes, where the message has that many.
    #[inline(always)]
    pub fn skip(&mut self, length: usize) -> bool {
        let is_there = self.at + length <= self.end;
        if is_there {
            self.at += length;
        }
        is_there
    }
}

/// Bytes of the number that ends at the first of `ends`.
#[inline(always)]
fn bytes_of_number(ends: u64) -> usize {
    ends.trailing_zeros() as usize / 8 + 1
}

/// Bytes before the value of a usual stat and its tag: tag and length of the stat, tag and id.
const HEAD: usize = 4;

/// What is written before the value of a stat, where each takes a byte: its tag, its length, the tag of
/// its metadata id, that id, the tag of its value; what else stands in the word does not count.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatHead(u64);

/// Two stats of an event, `uint64_value`s, in this order.
pub type UintPair = [StatHead; 2];

impl StatHead {
    /// That of a `uint64_value`; the length is left open. `None` for ids of 128 and more.
    pub fn of_uint(id: i64) -> Option<Self> {
        let id = u64::try_from(id).ok().filter(|id| *id < 0x80)?;
        Some(Self(0x18_0008_0022 | id << 24))
    }

    #[inline(always)]
    fn is_usual(self) -> bool {
        self.0 & 0x80ff_80ff == 0x0008_0022
    }

    /// Whether all but the length is the same.
    #[inline(always)]
    fn is_same(self, other: Self) -> bool {
        (self.0 ^ other.0) & 0xff_ffff_00ff == 0
    }

    /// Bytes of the stat, where they are below 128.
    #[inline(always)]
    fn length(self) -> usize {
        (self.0 >> 8) as usize & 0xff
    }

    /// The metadata id, where it is below 128.
    #[inline(always)]
    fn id(self) -> i64 {
        i64::from((self.0 >> 24) as u8)
    }

    #[inline(always)]
    fn value_tag(self) -> u8 {
        (self.0 >> 32) as u8
    }
}

/// Tags of values.
const DOUBLE_VALUE: u8 = 0x11;
const UINT64_VALUE: u8 = 0x18;
const INT64_VALUE: u8 = 0x20;
const STR_VALUE: u8 = 0x2a;
const BYTES_VALUE: u8 = 0x32;
const REF_VALUE: u8 = 0x38;

/// What stats events are expected to have: those that the last one with their metadata had. What
/// repeats itself is then only compared.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// By the low bits of metadata ids.
    of_metadata: [Shape; Self::COUNT],
}

impl Shapes {
    const COUNT: usize = 32;

    #[inline(always)]
    fn of(&self, metadata_id: u64) -> &Shape {
        &self.of_metadata[metadata_id as usize % Self::COUNT]
    }

    /// Learns the stats of an event that was read.
    pub fn learn(&mut self, mut event: Message<'_>, metadata_id: i64) {
        event.skip_first_numbers();
        let shape = &mut self.of_metadata[metadata_id as usize % Self::COUNT];
        shape.count = 0;
        for place in &mut shape.heads {
            let head = event.stat_head().filter(|head| event.pass_value(*head).is_some());
            let Some(head) = head.filter(|_| event.at <= event.end) else { break };
            *place = head;
            shape.count += 1;
        }
    }
}

/// Stats in their order: an id below 128 and a value each.
#[derive(Debug, Default)]
struct Shape {
    heads: [StatHead; Self::STATS],
    count: usize,
}

impl Shape {
    /// As many as are looked for.
    const STATS: usize = 4;

    #[inline(always)]
    fn heads(&self) -> &[StatHead] {
        &self.heads[..self.count.min(Self::STATS)]
    }
}

/// Reads the payload of an event: its numbers, and of each of its stats the metadata id and whether it
/// is a text. `None` where it is not written as usual.
pub(super) fn read_event(
    mut event: Message<'_>,
    mut note_stat: impl FnMut(i64, bool),
) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    while let Some(tag) = event.tag() {
        match tag {
            0x08 | 0x10 | 0x18 | 0x28 => numbers.note(u32::from(tag >> 3), event.number()?),
            0x22 => {
                let (id, is_text) = read_stat(event.message()?)?;
                note_stat(id, is_text);
            }
            _ => return None,
        }
    }
    Some(numbers)
}

/// A stat that is an id and then an integer.
#[inline(always)]
pub(super) fn stat_integer(mut stat: Message<'_>) -> Option<NumberStat> {
    if stat.tag() != Some(0x08) {
        return None;
    }
    let id = stat.small_number()? as i64;
    let kind = match stat.tag()? {
        UINT64_VALUE => NumberKind::Uint,
        INT64_VALUE => NumberKind::Int,
        _ => return None,
    };
    let value = stat.number()?;
    stat.is_at_end().then(|| NumberStat::new(id, kind, value))
}

/// Checks a stat; gives its metadata id and whether it is a text or refers to one.
#[inline(always)]
pub(super) fn read_stat(mut stat: Message<'_>) -> Option<(i64, bool)> {
    let (mut id, mut is_text) = (0, false);
    if stat.tag() == Some(0x08) {
        id = stat.small_number()? as i64;
        if matches!(stat.tag(), Some(UINT64_VALUE | INT64_VALUE)) {
            stat.skip_number()?;
        }
    }
    while let Some(tag) = stat.tag() {
        match tag {
            0x08 => id = stat.number()? as i64,
            DOUBLE_VALUE => stat.skip(9).then_some(())?,
            UINT64_VALUE | INT64_VALUE => stat.skip_number()?,
            REF_VALUE => {
                stat.skip_number()?;
                is_text = true;
            }
            STR_VALUE => {
                _ = stat.message().filter(|text| text.rest().is_ascii())?;
                is_text = true;
            }
            BYTES_VALUE => _ = stat.message()?,
            _ => return None,
        }
    }
    Some((id, is_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes and what can stand behind them.
    fn padded(bytes: &[u8], padding: u8) -> Vec<u8> {
        [bytes, &[padding; WINDOW]].concat()
    }

    fn read(bytes: &[u8]) -> Option<(Numbers, Vec<i64>)> {
        let [zeros, ones] = [0, 0xff].map(|padding| {
            let buffer = padded(bytes, padding);
            let mut stats = Vec::new();
            let message = Message::new(&buffer, 0, bytes.len())?;
            Some((read_event(message, |id, _| stats.push(id))?, stats))
        });
        assert_eq!(zeros, ones, "what stands behind a message must not count");
        zeros
    }

    #[test]
    fn what_follows_a_message_does_not_count() {
        let bytes = [0x10, 0x81, 0x02, 0x22, 0x02, 0x08, 0x05, 0x20, 0x01, 0, 0, 0, 0, 0, 0, 0, 0];
        let buffer = padded(&bytes, 0);
        for end in 0..bytes.len() {
            let mut message = Message::new(&buffer, 0, end).unwrap();
            assert_eq!(
                read_event(message, |_, _| {}),
                read(&bytes[..end]).map(|(numbers, _)| numbers)
            );
            let stat = message.next_stat();
            assert_eq!(stat.map(|stat| stat.rest().len()), (end >= 7).then_some(2));
        }
    }

    #[test]
    fn stats_that_are_integers_are_read_at_once() {
        let stats = [
            0x22, 0x05, 0x08, 0x05, 0x18, 0x81, 0x01, // a `uint64_value`
            0x22, 0x04, 0x08, 0x7f, 0x20, 0x07, // an `int64_value`
        ];
        let read = |bytes: &[u8]| {
            let buffer = padded(bytes, 0);
            let mut event = Message::new(&buffer, 0, bytes.len()).unwrap();
            let read: Vec<_> = std::iter::from_fn(|| event.next_integer()).collect();
            (read, event.is_at_end())
        };
        let [first, second] =
            [NumberStat::new(5, NumberKind::Uint, 129), NumberStat::new(127, NumberKind::Int, 7)];
        assert_eq!(read(&stats), (vec![first, second], true));
        for end in 1..stats.len() {
            let (integers, is_at_end) = read(&stats[..end]);
            let is_between = end == 7;
            assert_eq!((integers.len(), is_at_end), (usize::from(end >= 7), is_between), "{end}");
        }
        let unusual: [&[u8]; 4] = [
            &[0x22, 0x02, 0x08, 0x05],                         // without a value
            &[0x22, 0x06, 0x08, 0x05, 0x18, 0x07, 0x18, 0x08], // with two
            &[0x22, 0x05, 0x08, 0x85, 0x01, 0x18, 0x07],       // a long id
            &[0x22, 0x04, 0x08, 0x05, 0x38, 0x07],             // a reference
        ];
        for stat in unusual {
            assert_eq!(read(stat), (vec![], false), "{stat:?}");
        }
    }

    #[test]
    fn a_stat_that_is_an_integer_is_read_at_once() {
        let read = |bytes: &[u8]| {
            stat_integer(Message::new(&padded(bytes, 0xff), 0, bytes.len()).unwrap())
        };
        assert_eq!(
            read(&[0x08, 0x05, 0x20, 0x81, 0x01]),
            Some(NumberStat::new(5, NumberKind::Int, 129))
        );
        assert_eq!(read(&[0x08, 0x05, 0x18, 0x07]), Some(NumberStat::new(5, NumberKind::Uint, 7)));
        assert_eq!(read(&[0x08, 0x05]), None);
        assert_eq!(read(&[0x20, 0x01, 0x08, 0x05]), None);
        assert_eq!(read(&[0x08, 0x05, 0x20, 0x01, 0x20, 0x02]), None);
    }

    #[test]
    fn a_pair_of_numbers_is_read_where_it_is_all_that_there_is() {
        let numbers: [&[u8]; 3] = [&[0x08, 0x81, 0x01], &[0x10, 0x05], &[0x18, 0x80, 0x80, 0x02]];
        let pair: [&[u8]; 2] = [
            &[0x22, 0x05, 0x08, 0x05, 0x18, 0x81, 0x01],
            &[0x22, 0x0b, 0x08, 0x7f, 0x18, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ];
        let ids = [5, 0x7f].map(|id| StatHead::of_uint(id).unwrap());
        assert!(StatHead::of_uint(0x80).is_none() && StatHead::of_uint(-1).is_none());
        let read = |bytes: &[u8], length: usize| {
            let [zeros, ones] = [0, 0xff].map(|padding| {
                let buffer = padded(bytes, padding);
                Message::new(&buffer, 0, length).unwrap().uint_pair(ids)
            });
            assert_eq!(zeros, ones);
            zeros
        };
        for first in 0..8 {
            let first = (0..3).filter(|at| first >> at & 1 == 1).flat_map(|at| numbers[at]);
            let event: Vec<u8> = first.chain(pair.concat().iter()).copied().collect();
            assert_eq!(read(&event, event.len()), Some([129, 1 | 1 << 49]));
            for end in 0..event.len() {
                assert_eq!(read(&event, end), None);
            }
            assert_eq!(read(&[&event[..], &[0x28, 0x01]].concat(), event.len() + 2), None);
        }
        let swapped = [pair[1], pair[0]].concat();
        assert_eq!(read(&swapped, swapped.len()), None);
        let int = [pair[0], &[0x22, 0x04, 0x08, 0x7f, 0x20, 0x01]].concat();
        assert_eq!(read(&int, int.len()), None, "it is of another kind");
        let long = [pair[0], &[0x22, 0x05, 0x08, 0x7f, 0x18, 0x01, 0x18]].concat();
        assert_eq!(read(&long, long.len()), None, "there is more in the stat");
    }

    #[test]
    fn a_usual_event_is_read() {
        let event = [
            0x08, 0x05, 0x10, 0x80, 0x80, 0x01, 0x18, 0x7f, // metadata id, offset, duration
            0x22, 0x04, 0x08, 0x09, 0x20, 0x01, // an integer
            0x22, 0x0b, 0x08, 0x0a, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, // a double
            0x22, 0x06, 0x08, 0x80, 0x01, 0x2a, 0x01, b'x', // a text
        ];
        let numbers =
            Numbers { metadata_id: 5, offset_ps: 1 << 14, duration_ps: 127, occurrences: None };
        assert_eq!(read(&event), Some((numbers, vec![9, 10, 128])));
        assert_eq!(read(&[]), Some((Numbers::default(), vec![])));
    }

    #[test]
    fn long_messages_and_those_at_the_end_of_a_buffer_are_left_to_the_general_reader() {
        let buffer = vec![0; 2 * WINDOW];
        assert!(Message::new(&buffer, 0, PLACES - 1).is_some());
        assert!(Message::new(&buffer, 0, PLACES).is_none());
        assert!(Message::new(&buffer, WINDOW, 1).is_some());
        assert!(Message::new(&buffer, WINDOW + 1, 1).is_none());
    }

    #[test]
    fn what_is_expected_is_read_as_it_is() {
        let numbers = [0x08, 0x05, 0x10, 0x80, 0x80, 0x01, 0x18, 0x7f];
        let stats: [&[u8]; 9] = [
            &[0x22, 0x05, 0x08, 0x05, 0x18, 0x81, 0x01],
            &[0x22, 0x04, 0x08, 0x7f, 0x20, 0x07],
            &[0x22, 0x04, 0x08, 0x09, 0x38, 0x07],
            &[0x22, 0x0b, 0x08, 0x0a, 0x11, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x22, 0x06, 0x08, 0x0b, 0x2a, 0x02, b'x', b'y'],
            &[0x22, 0x06, 0x08, 0x0b, 0x2a, 0x02, b'x', 0xff],
            &[0x22, 0x07, 0x08, 0x0b, 0x2a, 0x02, b'x', b'y', 0x20],
            &[0x22, 0x04, 0x08, 0x0c, 0x32, 0x00],
            &[0x28, 0x03],
        ];
        let mut events: Vec<Vec<u8>> = Vec::new();
        for [first, last] in [[0, 8], [0, 6], [0, 2], [2, 8], [0, 0]] {
            let numbers = &numbers[first..last];
            for some in 0..1 << stats.len() {
                let some = (0..stats.len()).filter(|at| some >> at & 1 == 1);
                events.push(some.fold(numbers.to_vec(), |event, at| [&event, stats[at]].concat()));
            }
        }
        let mut expected = 0;
        for known in events.iter().step_by(7) {
            let mut shapes = Shapes::default();
            let buffer = padded(known, 0x22);
            shapes.learn(Message::new(&buffer, 0, known.len()).unwrap(), 5);
            shapes.learn(Message::new(&buffer, 0, known.len()).unwrap(), 0);
            for event in events.iter().filter(|event| event.len() < 0x80) {
                for length in [event.len(), event.len().saturating_sub(1)] {
                    let buffer = padded(event, 0x22);
                    let message = Message::new(&buffer, 0, length).unwrap();
                    let Some(numbers) = message.expected_numbers(&shapes) else { continue };
                    let (read, ids) = read(&event[..length]).unwrap();
                    let read = [read.metadata_id, read.offset_ps, read.duration_ps];
                    assert_eq!(numbers.map(|number| number as i64), read, "{event:?}");
                    let (_, known_ids) = self::read(known).unwrap_or_default();
                    assert!(ids.iter().all(|id| known_ids.is_empty() || known_ids.contains(id)));
                    expected += usize::from(!ids.is_empty());
                }
            }
        }
        assert!(expected > 1000, "{expected}");
    }

    #[test]
    fn numbers_of_any_length_are_read_at_any_place() {
        for place in 0..PLACES {
            for bits in 0..56 {
                let mut bytes = [0x08, 0x01].repeat(place / 2);
                bytes.push(0x10);
                crate::wire::write::varint(&mut bytes, (1 << bits) | 1);
                let is_short = bytes.len() < PLACES;
                let numbers = is_short.then(|| read(&bytes)).flatten().map(|(numbers, _)| numbers);
                assert_eq!(
                    numbers.map(|numbers| numbers.offset_ps),
                    is_short.then_some((1 << bits) | 1)
                );
            }
        }
    }

    #[test]
    fn the_rest_is_left_to_the_general_reader() {
        let unusual: [&[u8]; 9] = [
            &[0x08],                                            // cut
            &[0x88, 0x00, 0x01],                                // a long tag
            &[0x0a, 0x00],                                      // another wire type
            &[0x22, 0x80, 0x00],                                // a long length
            &[0x22, 0x05, 0x08, 0x01],                          // a length that runs over
            &[0x22, 0x03, 0x08, 0x01, 0x11],                    // a double that is cut
            &[0x22, 0x04, 0x08, 0x01, 0x2a, 0x01],              // a text that is cut
            &[0x22, 0x05, 0x08, 0x01, 0x2a, 0x01, 0xff],        // a text that is not ASCII
            &[0x08, 128, 128, 128, 128, 128, 128, 128, 128, 1], // a number of nine bytes
        ];
        for event in unusual {
            assert_eq!(read(event), None, "{event:?}");
        }
    }
}
