//! Finds the server that takes writes among all that the settings name.
//!
//! **Shape.** Names are looked up, and every address of every server is asked at once ([`Settings::servers`]): a name
//! may have several addresses, and each may be another server.
//!
//! **Passwords.** If a server refuses a password, the next one is tried, so that the password can be changed at the database
//! first.
//!
//! **Order.** If two servers say that they take writes, the one with the later timeline is used: the other one was
//! frozen or cut off while its standby was promoted, and does not know. It acknowledges nothing, because it waits for
//! standbys that have left it; but a client that used it would wait for them, too.
//!
//! **Bounds.** Looking up a name may take [`Limits::connect`](crate::Limits), and at most [`ADDRESSES_MAX`] of its
//! addresses are asked. Each of those has the same time again to say what it is: a frozen server accepts connections
//! and answers none. Once one server takes writes, all others have an [`OTHERS`]th of that time left.
//!
//! **Failure.** If a server is used while others do not answer, a warning is logged, since one of those may have been
//! promoted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Session, drive, unreachable};
use crate::client::settings::Settings;
use crate::client::sql;

/// Once one server takes writes, the others are waited for this fraction of their time.
const OTHERS: u32 = 6;
/// The most addresses of one name that are asked.
const ADDRESSES_MAX: usize = 16;
/// How many leading digits in the name of a WAL file are the server's timeline.
const TIMELINE_DIGITS: usize = 8;

/// The numbers of a server and of its address, in the order of the settings.
type Number = (usize, usize);

/// The result of one question.
enum Found {
    /// The addresses of a server, and whether there is only one in all.
    At(Vec<(String, Config)>, bool),
    /// The server takes writes; its timeline, if that was asked.
    Takes(Option<u64>, Session),
    /// The server takes no writes, and why.
    Refuses(String),
    /// The server did not answer in time.
    Silent,
}

/// The questions under way, and the answers so far.
struct Asked {
    under_way: JoinSet<(Number, Found)>,
    /// The servers that have not answered, by their names for operators.
    silent: BTreeMap<Number, String>,
    refusals: BTreeMap<Number, (String, String)>,
    best: Option<(Option<u64>, Session)>,
    /// The passwords to try, in this order.
    passwords: Arc<[SecretString]>,
    /// Until when the other servers are waited for.
    until: Option<Instant>,
}

/// Connects to the server that takes writes, among all that are configured.
pub(super) async fn of_any(
    settings: &Settings,
    tls: &MakeRustlsConnect,
) -> Result<Session, String> {
    let most = settings.limits.connect;
    let mut asked = Asked {
        under_way: JoinSet::new(),
        silent: BTreeMap::new(),
        refusals: BTreeMap::new(),
        best: None,
        passwords: settings.passwords()?.into(),
        until: None,
    };
    let servers = settings.servers();
    let one = servers.len() == 1;
    for (n, (place, config)) in servers.into_iter().enumerate() {
        asked.silent.insert((n, 0), place.clone());
        asked.under_way.spawn(async move {
            let found = timeout(most, addresses(place, config)).await;
            let found = found.map_or(Found::Silent, |all| {
                let alone = one && all.len() == 1;
                Found::At(all, alone)
            });
            ((n, 0), found)
        });
    }
    while let Some((number, found)) = asked.next().await {
        asked.hear(number, found, most, tls);
    }
    asked.end(most)
}

impl Asked {
    /// The next answer; `None` once all have answered, or the time is over.
    async fn next(&mut self) -> Option<(Number, Found)> {
        loop {
            let next = match self.until {
                None => self.under_way.join_next().await,
                Some(until) => timeout_at(until, self.under_way.join_next())
                    .await
                    .ok()
                    .flatten(),
            };
            match next? {
                Ok(heard) => return Some(heard),
                // No answer will come, so the server stays among the silent ones.
                Err(why) => tracing::error!(%why, "asking a server of the log failed"),
            }
        }
    }

    fn hear(&mut self, number: Number, found: Found, most: Duration, tls: &MakeRustlsConnect) {
        if matches!(found, Found::Silent) {
            // The server stays among the silent ones.
            return;
        }
        let Some(place) = self.silent.remove(&number) else {
            return;
        };
        match found {
            Found::Silent => {}
            Found::At(all, alone) => {
                for (m, (place, config)) in all.into_iter().enumerate() {
                    let number = (number.0, m);
                    self.silent.insert(number, place);
                    let (tls, passwords) = (tls.clone(), Arc::clone(&self.passwords));
                    self.under_way.spawn(async move {
                        let connecting = connected(config, &passwords, tls);
                        (number, of(connecting, most, alone).await)
                    });
                }
            }
            Found::Takes(timeline, session) => {
                let until = || Instant::now() + most / OTHERS;
                self.until.get_or_insert_with(until);
                if self
                    .best
                    .as_ref()
                    .is_none_or(|(known, _)| *known < timeline)
                {
                    self.best = Some((timeline, session));
                }
            }
            Found::Refuses(why) => {
                self.refusals.insert(number, (place, why));
            }
        }
    }

    /// The chosen session, or why there is none.
    fn end(mut self, most: Duration) -> Result<Session, String> {
        if let Some((_, session)) = self.best {
            if !self.silent.is_empty() {
                let silent: Vec<_> = self.silent.into_values().collect();
                tracing::warn!(
                    silent = silent.join(", "),
                    "using a log server that accepts writes while others do not answer"
                );
            }
            return Ok(session);
        }
        for (number, place) in self.silent {
            let why = format!("it does not answer in {} ms", most.as_millis());
            self.refusals.insert(number, (place, why));
        }
        // With one refusal alone, it is clear which server it was.
        let alone = self.refusals.len() == 1;
        let refusals = self.refusals.into_values();
        let refusals = refusals.map(|(place, why)| {
            if alone {
                why
            } else {
                format!("{place}: {why}")
            }
        });
        let refusals: Vec<_> = refusals.collect();
        Err(refusals.join("; "))
    }
}

/// The ways to connect to a server: one for each address that its name has.
async fn addresses(place: String, config: Config) -> Vec<(String, Config)> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) if config.get_hostaddrs().is_empty() => name.as_str(),
        Some(_) | None => return vec![(place, config)],
    };
    let mut found = Vec::new();
    // If the lookup fails, connecting reports the reason.
    if let Ok(all) = tokio::net::lookup_host((host, 0)).await {
        for address in all {
            if found.len() < ADDRESSES_MAX && !found.contains(&address.ip()) {
                found.push(address.ip());
            }
        }
    }
    each(place, config, &found)
}

/// One way to connect to a server for each of its name's addresses.
fn each(place: String, config: Config, found: &[IpAddr]) -> Vec<(String, Config)> {
    if found.len() < 2 {
        return vec![(place, config)];
    }
    let each = found.iter().map(|address| {
        let mut one = config.clone();
        // The certificate is still checked for the name.
        one.hostaddr(*address);
        (format!("{place} ({address})"), one)
    });
    each.collect()
}

/// A new connection.
type Connected = (
    Client,
    Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
);

/// Connects to a server with the first password that it accepts. The use of an older one is logged.
async fn connected(
    mut config: Config,
    passwords: &[SecretString],
    tls: MakeRustlsConnect,
) -> Result<Connected, tokio_postgres::Error> {
    let mut left = passwords.iter();
    loop {
        if let Some(password) = left.next() {
            config.password(password.expose_secret());
        }
        match config.connect(tls.clone()).await {
            Err(why) if is_wrong_password(&why) && left.len() > 0 => {}
            connected => {
                if connected.is_ok() && left.len() + 1 < passwords.len() {
                    tracing::info!(secret = "cell.log_password", "an older secret was used");
                }
                return connected;
            }
        }
    }
}

fn is_wrong_password(why: &tokio_postgres::Error) -> bool {
    why.code() == Some(&SqlState::INVALID_PASSWORD)
}

/// Connects to a server and asks whether it takes writes and, unless it is `alone`, for its timeline.
async fn of(
    connecting: impl Future<Output = Result<Connected, tokio_postgres::Error>>,
    most: Duration,
    alone: bool,
) -> Found {
    let (client, connection) = match timeout(most, connecting).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(why)) => return Found::Refuses(unreachable(&why)),
        Err(_) => return Found::Silent,
    };
    let doubt = Arc::new(AtomicBool::new(false));
    let task = tokio::spawn(drive(connection, Arc::clone(&doubt))).abort_handle();
    let session = Session {
        client,
        task,
        doubt,
    };
    let timeline = if alone {
        None
    } else {
        timeline(&session, most).await
    };
    Found::Takes(timeline, session)
}

/// The timeline on which the server writes, if it has one.
async fn timeline(session: &Session, most: Duration) -> Option<u64> {
    // Warnings are ignored here: they are checked later.
    let found = timeout(most, session.send(sql::TIMELINE, &[]))
        .await
        .ok()?
        .ok()?;
    let name: String = found.rows.first()?.try_get(0).ok()?;
    u64::from_str_radix(name.get(..TIMELINE_DIGITS)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_asked_as_it_is_and_so_is_what_cannot_be_looked_up() {
        for host in ["127.0.0.1", "::1"] {
            let mut config = Config::new();
            config.host(host).port(1);
            let all = addresses("it".to_owned(), config.clone()).await;
            assert_eq!(all, [("it".to_owned(), config)]);
        }
    }

    #[test]
    fn each_address_of_a_name_is_asked_by_itself_and_known_by_the_name() {
        let found = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        let mut config = Config::new();
        config.host("db.internal").port(1);
        let all = each("db.internal:1".to_owned(), config, &found);
        let places: Vec<_> = all.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(
            places,
            ["db.internal:1 (10.0.0.1)", "db.internal:1 (10.0.0.2)"]
        );
        for ((_, one), address) in all.iter().zip(found) {
            assert_eq!(one.get_hosts(), [Host::Tcp("db.internal".to_owned())]);
            assert_eq!(one.get_hostaddrs(), [address]);
        }
    }
}
