//! The banks of all realms: how each bank relation is combined with the platform's settings for its mode.
//!
//! **Order.** A relation's own values come first, the platform's fill in the rest; at a sandbox of
//! worlds each realm has the collector account that the sandbox gives it.
//!
//! **Separation.** The platform's password goes to the platform's bank alone: a relation with a URL of its own needs a
//! user, a password and a collector account of its own, and the platform's notice secret does not authenticate its
//! notices. A relation's own secrets are files that state the bank they are for ([`SecretFiles`]); they are read when the
//! gateway is created, at start and when the relation changes.
//!
//! **Failure.** For an unusable relation, the error names the wrong setting; the service runs on without calling that
//! realm's bank.

use std::sync::Arc;

use caudal_actors::banks::{Banks, NoBank, Relation};
use caudal_actors::ports::BankGateway;
use caudal_bank::{self as bank, HttpGateway, MayCall};
use caudal_http::secret_lines::lines;
use caudal_ledger::tenants::BankKind;
use caudal_ledger::tenants::Mode;
use caudal_sandbox as sandbox;

use super::secrets::{NoSecret, SecretFiles};

/// The shortest notice secret, in bytes.
const NOTICE_SECRET_MIN: usize = 32;

/// The platform's bank of a mode.
#[derive(Clone)]
pub struct Usual {
    /// How the service reaches it.
    pub config: bank::Config,
    /// Whether it is a sandbox that gives each realm without a collector account one of its own.
    pub worlds: bool,
}

impl From<bank::Config> for Usual {
    /// A bank with one collector account, shared by every realm that names no other.
    fn from(config: bank::Config) -> Self {
        let worlds = false;
        Self { config, worlds }
    }
}

/// The engine's port for making banks, which are called only while `may_call` says so.
pub(super) fn maker(
    live: Option<Usual>,
    test: Option<Usual>,
    secrets: SecretFiles,
    may_call: MayCall,
) -> Banks {
    Arc::new(move |relation| {
        let config = match relation.mode {
            Mode::Live => config(&secrets, relation, live.as_ref())?,
            Mode::Test => {
                let config = config(&secrets, relation, test.as_ref())?;
                // The platform's own two banks are compared where the settings are read.
                let real = live.as_ref().filter(|_| relation.own.base_url.is_some());
                if real.is_some_and(|real| real.config.base_url == config.base_url) {
                    let why = "is the bank of live keys; test keys talk to a sandbox bank only";
                    return Err(wrong("baseUrl", why));
                }
                config
            }
        };
        gateway(relation.own.kind, config, &may_call)
    })
}

/// The gateway of a kind of bank.
fn gateway(
    kind: BankKind,
    config: bank::Config,
    may_call: &MayCall,
) -> Result<Arc<dyn BankGateway>, NoBank> {
    match kind {
        BankKind::ApiBank => {
            let made = HttpGateway::new(config).map_err(|why| wrong("baseUrl", why))?;
            Ok(Arc::new(made.calling_while(Arc::clone(may_call))))
        }
    }
}

fn wrong(field: &'static str, why: impl ToString) -> NoBank {
    let why = why.to_string();
    NoBank::Wrong { field, why }
}

fn config(
    secrets: &SecretFiles,
    relation: &Relation,
    usual: Option<&Usual>,
) -> Result<bank::Config, NoBank> {
    let own = &relation.own;
    let base_url = match (own.base_url.as_deref(), usual) {
        (Some(url), _) => url,
        (None, Some(usual)) => usual.config.base_url.as_str(),
        (None, None) if own.is_usual() => return Err(NoBank::Absent),
        (None, None) => {
            let why = "is needed: the settings of the service name no bank for this mode";
            return Err(wrong("baseUrl", why));
        }
    };
    let file = |field, name: &Option<String>| {
        let unusable = |NoSecret(why)| wrong(field, why);
        let read = |name: &str| secrets.read(name, base_url).map_err(unusable);
        name.as_deref().map(read)
    };
    let password = file("passwordFile", &own.password_file).transpose()?;
    let notices = file("noticeSecretFile", &own.notice_secret_file).transpose()?;
    let short = |secret| lines(secret).any(|line| line.len() < NOTICE_SECRET_MIN);
    if notices.as_ref().is_some_and(short) {
        let why = format!("holds less than {NOTICE_SECRET_MIN} bytes; agree on a longer secret");
        return Err(wrong("noticeSecretFile", why));
    }
    if password.as_ref().is_some_and(|it| lines(it).count() > 1) {
        let why = "holds more than one password; the bank accepts one";
        return Err(wrong("passwordFile", why));
    }
    if own.username.is_some() != password.is_some() {
        return Err(wrong("username", "and passwordFile go together; set both"));
    }
    let collector = own.collector.map(|collector| collector.to_string());
    let mut config = match usual.filter(|_| own.base_url.is_none()) {
        Some(usual) => platforms(relation, usual),
        None => {
            let needed = |field| wrong(field, "is needed with a baseUrl of its own");
            let username = own.username.clone().ok_or_else(|| needed("username"))?;
            let password = password.clone().ok_or_else(|| needed("passwordFile"))?;
            let collector = collector.clone();
            let collector = collector.ok_or_else(|| needed("collectorCbu"))?;
            let fresh = bank::Config::new(base_url, username, password, collector);
            match usual {
                None => fresh,
                Some(Usual { config: usual, .. }) => bank::Config {
                    connect_timeout: usual.connect_timeout,
                    attempt_timeout: usual.attempt_timeout.clone(),
                    deadline: usual.deadline,
                    attempts: usual.attempts,
                    ..fresh
                },
            }
        }
    };
    if let (Some(username), Some(password)) = (&own.username, password) {
        (config.username, config.password) = (username.clone(), password);
    }
    if let Some(collector) = collector {
        config.collector = collector;
    }
    config.psp_code = own.psp_code.or(config.psp_code);
    config.notice_secret = notices.or(config.notice_secret);
    Ok(config)
}

/// The platform's bank for a realm.
fn platforms(relation: &Relation, usual: &Usual) -> bank::Config {
    let mut config = usual.config.clone();
    if usual.worlds {
        config.collector = sandbox::collector(relation.realm);
        if relation.mode == Mode::Live && config.username == sandbox::USERNAME {
            sandbox::LIVE_USERNAME.clone_into(&mut config.username);
        }
    }
    config
}
