//! Numbers for people: few digits, units that fit.

/// A unit and how many of the smallest it is, the largest first.
pub type Units = &'static [(f64, &'static str)];

/// From microseconds.
pub const MICROSECONDS: Units = &[(6e7, "min"), (1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")];
/// From bytes.
pub const BYTES: Units = &[
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];
/// From GFLOP/s.
pub const GIGAFLOPS: Units =
    &[(1e6, "PFLOP/s"), (1e3, "TFLOP/s"), (1.0, "GFLOP/s"), (1e-3, "MFLOP/s")];

/// Four digits.
#[inline(never)]
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if magnitude != 0.0 && !(1e-4..1e9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = if magnitude == 0.0 { 0.0 } else { magnitude.log10().floor() };
    let decimals = (3.0 - digits).clamp(0.0, 7.0) as usize;
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The largest unit of which a number is at least one.
pub fn unit(value: f64, units: Units) -> (f64, &'static str) {
    let fits = units.iter().find(|(size, _)| value.abs() >= *size);
    *fits.or(units.last()).unwrap_or(&(1.0, ""))
}

/// A number in the unit that fits.
#[inline(never)]
pub fn quantity(value: f64, units: Units) -> String {
    if value == 0.0 || !value.is_finite() {
        return short(value);
    }
    let (size, name) = unit(value, units);
    format!("{} {name}", short(value / size))
}

/// A share as percent.
#[inline(never)]
pub fn percent(share: f64) -> String {
    format!("{} %", short((share * 1000.0).round() / 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (1234.56, "1235"),
            (12.3456, "12.35"),
            (0.000_123_4, "0.0001234"),
            (1e-7, "1.000e-7"),
            (2.5e12, "2.500e12"),
            (-3.25, "-3.25"),
            (f64::NAN, "–"),
            (100.0, "100"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(quantity(1_500.0, MICROSECONDS), "1.5 ms");
        assert_eq!(quantity(0.25, MICROSECONDS), "250 ns");
        assert_eq!(quantity(0.0, BYTES), "0");
        assert_eq!(percent(0.12345), "12.3 %");
    }
}
