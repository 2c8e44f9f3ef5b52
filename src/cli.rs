//! The command line: one binary for the service, its sandbox bank, and the operator's commands.

mod audit;
mod backup;
mod dev;
mod evidence;
mod exit_codes;
mod health;
mod listen;
mod manual;
mod operations;
mod process;
mod progress;
mod realm;
mod remote;
mod restore;
mod sandbox_bank;
mod serve;
mod shell;
mod statement;
mod status;
mod stopped;
mod table;
mod terminal;
mod verify;
mod verify_day;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use caudal_actors::failure::Failure;
use caudal_api::catalogue::Catalogue;
use caudal_service::StartError;
use clap::{Parser, Subcommand};

/// The version, with the commit if the build got one in `GIT_COMMIT`.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("GIT_COMMIT").map_or_else(|| version.to_owned(), |at| format!("{version} ({at})"))
});

/// A ledger service for Argentine payment service providers: CVUs, vouchers, balances.
#[derive(Debug, Parser)]
#[command(name = "caudal", version = VERSION.as_str(), max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::DevArgs),
    Serve(serve::ServeArgs),
    SandboxBank(sandbox_bank::SandboxArgs),
    /// A command of the table of operations
    #[command(flatten)]
    Operation(Box<operations::Given>),
    Audit(Box<audit::AuditArgs>),
    Status(status::StatusArgs),
    Health(health::HealthArgs),
    Statement(statement::StatementArgs),
    Evidence(Box<evidence::EvidenceArgs>),
    Listen(Box<listen::ListenArgs>),
    Verify(verify::VerifyArgs),
    VerifyDay(verify_day::VerifyDayArgs),
    Backup(Box<backup::BackupArgs>),
    Restore(Box<restore::RestoreArgs>),
    #[command(subcommand)]
    Realm(Box<realm::RealmCommand>),
    /// Print the OpenAPI document of the API, or one of its catalogues as Markdown
    Openapi {
        /// Print this catalogue instead of the document
        #[arg(long, value_enum)]
        catalogue: Option<CatalogueName>,
    },
    /// Print completions of this command line for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the exit codes of all commands, what each means, and what to do
    #[command(long_about = exit_codes::help())]
    ExitCodes,
    /// Write the manual pages: one for each command, and the documents for operators
    Man {
        /// The folder that gets them
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    Bench(Box<caudal_bench::Args>),
}

/// A catalogue of the document.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CatalogueName {
    /// Error codes: when each occurs and what to do
    Errors,
    /// Event types: when each occurs and what its data is
    Events,
}

/// The exit code of a service whose log another process has taken.
const DEPOSED: u8 = 4;

/// The reason why a command exits with a code other than 0.
#[derive(Debug)]
struct Exit {
    code: u8,
    message: String,
}

impl Exit {
    /// The command failed.
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
            StartError::Storage(why) if why.passes() => 1,
            StartError::Storage(_) | StartError::Load(Failure::Damaged) => 3,
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
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Dev(args) => dev::run(args),
        Command::Serve(args) => serve::run(&args),
        Command::SandboxBank(args) => sandbox_bank::run(args),
        Command::Operation(given) => operations::run(*given),
        Command::Audit(args) => audit::run(*args),
        Command::Status(args) => status::run(args),
        Command::Health(args) => health::run(&args),
        Command::Statement(args) => statement::run(&args),
        Command::Evidence(args) => evidence::run(*args),
        Command::Listen(args) => listen::run(*args),
        Command::Verify(args) => verify::run(args),
        Command::VerifyDay(args) => verify_day::run(&args),
        Command::Backup(args) => backup::run(*args),
        Command::Restore(args) => restore::run(&args),
        Command::Realm(command) => realm::run(*command),
        Command::Openapi { catalogue } => openapi(catalogue),
        Command::Completions { shell } => shell::completions(shell),
        Command::ExitCodes => terminal::say(&exit_codes::list()),
        Command::Man { folder } => shell::write_manual(&folder),
        Command::Bench(args) => bench(&args),
    };
    let code = match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Exit { code, message }) => {
            terminal::complain(&message);
            ExitCode::from(code)
        }
    };
    caudal_http::traces::export::end();
    caudal_http::log::end();
    code
}

fn bench(args: &caudal_bench::Args) -> Result<(), Exit> {
    // The log is off unless requested; then its cost is measured, too.
    terminal::log(caudal_http::log::LogFormat::Json, "off")?;
    match caudal_bench::run(args) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Exit::failed("the bench did not pass; see above")),
        Err(why) => Err(Exit::failed(format!("{why:#}"))),
    }
}

fn openapi(catalogue: Option<CatalogueName>) -> Result<(), Exit> {
    match catalogue {
        Some(CatalogueName::Errors) => return terminal::say(&Catalogue::Errors.markdown()),
        Some(CatalogueName::Events) => return terminal::say(&Catalogue::Events.markdown()),
        None => {}
    }
    let document = caudal_service::server::openapi();
    terminal::say(&document.to_pretty_json().map_err(Exit::failed)?)
}
