//! libstdc++'s `std::hash` of a string: XProf's key of an interned name.
//!
//! The stack frames of a trace are numbered in the order of these keys, so they show in answers.
//! The function is MurmurHash64A with a fixed seed.

const SEED: u64 = 0xc70f_6907;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;

/// The key of a text.
pub fn std_hash(text: &[u8]) -> u64 {
    let mut hash = SEED ^ (text.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        let data = mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ data).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let data = rest.iter().rev().fold(0, |data, &byte| (data << 8) | u64::from(byte));
        hash = (hash ^ data).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

fn mix(value: u64) -> u64 {
    value ^ (value >> 47)
}
