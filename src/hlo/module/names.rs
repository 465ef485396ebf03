//! The names of computations and instructions: made fit for HLO text, and found again.

use crate::hlo::shape::PrimitiveType;
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// The hash of a name in the upper half, its place in the lower: one number sorts fast.
pub type HashedPlace = u64;

fn hash_in(hashed: HashedPlace) -> u32 {
    (hashed >> 32) as u32
}

fn place_in(hashed: HashedPlace) -> u32 {
    hashed as u32
}

/// Where the things with names are, by hash of the name.
#[derive(Debug)]
pub struct NamePlaces {
    hasher: RandomState,
    /// Hash and place of each name, sorted by hash, and by name where hashes are equal.
    places: Vec<HashedPlace>,
}

impl NamePlaces {
    /// The places `0..count` of names.
    ///
    /// # Errors
    /// A name that is there twice.
    pub fn of<'n>(count: usize, name_of: impl Fn(u32) -> &'n str + Sync) -> Result<Self, &'n str> {
        let hasher = RandomState::default();
        let hashed = |place| hashed_place(&hasher, name_of(place), place);
        let places = (0..count as u32).into_par_iter().map(hashed).collect();
        Self::of_hashed(hasher, places, name_of)
    }

    /// The same where the hashes of the names are known.
    ///
    /// # Errors
    /// A name that is there twice.
    pub fn of_hashed<'n>(
        hasher: RandomState,
        mut places: Vec<HashedPlace>,
        name_of: impl Fn(u32) -> &'n str + Sync,
    ) -> Result<Self, &'n str> {
        places.par_sort_unstable();
        let name = |hashed: HashedPlace| name_of(place_in(hashed));
        // Different names rarely have one hash.
        for same in places.chunk_by_mut(|&a, &b| hash_in(a) == hash_in(b)) {
            if same.len() > 1 {
                same.sort_unstable_by(|&a, &b| name(a).cmp(name(b)));
                if let Some(pair) = same.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
                    return Err(name(pair[0]));
                }
            }
        }
        Ok(Self { hasher, places })
    }

    /// The place of a name.
    pub fn find<'n>(&self, name: &str, name_of: impl Fn(u32) -> &'n str) -> Option<u32> {
        let hash = hash_of_name(&self.hasher, name);
        let found = self.places.binary_search_by(|&hashed| {
            hash_in(hashed).cmp(&hash).then_with(|| name_of(place_in(hashed)).cmp(name))
        });
        found.ok().map(|index| place_in(self.places[index]))
    }
}

/// The hash under which a name is found.
fn hash_of_name(hasher: &RandomState, name: &str) -> u32 {
    hasher.hash_one(name) as u32
}

/// The hash of a name with its place.
pub fn hashed_place(hasher: &RandomState, name: &str, place: u32) -> HashedPlace {
    u64::from(hash_of_name(hasher, name)) << 32 | u64::from(place)
}

/// Which bytes a name may have.
const IS_ALLOWED: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// A name as XLA keeps it (`NameUniquer::GetSanitizedName`).
pub fn sanitized(name: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| IS_ALLOWED[usize::from(byte)];
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let bytes = name.as_bytes();
    let is_reserved = name.starts_with("__") && !name.starts_with("__xla_");
    // Most names end in a number, and no type has a point in its name.
    let is_type = || !bytes.contains(&b'.') && PrimitiveType::is_name(name) && name != "tuple";
    let is_fine = bytes.first().is_none_or(|&byte| is_start(byte))
        && bytes.iter().all(|&byte| is_allowed(byte))
        && !is_reserved
        && !is_type();
    if is_fine {
        return Cow::Borrowed(name);
    }
    let replaced = bytes.iter().enumerate().map(|(place, &byte)| {
        let is_kept = if place == 0 { is_start(byte) } else { is_allowed(byte) };
        if is_kept { char::from(byte) } else { '_' }
    });
    let mut name: String = replaced.collect();
    if PrimitiveType::is_name(&name) && name != "tuple" {
        name.push('_');
    }
    if name.starts_with("__") && !name.starts_with("__xla_") {
        name.replace_range(..1, "a");
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_fit_for_text() {
        for (name, fit) in
            [("a.b-c_1", "a.b-c_1"), ("1a b", "_a_b"), ("f32", "f32_"), ("__x", "a_x")]
        {
            assert_eq!(sanitized(name), fit);
        }
        assert_eq!(sanitized("__xla_x"), "__xla_x");
        assert_eq!(sanitized("tuple"), "tuple");
    }
}
