//! Events as profilers write them, read without the general reader: tags of one byte, lengths below
//! 128, numbers of at most eight bytes. Whatever is written otherwise is left to the general reader,
//! which decides and says what is wrong.

use super::event::Numbers;
use crate::wire::varint_in_eight;

/// Reads the payload of an event: its numbers, and the metadata id of each of its stats. `None` where
/// it is not written as usual.
#[inline]
pub(super) fn read_event(bytes: &[u8], mut note_stat: impl FnMut(i64)) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    let mut at = 0;
    while let Some(&tag) = bytes.get(at) {
        at += 1;
        match tag {
            0x08 | 0x10 | 0x18 | 0x28 => {
                let (value, length) = varint(&bytes[at..])?;
                at += length;
                numbers.note(u32::from(tag >> 3), value);
            }
            0x22 => {
                let length = short_length(bytes, at)?;
                note_stat(read_stat(bytes.get(at + 1..at + 1 + length)?)?);
                at += 1 + length;
            }
            _ => return None,
        }
    }
    Some(numbers)
}

/// Checks a stat; gives its metadata id.
#[inline]
fn read_stat(bytes: &[u8]) -> Option<i64> {
    let mut id = 0;
    let mut at = 0;
    while let Some(&tag) = bytes.get(at) {
        at += 1;
        match tag {
            0x08 => {
                let (value, length) = varint(&bytes[at..])?;
                at += length;
                id = value as i64;
            }
            // `double_value`
            0x11 => at += 8,
            // `uint64_value`, `int64_value`, `ref_value`
            0x18 | 0x20 | 0x38 => at += varint(&bytes[at..])?.1,
            // `str_value`, `bytes_value`
            0x2a | 0x32 => {
                let length = short_length(bytes, at)?;
                let text = bytes.get(at + 1..at + 1 + length)?;
                if tag == 0x2a && !text.is_ascii() {
                    return None;
                }
                at += 1 + length;
            }
            _ => return None,
        }
    }
    (at == bytes.len()).then_some(id)
}

#[inline]
fn short_length(bytes: &[u8], at: usize) -> Option<usize> {
    let &length = bytes.get(at)?;
    (length < 0x80).then_some(usize::from(length))
}

/// A number of at most eight bytes, and how many it has.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    if bytes.len() >= 8 {
        return varint_in_eight(bytes);
    }
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate() {
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
        let numbers = read_event(bytes, |id| stats.push(id))?;
        Some((numbers, stats))
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
