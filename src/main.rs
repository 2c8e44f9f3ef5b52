//! The binary `caudal`.

fn main() -> std::process::ExitCode {
    caudal::cli::run()
}
