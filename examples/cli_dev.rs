fn main() -> std::process::ExitCode {
    xprof_rs::cli::run(std::env::args_os().skip(1).collect())
}
