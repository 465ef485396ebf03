//! How values are spread over devices (`HloSharding::Print`), and groups of devices.

use super::annotations::write_metadata;
use crate::hlo::fields::Fields;
use crate::hlo::module::Metadata;
use crate::hlo::shape::{join_ints, push_int, write_separator};

/// Numbers of `OpSharding.Type`.
mod kind {
    pub const REPLICATED: i64 = 0;
    pub const MAXIMAL: i64 = 1;
    pub const TUPLE: i64 = 2;
    pub const MANUAL: i64 = 4;
    pub const UNKNOWN: i64 = 5;
    pub const UNREDUCED: i64 = 6;
}

/// How deep shardings may nest; tuples of tuples are flat in XLA.
const MAX_DEPTH: u32 = 4;

/// Writes an `OpSharding`, for example `{devices=[2,1]<=[2]}`.
pub fn write(sharding: Fields<'_>, with_metadata: bool, out: &mut String) {
    write_at(sharding, with_metadata, MAX_DEPTH, out);
}

fn write_at(sharding: Fields<'_>, with_metadata: bool, depth: u32, out: &mut String) {
    if let Some(named) = sharding.optional_message(14) {
        write_named(named, with_metadata, out);
        return;
    }
    out.push('{');
    if sharding.int(1) == kind::TUPLE {
        if depth > 0 {
            for (place, element) in sharding.messages(5).enumerate() {
                write_separator(place, out);
                write_at(element, with_metadata, depth - 1, out);
            }
        }
        out.push('}');
        return;
    }
    match sharding.int(1) {
        kind::REPLICATED => out.push_str("replicated"),
        kind::MANUAL => out.push_str("manual"),
        kind::UNKNOWN => out.push_str("unknown"),
        kind::UNREDUCED => out.push_str("unreduced"),
        kind::MAXIMAL => {
            out.push_str("maximal device=");
            push_int(sharding.ints(4).first().copied().unwrap_or(0), out);
        }
        _ => write_tiled(sharding, out),
    }
    if sharding.bool(11) {
        out.push_str(if sharding.int(13) == 0 { " shard_as " } else { " shard_like " });
        push_int(sharding.int(12), out);
    }
    if with_metadata {
        write_all_metadata(sharding, out);
    }
    out.push('}');
}

/// The metadata of a sharding keeps the numbers of frames that it was read with.
fn write_own_metadata(metadata: Fields<'_>, out: &mut String) {
    let metadata = Metadata(metadata);
    write_metadata(metadata, metadata.stack_frame_id(), out);
}

fn write_all_metadata(sharding: Fields<'_>, out: &mut String) {
    let all: Vec<Fields<'_>> = sharding.messages(7).collect();
    match all.as_slice() {
        [] => {}
        [one] => {
            out.push_str(" metadata={");
            write_own_metadata(*one, out);
            out.push('}');
        }
        several => {
            out.push_str(" metadata={");
            for (place, metadata) in several.iter().enumerate() {
                out.push_str(if place > 0 { ", {" } else { "{" });
                write_own_metadata(*metadata, out);
                out.push('}');
            }
            out.push('}');
        }
    }
}

fn write_tiled(sharding: Fields<'_>, out: &mut String) {
    out.push_str("devices=[");
    join_ints(&sharding.ints(3), ",", out);
    out.push(']');
    let reshape = sharding.ints(9);
    if reshape.is_empty() {
        join_ints(&sharding.ints(4), ",", out);
    } else {
        write_iota(&reshape, &sharding.ints(10), out);
    }
    let last = sharding.ints(8);
    if sharding.bool(6) {
        out.push_str(" last_tile_dim_replicate");
    }
    if !last.is_empty() {
        out.push_str(" last_tile_dims={");
        for (place, &kind) in last.iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            out.push_str(match kind {
                kind::REPLICATED => "replicated",
                kind::MANUAL => "manual",
                kind::UNREDUCED => "unreduced",
                kind::UNKNOWN => "unknown",
                _ => "",
            });
        }
        out.push('}');
    }
}

/// Writes `<=[8]`, `<=[2,4]T(1,0)`.
fn write_iota(reshape: &[i64], transpose: &[i64], out: &mut String) {
    out.push_str("<=[");
    join_ints(reshape, ",", out);
    out.push(']');
    if reshape.len() > 1 {
        out.push_str("T(");
        join_ints(transpose, ",", out);
        out.push(')');
    }
}

/// Writes groups of devices that are numbered in a regular way, for example `[2,4]<=[8]`.
pub fn write_iota_groups(groups: Fields<'_>, out: &mut String) {
    out.push('[');
    join_ints(&[groups.int(1), groups.int(2)], ",", out);
    out.push(']');
    write_iota(&groups.ints(3), &groups.ints(4), out);
}

/// Writes groups of devices one by one, for example `{{0,1},{2,3}}`.
pub fn write_groups<'a>(groups: impl Iterator<Item = Fields<'a>>, out: &mut String) {
    out.push('{');
    for (place, group) in groups.enumerate() {
        out.push_str(if place > 0 { ",{" } else { "{" });
        join_ints(&group.ints(1), ",", out);
        out.push('}');
    }
    out.push('}');
}

/// Writes groups of devices by the axes of a mesh, for example `mesh['a'=2,'b'=4] {'b'}`.
pub fn write_mesh_groups(groups: Fields<'_>, out: &mut String) {
    let mesh = groups.message(1);
    write_mesh(mesh, out);
    out.push_str(" {");
    write_axes(groups.messages(2), mesh, ",", out);
    out.push('}');
}

fn write_mesh(mesh: Fields<'_>, out: &mut String) {
    let devices = mesh.ints(2);
    if !mesh.has(1) && !devices.is_empty() {
        out.push_str("maximal_mesh[device_id=");
        push_int(devices[0], out);
        out.push(']');
        return;
    }
    out.push_str("mesh[");
    for (place, axis) in mesh.messages(1).enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_axis_name(axis.text(1), out);
        out.push('=');
        push_int(axis.int(2), out);
    }
    out.push(']');
    if !devices.is_empty() {
        out.push_str(", device_ids=([");
        join_ints(&devices, ",", out);
        out.push_str("])");
    }
}

fn write_axis_name(name: &str, out: &mut String) {
    out.push('\'');
    out.push_str(name);
    out.push('\'');
}

fn write_axes<'a>(
    axes: impl Iterator<Item = Fields<'a>>,
    mesh: Fields<'_>,
    separator: &str,
    out: &mut String,
) {
    for (place, axis) in axes.enumerate() {
        if place > 0 {
            out.push_str(separator);
        }
        let of_mesh = usize::try_from(axis.int(1)).ok().and_then(|axis| mesh.messages(1).nth(axis));
        write_axis_name(of_mesh.unwrap_or_default().text(1), out);
        if let Some(part) = axis.optional_message(2) {
            out.push_str(":(");
            push_int(part.int(1), out);
            out.push(')');
            push_int(part.int(2), out);
        }
    }
}

/// Writes a sharding by the axes of a mesh (`NamedSharding`).
fn write_named(named: Fields<'_>, with_metadata: bool, out: &mut String) {
    let mesh = named.message(2);
    out.push('{');
    write_mesh(mesh, out);
    let is_maximal = !mesh.has(1) && mesh.has(2);
    let is_sharded = named.messages(3).any(|dimension| dimension.has(1));
    let has_all = |field| mesh.has(1) && named.messages(field).count() == mesh.messages(1).count();
    if is_maximal {
    } else if has_all(5) {
        out.push_str(", unreduced");
    } else if has_all(7) {
        out.push_str(", manual");
    } else if !is_sharded && !named.has(4) && !named.has(5) && !named.has(7) {
        out.push_str(", replicated");
    } else {
        write_dimensions(named, mesh, out);
    }
    let metadata: Vec<Fields<'_>> = named.messages(6).collect();
    if with_metadata && !metadata.is_empty() {
        out.push_str(", metadata={");
        for (place, metadata) in metadata.into_iter().enumerate() {
            out.push_str(if place > 0 { ", {" } else { "{" });
            write_own_metadata(metadata, out);
            out.push('}');
        }
        out.push('}');
    }
    out.push('}');
}

fn write_dimensions(named: Fields<'_>, mesh: Fields<'_>, out: &mut String) {
    out.push_str(", [");
    for (place, dimension) in named.messages(3).enumerate() {
        out.push_str(if place > 0 { ", {" } else { "{" });
        write_axes(dimension.messages(1), mesh, ", ", out);
        if !dimension.bool(2) {
            out.push_str(if dimension.has(1) { ", ?" } else { "?" });
        }
        out.push('}');
    }
    out.push(']');
    for (name, field) in [("replicated", 4), ("unreduced", 5), ("manual", 7)] {
        if named.has(field) {
            out.push_str(", ");
            out.push_str(name);
            out.push_str("={");
            write_axes(named.messages(field), mesh, ", ", out);
            out.push('}');
        }
    }
}
