//! One connection to the server that takes writes, checked before it is used.
//!
//! **Shape.** [`any`] chooses the server among those that are configured.
//!
//! **Failure.** A server that may lose what it acknowledges is refused. When a server says that it has stopped waiting
//! for its standbys, everything on this connection is in doubt.

mod any;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use caudal_storage::log::{LogId, Tail};
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Connection, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::client::settings::Settings;
use crate::client::sql;
use crate::opening::NoSession;
use crate::status::Status;

/// How often creating the tables is tried, since another process may be creating them.
const TABLE_TRIES: u32 = 20;
/// The pause between such tries.
const TABLE_PAUSE: Duration = Duration::from_millis(50);

/// The client's words about a server that takes no writes.
const STANDBY: &str = "does not allow writes";

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server refused the statement because of other transactions: nothing was done.
    Again(String),
    /// The server lacks disk space, memory, connections or another configured resource: nothing was done.
    Short(String),
    /// The server no longer takes writes: nothing was done.
    Demoted(String),
    /// The server refused the statement: nothing was done.
    Refused(Box<DbError>),
    /// The connection broke, the time ran out, or the server is not sure: the outcome is unknown.
    Broken(String),
}

/// The result of a statement.
pub(crate) struct Answer {
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// How many rows it touched, if it is a statement that touches any.
    pub(crate) touched: Option<u64>,
}

/// A statement's parameter.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Param {
    /// The value with its type.
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Int(number) => (number, Type::INT8),
            Self::Text(text) => (text, Type::TEXT),
            Self::Bytes(bytes) => (bytes, Type::BYTEA),
        }
    }
}

/// A connection. Dropping it closes it at once, whatever is under way.
pub(crate) struct Session {
    client: Client,
    task: AbortHandle,
    /// Whether the server said that it does not wait for its standbys.
    doubt: Arc<AtomicBool>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Session {
    /// Connects to the server that takes writes, and checks it.
    pub(crate) async fn open(
        settings: &Settings,
        tls: MakeRustlsConnect,
        status: &Status,
    ) -> Result<Self, NoSession> {
        let session = any::of_any(settings, &tls).await;
        let session = session.map_err(NoSession::Unreachable)?;
        status.add(|figures| figures.connections += 1);
        // Warnings that the server sends on connecting have come before its answer to this.
        session
            .ask(sql::HELLO, &[], settings.limits.answer)
            .await
            .ok();
        session.doubt.store(false, Ordering::Release);
        session.check(settings.limits.answer, status).await?;
        Ok(session)
    }

    /// Whether the connection has ended or is in doubt, as far as is known.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.doubt.load(Ordering::Acquire)
    }

    /// Runs a statement; returns its rows, and how many it touched.
    pub(crate) async fn ask(
        &self,
        sql: &str,
        params: &[Param],
        most: Duration,
    ) -> Result<Answer, Fault> {
        let asked = tokio::time::timeout(most, self.send(sql, params)).await;
        let asked = asked
            .map_err(|_| Fault::Broken(format!("no answer in {} ms", most.as_millis())))?
            .map_err(|why| fault(&why))?;
        // The warning came before the answer.
        if self.doubt.load(Ordering::Acquire) {
            let why = "the server stopped waiting for its synchronous standbys";
            return Err(Fault::Broken(why.to_owned()));
        }
        Ok(asked)
    }

    async fn send(&self, sql: &str, params: &[Param]) -> Result<Answer, tokio_postgres::Error> {
        let params = params.iter().map(Param::typed);
        let mut stream = pin!(self.client.query_typed_raw(sql, params).await?);
        let mut rows = Vec::new();
        // The stream ends when the server is ready again, which is after the commit.
        while let Some(row) = stream.try_next().await? {
            rows.push(row);
        }
        let touched = stream.rows_affected();
        Ok(Answer { rows, touched })
    }

    /// Refuses a server that may lose what it acknowledges; counts its synchronous standbys.
    pub(crate) async fn check(&self, most: Duration, status: &Status) -> Result<(), NoSession> {
        let found = self.ask(sql::PROMISES, &[], most).await.map_err(lost)?;
        let row = found.rows.first();
        let setting = |n: usize| -> Option<String> { row?.try_get(n).ok()? };
        if setting(0).is_some_and(|fsync| fsync != "on") {
            return Err(NoSession::Unfit(unfit("fsync", "off", "on")));
        }
        if let Some(commit) = setting(1)
            && !matches!(commit.as_str(), "on" | "remote_apply")
        {
            let needed = "on or remote_apply";
            return Err(NoSession::Unfit(unfit(
                "synchronous_commit",
                &commit,
                needed,
            )));
        }
        let standbys = setting(2).map_or(0, |names| standbys(&names));
        status.add(|figures| figures.standbys = standbys);
        Ok(())
    }

    /// Creates what is missing: the tables, and with `begin` the cell with an empty log of this identity.
    pub(crate) async fn prepare(
        &self,
        settings: &Settings,
        id: &LogId,
        begin: &str,
    ) -> Result<(), NoSession> {
        let most = settings.limits.answer;
        self.tables(most).await?;
        let params = [
            Param::Int(settings.cell.into()),
            Param::Bytes(id.to_vec()),
            Param::Bytes(Tail::none(id).hash.to_vec()),
        ];
        self.ask(begin, &params, most).await.map_err(lost)?;
        Ok(())
    }

    /// The identity of the cell's log, which must exist.
    pub(crate) async fn identity(&self, settings: &Settings) -> Result<LogId, NoSession> {
        let (cell, most) = (Param::Int(settings.cell.into()), settings.limits.answer);
        let none = || NoSession::Absent;
        let head = self.ask(sql::HEAD, &[cell], most).await;
        let head = head.map_err(|why| match why {
            Fault::Refused(why) if *why.code() == SqlState::UNDEFINED_TABLE => none(),
            why => lost(why),
        })?;
        let row = head.rows.first();
        let found = row.and_then(|row| row.try_get::<_, &[u8]>(0).ok());
        found.and_then(|id| id.try_into().ok()).ok_or_else(none)
    }

    /// Creates the tables, unless they are there; refuses those of another version.
    pub(crate) async fn tables(&self, most: Duration) -> Result<(), NoSession> {
        let mut last = String::new();
        for _ in 0..TABLE_TRIES {
            match self.ask(sql::SCHEMA, &[], most).await {
                Ok(found) => match found.rows.first().map(|row| row.try_get::<_, i64>(0)) {
                    Some(Ok(sql::VERSION)) => return Ok(()),
                    Some(version) => {
                        let found = version.map_or("unreadable".to_owned(), |v| v.to_string());
                        return Err(NoSession::Unfit(format!(
                            "the tables are of version {found}, this program knows {}: use the \
                             program that made them",
                            sql::VERSION
                        )));
                    }
                    None => {}
                },
                Err(Fault::Refused(why)) if *why.code() == SqlState::UNDEFINED_TABLE => {}
                Err(why) => return Err(lost(why)),
            }
            for table in sql::TABLES {
                match self.ask(table, &[], most).await {
                    Ok(_) => {}
                    // Another process is creating them at the same time.
                    Err(Fault::Again(why)) => last = why,
                    Err(Fault::Refused(why)) if made_by_another(&why) => {
                        last = why.message().to_owned();
                    }
                    Err(why) => return Err(lost(why)),
                }
            }
            tokio::time::sleep(TABLE_PAUSE).await;
        }
        Err(NoSession::Unreachable(format!("making the tables: {last}")))
    }
}

/// Polls the connection to its end, and listens for the server's notices.
async fn drive<T>(mut connection: Connection<Socket, T>, doubt: Arc<AtomicBool>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) if abandons(&notice) => {
                tracing::error!(notice = notice.message(), "the log's server is in doubt");
                doubt.store(true, Ordering::Release);
            }
            Ok(_) => {}
            Err(why) => {
                tracing::debug!(%why, "log connection closed");
                return;
            }
        }
    }
}

/// Whether a notice may say that the server no longer waits for its standbys: it then commits all the same, with a
/// warning that has no code of its own. No statement of ours causes any other warning.
fn abandons(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning)
}

fn made_by_another(why: &DbError) -> bool {
    let code = why.code();
    [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::INTERNAL_ERROR,
    ]
    .contains(code)
}

/// The fault that an error means for the statement. Only an `ERROR` of the server is certain: after anything that ends
/// the connection, the statement may have been done.
fn fault(why: &tokio_postgres::Error) -> Fault {
    let Some(refused) = why.as_db_error() else {
        return Fault::Broken(why.to_string());
    };
    let said = || refused.message().to_owned();
    match sort(refused.code(), refused.parsed_severity()) {
        Sort::Again => Fault::Again(said()),
        Sort::Short => Fault::Short(refusal(refused)),
        Sort::Demoted => Fault::Demoted(said()),
        Sort::Refused => Fault::Refused(Box::new(refused.clone())),
        Sort::Broken => Fault::Broken(said()),
    }
}

/// The kind of [`Fault`] that a server error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Again,
    Short,
    Demoted,
    Refused,
    Broken,
}

fn sort(code: &SqlState, severity: Option<Severity>) -> Sort {
    let class = |class: &str| code.code().starts_with(class);
    let unsure = *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN || class("08") || class("57P");
    if unsure || severity != Some(Severity::Error) {
        return Sort::Broken;
    }
    let again = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        Sort::Demoted
    } else if again.contains(code) {
        Sort::Again
    } else if class("53") {
        Sort::Short
    } else {
        Sort::Refused
    }
}

/// The trouble that a fault means on a new connection.
pub(crate) fn lost(fault: Fault) -> NoSession {
    match fault {
        Fault::Again(why) | Fault::Short(why) | Fault::Demoted(why) | Fault::Broken(why) => {
            NoSession::Unreachable(why)
        }
        Fault::Refused(why) => NoSession::Unfit(refusal(&why)),
    }
}

/// The server's message, with its code.
pub(crate) fn refusal(why: &DbError) -> String {
    format!(
        "the server refused: {} ({})",
        why.message(),
        why.code().code()
    )
}

/// An error with its causes, which the client's own text omits.
fn told(why: &dyn std::error::Error, before: &str) -> String {
    let own = why.to_string();
    let text = if before.is_empty() || before.contains(&own) {
        own
    } else {
        format!("{before}: {own}")
    };
    match why.source() {
        Some(source) if !text.contains(&source.to_string()) => told(source, &text),
        _ => text,
    }
}

fn unreachable(why: &tokio_postgres::Error) -> String {
    let told = told(why, "");
    if told.contains(STANDBY) {
        format!("{told} (transaction_read_only = on: it is a standby, or set so)")
    } else {
        told
    }
}

fn unfit(setting: &str, value: &str, needed: &str) -> String {
    format!(
        "the server has {setting} = {value}: it may lose what it has acknowledged. Set it to {needed}"
    )
}

/// How many synchronous standbys a server waits for, from `synchronous_standby_names`.
fn standbys(names: &str) -> u64 {
    let names = names.trim();
    if names.is_empty() {
        return 0;
    }
    let Some((before, _)) = names.split_once('(') else {
        return 1;
    };
    // `ANY 2 (…)`, `FIRST 2 (…)`, `2 (…)`; a list without a number waits for its first.
    before
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_whether_it_passes_and_whether_anything_was_done() {
        let (error, fatal) = (Some(Severity::Error), Some(Severity::Fatal));
        let table = [
            ("40001", error, Sort::Again),
            ("40P01", error, Sort::Again),
            ("53000", error, Sort::Short),
            ("53100", error, Sort::Short),
            ("53200", error, Sort::Short),
            ("53300", error, Sort::Short),
            ("53400", error, Sort::Short),
            ("25006", error, Sort::Demoted),
            ("23505", error, Sort::Refused),
            ("42P01", error, Sort::Refused),
            ("54000", error, Sort::Refused),
            ("40003", error, Sort::Broken),
            ("08006", error, Sort::Broken),
            ("57P01", error, Sort::Broken),
            ("53100", fatal, Sort::Broken),
            ("53300", fatal, Sort::Broken),
            ("53100", Some(Severity::Panic), Sort::Broken),
            ("40001", None, Sort::Broken),
        ];
        for (code, severity, expected) in table {
            let found = sort(&SqlState::from_code(code), severity);
            assert_eq!(found, expected, "{code} {severity:?}");
        }
    }

    #[test]
    fn standbys_are_counted_as_the_server_waits_for_them() {
        let table = [
            ("", 0),
            ("  ", 0),
            ("*", 1),
            ("s1", 1),
            ("s1, s2", 1),
            ("ANY 1 (s1, s2)", 1),
            ("any 2 (s1, s2, s3)", 2),
            ("FIRST 2 (s1, s2)", 2),
            ("3(a,b,c)", 3),
            ("\"s 1\"", 1),
        ];
        for (names, expected) in table {
            assert_eq!(standbys(names), expected, "{names}");
        }
    }
}
