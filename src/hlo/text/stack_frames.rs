//! The tables of source places before the text of a module (`PrintStackFrameIndex`).
//!
//! XLA keeps what the instructions refer to, in the order in which it meets it, and names each
//! text and each place once; so the numbers in the text are not those of the file.

use super::escape::write_quoted;
use crate::hlo::module::{FileLocation, Module, StackFrameIndex};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;

/// The frames that the text of a module refers to.
#[derive(Debug)]
pub struct FrameNumbers {
    /// Numbers in the text by those in the file; none for frames of stacks that XLA forgets.
    numbers: HashMap<i32, Option<i32>, RandomState>,
    /// Places of the names in the file.
    files: Vec<i32>,
    functions: Vec<i32>,
    locations: Vec<FileLocation>,
    /// Location and parent, both as the text numbers them.
    frames: Vec<(i32, i32)>,
}

/// Things, each with the number at which it was first met.
struct Numbered<K, V> {
    numbers: HashMap<K, i32, RandomState>,
    items: Vec<V>,
}

impl<K: Eq + Hash, V> Numbered<K, V> {
    fn new() -> Self {
        Self { numbers: HashMap::default(), items: Vec::new() }
    }

    fn number(&mut self, key: K, item: V) -> i32 {
        let next = self.items.len() as i32 + 1;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.items.push(item);
        }
        number
    }
}

impl FrameNumbers {
    /// The frames of all instructions, in the order of the file, outer ones first.
    pub fn of(module: &Module<'_>) -> Self {
        let index = module.stack_frame_index();
        let mut numbers: HashMap<i32, Option<i32>, RandomState> = HashMap::default();
        let (mut files, mut functions) = (Numbered::new(), Numbered::new());
        let (mut locations, mut frames) = (Numbered::new(), Numbered::new());
        let name = |names: &[&'_ str], id: i32| names[id as usize - 1].to_owned();
        for instruction in module.instructions() {
            let id = instruction.metadata().stack_frame_id();
            // From the innermost frame out to one whose number is known.
            let (mut new, mut at) = (Vec::new(), id);
            let mut number = loop {
                if at == 0 {
                    break Some(0);
                }
                if let Some(&known) = numbers.get(&at) {
                    break known;
                }
                let frame = index.frame(at).filter(|_| new.len() < index.frames.len());
                let Some((place, parent)) = frame else { break None };
                new.push((at, place));
                at = parent;
            };
            for (id, place) in new.into_iter().rev() {
                number = number.map(|parent| {
                    // What is there as a whole refers to names that are there.
                    let location = index.locations[place];
                    let file = name(&index.files, location.file);
                    let function = name(&index.functions, location.function);
                    let location = FileLocation {
                        file: files.number(file, location.file),
                        function: functions.number(function, location.function),
                        ..location
                    };
                    let frame = (locations.number(location, location), parent);
                    frames.number(frame, frame)
                });
                numbers.insert(id, number);
            }
        }
        Self {
            numbers,
            files: files.items,
            functions: functions.items,
            locations: locations.items,
            frames: frames.items,
        }
    }

    /// The number in the text for one in the file; 0 where there is no such frame.
    pub fn number(&self, id: i32) -> i32 {
        self.numbers.get(&id).copied().flatten().unwrap_or(0)
    }

    /// Writes the four tables, if there are files. Numbers of rows start at 1.
    pub fn write(&self, index: &StackFrameIndex<'_>, out: &mut String) {
        if self.files.is_empty() {
            return;
        }
        for (title, ids, names) in [
            ("\n\nFileNames\n", &self.files, &index.files),
            ("\nFunctionNames\n", &self.functions, &index.functions),
        ] {
            out.push_str(title);
            for (row, &id) in (1..).zip(ids) {
                let _ = write!(out, "{row} ");
                write_quoted(names[id as usize - 1].as_bytes(), out);
                out.push('\n');
            }
        }
        out.push_str("\nFileLocations\n");
        for (row, location) in (1..).zip(&self.locations) {
            let FileLocation { file, function, line, end_line, column, end_column } = location;
            let _ = writeln!(
                out,
                "{row} {{file_name_id={file} function_name_id={function} line={line} \
                 end_line={end_line} column={column} end_column={end_column}}}"
            );
        }
        out.push_str("\nStackFrames\n");
        for (row, (location, parent)) in (1..).zip(&self.frames) {
            let parent = parent + 1;
            let _ = writeln!(out, "{row} {{file_location_id={location} parent_frame_id={parent}}}");
        }
    }
}
