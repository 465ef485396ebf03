//! Texts by their places, which others refer to; each once, in the order in which it is met.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Names {
    texts: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    /// Place of a text, which is added where it is new.
    pub fn place_of(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        self.places.insert(text.to_owned(), self.texts.len());
        self.texts.push(text.to_owned());
        self.texts.len() - 1
    }

    /// The texts in the order of their places.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The same, taken out.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
