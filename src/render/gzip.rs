//! gzip on several threads: the text is cut into blocks, each is compressed with the end of the one
//! before it as its dictionary, and the pieces are joined to one ordinary gzip member.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use rayon::prelude::*;

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

/// Compresses `text` at a level from 1 (fast) to 9 (small).
pub fn gzip(text: &[u8], level: u32) -> Vec<u8> {
    let block_bytes = (text.len() / BLOCKS).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
    let blocks = text.len().div_ceil(block_bytes).max(1);
    let pieces: Vec<(Vec<u8>, Crc)> = (0..blocks)
        .into_par_iter()
        .map(|block| {
            let start = block * block_bytes;
            let end = text.len().min(start + block_bytes);
            let window = &text[start.saturating_sub(WINDOW_BYTES)..start];
            let mut crc = Crc::new();
            crc.update(&text[start..end]);
            (deflate(window, &text[start..end], level, block + 1 == blocks), crc)
        })
        .collect();
    let length: usize = pieces.iter().map(|(piece, _)| piece.len()).sum();
    let mut out = Vec::with_capacity(HEADER.len() + length + 8);
    out.extend(HEADER);
    let mut crc = Crc::new();
    for (piece, of_piece) in &pieces {
        out.extend(piece);
        crc.combine(of_piece);
    }
    out.extend(crc.sum().to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out
}

/// One block as raw deflate, ending at a byte boundary.
fn deflate(window: &[u8], text: &[u8], level: u32, last: bool) -> Vec<u8> {
    let mut stream = Compress::new(Compression::new(level), false);
    if !window.is_empty() {
        // Refused only by a stream that was used already.
        let _ = stream.set_dictionary(window);
    }
    let flush = if last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut out = Vec::with_capacity(text.len() / 4 + 1024);
    loop {
        let taken = stream.total_in() as usize;
        let status = stream.compress_vec(text.get(taken..).unwrap_or_default(), &mut out, flush);
        let whole = match status {
            Ok(Status::StreamEnd) | Err(_) => true,
            // A flush is over when it leaves room in the buffer.
            Ok(_) => {
                !last && stream.total_in() as usize == text.len() && out.len() < out.capacity()
            }
        };
        if whole {
            return out;
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
                    let packed = gzip(&input, level);
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
        assert!(gzip(&repeated, 9).len() < one.len() * 5 / 2);
    }
}
