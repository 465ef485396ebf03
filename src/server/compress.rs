//! Content encodings: which one a client gets, and bytes that are compressed at most once.
//!
//! XProf compresses every answer with gzip level 9, on every request. Here an answer is compressed
//! once, in what the client takes, at a level that depends on its size: no more bytes on the wire than
//! XProf sends for answers of common size, and never seconds of work for huge ones. Brotli is there for
//! what was compressed when the program was built.

use crate::render::gzip;
use crate::render::rope::Rope;
use std::io::Write;
use std::sync::OnceLock;
use zstd::zstd_safe::CParameter;

/// A content encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Identity,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// Brotli.
    Brotli,
}

/// Below this, in bytes, an encoding makes an answer longer or saves less than a packet.
const SMALLEST_COMPRESSED: usize = 256;

/// From this size on, in bytes, speed counts more than size: such an answer is looked at on the
/// same machine or over a fast link.
const LARGE: usize = 10 << 20;

/// From this size on, in bytes, only speed counts.
const HUGE: usize = 64 << 20;

/// Below this, in bytes, gzip makes an answer smaller than zstd does.
const SMALL: usize = 64 << 10;

impl Encoding {
    /// The name in `Content-Encoding`; the identity has none.
    pub fn token(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
            Self::Brotli => Some("br"),
        }
    }

    /// The encoding for a client that sent this `Accept-Encoding`. Among those that it likes best
    /// the cheapest to make wins. No header: the identity.
    pub fn negotiate(accepted: &str, content: &Encoded) -> Self {
        if content.len() < SMALLEST_COMPRESSED || content.incompressible {
            return Self::Identity;
        }
        let mut best = (0_u16, Self::Identity);
        for &encoding in content.preferred_encodings(accepted) {
            let quality = quality(accepted, encoding);
            if quality > best.0 {
                best = (quality, encoding);
            }
        }
        if quality(accepted, Self::Identity) > best.0 { Self::Identity } else { best.1 }
    }
}

/// How much a client wants an encoding, in thousandths; 0: not at all. The identity is wanted less
/// than any named encoding unless the client gives it a weight.
fn quality(accepted: &str, encoding: Encoding) -> u16 {
    let name = encoding.token().unwrap_or("identity");
    let mut any = None;
    for item in accepted.split(',') {
        let mut parts = item.split(';');
        let token = parts.next().unwrap_or_default().trim();
        let weight =
            parts.find_map(|parameter| parameter.trim().strip_prefix("q=")).map_or(1000, |q| {
                q.trim().parse::<f32>().map_or(0, |q| (q.clamp(0.0, 1.0) * 1000.0) as u16)
            });
        if token.eq_ignore_ascii_case(name)
            || token.eq_ignore_ascii_case("x-gzip") && name == "gzip"
        {
            return weight;
        }
        if token == "*" {
            any = Some(weight);
        }
    }
    if encoding == Encoding::Identity { 0 } else { any.unwrap_or(0) }
}

/// Bytes and their compressed forms, each made at most once.
#[derive(Debug)]
pub struct Encoded {
    length: usize,
    identity: OnceLock<Rope>,
    gzip: OnceLock<Rope>,
    zstd: OnceLock<Rope>,
    /// Brotli made when the program was built; the other forms come from it.
    built_in: Option<&'static [u8]>,
    incompressible: bool,
}

impl Encoded {
    /// Bytes of which no compressed form exists yet.
    pub fn new(identity: impl Into<Rope>) -> Self {
        let identity = identity.into();
        Self {
            length: identity.len(),
            identity: OnceLock::from(identity),
            gzip: OnceLock::new(),
            zstd: OnceLock::new(),
            built_in: None,
            incompressible: false,
        }
    }

    /// Bytes that are compressed in themselves (fonts, images): always sent as they are.
    pub fn incompressible(identity: Vec<u8>) -> Self {
        Self { incompressible: true, ..Self::new(identity) }
    }

    /// Bytes whose Brotli form is part of the program; `length` is that of the content.
    pub fn built_in(brotli: &'static [u8], length: usize) -> Self {
        Self {
            length,
            identity: OnceLock::new(),
            gzip: OnceLock::new(),
            zstd: OnceLock::new(),
            built_in: Some(brotli),
            incompressible: false,
        }
    }

    /// Length of the bytes, not compressed.
    pub fn len(&self) -> usize {
        self.length
    }

    /// No bytes at all?
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What keeping the bytes costs, not compressed: what they share with others is kept anyway.
    pub fn own_len(&self) -> usize {
        self.identity.get().map_or(self.length, Rope::own_len)
    }

    /// The bytes, not compressed.
    pub fn identity(&self) -> &Rope {
        self.identity.get_or_init(|| self.built_in.map(brotli_decode).unwrap_or_default().into())
    }

    /// The bytes, for a moment: what is decoded only to be compressed again is not kept.
    fn with_content<T>(&self, take: impl FnOnce(&Rope) -> T) -> T {
        match (self.identity.get(), self.built_in) {
            (None, Some(brotli)) => take(&brotli_decode(brotli).into()),
            _ => take(self.identity()),
        }
    }

    /// The bytes in an encoding but the built-in one; made now if nobody asked before.
    fn rope(&self, encoding: Encoding) -> Option<&Rope> {
        match encoding {
            Encoding::Identity => Some(self.identity()),
            Encoding::Gzip => Some(self.gzip.get_or_init(|| self.with_content(gzip))),
            Encoding::Zstd => Some(self.zstd.get_or_init(|| self.with_content(zstd))),
            Encoding::Brotli => None,
        }
    }

    /// Length of the bytes in an encoding.
    pub fn len_in(&self, encoding: Encoding) -> usize {
        self.rope(encoding).map_or(self.built_in.unwrap_or_default().len(), Rope::len)
    }

    /// The bytes in an encoding from a place on, as many as lie together; empty at the end.
    pub fn bytes_from(&self, encoding: Encoding, place: usize) -> &[u8] {
        let built_in = || self.built_in.unwrap_or_default().get(place..).unwrap_or_default();
        self.rope(encoding).map_or_else(built_in, |rope| rope.bytes_from(place))
    }

    /// Best first, for a client without preferences: the Brotli that is part of the program, or zstd,
    /// which is as small at a fraction of the time, or gzip for what is short or mostly compressed
    /// before. A client that names Brotli beside gzip but not zstd is no current browser, and there
    /// are HTTP libraries that name Brotli without the means to decode it: gzip is what all of them
    /// read.
    fn preferred_encodings(&self, accepted: &str) -> &'static [Encoding] {
        use Encoding::{Brotli, Gzip, Zstd};
        if self.built_in.is_none() {
            let is_mostly_shared = self.own_len() < self.len() / 2;
            let is_quick = self.own_len() < LARGE && is_mostly_shared;
            if self.len() < SMALL || is_quick { &[Gzip, Zstd] } else { &[Zstd, Gzip] }
        } else if quality(accepted, Zstd) > 0 {
            &[Brotli, Zstd, Gzip]
        } else {
            &[Zstd, Gzip, Brotli]
        }
    }
}

fn gzip(text: &Rope) -> Rope {
    let level = match text.own_len() {
        ..LARGE => gzip::SMALL_LEVEL,
        LARGE..HUGE => 2,
        HUGE.. => 1,
    };
    gzip::gzip(text, level)
}

fn zstd(text: &Rope) -> Rope {
    /// Bytes of text that a thread takes at a time.
    const JOB_BYTES: u32 = 2 << 20;
    // The lowest level that stays below gzip's best.
    let level = if text.len() < LARGE { 6 } else { 3 };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
    let compress = || -> std::io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::with_capacity(text.len() / 8), level)?;
        encoder.multithread(threads as u32)?;
        encoder.set_parameter(CParameter::JobSize(JOB_BYTES))?;
        for piece in text.iter() {
            encoder.write_all(piece)?;
        }
        encoder.finish()
    };
    let is_long = text.len() > JOB_BYTES as usize;
    let compressed = if is_long { compress().ok() } else { None };
    // Writing to a vector does not fail; without threads of its own it uses this one.
    compressed
        .or_else(|| zstd::bulk::compress(&text.whole(), level).ok())
        .unwrap_or_default()
        .into()
}

fn brotli_decode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // What the build wrote is whole; `tests` hold it against the files.
    let _ = brotli_decompressor::BrotliDecompress(&mut &bytes[..], &mut out);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::render::rope::Shared;
    use std::io::Read;

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|i| b"abcdefgh\n"[(i * i / 7) % 9]).collect()
    }

    fn bytes(encoded: &Encoded, encoding: Encoding) -> Vec<u8> {
        let all = encoded.rope(encoding).map(|rope| rope.whole().into_owned()).unwrap();
        assert_eq!(encoded.len_in(encoding), all.len());
        all
    }

    fn chosen(accepted: &str) -> Encoding {
        Encoding::negotiate(accepted, &Encoded::new(text(1000)))
    }

    #[test]
    fn what_the_client_likes_best_wins() {
        assert_eq!(chosen(""), Encoding::Identity);
        assert_eq!(chosen("identity"), Encoding::Identity);
        assert_eq!(chosen("gzip, deflate"), Encoding::Gzip);
        assert_eq!(chosen("gzip, deflate, br"), Encoding::Gzip);
        assert_eq!(chosen("br"), Encoding::Identity);
        assert_eq!(chosen("gzip;q=0.9, br"), Encoding::Gzip);
        assert_eq!(chosen("gzip, deflate, br, zstd"), Encoding::Gzip);
        assert_eq!(chosen("gzip;q=0.5, zstd"), Encoding::Zstd);
        let long = Encoded::new(text(SMALL));
        assert_eq!(Encoding::negotiate("gzip, deflate, br, zstd", &long), Encoding::Zstd);
        assert_eq!(chosen("br;q=0.5, gzip;q=0.8"), Encoding::Gzip);
        let mut shared = Rope::from(text(SMALL));
        shared.push_shared(std::sync::Arc::new(Shared::new(text(2 * SMALL))));
        let shared = Encoded::new(shared);
        assert_eq!(Encoding::negotiate("gzip, deflate, br, zstd", &shared), Encoding::Gzip);
        assert_eq!(chosen("gzip;q=0, *;q=0.1"), Encoding::Zstd);
        assert_eq!(chosen("gzip;q=0.5, identity"), Encoding::Identity);
        assert_eq!(chosen("zstd;q=x, gzip"), Encoding::Gzip);
        assert_eq!(chosen("GZIP"), Encoding::Gzip);
    }

    #[test]
    fn short_and_incompressible_bytes_stay_as_they_are() {
        let all = "gzip, br, zstd";
        assert_eq!(Encoding::negotiate(all, &Encoded::new(text(6))), Encoding::Identity);
        let font = Encoded::incompressible(text(1000));
        assert_eq!(Encoding::negotiate(all, &font), Encoding::Identity);
    }

    #[test]
    fn every_encoding_decodes_to_the_bytes() {
        for length in [0, 1000, 3 << 20, LARGE + 1000] {
            let encoded = Encoded::new(text(length));
            let mut out = Vec::new();
            flate2::read::GzDecoder::new(&*bytes(&encoded, Encoding::Gzip))
                .read_to_end(&mut out)
                .unwrap();
            assert_eq!(out, text(length));
            assert_eq!(zstd::decode_all(&*bytes(&encoded, Encoding::Zstd)).unwrap(), text(length));
        }
    }

    #[test]
    fn built_in_bytes_are_decoded_for_others() {
        let mut compressed = Vec::new();
        let mut content = std::io::Cursor::new(text(1000));
        brotli::BrotliCompress(
            &mut content,
            &mut compressed,
            &brotli::enc::BrotliEncoderParams::default(),
        )
        .unwrap();
        let bytes: &'static [u8] = Box::leak(compressed.into_boxed_slice());
        let encoded = Encoded::built_in(bytes, 1000);
        assert_eq!(Encoding::negotiate("gzip, br, zstd", &encoded), Encoding::Brotli);
        assert_eq!(Encoding::negotiate("gzip, deflate, br", &encoded), Encoding::Gzip);
        assert_eq!(Encoding::negotiate("br", &encoded), Encoding::Brotli);
        assert_eq!(encoded.bytes_from(Encoding::Brotli, 7), &bytes[7..]);
        assert_eq!(encoded.len_in(Encoding::Brotli), bytes.len());
        assert_eq!(*encoded.identity().whole(), text(1000));
    }
}
