//! Vouchers with the log on this machine's disk, and in PostgreSQL: alone, and with a synchronous standby. For
//! comparison, the same postings as plain SQL on the same servers.
//!
//! **Shape.** All services and servers run throughout, each idle except the one being measured. In each round every
//! case runs on every log, and ratios compare runs of the same round, so that a machine that gets slower favours none.
//!
//! **Failure.** A named database that already has a log is refused: it may hold somebody's books.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use caudal_postgres::Settings;
use caudal_postgres::here::{Programs, Server, USER};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use super::audit::{self, Audit};
use super::case::Case;
use super::draw::{Mix, Over};
use super::figures::{Thousandths, median};
use super::load::{self, End, Job, Way};
use super::rows::Round;
use super::site::{Layout, Site};
use super::sql::{self, SqlJob};
use super::tally::Tally;

/// The word that stands for throw-away servers of this run, in place of a database URL.
pub const AUTO: &str = "auto";
/// The connections that post bulks.
const BULK_CONNECTIONS: usize = 16;

/// The databases, the load and the layout of a comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The database; `None` for throw-away servers on this machine.
    pub url: Option<SecretString>,
    /// Whether the tables in that database are kept.
    pub keep: bool,
    /// How often each is run.
    pub rounds: usize,
    /// How long each run lasts, before and while it counts.
    pub time: (Duration, Duration),
    /// The number of accounts over which vouchers are spread.
    pub accounts: u64,
    /// The connections that post single vouchers.
    pub connections: usize,
    /// Vouchers of a bulk.
    pub bulk: usize,
    /// Clients of plain SQL.
    pub clients: usize,
    /// Threads.
    pub layout: Layout,
}

/// The log in which postings become durable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// The journal on this machine's disk.
    Disk,
    /// One server of PostgreSQL.
    Alone,
    /// One with a synchronous standby.
    Standby,
    /// The database that was named.
    Named,
}

impl Place {
    /// What is posted there, as text.
    pub const fn vouchers(self) -> &'static str {
        match self {
            Self::Disk => "vouchers on the disk",
            Self::Alone => "vouchers in PostgreSQL",
            Self::Standby => "vouchers in PostgreSQL with a standby",
            Self::Named => "vouchers in the database",
        }
    }

    /// Its name in the tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Alone => "PostgreSQL",
            Self::Standby => "PostgreSQL with a standby",
            Self::Named => "the database",
        }
    }
}

/// The kind of posting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Posting {
    /// Single vouchers over many CVUs.
    Single,
    /// Single vouchers on one CVU.
    Hot,
    /// Bulks over many CVUs.
    Bulk,
    /// Plain SQL over many accounts.
    Sql,
    /// Plain SQL on one account.
    SqlHot,
}

impl Posting {
    const ALL: [Self; 5] = [Self::Single, Self::Hot, Self::Bulk, Self::Sql, Self::SqlHot];

    /// Its name in the tables.
    pub fn title(self, bulk: usize) -> String {
        match self {
            Self::Single => "voucher, many CVUs".to_owned(),
            Self::Hot => "voucher, one CVU".to_owned(),
            Self::Bulk => format!("bulk of {bulk}, many CVUs"),
            Self::Sql => "plain SQL, many accounts".to_owned(),
            Self::SqlHot => "plain SQL, one account".to_owned(),
        }
    }

    /// The equivalent posting in plain SQL.
    const fn plainly(self) -> Option<Self> {
        match self {
            Self::Single | Self::Bulk => Some(Self::Sql),
            Self::Hot => Some(Self::SqlHot),
            Self::Sql | Self::SqlHot => None,
        }
    }
}

/// One kind of posting at one place: medians over the rounds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogRow {
    /// Where.
    pub place: Place,
    /// What.
    pub posting: Posting,
    /// Its name.
    pub name: String,
    /// The number of concurrent clients.
    pub connections: usize,
    /// Vouchers or entries a second.
    pub per_second: u64,
    /// The median time of an answer in nanoseconds.
    pub p50_nanos: u64,
    /// The 99th percentile of the time of an answer, in nanoseconds.
    pub p99_nanos: u64,
    /// Its rate divided by that of the same posting on the disk.
    pub to_disk: Option<Thousandths>,
    /// Its rate divided by that of plain SQL on the same server.
    pub to_sql: Option<Thousandths>,
    /// The share of the machine that other processes used meanwhile, including PostgreSQL.
    pub taken_by_others: Thousandths,
}

/// The results of a comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OnLogs {
    /// The rows.
    pub rows: Vec<LogRow>,
    /// The number of wrong answers.
    pub wrong_answers: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// The audit of each ledger.
    pub audits: Vec<(Place, Audit)>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Sample {
    round: usize,
    place: Place,
    posting: Posting,
    rate: u64,
    p50: u64,
    p99: u64,
    others: Thousandths,
}

/// A service at a place, and its database.
struct Stand {
    place: Place,
    site: Site,
    tally: Tally,
    /// The number of entries that plain SQL has posted there.
    plain: u64,
    url: Option<String>,
    /// Kept alive until the service has ended.
    _servers: Vec<Server>,
}

/// Runs it in a folder.
///
/// # Errors
/// When servers or services fail.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<OnLogs> {
    let mut stands = vec![Stand::build(folder, plan, Place::Disk, None, Vec::new()).await?];
    match &plan.url {
        Some(url) => {
            let url = url.expose_secret().to_owned();
            // The connection is not encrypted, as that of plain SQL is not.
            sql::is_free(&url).await?;
            stands.push(Stand::build(folder, plan, Place::Named, Some(url), Vec::new()).await?);
        }
        None => {
            let programs = Programs::find()?;
            for place in [Place::Alone, Place::Standby] {
                let servers = servers(&programs, folder, place)?;
                let url = Server::url(&servers.iter().take(1).collect::<Vec<_>>(), USER);
                stands.push(Stand::build(folder, plan, place, Some(url), servers).await?);
            }
        }
    }
    let mut found = OnLogs {
        rows: Vec::new(),
        wrong_answers: 0,
        first_wrong: None,
        audits: Vec::new(),
    };
    let mut samples = Vec::new();
    for round in 0..plan.rounds {
        // Each round begins with another stand.
        if round > 0 {
            stands.rotate_left(1);
        }
        for posting in Posting::ALL {
            for stand in &mut stands {
                let of = format!("{}: {}", stand.place.title(), posting.title(plan.bulk));
                super::say(&format!("round {} of {}: {of}", round + 1, plan.rounds));
                samples.extend(stand.run(plan, round, posting, &mut found).await?);
            }
        }
    }
    found.rows = rows(plan, &samples);
    stands.sort_by_key(|stand| stand.place);
    for stand in stands {
        let place = stand.place;
        found.audits.push((place, stand.end(plan).await?));
    }
    Ok(found)
}

/// Throw-away servers; the first one takes writes.
fn servers(programs: &Programs, folder: &Path, place: Place) -> anyhow::Result<Vec<Server>> {
    super::say(&format!("starting {}", place.title()));
    let dir = |name: &str| folder.join(name);
    let (one, other) = match place {
        Place::Standby => ("db-2", Some("db-3")),
        Place::Disk | Place::Alone | Place::Named => ("db-1", None),
    };
    let primary = programs.make(&dir(one), "")?;
    primary.set("shared_buffers", "128MB")?;
    primary.start(&[])?;
    let Some(other) = other else {
        return Ok(vec![primary]);
    };
    let standby = primary.standby(&dir(other), other)?;
    primary.waits_for("ANY 1 (*)", 1)?;
    Ok(vec![primary, standby])
}

impl Stand {
    async fn build(
        folder: &Path,
        plan: &Plan,
        place: Place,
        url: Option<String>,
        servers: Vec<Server>,
    ) -> anyhow::Result<Self> {
        let accounts = plan.accounts + 1;
        super::say(&format!("opening {accounts} accounts: {}", place.title()));
        let log = match &url {
            Some(url) => Some(Settings::new(&SecretString::from(url.as_str()), None)?),
            None => None,
        };
        let store = folder.join(format!("{place:?}"));
        let site = Site::build_on(&store, plan.layout, accounts, log).await?;
        if let Some(url) = &url {
            sql::prepare(url, accounts).await?;
        }
        Ok(Self {
            place,
            site,
            tally: Tally::new(accounts),
            plain: 0,
            url,
            _servers: servers,
        })
    }

    async fn run(
        &mut self,
        plan: &Plan,
        round: usize,
        posting: Posting,
        found: &mut OnLogs,
    ) -> anyhow::Result<Option<Sample>> {
        let accounts = usize::try_from(plan.accounts)?;
        let (case, mix, connections) = match posting {
            Posting::Single => (Case::Spread, Mix::Spread(accounts), plan.connections),
            Posting::Hot => (Case::Hot, Mix::Hot(accounts), plan.connections),
            Posting::Bulk => {
                let mix = Mix::Bulk(plan.bulk, Over::Many(accounts));
                (Case::BulkLarge, mix, plan.connections.min(BULK_CONNECTIONS))
            }
            Posting::Sql | Posting::SqlHot => return self.run_plainly(plan, round, posting).await,
        };
        let job = Job {
            way: Way::Http(self.site.addr),
            connections,
            mix,
            end: End::After(plan.time.0, plan.time.1),
        };
        let (measured, tally) = load::run(&self.site, job, self.tally.clone()).await?;
        self.tally = tally;
        found.wrong_answers += measured.wrong;
        let ran = Round::of(case, &measured);
        if found.first_wrong.is_none() {
            found.first_wrong = measured.first_wrong;
        }
        Ok(Some(Sample {
            round,
            place: self.place,
            posting,
            rate: ran.rate,
            p50: measured.times.quantile(500),
            p99: measured.times.quantile(990),
            others: ran.others,
        }))
    }

    async fn run_plainly(
        &mut self,
        plan: &Plan,
        round: usize,
        posting: Posting,
    ) -> anyhow::Result<Option<Sample>> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        let job = SqlJob {
            clients: plan.clients,
            accounts: plan.accounts + 1,
            hot: posting == Posting::SqlHot,
            time: plan.time,
            from: self.plain,
        };
        let measured = sql::run(url, job).await.context("plain SQL")?;
        self.plain += measured.posted;
        Ok(Some(Sample {
            round,
            place: self.place,
            posting,
            rate: measured.rate,
            p50: measured.times.quantile(500),
            p99: measured.times.quantile(990),
            others: Thousandths::default(),
        }))
    }

    /// Compares the ledger with the acknowledged vouchers, and ends the service.
    async fn end(self, plan: &Plan) -> anyhow::Result<Audit> {
        super::say(&format!("checking the ledger: {}", self.place.title()));
        let (store, realm) = (Arc::clone(self.site.engine.store()), self.site.realm);
        let tally = self.tally;
        let checked = actix_web::web::block(move || audit::ledger(store.as_ref(), realm, &tally));
        let audit = checked.await??;
        drop(self.site.close().await?);
        if let Some(url) = &self.url {
            sql::check(url, self.plain).await?;
            if self.place == Place::Named && !plan.keep {
                sql::remove(url).await?;
            }
        }
        Ok(audit)
    }
}

/// The rows of all places.
fn rows(plan: &Plan, samples: &[Sample]) -> Vec<LogRow> {
    let mut rows = Vec::new();
    for place in [Place::Disk, Place::Alone, Place::Standby, Place::Named] {
        for posting in Posting::ALL {
            let of = |sample: &&Sample| sample.place == place && sample.posting == posting;
            let own: Vec<&Sample> = samples.iter().filter(of).collect();
            if own.is_empty() {
                continue;
            }
            let by = |place: Place, posting: Posting| by(samples, &own, place, posting);
            let middle = |what: fn(&Sample) -> u64| median(own.iter().map(|sample| what(sample)));
            let plain = posting.plainly();
            rows.push(LogRow {
                place,
                posting,
                name: posting.title(plan.bulk),
                connections: match posting {
                    Posting::Single | Posting::Hot => plan.connections,
                    Posting::Bulk => plan.connections.min(BULK_CONNECTIONS),
                    Posting::Sql | Posting::SqlHot => plan.clients,
                },
                per_second: middle(|sample| sample.rate),
                p50_nanos: middle(|sample| sample.p50),
                p99_nanos: middle(|sample| sample.p99),
                to_disk: match place {
                    Place::Disk => None,
                    Place::Alone | Place::Standby | Place::Named => by(Place::Disk, posting),
                },
                to_sql: plain.and_then(|plain| by(place, plain)),
                taken_by_others: Thousandths(middle(|sample| sample.others.0)),
            });
        }
    }
    rows
}

/// The median ratio of the rates to those of another posting in the same rounds.
fn by(samples: &[Sample], own: &[&Sample], place: Place, posting: Posting) -> Option<Thousandths> {
    let ratios = own.iter().filter_map(|sample| {
        let same = |other: &&Sample| {
            (other.round, other.place, other.posting) == (sample.round, place, posting)
        };
        let other = samples.iter().find(same)?;
        Some(Thousandths::ratio(sample.rate, other.rate).0)
    });
    let ratios: Vec<u64> = ratios.collect();
    (!ratios.is_empty()).then(|| Thousandths(median(ratios)))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::report::Report;

    #[test]
    fn a_short_run_finds_every_ledger_right() {
        if !caudal_postgres::server::installed() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        let layout = Layout {
            workers: 1,
            arbiters: 1,
            spread: false,
            memory: None,
            resident: None,
        };
        let plan = Plan {
            url: None,
            keep: false,
            rounds: 1,
            time: (Duration::from_millis(5), Duration::from_millis(60)),
            accounts: 10,
            connections: 8,
            bulk: 5,
            clients: 4,
            layout,
        };
        let found = crate::on_system(run(folder.path(), &plan)).unwrap();
        assert_eq!(found.first_wrong, None);
        // Three of ours on each log, two of plain SQL on each server.
        assert_eq!(found.rows.len(), 13);
        let to_disk = found.rows.iter().filter(|row| row.to_disk.is_some());
        let to_sql = found.rows.iter().filter(|row| row.to_sql.is_some());
        assert_eq!((to_disk.count(), to_sql.count()), (6, 6));
        for (place, audit) in &found.audits {
            assert!(
                audit.passed() && audit.acknowledged > 0,
                "{place:?} {audit:?}"
            );
        }
        let mut report = Report::new(layout, true);
        report.logs = Some(found);
        let shown = report.to_string();
        assert!(
            report.passed() && shown.contains("PostgreSQL with a standby"),
            "{shown}"
        );
        assert_eq!(report.bars().len(), 10, "{shown}");
        report.logs.as_mut().unwrap().wrong_answers = 1;
        assert!(!report.passed() && report.to_string().contains("FAIL"));
    }
}
