//! Where instructions come from in the source (`OpMetadata`, `StackFrameIndexProto`).

use crate::hlo::fields::Fields;

/// Where an instruction comes from (`OpMetadata`).
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a>(pub Fields<'a>);

impl<'a> Metadata<'a> {
    /// Type of the framework op.
    pub fn op_type(self) -> &'a str {
        self.0.text(1)
    }

    /// Name of the framework op.
    pub fn op_name(self) -> &'a str {
        self.0.text(2)
    }

    /// Source file.
    pub fn source_file(self) -> &'a str {
        self.0.text(3)
    }

    /// Line in the source file.
    pub fn source_line(self) -> i32 {
        self.0.int(4) as i32
    }

    /// Name that equal instructions share.
    pub fn deduplicated_name(self) -> &'a str {
        self.0.text(12)
    }

    /// The innermost frame of the stack; 0 for none.
    pub fn stack_frame_id(self) -> i32 {
        self.0.int(15) as i32
    }
}

/// Where an instruction is in the source (`OpSourceInfo`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionSource {
    /// File.
    pub file: String,
    /// Line; -1 where it is not known.
    pub line: i32,
    /// The frames from the innermost on, one a line: `file:line:column`.
    pub stack_frame: String,
}

impl InstructionSource {
    /// As the metadata says, else as the innermost of the frames does (`GetSourceInfo`).
    pub fn of(metadata: Metadata<'_>, stack_frame: String) -> Self {
        if !metadata.source_file().is_empty() {
            let (file, line) = (metadata.source_file().to_owned(), metadata.source_line());
            return Self { file, line, stack_frame };
        }
        let mut parts = stack_frame.split('\n').next().unwrap_or("").split(':');
        match (parts.next(), parts.next()) {
            (Some(file), Some(line)) => {
                Self { file: file.to_owned(), line: line.trim().parse().unwrap_or(-1), stack_frame }
            }
            _ => Self { line: -1, ..Self::default() },
        }
    }
}

/// The frames that instructions refer to (`StackFrameIndexProto`). Numbers of places start at 1;
/// 0 is none.
#[derive(Debug, Default)]
pub struct StackFrameIndex<'a> {
    /// Names of files.
    pub files: Vec<&'a str>,
    /// Names of functions.
    pub functions: Vec<&'a str>,
    /// Places in files.
    pub locations: Vec<FileLocation>,
    /// Location and parent of each frame.
    pub frames: Vec<(i32, i32)>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileLocation {
    /// Number of the file's name.
    pub file: i32,
    /// Number of the function's name.
    pub function: i32,
    /// First line.
    pub line: i32,
    /// Last line.
    pub end_line: i32,
    /// First column.
    pub column: i32,
    /// Last column.
    pub end_column: i32,
}

/// A frame of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Name of the function.
    pub function: &'a str,
    /// Line in the file.
    pub line: i32,
    /// Column in the line; 0 where it is not known.
    pub column: i32,
}

impl<'a> StackFrameIndex<'a> {
    /// Reads a `StackFrameIndexProto`.
    pub fn read(index: Fields<'a>) -> Self {
        let location = |location: Fields<'_>| {
            let int = |field| location.int(field) as i32;
            FileLocation {
                file: int(1),
                function: int(2),
                line: int(3),
                end_line: int(5),
                column: int(4),
                end_column: int(6),
            }
        };
        let frame = |frame: Fields<'_>| (frame.int(1) as i32, frame.int(2) as i32);
        Self {
            files: index.texts(1).collect(),
            functions: index.texts(2).collect(),
            locations: index.messages(3).map(location).collect(),
            frames: index.messages(4).map(frame).collect(),
        }
    }

    /// The frames of a stack from the innermost on; none where one of them is not there as a
    /// whole, or is in the stack twice, because XLA forgets such a stack.
    pub fn stack(&self, innermost: i32) -> Vec<Frame<'a>> {
        let Some(places) = self.places(innermost) else { return Vec::new() };
        let frames = places.into_iter().map_while(|(place, _)| {
            let location = at(&self.locations, self.frames.get(place)?.0)?;
            let name = |names, id| at(names, id).copied().unwrap_or_default();
            let frame = Frame {
                file: name(&self.files, location.file),
                function: name(&self.functions, location.function),
                line: location.line,
                column: location.column,
            };
            let is_empty = frame.file.is_empty() && frame.line == 0 && frame.column == 0;
            (!is_empty).then_some(frame)
        });
        frames.collect()
    }

    /// Places of a stack's frames and of their locations, counted from 0, from the innermost on;
    /// `None` where one is not there as a whole, or is there twice.
    pub fn places(&self, innermost: i32) -> Option<Vec<(usize, usize)>> {
        let (mut places, mut id) = (Vec::new(), innermost);
        while id != 0 {
            let (location, parent) = self.frame(id)?;
            if places.len() == self.frames.len() {
                return None;
            }
            places.push((id as usize - 1, location));
            id = parent;
        }
        Some(places)
    }

    /// The place of a frame's location, counted from 0, and the frame around it; `None` where it is
    /// not there as a whole.
    pub fn frame(&self, id: i32) -> Option<(usize, i32)> {
        let &(location, parent) = at(&self.frames, id)?;
        let FileLocation { file, function, .. } = *at(&self.locations, location)?;
        at(&self.files, file)?;
        at(&self.functions, function)?;
        Some((location as usize - 1, parent))
    }
}

/// What a number that starts at 1 refers to.
pub fn at<T>(items: &[T], number: i32) -> Option<&T> {
    items.get(usize::try_from(number).ok()?.checked_sub(1)?)
}
