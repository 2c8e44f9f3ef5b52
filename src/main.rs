//! The binary `caudal`: the command line over the service, its bench and its sandbox bank.

mod cli;

/// The system's allocator took a fifth of the CPU time of a posting.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::run()
}
