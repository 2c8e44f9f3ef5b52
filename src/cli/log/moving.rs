//! `caudal log move`, `compare` and `heal`: the places of the logs of a stopped folder's cells, and their records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use caudal::backup::names::hex;
use caudal::config::Settings;
use caudal::service::moving::{Moved, OnStage, Site, Stage};
use caudal_ledger::tenants::cells::CELLS_MAX;
use caudal_ledger::time::Timestamp;
use caudal_storage::log::{Sealed, Tail};
use caudal_storage::moving::{Compared, Difference, Row};
use indicatif::ProgressBar;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::Exit;
use super::super::process;
use super::super::terminal::{self, say};

/// The most records that are listed.
const SHOWN: usize = 100;
/// The most realms that are listed for a record.
const REALMS: usize = 8;

/// Which folder, and which database.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// The settings of the service: its `data`, and the database with its password and authorities in `cell`
    #[arg(long, value_name = "FILE", env = "CAUDAL_CONFIG")]
    config: Option<PathBuf>,
    /// The data folder of the stopped service, instead of the one in the settings
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

/// Move the log of a stopped service into PostgreSQL, or back to its folder
///
/// With several cells the logs of all of them are moved. Records, their numbers and the store's identity stay as they are. Every record is compared by its hash before the other
/// side is the log. Run again, it goes on where it was cut off; while a move is not complete, nodes refuse to start on
/// the database. A password comes from `cell.log_password` of the settings, or CAUDAL_CELL__LOG_PASSWORD.
#[derive(Debug, clap::Args)]
pub struct Move {
    /// Where the log is to be: `postgres://USER@HOST:PORT/DATABASE`, or `disk`
    #[arg(long, value_name = "URL|disk", value_parser = target)]
    to: Target,
    /// With `--to disk`: the database with the log, instead of `cell.log` of the settings
    #[arg(long, value_name = "URL")]
    log: Option<SecretString>,
    #[command(flatten)]
    which: Which,
}

/// Compare the journal of a stopped service with the log in PostgreSQL, record by record
///
/// Neither is changed. With several cells each is compared with its own log. The exit code is 1 if a journal has records
/// that its log lacks, or others.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// The database with the log, instead of `cell.log` of the settings
    #[arg(long, value_name = "URL")]
    log: Option<SecretString>,
    /// This cell alone; all of them unless set
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..i64::from(CELLS_MAX)))]
    cell: Option<u32>,
    #[command(flatten)]
    which: Which,
}

/// Append to the log in PostgreSQL again what it has lost and a stopped service's journal has
///
/// Only where the log is a beginning of the journal, and nobody owns the cell; nothing is overwritten. The folder is a
/// copy of the log from then on. Compare the folders of all nodes first, and heal from the one that has most. With several
/// cells that may be another one for each: heal them one by one with --cell, and start no node before all are equal.
#[derive(Debug, clap::Args)]
pub struct Heal {
    /// Take them from the journal in the folder; there is no other place
    #[arg(long, required = true)]
    from_local: bool,
    /// The database with the log, instead of `cell.log` of the settings
    #[arg(long, value_name = "URL")]
    log: Option<SecretString>,
    /// This cell alone; all of them unless set
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..i64::from(CELLS_MAX)))]
    cell: Option<u32>,
    #[command(flatten)]
    which: Which,
}

/// The destination of a log.
#[derive(Clone, Debug)]
enum Target {
    /// The folder.
    Disk,
    /// This database.
    Database(SecretString),
}

fn target(text: &str) -> Result<Target, String> {
    match text {
        "disk" => Ok(Target::Disk),
        url if url.starts_with("postgres") => Ok(Target::Database(url.into())),
        _ => Err("write postgres://USER@HOST:PORT/DATABASE, or disk".to_owned()),
    }
}

impl Which {
    /// The folder, and the database at `url` or in the settings.
    fn site(&self, url: Option<&SecretString>, shown: &Shown) -> Result<Site, Exit> {
        process::keep_files_private();
        // The index has to be built here, so a message about that is no news.
        terminal::log(caudal::log::LogFormat::Text, "error")?;
        let settings = match &self.config {
            Some(file) => Settings::load(file),
            None => Settings::of_database(),
        };
        let settings = settings.map_err(Exit::usage)?;
        let data = self.data.as_deref().or(settings.data());
        let data = data.ok_or_else(|| {
            Exit::usage("which folder? Name it with --data, or the settings with --config")
        })?;
        let log = settings.database(url).map_err(Exit::usage)?;
        let log = log.ok_or_else(|| {
            Exit::usage("which database? Name it with --log, or the settings with --config")
        })?;
        let opening = terminal::watch_opening(&shown.line);
        Ok(Site::new(data, log).watched(opening, shown.watch()))
    }
}

/// The progress display: a line while the folder is opened, then a bar.
struct Shown {
    line: ProgressBar,
    bar: ProgressBar,
}

impl Shown {
    fn begin() -> Self {
        Self {
            line: terminal::progress("opening"),
            bar: terminal::bytes("", 0),
        }
    }

    fn watch(&self) -> OnStage {
        let (line, bar) = (self.line.clone(), self.bar.clone());
        Arc::new(move |stage, done, all| {
            line.finish_and_clear();
            bar.set_message(match stage {
                Stage::Copying => "copying",
                Stage::Comparing => "comparing",
            });
            bar.set_length(all);
            bar.set_position(done);
        })
    }

    fn end(&self) {
        self.line.finish_and_clear();
        self.bar.finish_and_clear();
    }
}

/// Moves a log.
pub fn run_move(args: &Move) -> Result<(), Exit> {
    let url = match (&args.to, &args.log) {
        (Target::Database(_), Some(_)) => {
            return Err(Exit::usage(
                "--log is for --to disk; --to names the database already",
            ));
        }
        (Target::Database(url), None) => Some(url),
        (Target::Disk, log) => log.as_ref(),
    };
    let shown = Shown::begin();
    let site = args.which.site(url, &shown)?;
    let moved = match args.to {
        Target::Database(_) => site.to_log(),
        Target::Disk => site.to_folder(),
    };
    shown.end();
    let moved = moved?;
    let (there, next) = match args.to {
        Target::Database(_) => ("database", "set cell.log, and start the service"),
        Target::Disk => ("folder", "remove cell.log, and start the service"),
    };
    if args.which.json {
        return show(&whole(&moved, |one| {
            let mut done = outcome(one);
            if let Some(fields) = done.as_object_mut() {
                fields.insert("log".to_owned(), there.into());
            }
            done
        }));
    }
    let several = moved.len() > 1;
    for (cell, one) in &moved {
        let whose = match several {
            true => format!("The log of cell {cell}"),
            false => "The log".to_owned(),
        };
        say(&match one {
            Moved::Done { tail, records } => format!(
                "{whose} is in the {there}: {records} records, up to commit {}; chain {}.",
                tail.commit.0,
                hex(&tail.hash)
            ),
            Moved::Already => format!("{whose} is in the {there} already; nothing was done."),
        })?;
    }
    say(&format!("Now {next}."))
}

/// What became of a cell, as JSON.
fn outcome(moved: &Moved) -> Value {
    match moved {
        Moved::Done { tail, records } => {
            json!({"moved": true, "records": records, "end": end(*tail)})
        }
        Moved::Already => json!({"moved": false}),
    }
}

/// What was found or done, as JSON: of the one cell, or of each of several.
fn whole<T>(all: &[(u32, T)], body: impl Fn(&T) -> Value) -> Value {
    if let [(_, one)] = all {
        return body(one);
    }
    let cells = all.iter().map(|(cell, one)| {
        let mut told = body(one);
        if let Some(fields) = told.as_object_mut() {
            fields.insert("cell".to_owned(), (*cell).into());
        }
        told
    });
    json!({"cells": cells.collect::<Vec<_>>()})
}

/// Compares a journal with its log.
pub fn run_compare(args: &Compare) -> Result<(), Exit> {
    let shown = Shown::begin();
    let site = args.which.site(args.log.as_ref(), &shown)?;
    let mut lists = Lists::new();
    let compared = site.compare(args.cell, &mut |cell, row, record| {
        note(lists.entry(cell).or_default(), row, record);
    });
    shown.end();
    let found = with_lists(compared?, lists);
    if args.which.json {
        show(&whole(&found, |(compared, list)| body(compared, list)))?;
    } else {
        pages(&found)?;
    }
    let is =
        |wanted: fn(&Difference) -> bool| found.iter().any(|(_, (it, _))| wanted(&it.difference));
    if is(|it| matches!(it, Difference::Differs { .. })) {
        return Err(Exit::failed("the two are different histories"));
    }
    match is(|it| matches!(it, Difference::Longer(_))) {
        true => Err(Exit::failed("the log lacks what the journal has")),
        false => Ok(()),
    }
}

/// Heals a log.
pub fn run_heal(args: &Heal) -> Result<(), Exit> {
    let shown = Shown::begin();
    let site = args.which.site(args.log.as_ref(), &shown)?;
    let mut lists = Lists::new();
    let compared = site.heal(args.cell, &mut |cell, row, record| {
        note(lists.entry(cell).or_default(), row, record);
    });
    shown.end();
    let found = with_lists(compared?, lists);
    let appended = |compared: &Compared| match compared.difference {
        Difference::Longer(count) => count,
        Difference::None | Difference::Behind(_) | Difference::Differs { .. } => 0,
    };
    if args.which.json {
        return show(&whole(&found, |(compared, list)| {
            let mut done = body(compared, list);
            if let Some(fields) = done.as_object_mut() {
                fields.insert("appended".to_owned(), appended(compared).into());
            }
            done
        }));
    }
    pages(&found)?;
    let counts = found.iter().map(|(_, (compared, _))| appended(compared));
    let count = counts.sum::<u64>();
    let next = match args.cell {
        None => "Now start the service.",
        Some(_) => "Now compare the other cells, and start the service when all are equal.",
    };
    say(&match count {
        0 => "Nothing had to be appended.".to_owned(),
        count => format!("{count} records were appended to the log again. {next}"),
    })
}

/// The records that each cell's log lacks, as JSON.
type Lists = BTreeMap<u32, Vec<Value>>;
/// What was found of a cell, with those records.
type Found = (Compared, Vec<Value>);

fn with_lists(compared: Vec<(u32, Compared)>, mut lists: Lists) -> Vec<(u32, Found)> {
    let found = compared.into_iter().map(|(cell, compared)| {
        let list = lists.remove(&cell).unwrap_or_default();
        (cell, (compared, list))
    });
    found.collect()
}

/// What was found of each cell, for people.
fn pages(found: &[(u32, Found)]) -> Result<(), Exit> {
    for (cell, (compared, list)) in found {
        if found.len() > 1 {
            say(&format!("cell {cell}:"))?;
        }
        page(compared, list)?;
    }
    Ok(())
}

/// Notes a record that the log lacks, with the realms in it.
fn note(list: &mut Vec<Value>, row: Row, record: &Sealed<'_>) {
    if list.len() >= SHOWN {
        return;
    }
    let mut realms = BTreeSet::new();
    // A checksum failure shows up where the record is read to be used.
    let _whole = record.visit(&mut |entry| {
        realms.insert(entry.stream.realm);
        true
    });
    let mut told = of(row);
    if let Some(fields) = told.as_object_mut() {
        fields.insert("realms".to_owned(), realms.into_iter().collect());
    }
    list.push(told);
}

/// A record, as JSON.
fn of(row: Row) -> Value {
    json!({
        "record": row.number,
        "firstCommit": row.first.0,
        "lastCommit": row.tail.commit.0,
        "hash": hex(&row.tail.hash),
        "entries": row.entries,
        "latest": row.latest.map(|at| Timestamp::from_millis(at).to_string()),
    })
}

fn end(tail: Tail) -> Value {
    json!({"commit": tail.commit.0, "chain": hex(&tail.hash)})
}

/// The result of a comparison, as JSON.
fn body(compared: &Compared, list: &[Value]) -> Value {
    let (outcome, count) = match compared.difference {
        Difference::None => ("equal", 0),
        Difference::Behind(count) => ("journalBehind", count),
        Difference::Longer(count) => ("journalLonger", count),
        Difference::Differs { .. } => ("differ", 0),
    };
    let mut told = json!({
        "outcome": outcome,
        "same": {"records": compared.records, "end": end(compared.tail)},
        "records": count,
        "longer": list,
    });
    if let (Difference::Differs { journal, log }, Some(fields)) =
        (compared.difference, told.as_object_mut())
    {
        fields.insert("journal".to_owned(), of(journal));
        fields.insert("log".to_owned(), of(log));
    }
    told
}

fn show(value: &Value) -> Result<(), Exit> {
    say(&serde_json::to_string_pretty(value).map_err(Exit::failed)?)
}

/// The result of a comparison, for people.
fn page(compared: &Compared, list: &[Value]) -> Result<(), Exit> {
    say(&format!(
        "the same: {} records, up to commit {}; chain {}",
        compared.records,
        compared.tail.commit.0,
        hex(&compared.tail.hash)
    ))?;
    match compared.difference {
        Difference::None => say("journal and log are equal"),
        Difference::Behind(count) => say(&format!("the journal lacks {count} records of the log")),
        Difference::Longer(count) => {
            say(&format!("the log lacks {count} records of the journal:"))?;
            list.iter().try_for_each(|row| say(&line(row)))?;
            match usize::try_from(count) {
                Ok(count) if count <= list.len() => Ok(()),
                _ => say(&format!("  and more; the first {SHOWN} are shown")),
            }
        }
        Difference::Differs { journal, log } => {
            say(&format!("they differ at record {}:", journal.number))?;
            say(&format!("  journal{}", line(&of(journal))))?;
            say(&format!("  log    {}", line(&of(log))))
        }
    }
}

/// A record as one line.
fn line(row: &Value) -> String {
    let part = |name| super::super::remote::shown(row, name);
    let realms = row.get("realms").and_then(Value::as_array);
    let realms = realms.map_or(String::new(), |realms| {
        let named: Vec<_> = realms.iter().take(REALMS).map(Value::to_string).collect();
        let more = if realms.len() > REALMS { ", …" } else { "" };
        format!(", realms {}{more}", named.join(", "))
    });
    format!(
        "  record {}: commits {} to {}, {} entries, the last of {}{realms}",
        part("record"),
        part("firstCommit"),
        part("lastCommit"),
        part("entries"),
        part("latest"),
    )
}
