//! Name look-ups of a static binary.
//!
//! A statically linked glibc loads the modules that the `hosts:` line of `/etc/nsswitch.conf` names, and with them the machine's own
//! libc. Where that has another version the process aborts, even for `localhost`. The two modules that are built in, hosts file
//! and DNS, are the ones that matter.

/// Confines look-ups to what is built into a static binary. To be called once, before any look-up; does nothing in a dynamic binary.
pub fn confine_lookups() {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_feature = "crt-static"))]
    built_in_modules_only();
}

// glibc offers this only to C.
#[allow(unsafe_code)]
#[cfg(all(target_os = "linux", target_env = "gnu", target_feature = "crt-static"))]
fn built_in_modules_only() {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        fn __nss_configure_lookup(database: *const c_char, line: *const c_char) -> c_int;
    }
    // SAFETY: both arguments are C strings that live as long as the process; glibc copies neither away from them nor writes to
    // them, and no other thread looks a name up yet. It fails only for an unknown database or a malformed line; these are neither.
    unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn localhost_is_still_found() {
        use std::net::ToSocketAddrs;

        super::confine_lookups();
        let mut found = ("localhost", 80).to_socket_addrs().unwrap_or_default();
        assert!(found.any(|address| address.ip().is_loopback()));
    }
}
