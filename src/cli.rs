//! The command line: one binary for the service, its sandbox bank, and the operator's errands.
//!
//! Exit codes: 0 done; 1 it failed, or a verification found differences; 2 wrong usage or settings;
//! 3 the store refuses to open (the message says what to do).

mod dev;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::service::StartError;

/// A ledger service for Argentine payment service providers: CVUs, vouchers, balances.
#[derive(Debug, Parser)]
#[command(name = "caudal", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Args),
}

/// Why a command ends with another code than 0.
#[derive(Debug)]
struct Exit {
    code: u8,
    message: String,
}

impl Exit {
    /// It failed.
    fn failed(why: impl ToString) -> Self {
        Self {
            code: 1,
            message: why.to_string(),
        }
    }

    /// Wrong usage or settings.
    fn usage(why: impl ToString) -> Self {
        Self {
            code: 2,
            message: why.to_string(),
        }
    }
}

impl From<StartError> for Exit {
    fn from(why: StartError) -> Self {
        let code = match &why {
            StartError::Storage(_) => 3,
            StartError::Load(_) | StartError::Io { .. } => 1,
            StartError::Setting(_) => 2,
        };
        Self {
            code,
            message: why.to_string(),
        }
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Dev(args) => dev::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Exit { code, message }) => {
            terminal::complain(&message);
            ExitCode::from(code)
        }
    }
}
