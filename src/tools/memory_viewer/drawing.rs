//! The allocation timeline as a page: a graph in DOT, as XProf has it, and what draws it.
//!
//! XProf's page fetches graphviz from the internet. Every rectangle of the graph says where it is and
//! how large, so a few lines of script draw it here.

use super::colors::css_color;
use crate::hlo::memory::{Block, BlockKind, MemoryUsage};
use std::fmt::Write;

const POINTS_PER_INCH: f64 = 72.0;
/// Margin of a label, points.
const MARGIN: f64 = 0.02 * POINTS_PER_INCH;
/// Height of a line and mean width of a character, in font sizes.
const LINE_HEIGHT: f64 = 1.2;
const CHARACTER_WIDTH: f64 = 0.55;
/// Font size by height of the rectangle, and its bounds.
const FONT_SIZE: f64 = 0.6;
const MIN_FONT_SIZE: f64 = 8.0;
const MAX_FONT_SIZE: f64 = 14.0;
const ELLIPSIS: &str = "...";

const PAGE: &str = include_str!("page.html");
const EMPTY_PAGE: &str = include_str!("empty.html");

/// The most bytes of a graph: its drawing has 16 million points.
pub const MAX_BYTES: usize = 1 << 28;

/// The page of a memory space; `None` where it would be larger than [`MAX_BYTES`].
pub fn page(usage: &MemoryUsage<'_, '_>) -> Option<Vec<u8>> {
    let Some(dot) = dot(usage) else { return Some(EMPTY_PAGE.as_bytes().to_vec()) };
    if dot.len() > MAX_BYTES {
        return None;
    }
    let (before, after) = PAGE.split_once("{DOT}").unwrap_or((PAGE, ""));
    let mut page = String::with_capacity(PAGE.len() + dot.len());
    page.push_str(before);
    for character in dot.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            _ => page.push(character),
        }
    }
    page.push_str(after);
    Some(page.into_bytes())
}

/// The graph; `None` where nothing is allocated for a time.
fn dot(usage: &MemoryUsage<'_, '_>) -> Option<String> {
    let timeline = usage.timeline()?;
    let mut dot = format!(
        "graph G {{\n epsilon=0.5 \n inputscale={POINTS_PER_INCH} \n \
         node [shape=box,style=filled,fontname=\"Arial\",margin=\"0.02,0.02\"];\n  "
    );
    let mut is_first = true;
    for block in &timeline.blocks {
        if dot.len() > MAX_BYTES {
            break;
        }
        if block.rectangle.is_some() && !std::mem::take(&mut is_first) {
            dot.push('\n');
        }
        write_block(&mut dot, usage, block);
    }
    dot.push_str("\n}");
    Some(dot)
}

fn write_block(dot: &mut String, usage: &MemoryUsage<'_, '_>, block: &Block) {
    let Some(rectangle) = block.rectangle else { return };
    let buffers = usage.buffers;
    let (tooltip, color, name) = match block.kind {
        BlockKind::Allocation(place) => {
            let Some((allocation, _)) = buffers.allocations(usage.color).nth(place) else { return };
            let tooltip = format!(
                "buffer_allocation_id:{}\nsize:{}\nbuffer_counts:{}\n",
                allocation.index,
                block.size,
                allocation.assigned_count()
            );
            (tooltip, "#ffffffff".to_owned(), "")
        }
        BlockKind::Buffer(place) => {
            let buffer = buffers.at(place);
            let tooltip = format!(
                "buffer_id:{}\nhlo_op:{}\nshape:{}\nsize:{}\nunpadded_size:{}\noffset:{}\n\
                 span:({},{})",
                buffer.id,
                buffer.instruction.name(),
                buffers.shape_text(place),
                block.size,
                buffer.unpadded_size as u64,
                buffer.offset as u64,
                block.start,
                block.end
            );
            (tooltip, css_color(block.color.unwrap_or(0)), buffer.instruction.name())
        }
    };
    let (width, height) = (rectangle.width, rectangle.height);
    let font_size = (height * FONT_SIZE).clamp(MIN_FONT_SIZE, MAX_FONT_SIZE);
    let _ = write!(
        dot,
        "\"{}\" [tooltip=\"{tooltip}\", pos=\"{:.2},{:.2}!\", width=\"{:.4}\", height=\"{:.4}\", \
         fixedsize=true, color=\"{color}\", fontsize={font_size:.1}, label=\"{}\"];",
        rectangle.id,
        rectangle.x,
        rectangle.y,
        width / POINTS_PER_INCH,
        height / POINTS_PER_INCH,
        fitting_label(name, width, height, font_size)
    );
}

/// As much of a label as fits into a rectangle.
fn fitting_label(label: &str, width: f64, height: f64, font_size: f64) -> String {
    let (width, height) = (width - 2.0 * MARGIN, height - 2.0 * MARGIN);
    let character = CHARACTER_WIDTH * font_size;
    if height < LINE_HEIGHT * font_size || width < character {
        return String::new();
    }
    let most = (width / character) as usize;
    if label.len() <= most {
        return label.to_owned();
    }
    if most <= ELLIPSIS.len() {
        return String::new();
    }
    let end = label.floor_char_boundary(most - ELLIPSIS.len());
    format!("{}{ELLIPSIS}", &label[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_to_fit() {
        assert_eq!(fitting_label("fusion.123", 100.0, 20.0, 12.0), "fusion.123");
        assert_eq!(fitting_label("fusion.123456789", 70.0, 20.0, 12.0), "fusion....");
        assert_eq!(fitting_label("fusion.123", 25.0, 20.0, 12.0), "");
        assert_eq!(fitting_label("fusion.123", 100.0, 10.0, 12.0), "");
    }
}
