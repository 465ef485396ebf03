//! Any bytes as a profile: rejected with an error, or every view of it can be read to the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use xprof_rs::store::Bytes;
use xprof_rs::xplane::{NO_METADATA, Plane, Space, Stat, StatValue};

fuzz_target!(|bytes: &[u8]| {
    match Space::parse(Bytes::from_vec(bytes.to_vec())) {
        Ok(space) => read_all(&space),
        Err(error) => {
            black_box(error.to_string());
        }
    }
});

fn read_all(space: &Space) {
    let texts = space.hostnames().chain(space.errors()).chain(space.warnings());
    black_box(texts.map(str::len).sum::<usize>());
    for plane in space.planes() {
        black_box((plane.id(), plane.name()));
        read_stats(plane, plane.stats());
        for metadata in plane.event_metadata().iter(space) {
            black_box((metadata.key(), metadata.id(), metadata.name(), metadata.display_name()));
            black_box((metadata.metadata().len(), metadata.children().len()));
            read_stats(plane, metadata.stats());
        }
        for metadata in plane.stat_metadata().iter() {
            black_box((metadata.key(), metadata.id(), metadata.name(), metadata.stat_type()));
        }
        for line in plane.lines() {
            black_box((line.id(), line.display_id(), line.name(), line.display_name()));
            black_box((line.timestamp_ns(), line.duration_ps()));
            assert_eq!(line.events().count(), line.event_count());
            for (index, event) in line.events().enumerate() {
                black_box((event.offset_ps, event.duration_ps, event.occurrences()));
                let metadata = plane.event_metadata().get(space, event.metadata_id());
                black_box(metadata.map(|m| m.name()));
                assert_eq!(metadata.is_none(), event.metadata_index() == NO_METADATA);
                assert_eq!(line.event_metadata_indexes()[index], event.metadata_index());
                assert_eq!(line.times().duration_ps.get(index), event.duration_ps);
                read_stats(plane, event.stats());
            }
        }
    }
}

fn read_stats<'a>(plane: Plane<'a>, stats: impl Iterator<Item = Stat<'a>>) {
    for stat in stats {
        black_box(plane.stat_metadata().name(stat.metadata_id));
        match stat.value {
            StatValue::Str(text) => black_box(text.chars().count()),
            StatValue::Bytes(bytes) => black_box(bytes.len()),
            StatValue::Ref(id) => {
                black_box(plane.stat_metadata().name(id as i64).len())
            }
            StatValue::NotSet
            | StatValue::Double(_)
            | StatValue::Uint(_)
            | StatValue::Int(_) => 0,
        };
    }
}
