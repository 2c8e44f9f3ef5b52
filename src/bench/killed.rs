//! A process that posts and is killed, so that the store is opened afterwards in the state that a kill leaves.
//!
//! **Shape.** The process opens the store, posts a number of vouchers through the actors' interface, reports that, and
//! waits for the bench to kill it. Both draw the same orders, so the bench knows which vouchers were acknowledged.
//!
//! **Failure.** If a voucher is refused, the process ends without a report, and so does the bench. If the bench dies
//! first, the process ends by itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use caudal_actors::engine::Engine;
use caudal_actors::realms::Target;
use caudal_ledger::ids::{AccountNo, RealmId};
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::draw::{BenchOrder, Draw, Mix};
use super::load;
use super::site;
use super::tally::Tally;

/// The name of the hidden command.
pub const COMMAND: &str = "bench-killed";
/// Vouchers that are requested concurrently.
const ASKING: usize = 512;
/// The report that all of them are acknowledged.
const POSTED: &str = "posted";

/// Posts into a store of `caudal bench` and waits to be killed: for `caudal bench` alone.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The folder of the store.
    dir: PathBuf,
    /// Threads for actors.
    #[arg(long, default_value_t = 2)]
    arbiters: usize,
    /// Over how many accounts.
    #[arg(long)]
    accounts: u64,
    /// How many vouchers.
    #[arg(long)]
    vouchers: u64,
    /// The first external id.
    #[arg(long)]
    asked: u64,
}

/// The orders that both processes draw.
fn orders(accounts: u64, vouchers: u64, asked: u64) -> impl Iterator<Item = BenchOrder> {
    let accounts = usize::try_from(accounts).unwrap_or(usize::MAX);
    let mut draw = Draw::new(Mix::Spread(accounts), asked);
    (0..vouchers).map(move |_| draw.ask().order)
}

/// Has another process post this many vouchers over this many accounts, kills it, and records them.
///
/// # Errors
/// When that process cannot be started, or ends before it has posted them all.
pub fn apart(
    folder: &Path,
    arbiters: usize,
    (vouchers, accounts): (u64, u64),
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(COMMAND).arg(folder);
    for (name, value) in [
        ("--arbiters", arbiters.to_string()),
        ("--accounts", accounts.to_string()),
        ("--vouchers", vouchers.to_string()),
        ("--asked", tally.asked.to_string()),
    ] {
        command.arg(name).arg(value);
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.context("starting the process that is to be killed")?;
    let mut said = String::new();
    let heard = match child.stdout.take() {
        Some(out) => BufReader::new(out).read_line(&mut said),
        None => Ok(0),
    };
    child.kill().context("killing the process that posts")?;
    child
        .wait()
        .context("waiting for the process that was killed")?;
    heard.context("listening to the process that posts")?;
    ensure!(
        said.trim() == POSTED,
        "the process that was to be killed ended before it had posted"
    );
    for order in orders(accounts, vouchers, tally.asked) {
        tally.note(&order, true);
        tally.asked = order.id.saturating_add(1);
    }
    Ok(())
}

/// The hidden command: posts, reports that, and waits to be killed.
///
/// # Errors
/// When a voucher is refused, or nobody kills it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    super::on_system(post(args))
}

async fn post(args: &Args) -> anyhow::Result<()> {
    let layout = site::Layout {
        workers: 1,
        arbiters: args.arbiters,
        memory: None,
        resident: None,
    };
    let engine = site::open(&args.dir, layout)?.engine;
    let realm = site::realm(&engine)?;
    futures_util::stream::iter(orders(args.accounts, args.vouchers, args.asked))
        .map(|order| one(&engine, realm, order))
        .buffer_unordered(ASKING)
        .try_collect::<()>()
        .await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{POSTED}")?;
    out.flush()?;
    // Standard input stays open, and ends only when the bench is gone.
    actix_web::web::block(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    bail!("nobody has killed the process that posts")
}

async fn one(engine: &Arc<Engine>, realm: RealmId, order: BenchOrder) -> anyhow::Result<()> {
    let number = u64::try_from(order.account)?.saturating_add(1);
    let target = Target::Account(AccountNo(number));
    load::post(engine, realm, target, &order).await
}
