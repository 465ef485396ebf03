//! The HTTP server: protocol, worker pool, routes, embedded interface, answer cache.
