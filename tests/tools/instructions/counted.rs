//! A fixed number of answers, one after the other, for counting the instructions of each.
//!
//! **Shape.** One connection, one thread for requests and one for actors, so that every group of the journal has one
//! commit and two runs do the same. The rest of a run (start, accounts, end) costs the same for any number of answers,
//! so the difference between two runs is that of the answers alone. See [`super`].
//!
//! **Bounds.** How often the HTTP library looks for a complete request is chance, and costs up to 9,000 instructions
//! per answer. So cases that cost less than 150,000, such as a balance in memory, are not counted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use caudal_bench::client::Connection;
use caudal_bench::draw::Mix;
use caudal_bench::load::{self, End, Job};
use caudal_bench::on_system;
use caudal_bench::site::{Layout, Site};
use caudal_bench::tally::Tally;

/// Makes a store in a folder and gives so many answers of one kind: only for `caudal-tools instructions`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
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
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    on_system(answer(&args.dir, args.counted, args.answers))
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(super) enum Counted {
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
const BULK: usize = 1000;
/// Movements of a page.
const PAGE: u64 = 50;
/// The accounts, except in the activation case.
const ACCOUNTS: u64 = 32;
/// The accounts that are loaded in turn, and how many of them may be in memory.
const COLD: (u64, usize) = (256, 8);
/// Vouchers on each account before anything counts.
const BEFORE: u64 = 8;

impl Counted {
    /// All cases.
    pub(super) const ALL: [Self; 5] = [
        Self::Voucher,
        Self::Transfer,
        Self::Bulk,
        Self::Activation,
        Self::Page,
    ];

    /// Its name in the table and on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Voucher => "voucher",
            Self::Transfer => "transfer",
            Self::Bulk => "bulk",
            Self::Activation => "activation",
            Self::Page => "page",
        }
    }

    /// The number of answers in the shorter and in the longer run.
    pub(super) const fn answers(self) -> (u64, u64) {
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
            Self::Bulk => Mix::Bulk(BULK, accounts),
            Self::Activation | Self::Page => Mix::Balances(accounts),
        }
    }
}

async fn answer(folder: &Path, counted: Counted, answers: u64) -> anyhow::Result<()> {
    let layout = Layout {
        workers: 1,
        arbiters: 1,
        resident: (counted == Counted::Activation).then_some(COLD.1),
        ..Layout::default()
    };
    let accounts = counted.accounts();
    let site = Site::build(layout.options(folder)?, accounts).await?;
    let mut tally = Tally::new(accounts);
    for _ in 0..BEFORE {
        tally = site.fund(tally).await?;
    }
    if counted == Counted::Page {
        ask(&site, Mix::Hot(0), PAGE, tally).await?;
        pages(&site, answers).await?;
    } else {
        ask(&site, counted.mix(), answers, tally).await?;
    }
    site.close().await
}

async fn ask(site: &Site, mix: Mix, answers: u64, tally: Tally) -> anyhow::Result<()> {
    let job = Job::new(site, 1, mix, End::Answers(answers));
    let (measured, _) = load::run(site, job, tally).await?;
    let wrong = measured.first_wrong;
    ensure!(wrong.is_none(), "a wrong answer: {wrong:?}");
    Ok(())
}

async fn pages(site: &Site, answers: u64) -> anyhow::Result<()> {
    let path = format!(
        "/v1/accounts/{}/movements?limit={PAGE}",
        site.requests.cvu(0)
    );
    let request = site.requests.get(&path);
    let mut connection = Connection::open(site.addr).await.context("connecting")?;
    for _ in 0..answers {
        let (status, body) = connection.get(&request).await?;
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
            on_system(answer(folder.path(), counted, 3)).unwrap();
        }
    }
}
