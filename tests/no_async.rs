//! xprof-rs is synchronous: no async runtime, nor a crate that brings one, may enter the dependency tree.

/// Crates whose presence would mean that an async runtime or a second TLS or event loop came in, perhaps through another crate.
const BANNED: [&str; 14] = [
    "tokio",
    "mio",
    "hyper",
    "h2",
    "async-std",
    "smol",
    "async-io",
    "async-executor",
    "futures-executor",
    "tower",
    "reqwest",
    "tonic",
    "actix-rt",
    "openssl-sys",
];

/// The package names in the text of a lock file.
fn packages(lock: &str) -> impl Iterator<Item = &str> {
    lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
}

#[test]
fn the_lock_file_names_no_async_runtime() {
    let lock = include_str!("../Cargo.lock");
    assert!(packages(lock).any(|name| name == "xprof-rs"), "the lock file was not understood");
    let found: Vec<_> = packages(lock).filter(|name| BANNED.contains(name)).collect();
    assert!(found.is_empty(), "banned packages in Cargo.lock: {found:?}");
}

#[test]
fn a_banned_package_would_be_seen() {
    let lock = "[[package]]\nname = \"mio\"\nversion = \"1.0.0\"\n";
    assert_eq!(packages(lock).filter(|name| BANNED.contains(name)).count(), 1);
}
