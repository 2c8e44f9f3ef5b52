//! Sessions of operators, and links that log in once, in the memory of this process.
//!
//! **Shape.** A session is named by 256 random bits that only its browser has; only their SHA-256 is kept here, so
//! that a dump of this memory logs nobody in. A link works in the same way, once. Both end with the process.
//!
//! **Bounds.** [`SESSIONS_MAX`] sessions, [`SESSIONS_OF_ONE`] of one person, and [`LINKS_MAX`] links; when one more
//! comes, the least recently used session, or the oldest link, ends. A session ends after [`IDLE`] without a request
//! and after [`WHOLE`] in any case, a link after [`LINK`].
//!
//! **Failure.** Without random bits from the system nobody is logged in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::admin::people::Operator;

/// How many sessions there may be at the same time.
pub(super) const SESSIONS_MAX: usize = 64;
/// How many sessions one person may have.
pub(super) const SESSIONS_OF_ONE: usize = 4;
/// How many unused links there may be.
pub(super) const LINKS_MAX: usize = 8;
/// How long a session lasts without a request.
pub(super) const IDLE: Duration = Duration::from_secs(30 * 60);
/// How long a session lasts at most.
pub(super) const WHOLE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a link waits to be used.
pub(super) const LINK: Duration = Duration::from_secs(10 * 60);

/// Bytes of a secret.
const SECRET: usize = 32;

type Hash = [u8; digest::SHA256_OUTPUT_LEN];

/// The secret of a session, as its browser has it: it must not be logged.
#[derive(Clone)]
pub(super) struct SessionSecret(String);

impl SessionSecret {
    fn new() -> Option<(Self, Hash)> {
        let mut bytes = [0; SECRET];
        rand::fill(&mut bytes).ok()?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let hash = hash(&text)?;
        Some((Self(text), hash))
    }

    /// Its text, for a cookie or an address.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// The hash of a secret; the text may be anything that somebody sent.
fn hash(text: &str) -> Option<Hash> {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().try_into().ok()
}

/// The session of an operator.
#[derive(Clone)]
pub(super) struct Session {
    /// The operator: recorded with their decisions.
    pub who: Operator,
    /// The token that its forms carry, so that no other page can send one.
    token: String,
    began: Instant,
    used: Instant,
}

impl Session {
    /// The same session, with the operator's present role and powers.
    pub(super) fn of(self, who: Operator) -> Self {
        Self { who, ..self }
    }

    /// The token that forms carry.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Whether a form carries the token of this session.
    pub(super) fn is_token(&self, given: &str) -> bool {
        verify_slices_are_equal(self.token.as_bytes(), given.as_bytes()).is_ok()
    }

    fn lasts(&self, now: Instant) -> bool {
        now.duration_since(self.used) < IDLE && now.duration_since(self.began) < WHOLE
    }
}

/// All sessions and links.
#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<Hash, Session>>,
    links: Mutex<HashMap<Hash, Instant>>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for one more of the entries that `counts` selects, by removing the oldest of them.
fn make_room<T>(
    all: &mut HashMap<Hash, T>,
    most: usize,
    age: impl Fn(&T) -> Instant,
    counts: impl Fn(&T) -> bool,
) {
    while all.values().filter(|it| counts(it)).count() >= most {
        let counted = all.iter().filter(|(_, it)| counts(it));
        let oldest = counted.min_by_key(|(_, it)| age(it));
        let Some(oldest) = oldest.map(|(hash, _)| *hash) else {
            return;
        };
        all.remove(&oldest);
    }
}

impl Sessions {
    /// Begins a session; `None` where the system has no random bits.
    pub(super) fn begin(&self, who: Operator, now: Instant) -> Option<SessionSecret> {
        let (secret, hash) = SessionSecret::new()?;
        let (token, _) = SessionSecret::new()?;
        let mut open = lock(&self.open);
        open.retain(|_, session| session.lasts(now));
        let used = |session: &Session| session.used;
        let own = |session: &Session| session.who.name == who.name;
        make_room(&mut open, SESSIONS_OF_ONE, used, own);
        make_room(&mut open, SESSIONS_MAX, used, |_| true);
        open.insert(
            hash,
            Session {
                who,
                token: token.0,
                began: now,
                used: now,
            },
        );
        Some(secret)
    }

    /// The session of a secret, marked as used now; `None` when there is none or it has ended.
    pub(super) fn find(&self, secret: &str, now: Instant) -> Option<Session> {
        let hash = hash(secret)?;
        let mut open = lock(&self.open);
        match open.get_mut(&hash) {
            Some(session) if session.lasts(now) => {
                session.used = now;
                Some(session.clone())
            }
            Some(_) => {
                open.remove(&hash);
                None
            }
            None => None,
        }
    }

    /// Whether a session still lasts; this does not count as use.
    pub(super) fn lasts(&self, secret: &str, now: Instant) -> bool {
        let found = hash(secret).and_then(|hash| lock(&self.open).get(&hash).cloned());
        found.is_some_and(|session| session.lasts(now))
    }

    /// Ends a session.
    pub(super) fn end(&self, secret: &str) {
        if let Some(hash) = hash(secret) {
            lock(&self.open).remove(&hash);
        }
    }

    /// A link that logs in once; `None` where the system has no random bits.
    pub(super) fn link(&self, now: Instant) -> Option<SessionSecret> {
        let (secret, hash) = SessionSecret::new()?;
        let mut links = lock(&self.links);
        links.retain(|_, made| now.duration_since(*made) < LINK);
        make_room(&mut links, LINKS_MAX, |made| *made, |_| true);
        links.insert(hash, now);
        Some(secret)
    }

    /// Uses a link up; returns whether it was valid.
    pub(super) fn take(&self, secret: &str, now: Instant) -> bool {
        let made = hash(secret).and_then(|hash| lock(&self.links).remove(&hash));
        made.is_some_and(|made| now.duration_since(made) < LINK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::people::Role;

    fn operator(name: &str) -> Operator {
        Operator {
            name: name.to_owned(),
            role: Role::Operator,
            credential: None,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_session_ends_when_idle_when_old_and_when_told() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let secret = sessions.begin(operator("ana"), begun).unwrap();
        let secret = secret.expose();
        let mut now = begun;
        while now + IDLE - SECOND < begun + WHOLE {
            now += IDLE - SECOND;
            assert_eq!(sessions.find(secret, now).unwrap().who.name, "ana");
        }
        assert!(sessions.lasts(secret, begun + WHOLE - SECOND));
        assert!(!sessions.lasts(secret, begun + WHOLE));
        assert!(sessions.find(secret, begun + WHOLE).is_none());
        // It does not come back when the clock does.
        assert!(sessions.find(secret, begun).is_none());

        let secret = sessions.begin(operator("ana"), begun).unwrap();
        assert!(sessions.find(secret.expose(), begun + IDLE).is_none());
        let secret = sessions.begin(operator("ana"), begun).unwrap();
        sessions.end(secret.expose());
        assert!(sessions.find(secret.expose(), begun).is_none());
        assert!(sessions.find("", begun).is_none());
    }

    #[test]
    fn tokens_belong_to_their_session() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let [one, other] = [(); 2].map(|()| {
            let secret = sessions.begin(operator("ana"), now).unwrap();
            sessions.find(secret.expose(), now).unwrap()
        });
        assert!(one.is_token(one.token()));
        assert!(!one.is_token(other.token()));
        assert!(!one.is_token(""));
    }

    #[test]
    fn one_more_session_ends_the_one_that_was_used_least_recently() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let first = sessions.begin(operator("first"), begun).unwrap();
        let second = sessions.begin(operator("second"), begun + SECOND).unwrap();
        let later = begun + SECOND * 2;
        for n in 2..SESSIONS_MAX {
            let other = format!("other{n}");
            sessions.begin(operator(&other), later).unwrap();
        }
        assert!(sessions.find(first.expose(), later + SECOND).is_some());
        sessions
            .begin(operator("one more"), later + SECOND)
            .unwrap();
        assert!(sessions.find(first.expose(), later + SECOND).is_some());
        assert!(sessions.find(second.expose(), later + SECOND).is_none());
    }

    #[test]
    fn one_person_has_so_many_sessions_and_nobody_else_loses_theirs() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let other = sessions.begin(operator("eva"), begun).unwrap();
        let mut own = Vec::new();
        for after in 1..=5 {
            let now = begun + SECOND * after;
            own.push(sessions.begin(operator("ana"), now).unwrap());
        }
        let last = begun + SECOND * 9;
        let lasts: Vec<_> = own
            .iter()
            .map(|it| sessions.lasts(it.expose(), last))
            .collect();
        assert_eq!(lasts, [false, true, true, true, true]);
        assert!(sessions.lasts(other.expose(), last));
    }

    #[test]
    fn a_link_is_good_once_and_not_for_long() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let link = sessions.link(now).unwrap();
        assert!(sessions.take(link.expose(), now + LINK - SECOND));
        assert!(!sessions.take(link.expose(), now));
        let link = sessions.link(now).unwrap();
        assert!(!sessions.take(link.expose(), now + LINK));
        let first = sessions.link(now).unwrap();
        for _ in 0..LINKS_MAX {
            sessions.link(now + SECOND).unwrap();
        }
        assert!(!sessions.take(first.expose(), now + SECOND));
    }
}
