//! A fixed number of answers, one after the other, for counting the instructions of each.
//!
//! **Shape.** One connection, one thread for requests and one for actors, so that every group of the journal has one
//! commit and two runs do the same. The rest of a run (start, accounts, end) costs the same for any number of answers,
//! so the difference between two runs is that of the answers alone. See [`super::guard`].
//!
//! **Bounds.** How often the HTTP library looks for a complete request is chance, and costs up to 9,000 instructions
//! per answer. So cases that cost less than 150,000, such as a balance in memory, are not counted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::client::Connection;
use super::draw::{Mix, Over};
use super::load::{self, End, Job, Measured, Way};
use super::site::{Layout, Site};
use super::tally::Tally;

/// The name of the hidden command.
pub const COMMAND: &str = "bench-counted";

/// Makes a store in a folder and gives so many answers of one kind: for `caudal bench --instructions` alone.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Of which kind.
    #[arg(value_enum)]
    counted: Counted,
    /// How many.
    answers: u64,
    /// The folder.
    dir: PathBuf,
}

/// The hidden command.
///
/// # Errors
/// When the service fails, or an answer is not the right one.
pub fn run(args: &Args) -> anyhow::Result<()> {
    super::on_system(answer(&args.dir, args.counted, args.answers))
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Counted {
    /// One voucher on an account in memory.
    Voucher,
    /// An internal transfer between two accounts in memory.
    Transfer,
    /// A batch of [`BULK`] vouchers over accounts in memory.
    Bulk,
    /// The balance of an account that is not in memory: each answer loads it, and another one goes.
    Activation,
    /// A page of [`PAGE`] movements.
    Page,
}

/// Vouchers of a bulk.
pub const BULK: usize = 1000;
/// Movements of a page.
pub const PAGE: u64 = 50;
/// The accounts, except in the activation case.
const ACCOUNTS: u64 = 32;
/// The accounts that are loaded in turn, and how many of them may be in memory.
const COLD: (u64, usize) = (256, 8);
/// Vouchers on each account before anything counts.
const BEFORE: u64 = 8;

impl Counted {
    /// All cases.
    pub const ALL: [Self; 5] = [
        Self::Voucher,
        Self::Transfer,
        Self::Bulk,
        Self::Activation,
        Self::Page,
    ];

    /// Its name in the table and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voucher => "voucher",
            Self::Transfer => "transfer",
            Self::Bulk => "bulk",
            Self::Activation => "activation",
            Self::Page => "page",
        }
    }

    /// The number of answers in the shorter and in the longer run.
    pub const fn answers(self) -> (u64, u64) {
        match self {
            Self::Voucher | Self::Activation => (500, 3500),
            Self::Transfer | Self::Page => (300, 1500),
            Self::Bulk => (2, 10),
        }
    }

    const fn accounts(self) -> u64 {
        match self {
            Self::Activation => COLD.0,
            Self::Voucher | Self::Transfer | Self::Bulk | Self::Page => ACCOUNTS,
        }
    }

    fn mix(self) -> Mix {
        let accounts = usize::try_from(self.accounts()).unwrap_or(usize::MAX);
        match self {
            Self::Voucher => Mix::Spread(accounts),
            Self::Transfer => Mix::Transfers(accounts),
            Self::Bulk => Mix::Bulk(BULK, Over::Many(accounts)),
            Self::Activation | Self::Page => Mix::Balances(accounts),
        }
    }
}

async fn answer(folder: &Path, counted: Counted, answers: u64) -> anyhow::Result<()> {
    let layout = Layout {
        workers: 1,
        arbiters: 1,
        memory: None,
        resident: (counted == Counted::Activation).then_some(COLD.1),
    };
    let accounts = counted.accounts();
    let site = Site::build(folder, layout, accounts).await?;
    let mut tally = Tally::new(accounts);
    for _ in 0..BEFORE {
        tally = ask(&site, Way::Engine(site.realm), Mix::Fund, accounts, tally).await?;
    }
    let http = Way::Http(site.addr);
    if counted == Counted::Page {
        ask(&site, http, Mix::Hot(0), PAGE, tally).await?;
        pages(&site, answers).await?;
    } else {
        ask(&site, http, counted.mix(), answers, tally).await?;
    }
    drop(site.close().await?);
    Ok(())
}

async fn ask(site: &Site, way: Way, mix: Mix, answers: u64, tally: Tally) -> anyhow::Result<Tally> {
    let job = Job {
        way,
        connections: 1,
        mix,
        end: End::Answers {
            warm_up: 0,
            of: answers,
        },
    };
    let (Measured { first_wrong, .. }, tally) = load::run(site, job, tally).await?;
    ensure!(first_wrong.is_none(), "a wrong answer: {first_wrong:?}");
    Ok(tally)
}

async fn pages(site: &Site, answers: u64) -> anyhow::Result<()> {
    let path = format!(
        "/v1/accounts/{}/movements?limit={PAGE}",
        site.requests.cvu(0)
    );
    let request = site.requests.get(&path);
    let mut connection = Connection::open(site.addr).await.context("connecting")?;
    for _ in 0..answers {
        let (status, _, body) = connection.get(&request).await?;
        ensure!(
            status == 200,
            "{path}: {status} {}",
            String::from_utf8_lossy(body)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_answered_as_often_as_it_is_asked() {
        for counted in Counted::ALL {
            let folder = tempfile::tempdir().unwrap();
            super::super::on_system(answer(folder.path(), counted, 3)).unwrap();
        }
    }
}
