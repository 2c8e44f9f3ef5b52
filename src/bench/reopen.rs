//! Opens the store again, in a process of its own, so that its memory is that of the service alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use caudal_actors::realms::Target;
use caudal_ledger::ids::AccountNo;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use super::figures::nanos;
use super::{machine, site};

/// The name of the hidden command.
pub const COMMAND: &str = "bench-reopen";
/// Balances that are requested concurrently.
const ASKING: usize = 1024;

/// Opens a store of `caudal bench` again and says how long it took: for `caudal bench` alone.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The folder of the store.
    dir: PathBuf,
    /// Threads for actors.
    #[arg(long, default_value_t = 2)]
    arbiters: usize,
    /// How many accounts there are.
    #[arg(long, default_value_t = 1)]
    accounts: u64,
}

/// The times and the memory of opening again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reopened {
    /// Nanoseconds until the store was open.
    pub store_nanos: u64,
    /// Nanoseconds until the actors were started.
    pub engine_nanos: u64,
    /// Nanoseconds until the first balance was read, when the service is ready.
    pub ready_nanos: u64,
    /// Resident memory when ready, in bytes.
    pub memory: u64,
    /// Its peak until then, in bytes.
    pub memory_peak: u64,
    /// Resident memory when the actors of all accounts live, in bytes.
    pub memory_all_resident: u64,
    /// Nanoseconds that loading all of them took.
    pub all_resident_nanos: u64,
}

/// Opens the store of a folder in a process of its own.
///
/// # Errors
/// When that process fails.
pub fn apart(folder: &Path, arbiters: usize, accounts: u64) -> anyhow::Result<Reopened> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(COMMAND).arg(folder);
    command.arg("--arbiters").arg(arbiters.to_string());
    command.arg("--accounts").arg(accounts.to_string());
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.context("starting the process that opens the store again")?;
    ensure!(
        output.status.success(),
        "the process that opened the store again failed: {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("the answer of the process that opened again")
}

/// The hidden command: opens the store again and prints the figures as JSON.
///
/// # Errors
/// When the store does not open.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let reopened = super::on_system(measure(args))?;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &reopened)?;
    writeln!(out)?;
    Ok(())
}

async fn measure(args: &Args) -> anyhow::Result<Reopened> {
    let start = Instant::now();
    let layout = site::Layout {
        workers: 1,
        arbiters: args.arbiters,
        memory: None,
        resident: None,
    };
    let opened = site::open(&args.dir, layout)?;
    let engine = opened.engine;
    let realm = site::realm(&engine)?;
    let target = |number| Target::Account(AccountNo(number));
    engine.balance(realm, target(1)).await?;
    let ready_nanos = nanos(start.elapsed());
    let (memory, memory_peak) = machine::memory();
    let start = Instant::now();
    let mut balances = futures_util::stream::iter(1..=args.accounts)
        .map(|number| engine.balance(realm, target(number)))
        .buffer_unordered(ASKING);
    while let Some(balance) = balances.next().await {
        balance?;
    }
    drop(balances);
    let all_resident_nanos = nanos(start.elapsed());
    let memory_all_resident = machine::memory().0;
    actix_web::web::block(move || engine.close()).await??;
    Ok(Reopened {
        store_nanos: opened.store_nanos,
        engine_nanos: opened.engine_nanos,
        ready_nanos,
        memory,
        memory_peak,
        memory_all_resident,
        all_resident_nanos,
    })
}
