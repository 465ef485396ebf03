//! gzip on several threads: the text is cut into blocks, each is compressed with the end of the one
//! before it as its dictionary, and the pieces are joined to one ordinary gzip member. A piece that
//! answers share is a block by itself, without a dictionary, so that it is the same in all of them.

use super::rope::{Piece, Rope, Shared};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of text in a block, at least and at most. Smaller ones spread better, larger ones compress
/// better.
const SMALLEST_BLOCK: usize = 128 << 10;
const LARGEST_BLOCK: usize = 512 << 10;

/// Blocks that a text is cut into, unless they were too small or too large: many enough to be shared
/// evenly by some cores.
const BLOCKS: usize = 8;

/// How far back deflate can refer, in bytes.
const WINDOW_BYTES: usize = 32 << 10;

/// Magic, deflate, no flags, no time (so that equal texts give equal bytes), unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The end of a stream whose blocks were all flushed: an empty last block.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// The level of what is small: that of zlib-rs is smaller than its 9, and than that of zlib.
pub const SMALL_LEVEL: u32 = 8;

/// A part of a text as raw deflate, up to a byte boundary.
#[derive(Debug)]
pub(super) struct Deflated {
    packed: Arc<Shared>,
    crc: Crc,
}

/// A part of a text on its way into gzip: bytes at some places, or what was compressed before.
enum Part<'a> {
    Block(Range<usize>),
    Shared(&'a Deflated),
}

/// A part that is compressed.
enum Packed<'a> {
    Own(Vec<u8>, Crc),
    Shared(&'a Deflated),
}

/// Compresses a rope at a level from 1 (fast) to 9 (small). What it shares with other ropes is taken
/// as it was compressed before; at the level [`SMALL_LEVEL`] it is compressed for all of them if need be.
pub fn gzip(rope: &Rope, level: u32) -> Rope {
    let slices: Vec<&[u8]> = rope.iter().collect();
    let parts = parts(rope, level);
    let blocks = parts.par_iter().enumerate().map(|(number, part)| match part {
        Part::Block(places) => {
            let last = number + 1 == parts.len();
            let (packed, crc) = deflate(&slices, places.clone(), level, last);
            Packed::Own(packed, crc)
        }
        Part::Shared(deflated) => Packed::Shared(deflated),
    });
    let mut out = Rope::from(HEADER.to_vec());
    let mut crc = Crc::new();
    for block in blocks.collect::<Vec<_>>() {
        match block {
            Packed::Own(packed, of_block) => {
                out.push(packed);
                crc.combine(&of_block);
            }
            Packed::Shared(deflated) => {
                out.push_shared(Arc::clone(&deflated.packed));
                crc.combine(&deflated.crc);
            }
        }
    }
    let is_open = !matches!(parts.last(), Some(Part::Block(_)));
    let mut end = if is_open { LAST_BLOCK.to_vec() } else { Vec::new() };
    end.extend(crc.sum().to_le_bytes());
    end.extend((rope.len() as u32).to_le_bytes());
    out.push(end);
    out
}

/// A piece for all answers that have it.
pub(super) fn deflate_shared(bytes: &[u8]) -> Deflated {
    let blocks: Vec<Range<usize>> = cut(0..bytes.len(), block_bytes(bytes.len())).collect();
    let blocks: Vec<(Vec<u8>, Crc)> = blocks
        .into_par_iter()
        .map(|places| deflate(&[bytes], places, SMALL_LEVEL, false))
        .collect();
    let mut packed = Vec::new();
    let mut crc = Crc::new();
    for (block, of_block) in &blocks {
        packed.extend(block);
        crc.combine(of_block);
    }
    Deflated { packed: Arc::new(Shared::new(packed)), crc }
}

fn parts(rope: &Rope, level: u32) -> Vec<Part<'_>> {
    let block_bytes = block_bytes(rope.own_len());
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for piece in rope.pieces() {
        let deflated = match piece {
            Piece::Shared(shared) if level == SMALL_LEVEL => Some(shared.deflated()),
            Piece::Shared(shared) => shared.known_deflated(),
            Piece::Own(_) => None,
        };
        let next = end + piece.bytes().len();
        if let Some(deflated) = deflated {
            parts.extend(cut(start..end, block_bytes).map(Part::Block));
            parts.push(Part::Shared(deflated));
            start = next;
        }
        end = next;
    }
    parts.extend(cut(start..end, block_bytes).map(Part::Block));
    parts
}

fn block_bytes(length: usize) -> usize {
    (length / BLOCKS).clamp(SMALLEST_BLOCK, LARGEST_BLOCK)
}

fn cut(places: Range<usize>, block_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let end = places.end;
    places.step_by(block_bytes).map(move |start| start..end.min(start + block_bytes))
}

/// The bytes at some places, in the slices that they lie in.
fn within<'a>(slices: &[&'a [u8]], places: Range<usize>) -> impl Iterator<Item = &'a [u8]> {
    let mut start = 0;
    slices.iter().filter_map(move |slice| {
        let first = places.start.max(start) - start;
        start += slice.len();
        let last = places.end.min(start).checked_sub(start - slice.len())?;
        slice.get(first..last).filter(|bytes| !bytes.is_empty())
    })
}

/// One block as raw deflate, ending at a byte boundary, and the checksum of its bytes.
fn deflate(slices: &[&[u8]], places: Range<usize>, level: u32, last: bool) -> (Vec<u8>, Crc) {
    let mut stream = Compress::new(Compression::new(level), false);
    let before = within(slices, places.start.saturating_sub(WINDOW_BYTES)..places.start);
    let window = before.collect::<Vec<_>>().concat();
    if !window.is_empty() {
        // Refused only by a stream that was used already.
        let _ = stream.set_dictionary(&window);
    }
    let mut out = Vec::with_capacity(places.len() / 4 + 1024);
    let mut crc = Crc::new();
    for bytes in within(slices, places) {
        crc.update(bytes);
        feed(&mut stream, bytes, &mut out, FlushCompress::None);
    }
    feed(
        &mut stream,
        &[],
        &mut out,
        if last { FlushCompress::Finish } else { FlushCompress::Sync },
    );
    (out, crc)
}

/// Hands bytes to a stream until it has taken all of them and, where it is to flush, written all.
fn feed(stream: &mut Compress, bytes: &[u8], out: &mut Vec<u8>, flush: FlushCompress) {
    let before = stream.total_in();
    loop {
        let taken = (stream.total_in() - before) as usize;
        let status = stream.compress_vec(bytes.get(taken..).unwrap_or_default(), out, flush);
        let whole = match status {
            Ok(Status::StreamEnd) | Err(_) => true,
            // What was to be written is written when there is room left behind it.
            Ok(_) => {
                let all_taken = (stream.total_in() - before) as usize == bytes.len();
                flush != FlushCompress::Finish && all_taken && out.len() < out.capacity()
            }
        };
        if whole {
            return;
        }
        out.reserve(out.capacity().max(1024));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::io::Read;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(next).collect()
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length)
            .flat_map(|i| format!("{{\"ts\":{},\"n\":\"op\"}},", i * 37).into_bytes())
            .take(length)
            .collect()
    }

    #[test]
    fn one_member_that_every_reader_takes() {
        let lengths = [0, 1, SMALLEST_BLOCK, SMALLEST_BLOCK + 1, 3 * LARGEST_BLOCK - 7];
        for length in lengths.into_iter().chain([BLOCKS * LARGEST_BLOCK + 1]) {
            for input in [text(length), noise(length)] {
                for level in [1, 2, 9] {
                    let mut out = Vec::new();
                    let packed = gzip(&Rope::from(input.clone()), level).into_vec();
                    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut out).unwrap();
                    assert!(out == input, "{length} bytes at level {level}");
                }
            }
        }
    }

    #[test]
    fn blocks_know_what_came_before() {
        let one = noise(WINDOW_BYTES / 2);
        let repeated: Vec<u8> = one.iter().copied().cycle().take(4 * LARGEST_BLOCK).collect();
        assert!(gzip(&Rope::from(repeated), 9).len() < one.len() * 5 / 2);
    }

    #[test]
    fn shared_pieces_are_compressed_once_for_all() {
        let shared = Arc::new(Shared::new(text(3 * LARGEST_BLOCK + 5)));
        for (before, after) in [(0, 0), (0, 700), (700, 0), (3, SMALLEST_BLOCK + 1)] {
            let mut rope = Rope::default();
            for length in [before, before / 2] {
                rope.push(noise(length));
            }
            rope.push_shared(Arc::clone(&shared));
            rope.push(text(after));
            // At level 2 before it is known compressed and after that.
            for level in [2, SMALL_LEVEL, 2] {
                let packed = gzip(&rope, level);
                let mut out = Vec::new();
                flate2::read::GzDecoder::new(&*packed.whole()).read_to_end(&mut out).unwrap();
                assert!(out == *rope.whole(), "{before}, {after} at level {level}");
            }
            let packed = gzip(&rope, SMALL_LEVEL);
            assert!(packed.own_len() < packed.len() / 2 || before + after > 1000);
        }
    }
}
