//! The names of computations and instructions: made fit for HLO text, and found again.

use crate::hlo::shape::PrimitiveType;
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Where the things with names are, by hash of the name.
#[derive(Debug)]
pub struct NamePlaces {
    hasher: RandomState,
    /// Hash and place, sorted by hash, and by name where hashes are equal.
    places: Vec<(u32, u32)>,
}

impl NamePlaces {
    /// The places `0..count` of names.
    ///
    /// # Errors
    /// A name that is there twice.
    pub fn of<'n>(count: usize, name_of: impl Fn(u32) -> &'n str + Sync) -> Result<Self, &'n str> {
        let hasher = RandomState::default();
        let hashed = |place| (hash_of_name(&hasher, name_of(place)), place);
        let places = (0..count as u32).into_par_iter().map(hashed).collect();
        Self::of_hashed(hasher, places, name_of)
    }

    /// The same where the hashes of the names are known.
    ///
    /// # Errors
    /// A name that is there twice.
    pub fn of_hashed<'n>(
        hasher: RandomState,
        mut places: Vec<(u32, u32)>,
        name_of: impl Fn(u32) -> &'n str + Sync,
    ) -> Result<Self, &'n str> {
        places.par_sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| name_of(a.1).cmp(name_of(b.1)))
        });
        let twice = places
            .windows(2)
            .find(|pair| pair[0].0 == pair[1].0 && name_of(pair[0].1) == name_of(pair[1].1));
        match twice {
            Some(pair) => Err(name_of(pair[0].1)),
            None => Ok(Self { hasher, places }),
        }
    }

    /// The place of a name.
    pub fn find<'n>(&self, name: &str, name_of: impl Fn(u32) -> &'n str) -> Option<u32> {
        let hash = hash_of_name(&self.hasher, name);
        let found = self.places.binary_search_by(|&(known, place)| {
            known.cmp(&hash).then_with(|| name_of(place).cmp(name))
        });
        found.ok().map(|index| self.places[index].1)
    }
}

/// The hash under which a name is found.
pub fn hash_of_name(hasher: &RandomState, name: &str) -> u32 {
    hasher.hash_one(name) as u32
}

/// A name as XLA keeps it (`NameUniquer::GetSanitizedName`).
pub fn sanitized(name: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let bytes = name.as_bytes();
    let is_reserved = name.starts_with("__") && !name.starts_with("__xla_");
    let is_type = PrimitiveType::is_name(name) && name != "tuple";
    let is_fine = bytes.first().is_none_or(|&byte| is_start(byte))
        && bytes.iter().all(|&byte| is_allowed(byte))
        && !is_reserved
        && !is_type;
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
