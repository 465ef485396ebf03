//! The shapes of instructions: few different ones, which many instructions share.

use crate::hlo::fields::Fields;
use crate::hlo::shape::Shape;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A shape, and its text once that was asked for.
#[derive(Debug)]
pub struct SharedShape {
    shape: Shape,
    text: OnceLock<Box<str>>,
}

impl SharedShape {
    /// The shape with layouts, as HLO text has it.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let mut text = String::new();
            self.shape.write(true, &mut text);
            text.into_boxed_str()
        })
    }
}

impl Deref for SharedShape {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.shape
    }
}

/// The shapes so far, each once, by their bytes.
#[derive(Debug, Default)]
pub struct Shapes<'a>(HashMap<&'a [u8], Arc<SharedShape>, RandomState>);

impl<'a> Shapes<'a> {
    /// The shape of a serialized `ShapeProto`; `None` where it is no shape that XLA accepts.
    pub fn read(&mut self, bytes: &'a [u8]) -> Option<Arc<SharedShape>> {
        if let Some(known) = self.0.get(bytes) {
            return Some(Arc::clone(known));
        }
        let shape = Shape::read(Fields::of_message(bytes))?;
        let shape = Arc::new(SharedShape { shape, text: OnceLock::new() });
        self.0.insert(bytes, Arc::clone(&shape));
        Some(shape)
    }
}
