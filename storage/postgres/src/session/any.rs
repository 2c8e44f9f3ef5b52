//! The server that takes writes, of all that the settings name.
//!
//! **Shape.** Names are looked up, and every address of every server is asked at once
//! ([`Settings::servers`]): a name may have several addresses, and each may be another server.
//!
//! **Order.** If two servers say that they take writes, the one with the later timeline is used: the other one was
//! frozen or cut off while its standby was promoted, and does not know. It acknowledges nothing, because it waits for
//! standbys that have left it; but a client that used it would wait for them, too.
//!
//! **Bounds.** A name has [`Limits::connect`](crate::Limits) to be found, and has [`ADDRESSES_MAX`] addresses. Each of those
//! has the same time again to say what it is: one that stands still takes connections, and answers none. Once one
//! takes writes, all others have an [`OTHERS`]th of it.
//!
//! **Failure.** If a server is used while others do not answer, the log says so, since one of those may have been
//! promoted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Session, drive, unreachable};
use crate::settings::Settings;
use crate::sql;

/// For which part of their time the other servers are still waited for, once one takes writes.
const OTHERS: u32 = 6;
/// How many addresses of one name are asked.
const ADDRESSES_MAX: usize = 16;
/// How many digits of the name of a file of its log say a server's timeline.
const TIMELINE_DIGITS: usize = 8;

/// A server, and which of its addresses; as the settings order them.
type Number = (usize, usize);

/// What became of one question.
enum Found {
    /// Where a server may be, and whether there is no other.
    At(Vec<(String, Config)>, bool),
    /// It takes writes, on a timeline if that was asked.
    Takes(Option<u64>, Session),
    /// It takes none.
    Refuses(String),
    /// It did not answer in time.
    Silent,
}

/// All that is asked, and what was heard.
struct Asked {
    under_way: JoinSet<(Number, Found)>,
    /// Who has not answered, as people call them.
    silent: BTreeMap<Number, String>,
    refusals: BTreeMap<Number, (String, String)>,
    best: Option<(Option<u64>, Session)>,
    /// Until when the others are waited for.
    until: Option<Instant>,
}

/// Connects to the server that takes writes, of those that there are.
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
    /// What is heard next; nothing once all have answered, or the time is over.
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
                // Nobody hears of it again: it stays among the silent.
                Err(why) => tracing::error!(%why, "asking a server of the log failed"),
            }
        }
    }

    fn hear(&mut self, number: Number, found: Found, most: Duration, tls: &MakeRustlsConnect) {
        if matches!(found, Found::Silent) {
            // It stays among those.
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
                    let tls = tls.clone();
                    self.under_way
                        .spawn(async move { (number, of(&config, tls, most, alone).await) });
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

    /// The one that is used, or why there is none.
    fn end(mut self, most: Duration) -> Result<Session, String> {
        if let Some((_, session)) = self.best {
            if !self.silent.is_empty() {
                let silent: Vec<_> = self.silent.into_values().collect();
                tracing::warn!(
                    silent = silent.join(", "),
                    "a server of the log takes writes, and is used, while others do not answer"
                );
            }
            return Ok(session);
        }
        for (number, place) in self.silent {
            let why = format!("it does not answer in {} ms", most.as_millis());
            self.refusals.insert(number, (place, why));
        }
        // Of one alone it is known which it was.
        let alone = self.refusals.len() == 1;
        let refusals = self.refusals.into_values();
        let refusals = refusals.map(|(place, why)| match alone {
            true => why,
            false => format!("{place}: {why}"),
        });
        let refusals: Vec<_> = refusals.collect();
        Err(refusals.join("; "))
    }
}

/// Where a server may be: one way to connect to it for each address that its name has.
async fn addresses(place: String, config: Config) -> Vec<(String, Config)> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) if config.get_hostaddrs().is_empty() => name.as_str(),
        Some(_) | None => return vec![(place, config)],
    };
    let mut found = Vec::new();
    // What it cannot be found by, is said when it is connected to.
    if let Ok(all) = tokio::net::lookup_host((host, 0)).await {
        for address in all {
            if found.len() < ADDRESSES_MAX && !found.contains(&address.ip()) {
                found.push(address.ip());
            }
        }
    }
    each(place, config, &found)
}

/// One way to connect to a server for each of these addresses, which its name has.
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

/// Connects to a server, if it takes writes; and on which timeline, unless it is `alone`.
async fn of(config: &Config, tls: MakeRustlsConnect, most: Duration, alone: bool) -> Found {
    let (client, connection) = match timeout(most, config.connect(tls)).await {
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
    let timeline = match alone {
        true => None,
        false => timeline(&session, most).await,
    };
    Found::Takes(timeline, session)
}

/// On which timeline the server writes, if it has any.
async fn timeline(session: &Session, most: Duration) -> Option<u64> {
    // Whatever it warns of: that is asked later.
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
