//! Start of the server: the log directory, the address, one line that says where it is.

use super::{App, Config, pool};
use crate::store::threads;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;

/// The command line is wrong, or names a log directory that is not there.
pub const EXIT_USAGE: u8 = 2;

/// The address cannot be listened on. XProf's code for a busy port.
pub const EXIT_ADDRESS: u8 = 3;

/// Serves until SIGTERM or SIGINT. Each failure is one plain line on stderr: 2 without the log
/// directory, 3 when the address is taken or not there.
pub fn serve(config: Config) -> ExitCode {
    let app = match App::new(config) {
        Ok(app) => Arc::new(app),
        Err(error) => {
            eprintln!("xprof-rs: {error}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let config = &app.config;
    if config.port == config.grpc_port {
        // As XProf, so that what starts here starts there too.
        eprintln!(
            "xprof-rs: The main server port (--port) and the gRPC port (--grpc_port) must be \
             different."
        );
        return ExitCode::from(EXIT_USAGE);
    }
    if let Err(error) = threads::start_some() {
        eprintln!("xprof-rs: the system gives no thread (see `ulimit -u`): {error}");
        return ExitCode::FAILURE;
    }
    let listener = match listen(&config.host, config.port) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("xprof-rs: {}", cannot_listen(config, &error));
            return ExitCode::from(EXIT_ADDRESS);
        }
    };
    let address = listener.local_addr();
    if let Ok(address) = address {
        // Nobody reads the line when stdout is closed; the server is there all the same.
        let _ = writeln!(io::stdout(), "xprof-rs at {} (Ctrl+C stops it)", url(address));
        let _ = io::stdout().flush();
    }
    // On its own: to look through a large log directory takes time, and requests come meanwhile.
    let watched = Arc::clone(&app);
    let _ = std::thread::Builder::new().spawn(move || {
        if let Some(remark) = watched.log_dir.remark() {
            watched.tell(&remark);
        }
    });
    match pool::run(app, listener) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xprof-rs: the server stopped: {error}");
            ExitCode::FAILURE
        }
    }
}

fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = if let Ok(address) = host.parse::<IpAddr>() {
        vec![(address, port).into()]
    } else if host == "localhost" {
        // Not looked up: it must work where no hosts file is.
        vec![(Ipv4Addr::LOCALHOST, port).into()]
    } else {
        (host, port).to_socket_addrs()?.collect()
    };
    TcpListener::bind(&addresses[..])
}

fn cannot_listen(config: &Config, error: &io::Error) -> String {
    let Config { host, port, .. } = config;
    match error.kind() {
        ErrorKind::AddrInUse => format!(
            "port {port} of {host} is in use; stop the other program or choose another --port"
        ),
        _ => format!("cannot listen on {host} port {port}: {error}"),
    }
}

/// The address to type into a browser.
fn url(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() => format!("http://localhost:{}/", address.port()),
        _ => format!("http://{address}/"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn urls_can_be_typed_into_a_browser() {
        assert_eq!(url("127.0.0.1:80".parse().unwrap()), "http://127.0.0.1:80/");
        assert_eq!(url("[::1]:80".parse().unwrap()), "http://[::1]:80/");
        assert_eq!(url("0.0.0.0:80".parse().unwrap()), "http://localhost:80/");
    }

    #[test]
    fn a_busy_port_is_named() {
        let taken = listen("localhost", 0).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = listen("127.0.0.1", port).unwrap_err();
        let config = Config { port, ..Config::default() };
        assert!(cannot_listen(&config, &error).contains(&format!("port {port} of 127.0.0.1")));
    }
}
