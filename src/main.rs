//! The binary `caudal`.

/// A fifth of the CPU of a posting went into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    caudal::cli::run()
}
