//! Start of the program: read the words of the command line, then serve or run one command.

use std::process::ExitCode;

fn main() -> ExitCode {
    xprof_rs::net::names::confine_lookups();
    xprof_rs::flags::run(std::env::args_os().skip(1).collect())
}
