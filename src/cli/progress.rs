//! A line on the terminal while work takes longer than a second. Nothing is written where stderr is
//! no terminal.

use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time without a word, and between two.
const PERIOD: Duration = Duration::from_secs(1);

type Running = (mpsc::Sender<()>, JoinHandle<()>);

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Ends the line when it goes.
#[derive(Debug)]
pub struct Progress(());

impl Drop for Progress {
    fn drop(&mut self) {
        stop();
    }
}

/// Shows from the second second on how long a command works.
pub fn start(name: &'static str) -> Progress {
    if io::stderr().is_terminal() {
        let (sender, receiver) = mpsc::channel();
        let show = move || tell(name, &receiver, PERIOD, &mut io::stderr());
        if let Ok(thread) = thread::Builder::new().spawn(show) {
            *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some((sender, thread));
        }
    }
    Progress(())
}

/// Takes the line away, before anything else is printed.
pub fn stop() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((sender, thread)) = running {
        drop(sender);
        let _ = thread.join();
    }
}

fn tell(name: &str, stopped: &mpsc::Receiver<()>, period: Duration, out: &mut impl Write) {
    let mut seconds = 0;
    while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        // The cursor stays at the start, so that other lines overwrite this one.
        let _ = write!(out, "\r\x1b[K{name}: {seconds} s ...\r").and_then(|()| out.flush());
    }
    if seconds > 0 {
        let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_late_and_goes() {
        let (sender, receiver) = mpsc::channel();
        let mut out = Vec::new();
        thread::scope(|scope| {
            let out = &mut out;
            scope.spawn(move || tell("report", &receiver, Duration::from_millis(20), out));
            thread::sleep(Duration::from_millis(70));
            drop(sender);
        });
        let text = String::from_utf8_lossy(&out);
        assert!(
            text.starts_with("\r\x1b[Kreport: 1 s ...\r") && text.ends_with("\r\x1b[K"),
            "{text:?}"
        );
        let (sender, receiver) = mpsc::channel();
        drop(sender);
        let mut out = Vec::new();
        tell("report", &receiver, Duration::from_secs(5), &mut out);
        assert!(out.is_empty());
    }
}
