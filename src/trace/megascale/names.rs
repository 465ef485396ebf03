//! What the names of ops and the keys of action graphs say. XProf reads them with regular expressions,
//! which stand beside each function.

/// What comes before the number of a device in a graph key.
const DEVICE: &str = "device_";
const GRAPH: &str = "_gid_";

/// Splits decimal digits, at least one, off the start.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The digits and what follows them in `device_<digits>_gid_<rest>`.
fn device(text: &str) -> Option<(&str, &str)> {
    let (device, rest) = digits(text.strip_prefix(DEVICE)?)?;
    Some((device, rest.strip_prefix(GRAPH)?))
}

/// The first `device_<digits>_gid_<rest>` anywhere in a text that `read` takes.
fn first_device<'a, T>(text: &'a str, read: impl Fn(&'a str, &'a str) -> Option<T>) -> Option<T> {
    let starts = text.match_indices(DEVICE).map(|(start, _)| &text[start..]);
    starts.filter_map(device).find_map(|(device, rest)| read(device, rest))
}

fn is_graph_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Device and collective of the name of an action graph:
/// `device_(\d+)_gid_([a-zA-Z0-9_\.-]+_\d+)`.
pub(super) fn graph_name(name: &str) -> Option<(&str, &str)> {
    let (device, rest) = device(name)?;
    let before = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = before.len() < rest.len()
        && before.len() > 1
        && before.ends_with('_')
        && before.bytes().all(is_graph_character);
    is_name.then_some((device, rest))
}

/// The collective of the first such name anywhere in a graph key.
pub(super) fn collective_in(graph_key: &str) -> Option<&str> {
    first_device(graph_key, |_, rest| {
        let end = rest.bytes().position(|byte| !is_graph_character(byte)).unwrap_or(rest.len());
        let run = &rest[..end];
        let number = run.rmatch_indices('_').find_map(|(place, _)| {
            let (number, _) = digits(&run[place + 1..])?;
            (place > 0).then_some(place + 1 + number.len())
        })?;
        Some(&run[..number])
    })
}

/// The raw number of the device in a graph key: `device_(\d+)_gid_` anywhere.
pub(super) fn device_in(graph_key: &str) -> Option<i64> {
    first_device(graph_key, |device, _| Some(device))?.parse().ok()
}

/// What tracks of action graphs are sorted by:
/// `device_(\d+)_gid_([^\$]+)\$.*\^i(\d+).*`.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GraphKey<'a> {
    name: &'a str,
    device: i64,
    iteration: i64,
}

impl<'a> GraphKey<'a> {
    pub fn read(key: &'a str) -> Self {
        Self::try_read(key).unwrap_or_default()
    }

    fn try_read(key: &'a str) -> Option<Self> {
        let (device, rest) = device(key)?;
        let (name, rest) = rest.split_once('$').filter(|(name, _)| !name.is_empty())?;
        if rest.contains('\n') {
            return None;
        }
        let iteration = rest.rmatch_indices("^i").find_map(|(place, _)| digits(&rest[place + 2..]));
        let (iteration, _) = iteration?;
        let device = device.parse().ok()?;
        Some(Self { name, device, iteration: iteration.parse().unwrap_or(0) })
    }
}

/// The rendezvous of an op in its long name: `_xla_host_transfer_rendezvous="([^"]*)"`.
pub(super) fn rendezvous_in(long_name: &str) -> Option<&str> {
    let (_, rest) = long_name.split_once("_xla_host_transfer_rendezvous=\"")?;
    rest.split_once('"').map(|(name, _)| name)
}

/// The number of an op: `[a-zA-Z-]+\.(\d+)`, else 0.
pub(super) fn op_number(name: &str) -> i64 {
    let Some((word, number)) = name.split_once('.') else { return 0 };
    let is_word =
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let is_number = is_word && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { number.parse().unwrap_or(0) } else { 0 }
}

/// An op that sends to or receives from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferOp {
    Send,
    SendDone,
    Recv,
    RecvDone,
}

impl TransferOp {
    /// `send\.?(\d+)?` and so on.
    pub fn named(name: &str) -> Option<Self> {
        let (op, rest) = match name.get(..4)? {
            "send" => ([Self::Send, Self::SendDone], &name[4..]),
            "recv" => ([Self::Recv, Self::RecvDone], &name[4..]),
            _ => return None,
        };
        let (op, rest) = match rest.strip_prefix("-done") {
            Some(rest) => (op[1], rest),
            None => (op[0], rest),
        };
        let number = rest.strip_prefix('.').unwrap_or(rest);
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(op)
    }
}

/// Source slice, target slice and bytes of the chunks of a transfer:
/// `s(\d+)->(\d+)d\|\$c\d+=(\d+)` again and again, until a number is too large.
pub(super) fn chunks(buffer_sizes: &str) -> impl Iterator<Item = (i64, i64, i64)> + '_ {
    let mut rest = buffer_sizes;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find('s')?;
            rest = &rest[start + 1..];
            let Some(([source, target, bytes], after)) = chunk(rest) else { continue };
            rest = after;
            return Some((source.parse().ok()?, target.parse().ok()?, bytes.parse().ok()?));
        }
    })
    .fuse()
}

fn chunk(text: &str) -> Option<([&str; 3], &str)> {
    let (source, rest) = digits(text)?;
    let (target, rest) = digits(rest.strip_prefix("->")?)?;
    let (_, rest) = digits(rest.strip_prefix("d|$c")?)?;
    let (bytes, rest) = digits(rest.strip_prefix('=')?)?;
    Some(([source, target, bytes], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_named_by_device_and_collective() {
        assert_eq!(
            graph_name("device_200005_gid_all-reduce_12"),
            Some(("200005", "all-reduce_12"))
        );
        assert_eq!(graph_name("device_1_gid_a.b_c_3"), Some(("1", "a.b_c_3")));
        for name in
            ["device_1_gid_all-reduce", "device_1_gid__3", "device_1_gid_a_3$1", "device__gid_a_3"]
        {
            assert_eq!(graph_name(name), None, "{name}");
        }
        assert_eq!(collective_in("x device_1_gid_all-reduce_12$5^i0"), Some("all-reduce_12"));
        assert_eq!(collective_in("device_1_gid_a_1_b_2x_"), Some("a_1_b_2"));
        assert_eq!(collective_in("device_1_gid_a device_2_gid_b_3"), Some("b_3"));
        assert_eq!(device_in("device_x device_200005_gid_"), Some(200_005));
        assert_eq!(device_in("device_99999999999999999999_gid_a_1"), None);
    }

    #[test]
    fn tracks_are_sorted_by_name_device_and_iteration() {
        let key = |name, device, iteration| GraphKey { name, device, iteration };
        assert_eq!(GraphKey::read("device_2_gid_a_1$77^i4x"), key("a_1", 2, 4));
        assert_eq!(GraphKey::read("device_2_gid_a$^i1^i23^i"), key("a", 2, 23));
        for odd in ["device_2_gid_$^i1", "device_2_gid_a^i1", "device_2_gid_a$^i1\n", "a"] {
            assert_eq!(GraphKey::read(odd), GraphKey::default(), "{odd}");
        }
    }

    #[test]
    fn ops_tell_what_they_transfer() {
        use TransferOp::{Recv, RecvDone, Send, SendDone};
        let named = ["send", "send.12", "send3", "recv.", "recv-done.4", "send-done"];
        let ops = [Send, Send, Send, Recv, RecvDone, SendDone];
        assert_eq!(named.map(TransferOp::named), ops.map(Some));
        for other in ["sender", "send.1a", "sen", "recv-done..1", "résumé"] {
            assert_eq!(TransferOp::named(other), None, "{other}");
        }
        assert_eq!(["send.12", "send", "a.b.1", "send-done.3"].map(op_number), [12, 0, 0, 3]);
        let long_name =
            "%send, frontend_attributes={_xla_host_transfer_rendezvous=\"a_1\",b=\"c\"}";
        assert_eq!(rendezvous_in(long_name), Some("a_1"));
    }

    #[test]
    fn chunks_end_at_a_number_that_is_too_large() {
        let all = |text: &'static str| chunks(text).collect::<Vec<_>>();
        assert_eq!(all("s0->1d|$c0=512;ss1->0d|$c1=8"), [(0, 1, 512), (1, 0, 8)]);
        assert_eq!(all("s0->1d|$c0=99999999999999999999,s1->0d|$c1=8"), []);
        assert_eq!(all("4194304"), []);
    }
}
