//! Riegeli records, read: the file format of `.xplane.riegeli`.
//!
//! A file is a chain of chunks, cut by a block header at each multiple of 64 KiB. A chunk of kind
//! `r` holds records: their sizes, then their bytes, each part compressed. Written from the public
//! specification of the format. As XProf does, what comes before damage is used; the damage is
//! told. Hashes are not checked: damage shows as lengths that do not fit together.

use super::Reader;
use std::fmt;
use std::io::Read;

const BLOCK: u64 = 1 << 16;
const BLOCK_HEADER: u64 = 24;
const USABLE: u64 = BLOCK - BLOCK_HEADER;
const CHUNK_HEADER: u64 = 40;

/// The most bytes that the records of one chunk may have, uncompressed: what a protobuf can hold.
const MAX_CHUNK: u64 = 1 << 31;

/// Damage in a file: everything before it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the file of the chunk that cannot be read.
    pub offset: u64,
    /// What is wrong there.
    pub cause: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not riegeli records at byte {}: {}", self.offset, self.cause)
    }
}

impl std::error::Error for Damage {}

/// The records of a file in order, and the damage that ended them early.
pub fn records(file: &[u8]) -> (Vec<Vec<u8>>, Option<Damage>) {
    let mut records = Vec::new();
    let mut position = 0;
    while position < file.len() as u64 {
        match read_chunk(file, position, &mut records) {
            Ok(end) => position = end,
            Err(cause) => return (records, Some(Damage { offset: position, cause })),
        }
    }
    (records, None)
}

/// Reads the chunk at `start`; gives the position of the next one.
fn read_chunk(file: &[u8], start: u64, records: &mut Vec<Vec<u8>>) -> Result<u64, &'static str> {
    let header = payload(file, start, CHUNK_HEADER)?;
    let number = |at: usize, bytes: usize| {
        header[at..at + bytes].iter().rev().fold(0, |sum, &byte| (sum << 8) | u64::from(byte))
    };
    let (data_size, kind) = (number(8, 8), header[24]);
    let (count, decoded_size) = (number(25, 7), number(32, 8));
    if data_size > file.len() as u64 || decoded_size > MAX_CHUNK || count > MAX_CHUNK {
        return Err("a chunk larger than the file");
    }
    let data_start = with_block_headers(start, CHUNK_HEADER);
    match kind {
        b's' if start == 0 => {}
        _ if start == 0 => return Err("the signature is missing"),
        b'r' => {
            let data = payload(file, data_start, data_size)?;
            simple_chunk(&data, count, decoded_size, records)?;
        }
        b't' => return Err("a transposed chunk, which profilers do not write"),
        b's' | b'm' | b'p' => {}
        _ => return Err("an unknown kind of chunk"),
    }
    let end = with_block_headers(start, CHUNK_HEADER + data_size);
    Ok(end.max(chunk_boundary(start + count)))
}

/// `size` bytes from `start` on, without the block headers between them.
fn payload(file: &[u8], start: u64, size: u64) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(size.min(file.len() as u64) as usize);
    let mut position = start;
    while (bytes.len() as u64) < size {
        if position.is_multiple_of(BLOCK) {
            position += BLOCK_HEADER;
        }
        let to_block_end = BLOCK - position % BLOCK;
        let piece = to_block_end.min(size - bytes.len() as u64);
        let range = position as usize..(position + piece) as usize;
        bytes.extend_from_slice(file.get(range).ok_or("the file ends inside a chunk")?);
        position += piece;
    }
    Ok(bytes)
}

/// Where `size` bytes that begin at `start` end, with the block headers between them.
fn with_block_headers(start: u64, size: u64) -> u64 {
    let headers = (size + (start + USABLE - 1) % BLOCK) / USABLE;
    start + size + headers * BLOCK_HEADER
}

/// The first position from `position` on where a chunk can begin: not inside a block header, nor
/// right after it.
fn chunk_boundary(position: u64) -> u64 {
    let left_in_block = BLOCK - 1 - (position + BLOCK - 1) % BLOCK;
    position + left_in_block.saturating_sub(USABLE - 1)
}

fn simple_chunk(
    data: &[u8],
    count: u64,
    decoded_size: u64,
    records: &mut Vec<Vec<u8>>,
) -> Result<(), &'static str> {
    const SIZES: &str = "record sizes that do not fit";
    let (&compression, rest) = data.split_first().ok_or("an empty chunk")?;
    let mut reader = Reader::new(rest);
    let (sizes, _) = reader.length_delimited().map_err(|_| SIZES)?;
    // At most ten bytes for each size.
    let sizes = decompress(compression, sizes, count.saturating_mul(10))?;
    let values = decompress(compression, &rest[reader.position()..], decoded_size)?;
    let mut sizes = Reader::new(&sizes);
    let mut values = values.as_slice();
    for _ in 0..count {
        let size = sizes.varint().map_err(|_| SIZES)?;
        let (record, after) = usize::try_from(size)
            .ok()
            .and_then(|size| values.split_at_checked(size))
            .ok_or(SIZES)?;
        records.push(record.to_owned());
        values = after;
    }
    if values.is_empty() { Ok(()) } else { Err(SIZES) }
}

/// Decompresses a part of a chunk into at most `limit` bytes.
fn decompress(compression: u8, bytes: &[u8], limit: u64) -> Result<Vec<u8>, &'static str> {
    if compression == 0 {
        return Ok(bytes.to_owned());
    }
    let mut reader = Reader::new(bytes);
    let size = reader.varint().map_err(|_| "a compressed part without its size")?;
    if size > limit {
        return Err("a compressed part that is too large");
    }
    let compressed = &bytes[reader.position()..];
    let mut plain = Vec::new();
    let read = match compression {
        b'b' => brotli_decompressor::Decompressor::new(compressed, 1 << 16)
            .take(size + 1)
            .read_to_end(&mut plain)
            .is_ok(),
        b'z' => zstd::Decoder::with_buffer(compressed)
            .is_ok_and(|decoder| decoder.take(size + 1).read_to_end(&mut plain).is_ok()),
        b's' => {
            plain = snappy(compressed, size).ok_or("snappy data that cannot be decompressed")?;
            true
        }
        _ => return Err("an unknown compression"),
    };
    if read && plain.len() as u64 == size { Ok(plain) } else { Err("a compressed part is damaged") }
}

/// Snappy's block format.
fn snappy(bytes: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut reader = Reader::new(bytes);
    if reader.varint().ok()? != size {
        return None;
    }
    let mut rest = &bytes[reader.position()..];
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(taken)
    };
    let little_endian = |bytes: &[u8]| {
        bytes.iter().rev().fold(0_usize, |sum, &byte| (sum << 8) | usize::from(byte))
    };
    let mut plain: Vec<u8> = Vec::new();
    while (plain.len() as u64) < size {
        let tag = usize::from(take(1)?[0]);
        let (offset, length) = match tag & 3 {
            0 => {
                let length = match tag >> 2 {
                    short @ 0..60 => short,
                    long => little_endian(take(long - 59)?),
                };
                plain.extend_from_slice(take(length.checked_add(1)?)?);
                continue;
            }
            1 => ((tag >> 5) << 8 | usize::from(take(1)?[0]), (tag >> 2 & 7) + 4),
            2 => (little_endian(take(2)?), (tag >> 2) + 1),
            _ => (little_endian(take(4)?), (tag >> 2) + 1),
        };
        let start = plain.len().checked_sub(offset).filter(|_| offset > 0)?;
        for index in start..start + length {
            plain.push(plain[index]);
        }
    }
    (plain.len() as u64 == size).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::write;

    fn chunk(kind: u8, count: u64, decoded: u64, data: &[u8]) -> Vec<u8> {
        let mut chunk = vec![0; 8];
        chunk.extend((data.len() as u64).to_le_bytes());
        chunk.extend([0; 8]);
        chunk.push(kind);
        chunk.extend(&count.to_le_bytes()[..7]);
        chunk.extend(decoded.to_le_bytes());
        chunk.extend(data);
        chunk
    }

    /// A file of these chunks, cut by block headers.
    fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for byte in chunks.iter().flatten() {
            if file.len().is_multiple_of(BLOCK as usize) {
                file.extend([0xbb; BLOCK_HEADER as usize]);
            }
            file.push(*byte);
        }
        file
    }

    fn simple(compression: u8, parts: [&[u8]; 2]) -> Vec<u8> {
        let mut data = vec![compression];
        write::varint(&mut data, parts[0].len() as u64);
        data.extend(parts[0]);
        data.extend(parts[1]);
        data
    }

    #[test]
    fn reads_records_across_blocks() {
        let long = vec![7; 150_000];
        let mut sizes = vec![3];
        write::varint(&mut sizes, long.len() as u64);
        let values = [b"abc".as_slice(), &long].concat();
        let records = chunk(b'r', 2, values.len() as u64, &simple(0, [&sizes, &values]));
        let file = file(&[chunk(b's', 0, 0, b""), chunk(b'p', 0, 0, &[0; 100]), records]);
        assert_eq!(super::records(&file), (vec![b"abc".to_vec(), long], None));
    }

    #[test]
    fn decompresses_snappy() {
        // "abcabcabcX": a literal of 3, a copy of 6 from 3 back, a literal of 1.
        let packed = b"\x0a\x0a\x08abc\x09\x03\x00X";
        assert_eq!(decompress(b's', packed, 100).as_deref(), Ok(b"abcabcabcX".as_slice()));
        assert!(decompress(b's', b"\x0a\x0a\x08abc\x09\x04\x00X", 100).is_err());
        assert!(decompress(b's', packed, 9).is_err());
    }

    #[test]
    fn tells_damage_and_keeps_what_came_before() {
        let good = chunk(b'r', 1, 3, &simple(0, [&[3], b"abc"]));
        let signature = chunk(b's', 0, 0, b"");
        let (records, damage) = records(&file(&[signature.clone(), good.clone(), good.clone()]));
        assert_eq!((records.len(), damage), (2, None));
        for bad in [&good[..20], &good[..45], &chunk(b't', 1, 3, b"x"), &chunk(b'r', 9, 3, b"x")] {
            let (records, damage) =
                super::records(&file(&[signature.clone(), good.clone(), bad.to_vec()]));
            assert_eq!(records.len(), 1);
            assert_eq!(damage.map(|damage| damage.offset), Some(64 + good.len() as u64));
        }
        assert!(
            super::records(b"not a riegeli file at all, but long enough for a header or two......")
                .1
                .is_some()
        );
    }
}
