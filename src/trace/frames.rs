//! Stack frames of the page: long names and HLO texts, which XProf keeps in its table of names under
//! a mark and numbers in the order of their hashes.

use super::hash::std_hash;
use super::source;
use super::source::PlaneFacts;
use super::write::WrittenFrames;
use crate::timeline::{EventView, PlaneView, StatView, Timeline};
use crate::xplane::StatValue;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// What marks a name as a stack frame.
const MARK: &str = "@@";

/// Texts of arguments up to this length are not interned.
const LONGEST_INLINE_TEXT: usize = 16;

/// Names up to this length are not interned.
const LONGEST_INLINE_NAME: usize = 32;

/// Long names are cut to this many bytes.
const LONGEST_LONG_NAME: usize = 10_000;

/// The stack frames of one host's trace.
#[derive(Debug, Default)]
pub struct Frames {
    /// Key and text without the mark, sorted by key.
    entries: Vec<(u64, Text)>,
    /// As they stand in an answer, once one had them all.
    pub(super) written: OnceLock<Arc<WrittenFrames>>,
}

#[derive(Debug)]
enum Text {
    /// The long name of an event metadata.
    LongName {
        plane: u32,
        metadata: u32,
    },
    Other(Box<[u8]>),
}

/// The key of the stack frame that an argument stands for, if it stands for one.
pub fn frame_of_argument(name: &str, value: &[u8]) -> Option<(u64, Box<[u8]>)> {
    if value.len() <= LONGEST_INLINE_TEXT {
        return None;
    }
    if name == "long_name" || name == "hlo_text" {
        let marked = [MARK.as_bytes(), value].concat();
        Some((std_hash(&marked), value.into()))
    } else {
        value.strip_prefix(MARK.as_bytes()).map(|text| (std_hash(value), text.into()))
    }
}

/// The argument `long_name` of an event whose metadata has a display name.
pub fn long_name(name: &str) -> Cow<'_, [u8]> {
    if name.len() > LONGEST_LONG_NAME {
        let cut = &name.as_bytes()[..LONGEST_LONG_NAME];
        Cow::Owned([cut, b"...<truncated>"].concat())
    } else {
        Cow::Borrowed(name.as_bytes())
    }
}

/// Whether the mark is anywhere in the profile.
pub fn has_marks(timeline: &Timeline) -> bool {
    /// Bytes that one task looks at.
    const PART: usize = 1 << 22;
    let file = timeline.space().file();
    let is_in_part = |part: usize| {
        let end = file.len().min((part + 1) * PART + MARK.len() - 1);
        memchr::memmem::find(&file[part * PART..end], MARK.as_bytes()).is_some()
    };
    (0..file.len().div_ceil(PART)).into_par_iter().any(is_in_part)
}

/// The stats of a plane that are stack frames without a mark, by metadata id.
pub fn own_stats(plane: PlaneView<'_>) -> Vec<i64> {
    let file = plane.file();
    let stats = file.stat_metadata().iter();
    let frames = stats.filter(|stat| matches!(stat.name(), "hlo_text" | "long_name"));
    frames.map(|stat| stat.key()).collect()
}

/// The stack frames in the stats of one event.
pub fn of_event(event: &EventView<'_>, plane: &PlaneFacts, found: &mut HashMap<u64, Box<[u8]>>) {
    of_stats(event.stats(), found);
    of_name(plane.shown_name(event), found);
}

fn of_stats<'a>(stats: impl Iterator<Item = StatView<'a>>, found: &mut HashMap<u64, Box<[u8]>>) {
    for stat in stats {
        if let StatValue::Str(text) = stat.value
            && !source::is_internal_stat(stat.stat_type)
            && let Some((key, text)) = frame_of_argument(stat.name, text.as_bytes())
        {
            found.insert(key, text);
        }
    }
}

fn of_name(name: &str, found: &mut HashMap<u64, Box<[u8]>>) {
    if name.len() > LONGEST_INLINE_NAME
        && let Some(text) = name.strip_prefix(MARK)
    {
        found.insert(std_hash(name.as_bytes()), text.as_bytes().into());
    }
}

impl Frames {
    /// The frames of the event metadata that is in use, by plane, and those found in events.
    pub fn collect(
        timeline: &Timeline,
        used: HashMap<u32, Vec<u32>>,
        mut found: HashMap<u64, Box<[u8]>>,
    ) -> Self {
        let mut entries = Vec::new();
        for (plane_index, mut metadata) in used {
            let plane = timeline.plane(plane_index as usize);
            metadata.sort_unstable();
            metadata.dedup();
            for index in metadata {
                let view = plane.event_metadata_at(index);
                if view.display_name().is_empty() {
                    of_name(view.name(), &mut found);
                } else {
                    let text = long_name(view.name());
                    if text.len() > LONGEST_INLINE_TEXT {
                        let key = std_hash(&[MARK.as_bytes(), &text].concat());
                        entries.push((key, Text::LongName { plane: plane_index, metadata: index }));
                    }
                    of_name(view.display_name(), &mut found);
                }
                of_stats(view.stats(), &mut found);
            }
        }
        entries.extend(found.into_iter().map(|(key, text)| (key, Text::Other(text))));
        entries.sort_by_key(|&(key, _)| key);
        entries.dedup_by_key(|&mut (key, _)| key);
        Self { entries, written: OnceLock::new() }
    }

    /// Keys and texts in the order of keys.
    pub fn iter<'a>(
        &'a self,
        timeline: &'a Timeline,
    ) -> impl Iterator<Item = (u64, Cow<'a, [u8]>)> {
        self.entries.iter().map(move |(key, text)| {
            let text = match text {
                Text::LongName { plane, metadata } => {
                    let plane = timeline.plane(*plane as usize);
                    long_name(plane.event_metadata_at(*metadata).name())
                }
                Text::Other(text) => Cow::Borrowed(&**text),
            };
            (*key, text)
        })
    }
}
