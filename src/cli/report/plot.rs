//! The report's plots: SVG of fixed size that the page scales.

use crate::render::html::Html;
use crate::render::people::{GIGAFLOPS, MICROSECONDS, Units, quantity, short, unit};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;

/// A range of values along one side.
#[derive(Debug, Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// Where `low` and `high` are drawn.
    pixels: (f64, f64),
}

impl Axis {
    /// From zero to the largest value.
    fn linear(high: f64, pixels: (f64, f64)) -> Self {
        Self { low: 0.0, high: if high > 0.0 { high } else { 1.0 }, is_log: false, pixels }
    }

    /// Whole decades around positive values.
    fn log(values: &[f64], pixels: (f64, f64)) -> Self {
        let low = values.iter().copied().fold(f64::MAX, f64::min).log10().floor();
        let high = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max).log10().ceil();
        Self { low, high: high.max(low + 1.0), is_log: true, pixels }
    }

    fn pixel(self, value: f64) -> f64 {
        let value = if self.is_log { value.log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Round values on it, about five.
    fn ticks(self) -> Vec<f64> {
        let span = self.high - self.low;
        if self.is_log {
            let every = (span / 8.0).ceil().max(1.0);
            let count = (span / every).floor() as usize;
            return (0..=count).map(|tick| 10_f64.powf(self.low + tick as f64 * every)).collect();
        }
        let size = 10_f64.powf((span / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| span / (step * size) <= 6.0);
        let step = step.unwrap_or(10.0) * size;
        (0..=(span / step).floor() as usize).map(|tick| tick as f64 * step).collect()
    }
}

fn pixels(value: f64) -> String {
    format!("{value:.1}")
}

/// A plot in the making.
struct Plot<'a> {
    html: &'a mut Html,
    x: Axis,
    y: Axis,
}

const X_PIXELS: (f64, f64) = (LEFT, WIDTH - RIGHT);
const Y_PIXELS: (f64, f64) = (HEIGHT - BOTTOM, TOP);

impl<'a> Plot<'a> {
    /// Begins with the vertical axis.
    fn new(
        html: &'a mut Html,
        label: &str,
        x: Axis,
        y: Axis,
        unit: &dyn Fn(f64) -> String,
    ) -> Self {
        let view = format!("0 0 {WIDTH} {HEIGHT}");
        html.raw("<figure>");
        html.open("svg", &[("viewBox", &view), ("role", "img"), ("aria-label", label)]);
        let mut plot = Self { html, x, y };
        for tick in y.ticks() {
            let at = y.pixel(tick);
            plot.line((X_PIXELS.0, at), (X_PIXELS.1, at), "axis");
            plot.label(LEFT - 6.0, at + 4.0, "end", &unit(tick));
        }
        plot
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let path = format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
        self.html.open("path", &[("d", &path), ("class", class)]).close("path");
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let at = [("x", &*pixels(x)), ("y", &pixels(y)), ("text-anchor", anchor)];
        self.html.element("text", &at, text);
    }

    /// A label below the horizontal axis.
    fn below(&mut self, x: f64, anchor: &str, text: &str) {
        self.label(x, HEIGHT - BOTTOM + 16.0, anchor, text);
    }

    fn x_ticks(&mut self, unit: &dyn Fn(f64) -> String) {
        let ticks = self.x.ticks();
        let last = ticks.len().saturating_sub(1);
        for (index, &tick) in ticks.iter().enumerate() {
            let at = self.x.pixel(tick);
            let anchor = if index == last && index > 0 { "end" } else { "middle" };
            self.below(at, anchor, &unit(tick));
        }
    }

    /// A line through points.
    fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::new();
        for &(x, y) in points {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", self.x.pixel(x), self.y.pixel(y));
        }
        self.html.open("path", &[("d", &path), ("class", class)]).close("path");
    }

    fn finish(self, caption: &str) {
        self.html.raw("</svg>").element("figcaption", &[], caption).raw("</figure>");
    }
}

/// A column of a plot: what it is, and the sizes of its parts.
pub struct Column {
    /// Below the axis.
    pub label: String,
    /// Shown when it is pointed at.
    pub title: String,
    /// From the bottom up.
    pub parts: Vec<f64>,
}

const CLASSES: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];

/// Columns of parts on top of one another, at most five of them.
pub fn columns(html: &mut Html, columns: &[Column], parts: &[&str], unit: &str, caption: &str) {
    html.raw("<p class=key>");
    for (part, class) in parts.iter().zip(CLASSES) {
        html.raw("<span>").open("i", &[("class", class)]).close("i").text(part).raw("</span>");
    }
    html.raw("</p>");
    let sum = |column: &Column| column.parts.iter().sum::<f64>();
    let y = Axis::linear(columns.iter().map(sum).fold(0.0, f64::max), Y_PIXELS);
    let x = Axis::linear(columns.len() as f64, X_PIXELS);
    let mut plot = Plot::new(html, caption, x, y, &|value| format!("{} {unit}", short(value)));
    let every = columns.len().div_ceil(12);
    for (index, column) in columns.iter().enumerate() {
        let (from, to) = (x.pixel(index as f64), x.pixel(index as f64 + 1.0));
        let width = ((to - from) * 0.86).clamp(0.5, 60.0);
        let left = f64::midpoint(from, to) - width / 2.0;
        plot.html.raw("<g>").element("title", &[], &column.title);
        let mut below = 0.0;
        for (size, class) in column.parts.iter().zip(CLASSES) {
            let (bottom, top) = (y.pixel(below), y.pixel(below + size));
            below += size;
            if bottom - top > 0.0 {
                let (x, y) = (pixels(left), pixels(top));
                let (width, height) = (pixels(width), format!("{:.2}", bottom - top));
                let rect = [
                    ("class", class),
                    ("x", &x),
                    ("y", &y),
                    ("width", &width),
                    ("height", &height),
                ];
                plot.html.open("rect", &rect).close("rect");
            }
        }
        plot.html.raw("</g>");
        if index % every == 0 {
            plot.below(f64::midpoint(from, to), "middle", &column.label);
        }
    }
    plot.finish(caption);
}

/// A line over time; times from zero on, in microseconds.
pub fn over_time(html: &mut Html, points: &[(f64, f64)], units: Units, caption: &str) {
    let largest = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let (width, height) = (largest(|point| point.0), largest(|point| point.1));
    // Ticks are round in the units that are shown.
    let ((time, time_name), (size, size_name)) = (unit(width, MICROSECONDS), unit(height, units));
    let (x, y) = (Axis::linear(width / time, X_PIXELS), Axis::linear(height / size, Y_PIXELS));
    let mut plot = Plot::new(html, caption, x, y, &|value| format!("{} {size_name}", short(value)));
    plot.x_ticks(&|value| format!("{} {time_name}", short(value)));
    let points: Vec<_> = points.iter().map(|(us, value)| (us / time, value / size)).collect();
    plot.path(&points, "l");
    plot.finish(caption);
}

/// A point of a roofline plot.
pub struct Point {
    /// FLOP per byte.
    pub intensity: f64,
    /// GFLOP/s.
    pub rate: f64,
    /// Share of all time.
    pub share: f64,
    /// Shown when it is pointed at.
    pub title: String,
}

/// Operations below the roof that memory (GFLOP/s for one FLOP per byte) and compute (GFLOP/s) make.
pub fn roofline(html: &mut Html, points: &[Point], slope: f64, peak: f64, caption: &str) {
    let ridge = peak / slope;
    let (mut intensities, mut rates) = (vec![ridge / 10.0, ridge * 10.0], vec![peak, peak / 1e3]);
    intensities.extend(points.iter().map(|point| point.intensity));
    rates.extend(points.iter().map(|point| point.rate));
    let (x, y) = (Axis::log(&intensities, X_PIXELS), Axis::log(&rates, Y_PIXELS));
    let mut plot = Plot::new(html, caption, x, y, &|value| quantity(value, GIGAFLOPS));
    plot.x_ticks(&|value| format!("{} FLOP/B", short(value)));
    let (left, right) = (10_f64.powf(x.low), 10_f64.powf(x.high));
    // Where the slope leaves the plot at the bottom or at the left side.
    let start = left.max(10_f64.powf(y.low) / slope);
    plot.path(&[(start, start * slope), (ridge, peak), (right, peak)], "roof");
    for point in points {
        let at = [
            ("class", "dot"),
            ("cx", &*pixels(x.pixel(point.intensity))),
            ("cy", &pixels(y.pixel(point.rate))),
            ("r", &pixels(2.5 + 14.0 * point.share.clamp(0.0, 1.0).sqrt())),
        ];
        plot.html.open("circle", &at).element("title", &[], &point.title).close("circle");
    }
    plot.finish(caption);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks() {
        let ticks = Axis::linear(7.6, (0.0, 1.0)).ticks();
        assert_eq!(ticks, [0.0, 2.0, 4.0, 6.0]);
        let axis = Axis::log(&[0.5, 300.0], (0.0, 1.0));
        assert_eq!((axis.low, axis.high), (-1.0, 3.0));
        assert_eq!(axis.ticks().len(), 5);
        assert_eq!(axis.pixel(0.1), 0.0);
        assert_eq!(Axis::linear(0.0, (0.0, 1.0)).ticks().len(), 6);
    }

    #[test]
    fn any_number_can_be_drawn() {
        let mut html = Html::default();
        let column =
            |size| Column { label: "1".into(), title: "<x>".into(), parts: vec![size, 0.0] };
        columns(&mut html, &[column(1e-300), column(1e300)], &["a"], "ms", "steps");
        over_time(&mut html, &[(0.0, 0.0)], crate::render::people::BYTES, "memory");
        let point = |intensity, rate| Point { intensity, rate, share: 2.0, title: "op".into() };
        roofline(&mut html, &[point(1e-9, 1e-9), point(1e9, 1e9)], 1638.0, 918_000.0, "roofline");
        let text = html.finish();
        assert!(!text.contains("NaN") && !text.contains("inf") && text.contains("&lt;x&gt;"));
    }
}
