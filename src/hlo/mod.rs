//! HLO modules: found in `/host:metadata` and in `.hlo_proto.pb` files.
