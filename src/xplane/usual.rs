//! Events as profilers write them, read without the general reader: tags of one byte, lengths below
//! 128, numbers of at most eight bytes. Whatever is written otherwise is left to the general reader,
//! which decides and says what is wrong.

use super::event::{NumberKind, NumberStat, Numbers};
use crate::wire::{length_in_eight, varint_in_eight};

/// A message in a buffer. Bytes behind the message can be loaded with it, which is faster than looking
/// where it ends, but never count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    buffer: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Message<'a> {
    /// The message at `start..end` of a buffer that is at least that long.
    pub fn new(buffer: &'a [u8], start: usize, end: usize) -> Self {
        Self { buffer, at: start, end: end.min(buffer.len()) }
    }

    /// What is left of the message.
    pub fn rest(&self) -> &'a [u8] {
        self.buffer.get(self.at..self.end).unwrap_or_default()
    }

    /// Whether there is nothing left.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// The tag, where there is another field.
    #[inline]
    fn tag(&self) -> Option<u8> {
        if self.at < self.end { self.buffer.get(self.at).copied() } else { None }
    }

    /// The number behind a tag.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let bytes = self.buffer.get(self.at + 1..)?;
        if let Some(&byte) = bytes.first()
            && byte < 0x80
        {
            return self.skip(2).then_some(u64::from(byte));
        }
        let (value, length) = varint_in_eight(bytes).or_else(|| short_varint(bytes))?;
        self.skip(1 + length).then_some(value)
    }

    /// Goes over the number behind a tag.
    #[inline]
    fn skip_number(&mut self) -> Option<()> {
        let bytes = self.buffer.get(self.at + 1..)?;
        let length = length_in_eight(bytes).or_else(|| Some(short_varint(bytes)?.1))?;
        self.skip(1 + length).then_some(())
    }

    /// The message behind a tag, which has less than 128 bytes.
    #[inline]
    fn message(&mut self) -> Option<Self> {
        let &length = self.buffer.get(self.at + 1)?;
        let start = self.at + 2;
        let whole = length < 0x80 && self.skip(2 + usize::from(length));
        whole.then_some(Self { buffer: self.buffer, at: start, end: self.at })
    }

    /// The next stat of an event; `None` at the end, or where something is not written as usual.
    #[inline]
    pub fn next_stat(&mut self) -> Option<Self> {
        loop {
            match self.tag()? {
                0x08 | 0x10 | 0x18 | 0x28 => self.skip_number()?,
                0x22 => return self.message(),
                _ => return None,
            }
        }
    }

    /// Goes on by some bytes, where the message has that many.
    #[inline]
    pub fn skip(&mut self, length: usize) -> bool {
        let is_there = length <= self.end - self.at;
        if is_there {
            self.at += length;
        }
        is_there
    }
}

/// Goes over the events of a line that have less than 128 bytes, from a position on; notes where their
/// length prefixes are and gives the position of what is something else.
pub(super) fn note_events(line: &[u8], mut at: usize, prefixes: &mut Vec<u32>) -> usize {
    while let Some(&[0x22, length]) = line.get(at..at + 2)
        && length < 0x80
        && at + 2 + usize::from(length) <= line.len()
    {
        prefixes.push(at as u32 + 1);
        at += 2 + usize::from(length);
    }
    at
}

/// Reads the payload of an event: its numbers, and of each of its stats the metadata id and whether it
/// is a text. `None` where it is not written as usual.
#[inline]
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
#[inline]
pub(super) fn stat_integer(mut stat: Message<'_>) -> Option<NumberStat> {
    if stat.tag() != Some(0x08) {
        return None;
    }
    let id = stat.number()? as i64;
    let kind = match stat.tag()? {
        0x18 => NumberKind::Uint,
        0x20 => NumberKind::Int,
        _ => return None,
    };
    let value = stat.number()?;
    stat.is_at_end().then(|| NumberStat::new(id, kind, value))
}

/// Checks a stat; gives its metadata id and whether it is a text or refers to one.
#[inline]
pub(super) fn read_stat(mut stat: Message<'_>) -> Option<(i64, bool)> {
    let (mut id, mut is_text) = (0, false);
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

/// A number near the end of a buffer, of at most seven bytes, and how many it has.
#[cold]
fn short_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(7).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some((value, place + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(Numbers, Vec<i64>)> {
        let mut stats = Vec::new();
        let numbers = read_event(Message::new(bytes, 0, bytes.len()), |id, _| stats.push(id))?;
        Some((numbers, stats))
    }

    #[test]
    fn what_follows_a_message_does_not_count() {
        let bytes = [0x10, 0x81, 0x02, 0x22, 0x02, 0x08, 0x05, 0x20, 0x01, 0, 0, 0, 0, 0, 0, 0, 0];
        for end in 0..bytes.len() {
            let mut message = Message::new(&bytes, 0, end);
            assert_eq!(
                read_event(message, |_, _| {}),
                read(&bytes[..end]).map(|(numbers, _)| numbers)
            );
            let stat = message.next_stat();
            assert_eq!(stat.map(|stat| stat.rest().len()), (end >= 7).then_some(2));
        }
    }

    #[test]
    fn events_are_noted_as_far_as_they_are_usual() {
        let mut line = vec![0x08, 1, 0x22, 2, 0x08, 1, 0x22, 0, 0x22, 0x80, 1];
        let mut prefixes = Vec::new();
        assert_eq!(note_events(&line, 0, &mut prefixes), 0);
        assert_eq!(note_events(&line, 2, &mut prefixes), 8);
        assert_eq!(prefixes, [3, 7]);
        line.truncate(5);
        assert_eq!(note_events(&line, 2, &mut prefixes), 2);
    }

    #[test]
    fn a_stat_that_is_an_integer_is_read_at_once() {
        let read = |bytes: &[u8]| stat_integer(Message::new(bytes, 0, bytes.len()));
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
