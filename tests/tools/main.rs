//! `caudal-tools`: what developers measure besides `caudal bench`: scenarios of load on a service in a process of its
//! own ([`runner`]), and the instructions of an answer ([`instructions`]).
//!
//! `cargo run --release --package caudal-tools -- --help`

mod clock;
mod instructions;
mod report;
mod runner;
mod scenarios;

use std::path::PathBuf;
use std::process::ExitCode;

use caudal_bench::Threads;
use clap::Parser as _;

use scenarios::{closing, growth, neighbours, overload, restoring};

/// As in the program: the table of instructions counts it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Caudal as developers need it
///
/// Each scenario starts the service in a new folder and in a process of its own, loads it, kills it, opens the folder
/// again, and compares the ledger with what was acknowledged.
#[derive(Debug, clap::Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

/// What every scenario takes.
#[derive(Clone, Debug, clap::Args)]
struct Options {
    /// Where the data folders are made; they are removed afterwards
    #[arg(long, global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep them: `caudal dev --data DIR/caudal-bench-PID/data` serves one
    #[arg(long, global = true)]
    keep: bool,
    /// Print the figures as JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    /// A missed bar is a failure too
    #[arg(long, global = true)]
    strict: bool,
    /// The folder of the process that this one has started for the load
    #[arg(long, global = true, hide = true)]
    inside: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Closing(closing::Args),
    Growth(growth::Args),
    Large(growth::LargeArgs),
    Overload(overload::Args),
    Neighbours(neighbours::Args),
    Restoring(restoring::Args),
    Instructions(instructions::Args),
    #[command(hide = true)]
    Counted(instructions::counted::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = &cli.options;
    let done = match &cli.command {
        Command::Closing(args) => runner::run(args, options),
        Command::Growth(args) => runner::run(&args.scenario(), options),
        Command::Large(args) => runner::run(&args.scenario(), options),
        Command::Overload(args) => runner::run(args, options),
        Command::Neighbours(args) => runner::run(args, options),
        Command::Restoring(args) => runner::run(args, options),
        Command::Instructions(args) => instructions::run(args, options),
        Command::Counted(args) => instructions::counted::run(args).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            caudal_bench::say(&format!("{why:#}"));
            ExitCode::FAILURE
        }
    }
}
