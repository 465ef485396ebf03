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
        let kind = if head.value_tag == 0x18 { NumberKind::Uint } else { NumberKind::Int };
        Some(NumberStat::new(head.id, kind, self.integer_of(head)?))
    }

    /// The numbers of an event's stats, where it has two and nothing behind them: `uint64_value`s with
    /// these ids, below 128, in this order.
    #[inline(always)]
    pub fn uint_pair(mut self, ids: [u8; 2]) -> Option<[u64; 2]> {
        // Nobody looks where the event ends: that all of this ends there says that it lies in it.
        self.pass_number(0x08)?;
        self.pass_number(0x10)?;
        self.pass_number(0x18)?;
        let pair = [self.pass_uint(ids[0])?, self.pass_uint(ids[1])?];
        (self.at == self.end).then_some(pair)
    }

    /// Goes over a number, where the next field has its tag; the end of the message does not count.
    #[inline(always)]
    fn pass_number(&mut self, tag: u8) -> Option<()> {
        if self.byte(self.at) == tag {
            let ends = ends_in_eight(self.word(self.at + 1));
            if ends == 0 {
                return None;
            }
            self.at += 1 + bytes_of_number(ends);
        }
        Some(())
    }

    /// The number of the next field, where it is a stat that has this id, below 128, and then a
    /// `uint64_value`; the end of the message does not count.
    #[inline(always)]
    fn pass_uint(&mut self, id: u8) -> Option<u64> {
        let (head, word) = (self.word(self.at), self.word(self.at + HEAD + 1));
        let ends = ends_in_eight(word);
        let length = HEAD - 2 + 1 + bytes_of_number(ends);
        let expected = 0x18_0008_0022 | u64::from(id) << 24 | (length as u64) << 8;
        if head & 0xff_ffff_ffff != expected || ends == 0 {
            return None;
        }
        self.at += 2 + length;
        Some(number_in_eight(word, ends))
    }

    /// Goes over the next field, where it is a stat that has an id and then an integer; gives the id.
    #[inline(always)]
    fn next_integer_id(&mut self) -> Option<i64> {
        let head = self.stat_head()?;
        self.skip_integer(head, ends_in_eight(self.word(self.at + HEAD + 1)))?;
        Some(head.id)
    }

    /// What is written before the value of the next stat, if there is a stat; whether the message goes
    /// so far is not looked at.
    #[inline(always)]
    fn stat_head(&self) -> Option<StatHead> {
        let head = self.word(self.at);
        let is_usual = head & 0x80ff_80ff == 0x0008_0022;
        is_usual.then_some(StatHead {
            length: (head >> 8) as usize & 0x7f,
            id: i64::from((head >> 24) as u8),
            value_tag: (head >> 32) as u8,
        })
    }

    /// The value of a stat, where it is an integer and nothing else.
    #[inline(always)]
    fn integer_of(&mut self, head: StatHead) -> Option<u64> {
        let value = self.word(self.at + HEAD + 1);
        let ends = ends_in_eight(value);
        self.skip_integer(head, ends)?;
        Some(number_in_eight(value, ends))
    }

    /// Goes over a stat, where it is an integer and nothing else; `ends` says where its value ends.
    #[inline(always)]
    fn skip_integer(&mut self, head: StatHead, ends: u64) -> Option<()> {
        let length = HEAD - 2 + 1 + bytes_of_number(ends);
        let is_integer = head.value_tag == 0x18 || head.value_tag == 0x20;
        (is_integer && ends != 0 && length == head.length && self.skip(2 + length)).then_some(())
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

/// What is written before the value of a stat, where each takes a byte.
#[derive(Clone, Copy)]
struct StatHead {
    /// Bytes of the stat.
    length: usize,
    /// The metadata id.
    id: i64,
    /// Tag of the value.
    value_tag: u8,
}

/// Reads the payload of an event: its numbers, and of each of its stats the metadata id and whether it
/// is a text. `None` where it is not written as usual.
#[inline(always)]
pub(super) fn read_event(
    mut event: Message<'_>,
    mut note_stat: impl FnMut(i64, bool),
) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    // Mostly this is all, in this order.
    if event.tag() == Some(0x08) {
        numbers.metadata_id = event.number()? as i64;
    }
    if event.tag() == Some(0x10) {
        numbers.offset_ps = event.number()? as i64;
    }
    if event.tag() == Some(0x18) {
        numbers.duration_ps = event.number()? as i64;
    }
    while let Some(id) = event.next_integer_id() {
        note_stat(id, false);
    }
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
        0x18 => NumberKind::Uint,
        0x20 => NumberKind::Int,
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
        if matches!(stat.tag(), Some(0x18 | 0x20)) {
            stat.skip_number()?;
        }
    }
    while let Some(tag) = stat.tag() {
        match tag {
            0x08 => id = stat.number()? as i64,
            // `double_value`
            0x11 => stat.skip(9).then_some(())?,
            // `uint64_value`, `int64_value`; `ref_value`, `str_value`
            0x18 | 0x20 => stat.skip_number()?,
            0x38 => {
                stat.skip_number()?;
                is_text = true;
            }
            0x2a => {
                _ = stat.message().filter(|text| text.rest().is_ascii())?;
                is_text = true;
            }
            // `bytes_value`
            0x32 => _ = stat.message()?,
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
        let read = |bytes: &[u8], length: usize| {
            let [zeros, ones] = [0, 0xff].map(|padding| {
                let buffer = padded(bytes, padding);
                Message::new(&buffer, 0, length).unwrap().uint_pair([5, 0x7f])
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
