//! `caudal sandbox-bank`: the sandbox bank alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use caudal_http::log::LogFormat;
use caudal_ledger::money::Amount;
use caudal_sandbox::{self as sandbox, Sandbox};
use caudal_service::calendar;
use secrecy::SecretString;

use super::Exit;
use super::process;
use super::terminal::{self, Hangup, Signals, say};

/// Run only the sandbox bank
///
/// The sandbox bank is a real HTTP server with the API of the sponsor bank. Use it with test keys, and to try what a bank
/// can do wrong. Its page at `/docs` explains how.
#[derive(Debug, clap::Args)]
pub(super) struct SandboxArgs {
    /// Where it listens; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8082")]
    listen: SocketAddr,
    /// The folder that keeps its accounts; without one they are lost when it stops
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where notices of transfers go, for instance http://127.0.0.1:8080/bank/v1/notifications
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
    /// The secret that signs notices; the default is public, and `serve` refuses it
    #[arg(
        long,
        value_name = "SECRET",
        env = "CAUDAL_SANDBOX_NOTICE_SECRET",
        hide_env_values = true
    )]
    notice_secret: Option<SecretString>,
    /// What each collector account has before anything is moved, in pesos
    #[arg(long, value_name = "PESOS", default_value = "0", value_parser = centavos)]
    funds: u64,
}

/// Reads an amount of 0 or more, in centavos.
fn centavos(text: &str) -> Result<u64, String> {
    let read = Amount::parse_or_zero(text).map_err(|why| why.to_string())?;
    u64::try_from(read).map_err(|_| "must not be below 0".to_owned())
}

/// Runs the bank until a signal.
pub(super) fn run(args: SandboxArgs) -> Result<(), Exit> {
    process::keep_files_private();
    terminal::log(LogFormat::Text, "info")?;
    terminal::wait(async {
        let mut signals = Signals::listen(Hangup::Ends)?;
        let calendar = calendar::load(None).map_err(Exit::failed)?;
        let usual = sandbox::SandboxOptions::default();
        let kept = args.data.is_some();
        let options = sandbox::SandboxOptions {
            listen: args.listen,
            data_dir: args.data,
            calendar: Arc::new(calendar),
            notice_url: args.notify,
            endowment: args.funds,
            notice_secret: args
                .notice_secret
                .unwrap_or_else(|| usual.notice_secret.clone()),
            ..usual
        };
        let failed = |why| Exit::usage(format!("the sandbox bank at {}: {why}", args.listen));
        let mut bank = Sandbox::start(options).map_err(failed)?;
        say(&format!("The sandbox bank runs at {}", bank.url()))?;
        if !kept {
            say("Its accounts and transfers are lost when it stops; --data DIR keeps them")?;
        }
        tokio::select! {
            () = signals.next() => bank.stop().await.map_err(Exit::failed),
            ended = bank.wait() => ended.map_err(Exit::failed),
        }
    })
}
