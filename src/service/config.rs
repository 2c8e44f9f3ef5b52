//! Settings of `caudal serve`: a TOML file, and `CAUDAL_…` variables over it.
//!
//! **Failure.** A wrong or unknown setting stops the start with a message that names it.

mod backup;
mod cell;
mod connections;
mod sizes;
mod traces;
mod webhooks;
mod wrong;

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::realms::KEYS_KEPT;
use caudal_actors::{engine, in_flight};
use caudal_bank as bank;
use caudal_http::log::LogFormat;
use caudal_http::memory;
use caudal_http::memory::MemoryPlan;
use caudal_http::secret_lines::lines;
use caudal_http::webhooks::AttemptLimits;
use caudal_ledger::deliveries::Schedule;
use caudal_ledger::ids::Shard;
use caudal_ledger::statements::SETTLING;
use caudal_sandbox as sandbox;
use secrecy::SecretString;
use serde::Deserialize;

use crate::calendar;
use crate::{Banking, DayClosing, ServiceOptions, Usual};
use sizes::{Actors, Storage};
use wrong::{Mistakes, is_empty};

/// The least that a realm may have in flight: clients keep a few requests open, and batches have to fit.
const IN_FLIGHT_MIN: u32 = 64;
/// The most that a realm may have in flight: more than the listener has connections.
const IN_FLIGHT_MAX: u32 = 65_536;
/// The settings with their meanings and defaults, ready to be filled in.
pub const EXAMPLE: &str = include_str!("config/example.toml");
/// The prefix of every variable.
const PREFIX: &str = "CAUDAL_";
/// Variables of the command line that are not settings.
const NOT_SETTINGS: [&str; 5] = [
    "CAUDAL_API_KEY",
    "CAUDAL_CONFIG",
    "CAUDAL_ADMIN_URL",
    "CAUDAL_REASON",
    "CAUDAL_SANDBOX_NOTICE_SECRET",
];
/// The shortest secret, in characters.
pub const SECRET_CHARS_MIN: usize = 32;
/// The default URL of the sandbox bank for test realms.
const SANDBOX_URL: &str = "http://127.0.0.1:8082";
/// The default of the log's filter; the server library below would log an error for whatever clients send.
const LOG_USUAL: &str = "info,actix_server=warn";
const MIB: u64 = 1 << 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many days the answer to an idempotency key is kept by default.
const IDEMPOTENCY_DAYS: u32 = 7;

/// Why the settings are refused: one line per mistake.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigError(pub Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings are wrong:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for ConfigError {}

/// All settings; [`EXAMPLE`] says what each means.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    data: Option<PathBuf>,
    calendar: Option<PathBuf>,
    secrets_folder: Option<PathBuf>,
    listen: SocketAddr,
    admin_listen: SocketAddr,
    admin_key: Option<SecretString>,
    admin_key_enabled: bool,
    pepper: Option<SecretString>,
    workers: usize,
    shard: u16,
    shutdown_grace_seconds: u64,
    bank_catch_up_seconds: u64,
    treasury_check_seconds: u64,
    day_close_grace_seconds: u64,
    idempotency_days: u32,
    webhook_networks: Vec<String>,
    webhook_timeout_ms: u64,
    webhook_retry_ms: Vec<u64>,
    webhook_brake_ms: Vec<u64>,
    /// How the log is written.
    pub log_format: LogFormat,
    /// The filter of the log.
    pub log: String,
    log_requests_every: u32,
    memory_bytes: Option<u64>,
    actors: Actors,
    storage: Storage,
    cell: cell::LogSection,
    connections: connections::Connections,
    rate_limit: Option<RateLimit>,
    realm_in_flight: NonZeroU32,
    bank: Banks,
    backup: backup::BackupTo,
    /// The collector for spans.
    pub traces: traces::TracesSection,
}

/// How many requests of a key may pass, in the long run and in a burst.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateLimit {
    per_second: NonZeroU32,
    burst: NonZeroU32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Banks {
    live: Option<Bank>,
    test: Bank,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Bank {
    base_url: Option<String>,
    username: Option<String>,
    password: Option<SecretString>,
    collector: Option<String>,
    psp_code: Option<u16>,
    notice_secret: Option<SecretString>,
    connect_timeout_ms: Option<u64>,
    attempt_timeout_ms: Option<u64>,
    deadline_ms: Option<u64>,
    attempts: Option<usize>,
    plain_http: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let schedule = Schedule::default();
        let local = |port| SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port));
        Self {
            data: None,
            calendar: None,
            secrets_folder: None,
            listen: local(8080),
            admin_listen: local(8081),
            admin_key: None,
            admin_key_enabled: true,
            pepper: None,
            workers: 0,
            shard: 0,
            shutdown_grace_seconds: crate::GRACE.as_secs(),
            bank_catch_up_seconds: crate::CATCH_UP.as_secs(),
            treasury_check_seconds: crate::COVERAGE_CHECK.as_secs(),
            day_close_grace_seconds: crate::DAY_CLOSING.grace.as_secs(),
            idempotency_days: IDEMPOTENCY_DAYS,
            webhook_networks: Vec::new(),
            webhook_timeout_ms: AttemptLimits::MILLIS,
            webhook_retry_ms: schedule.pauses.to_vec(),
            webhook_brake_ms: schedule.brake.to_vec(),
            log_format: LogFormat::default(),
            log: LOG_USUAL.into(),
            log_requests_every: 1,
            memory_bytes: None,
            actors: Actors::default(),
            storage: Storage::default(),
            cell: cell::LogSection::default(),
            connections: connections::Connections::default(),
            rate_limit: None,
            realm_in_flight: in_flight::LIMIT,
            bank: Banks::default(),
            backup: backup::BackupTo::default(),
            traces: traces::TracesSection::default(),
        }
    }
}

impl Settings {
    /// Reads the file, with the process's variables over it.
    ///
    /// # Errors
    /// When the file cannot be read, or a setting is unknown or of the wrong kind.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let one = |why: String| ConfigError(vec![why]);
        let text = std::fs::read_to_string(file)
            .map_err(|why| one(format!("{}: {why}", file.display())))?;
        // Variables that are not valid text are not ours.
        let ours = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let place = file.display();
        let placed = |line| format!("{line}; correct it in {place} or in a {PREFIX}… variable");
        let found = Self::parse(&text, ours.collect());
        found.map_err(|why| ConfigError(why.0.into_iter().map(placed).collect()))
    }

    /// Reads the text of a file, with variables over it.
    ///
    /// # Errors
    /// When a setting is unknown or of the wrong kind.
    pub fn parse(text: &str, variables: HashMap<String, String>) -> Result<Self, ConfigError> {
        let ours =
            |name: &String| name.starts_with(PREFIX) && !NOT_SETTINGS.contains(&name.as_str());
        let variables = variables
            .into_iter()
            .filter(|(name, _)| ours(name))
            .collect();
        let environment = config::Environment::with_prefix("CAUDAL")
            .prefix_separator("_")
            .separator("__")
            .ignore_empty(true)
            .source(Some(variables));
        config::Config::builder()
            .add_source(config::File::from_str(text, config::FileFormat::Toml))
            .add_source(environment)
            .build()
            .and_then(config::Config::try_deserialize)
            .map_err(|why| ConfigError(vec![unquoted(&why.to_string())]))
    }

    /// The service that these settings describe.
    ///
    /// # Errors
    /// Every setting that is missing, weak or out of its range.
    pub fn options(self) -> Result<ServiceOptions, ConfigError> {
        let mut wrong = Mistakes::default();
        let data = self.data.clone();
        let data = data.filter(|data| !data.as_os_str().is_empty());
        if data.is_none() {
            wrong.add("data", "is not set: the folder that keeps everything");
        }
        let admin_key = self.administration(&mut wrong);
        let pepper = wrong.secret("pepper", self.pepper.as_ref());
        wrong.range("workers", self.workers, 0, 1024);
        wrong.range("shard", self.shard, 0, Shard::MAX);
        wrong.range(
            "shutdown_grace_seconds",
            self.shutdown_grace_seconds,
            1,
            300,
        );
        let (catch_up, coverage_check) = self.timers(&mut wrong);
        let day_closing = self.day_closing(&mut wrong);
        self.sizes(&mut wrong);
        let cell = self.cell.elsewhere(pepper.is_some(), &mut wrong);
        let banking = self.banking(&mut wrong);
        let (reach, limits) = (self.reach(&mut wrong), self.connections.limits(&mut wrong));
        let (attempt, schedule) = (self.attempt(&mut wrong), self.schedule(&mut wrong));
        let backup = self.backup.plan(&mut wrong);
        let secrets = self.secrets(&mut wrong);
        self.traces.check(&mut wrong);
        let calendar =
            calendar::load(self.calendar.as_deref()).map_err(|why| wrong.add("calendar", why));
        let (Some(data), Some(admin_key), Some(banking), Ok(calendar), true) =
            (data, admin_key, banking, calendar, wrong.0.is_empty())
        else {
            return Err(ConfigError(wrong.0));
        };
        Ok(ServiceOptions {
            listen: self.listen,
            admin_listen: self.admin_listen,
            workers: self.workers,
            shard: Shard::new(self.shard).unwrap_or_default(),
            engine: engine::EngineOptions {
                arbiters: self.actors.threads,
                in_flight: self.realm_in_flight,
                webhooks: schedule,
                keys_kept: DAY.checked_mul(self.idempotency_days).unwrap_or(KEYS_KEPT),
                ..engine::EngineOptions::default()
            },
            storage: self.storage.options(),
            cell,
            banking,
            secrets,
            admin_key_enabled: self.admin_key_enabled,
            calendar: Arc::new(calendar),
            pepper,
            reach,
            attempt,
            limits,
            deadlines: self.connections.deadlines(),
            answer: self.connections.answer(),
            rate: self.rate_limit.map(|limit| (limit.per_second, limit.burst)),
            grace: Duration::from_secs(self.shutdown_grace_seconds),
            log_every: self.log_requests_every,
            backup,
            catch_up,
            coverage_check,
            day_closing,
            ..ServiceOptions::local(data, admin_key)
        }
        .within(self.plan()))
    }

    /// How often the bank's list is read, and how often the collector accounts are checked; 0 seconds mean never.
    fn timers(&self, wrong: &mut Mistakes) -> (Option<Duration>, Option<Duration>) {
        let mut every = |name, seconds: u64, most| {
            (seconds > 0).then(|| {
                wrong.range(name, seconds, 10, most);
                Duration::from_secs(seconds)
            })
        };
        (
            every("bank_catch_up_seconds", self.bank_catch_up_seconds, 86_400),
            every("treasury_check_seconds", self.treasury_check_seconds, 600),
        )
    }

    /// When days are closed; 0 seconds mean never.
    fn day_closing(&self, wrong: &mut Mistakes) -> Option<DayClosing> {
        let seconds = self.day_close_grace_seconds;
        (seconds > 0).then(|| {
            // After that no movement enters a day.
            let least = SETTLING.div_euclid(1000);
            wrong.range("day_close_grace_seconds", seconds, least, 86_400);
            DayClosing {
                grace: Duration::from_secs(seconds),
                ..crate::DAY_CLOSING
            }
        })
    }

    /// The folder of the secrets that bank relations name.
    fn secrets(&self, wrong: &mut Mistakes) -> Option<PathBuf> {
        let folder = self.secrets_folder.clone();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty())?;
        if !folder.is_dir() {
            let why = format!("{} is not a folder that can be read", folder.display());
            wrong.add("secrets_folder", why);
        }
        Some(folder)
    }

    /// The credential of the admin API; also checks that the API has a port of its own.
    fn administration(&self, wrong: &mut Mistakes) -> Option<SecretString> {
        if collide(self.listen, self.admin_listen) {
            wrong.add(
                "admin_listen",
                "must not be the address of listen: choose another port",
            );
        }
        let admin_key = wrong.secret("admin_key", self.admin_key.as_ref());
        if admin_key.is_none() {
            wrong.add("admin_key", "is not set: the credential of the admin API");
        }
        admin_key
    }

    /// How the memory is divided; a part that is set may grow no further than its setting.
    fn plan(&self) -> MemoryPlan {
        let usual = MemoryPlan::of(self.memory_bytes.unwrap_or_else(memory::usual));
        let set = |mib: Option<u64>, usual| mib.map_or(usual, |mib| mib.saturating_mul(MIB));
        MemoryPlan {
            page_cache: set(self.storage.index_cache_mib, usual.page_cache),
            block_cache: set(self.storage.block_cache_mib, usual.block_cache),
            resident: self.actors.resident,
            ..usual
        }
    }

    fn sizes(&self, wrong: &mut Mistakes) {
        wrong.range("idempotency_days", self.idempotency_days, 1, 90);
        let (actors, storage) = (self.actors, self.storage);
        wrong.range("actors.threads", actors.threads, 1, 64);
        let in_flight = self.realm_in_flight.get();
        wrong.range("realm_in_flight", in_flight, IN_FLIGHT_MIN, IN_FLIGHT_MAX);
        let memory = self.memory_bytes;
        wrong.range("memory_bytes", memory, memory::LEAST, memory::MOST);
        wrong.range("actors.resident", actors.resident, 100, 10_000_000);
        wrong.range("storage.segment_mib", storage.segment_mib, 1, 2048);
        let cache = storage.index_cache_mib;
        wrong.range("storage.index_cache_mib", cache, 1, 65_536);
        let rate = storage.check_mib_per_second;
        wrong.range("storage.check_mib_per_second", rate, 0, 65_536);
        let every = storage.check_every_hours;
        wrong.range("storage.check_every_hours", every, 0, 8_760);
        let blocks = storage.block_cache_mib;
        wrong.range("storage.block_cache_mib", blocks, 0, 65_536);
        let floor = storage.free_space_floor_mib;
        wrong.range("storage.free_space_floor_mib", floor, 0, 1 << 30);
    }

    fn banking(&self, wrong: &mut Mistakes) -> Option<Banking> {
        let sandbox = Bank {
            base_url: Some(SANDBOX_URL.into()),
            username: Some(sandbox::USERNAME.into()),
            password: Some(sandbox::PASSWORD.into()),
            collector: Some(sandbox::COLLECTOR.into()),
            ..Bank::default()
        };
        let test = self.bank.test.config("bank.test", &sandbox, wrong);
        let worlds = self.bank.test.collector.is_none();
        let test = test.map(|config| Box::new(Usual { config, worlds }));
        // Without the section there is no bank for live keys, and none can be issued.
        let Some(live) = &self.bank.live else {
            let (live, test) = (None, test?);
            return Some(Banking::Remote { live, test });
        };
        let config = live.config("bank.live", &Bank::default(), wrong);
        live.is_no_sandbox(&self.bank.test, &sandbox, wrong);
        if live.notice_secret.as_ref().is_none_or(is_empty) {
            wrong.add(
                "bank.live.notice_secret",
                "is not set: the secret under which your bank signs its notices",
            );
        }
        let (live, test) = (config?, test?);
        let live = Some(Box::new(live.into()));
        Some(Banking::Remote { live, test })
    }
}

impl Bank {
    /// Notes every value that the bank of live keys shares with that of test keys, even if other values are missing, so
    /// that all mistakes are reported at once.
    fn is_no_sandbox(&self, test: &Self, sandbox: &Self, wrong: &mut Mistakes) {
        let shared = |ours: &Option<SecretString>, other: &Option<SecretString>| {
            let other: Vec<_> = other.iter().flat_map(lines).collect();
            ours.iter().flat_map(lines).any(|it| other.contains(&it))
        };
        let same = |ours: Option<String>, other: Option<String>| ours.is_some() && ours == other;
        if shared(&self.password, &sandbox.password) {
            let why = "is the sandbox's; set the one of your bank";
            wrong.add("bank.live.password", why);
        }
        if shared(&self.notice_secret, &test.notice_secret) {
            let why = "must not be that of bank.test: a sandbox bank would speak for your bank";
            wrong.add("bank.live.notice_secret", why);
        }
        let url = |bank: &Self| bank.base_url.clone().filter(|url| !url.is_empty());
        if same(url(self), url(test).or_else(|| url(sandbox))) {
            let why = "must not be the bank of live keys: test keys talk to a sandbox bank only";
            wrong.add("bank.test.base_url", why);
        }
    }

    fn config(&self, section: &str, usual: &Self, wrong: &mut Mistakes) -> Option<bank::Config> {
        let mut text = |name: &str, set: &Option<String>, usual: &Option<String>| {
            let found = set
                .clone()
                .or_else(|| usual.clone())
                .filter(|text| !text.is_empty());
            if found.is_none() {
                wrong.add(&format!("{section}.{name}"), "is not set");
            }
            found
        };
        let base_url = text("base_url", &self.base_url, &usual.base_url);
        let username = text("username", &self.username, &usual.username);
        let collector = text("collector", &self.collector, &usual.collector);
        let password = self.password.clone().or_else(|| usual.password.clone());
        let password = password.filter(|secret| !is_empty(secret));
        if password.is_none() {
            wrong.add(&format!("{section}.password"), "is not set");
        }
        let setting = format!("{section}.notice_secret");
        let notice_secret = wrong.secret(&setting, self.notice_secret.as_ref());
        let mut millis = |name: &str, set: Option<u64>, usual: Duration| {
            wrong.range(&format!("{section}.{name}"), set, 1, 60_000);
            set.map_or(usual, Duration::from_millis)
        };
        let connect_timeout = millis(
            "connect_timeout_ms",
            self.connect_timeout_ms,
            bank::CONNECT_TIMEOUT,
        );
        let attempt_timeout = millis(
            "attempt_timeout_ms",
            self.attempt_timeout_ms,
            bank::ATTEMPT_TIMEOUT,
        );
        let deadline = millis("deadline_ms", self.deadline_ms, bank::DEADLINE);
        let attempts = self.attempts.unwrap_or(bank::ATTEMPTS_MAX);
        wrong.range(&format!("{section}.attempts"), attempts, 1, 10);
        wrong.range(&format!("{section}.psp_code"), self.psp_code, 1, 9_999);
        Some(bank::Config {
            connect_timeout,
            attempt_timeout: bank::CallTimeout::new(attempt_timeout),
            deadline,
            attempts,
            psp_code: self.psp_code,
            notice_secret,
            plain_http: self.plain_http,
            ..bank::Config::new(base_url?, username?, password?, collector?)
        })
    }
}

/// The parser's message, without the lines that it quotes from the file: they may hold secrets.
fn unquoted(why: &str) -> String {
    let quoted = |line: &&str| line.contains('|');
    let lines = why.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .filter(|line| !quoted(line))
        .collect::<Vec<_>>()
        .join(": ")
}

/// Whether two listeners would use the same port.
fn collide(a: SocketAddr, b: SocketAddr) -> bool {
    let meet = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && meet
}

#[cfg(test)]
mod tests;
