//! The binary `caudal`: the command line over the service, its bench and its sandbox bank.

mod cli;

/// A fifth of the CPU of a posting went into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::run()
}
