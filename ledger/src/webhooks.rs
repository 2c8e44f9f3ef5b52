//! Webhooks: the addresses to which a tenant wants its events sent.
//!
//! A tenant's orders are decided here; the progress of each webhook is in [`crate::deliveries`].

mod format;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::events::EventKinds;
use crate::ids::{AccountNo, RealmId, Tag, VoucherId};
use crate::numbers::{Kind, LastNumber, Opening};
use crate::rejection::Rejection;
use crate::time::Timestamp;

pub use format::WebhookFormat;

/// How many webhooks a realm may have.
pub const WEBHOOKS_MAX: usize = 16;
/// How many redeliveries of a webhook may wait or be under way.
pub const REPLAYS_MAX: usize = 16;
/// How many secrets of a webhook are kept: the current one and older ones that still sign.
pub const SECRETS_MAX: usize = 4;

/// The id of a webhook of a realm. Written as `whk_` and 26 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WebhookId {
    /// The realm whose events are sent to it.
    pub realm: RealmId,
    /// Its number in the realm, from 1.
    pub number: u64,
}

/// The id of the delivery of one event to one webhook. Written as `dlv_` and 32 characters; 26 without a tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeliveryId {
    /// The webhook to which the event is sent.
    pub webhook: WebhookId,
    /// The number of the event in the realm's log.
    pub event: u64,
    /// The tag of the event, so that the id of a delivery is never that of another event's.
    pub tag: Tag,
}

impl WebhookId {
    /// Parses an id; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let id = VoucherId::after("whk_", text)?;
        (id.sequence == 0 && id.tag.is_none()).then_some(Self {
            realm: id.realm,
            number: id.account.0,
        })
    }
}

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(*self, 0, Tag::NONE).write("whk_", f)
    }
}

impl DeliveryId {
    /// Parses an id; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let id = VoucherId::after("dlv_", text)?;
        let webhook = WebhookId {
            realm: id.realm,
            number: id.account.0,
        };
        Some(Self {
            webhook,
            event: id.sequence,
            tag: id.tag,
        })
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(self.webhook, self.event, self.tag).write("dlv_", f)
    }
}

const fn place(webhook: WebhookId, sequence: u64, tag: Tag) -> VoucherId {
    VoucherId {
        realm: webhook.realm,
        account: AccountNo(webhook.number),
        sequence,
        tag,
    }
}

/// A secret that signs deliveries, encrypted: only the service can read it, and the ledger never does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Secret {
    /// The encrypted bytes of the secret.
    pub sealed: Vec<u8>,
    /// The first instant at which it no longer signs; `None` for the current one.
    pub until: Option<Timestamp>,
}

/// An order to deliver a range of events once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Replay {
    /// Counts the webhook's replays from 1.
    pub number: u64,
    /// The number of the first event.
    pub from: u64,
    /// The number of the last event.
    pub to: u64,
    /// Whether events of types that the webhook does not want are sent too.
    pub every_kind: bool,
}

/// A webhook with its tenant's settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Webhook {
    /// Its number in the realm, from 1, never reused.
    pub number: u64,
    /// The address to which events are posted.
    pub url: String,
    /// The types of events that it wants, including families such as `hold.*`; `None` wants all types, including future
    /// ones.
    pub types: Option<Vec<String>>,
    /// A line for people.
    pub description: Option<String>,
    /// Whether events are sent to it.
    pub active: bool,
    /// How often it was switched on: a stop from before the last time no longer counts.
    pub resumed: u64,
    /// The secrets, newest first.
    pub secrets: Vec<Secret>,
    /// The number of the last event before its creation: it gets the later ones.
    pub after: u64,
    /// The last replay ordered, and earlier ones that had not begun at that time.
    pub replays: Vec<Replay>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its tenant last changed it.
    pub updated_at: Timestamp,
    /// The format of the bodies sent to it.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub format: WebhookFormat,
}

impl Webhook {
    /// The types that it wants, among those that its format can carry.
    pub fn kinds(&self) -> EventKinds {
        // The words were validated when they were set. If one is not known, a newer version wrote it, and no event of
        // this version is meant by it.
        let wanted = self.types.as_ref().map_or(EventKinds::EVERY, |words| {
            EventKinds::known(words.iter().map(String::as_str))
        });
        wanted.and(self.format.kinds())
    }

    /// The secrets that sign at an instant, newest first.
    pub fn signing(&self, now: Timestamp) -> Vec<Vec<u8>> {
        let valid = |secret: &&Secret| secret.until.is_none_or(|until| now < until);
        let valid = self.secrets.iter().filter(valid);
        valid.map(|secret| secret.sealed.clone()).collect()
    }

    /// Makes a new secret the signing one; the old ones keep signing until `until`.
    fn rotate(&mut self, sealed: &[u8], now: Timestamp, until: Timestamp) {
        for old in &mut self.secrets {
            old.until = Some(old.until.map_or(until, |end| end.min(until)));
        }
        self.secrets
            .retain(|old| old.until.is_some_and(|end| now < end));
        self.secrets.truncate(SECRETS_MAX.saturating_sub(1));
        let current = Secret {
            sealed: sealed.to_vec(),
            until: None,
        };
        self.secrets.insert(0, current);
    }

    /// Replaces each stored secret by what it is stored as from now on.
    fn reseal(&mut self, secrets: &[(Vec<u8>, Vec<u8>)]) {
        for secret in &mut self.secrets {
            let found = secrets.iter().find(|(stored, _)| *stored == secret.sealed);
            if let Some((_, anew)) = found {
                secret.sealed.clone_from(anew);
            }
        }
    }

    /// Adds a replay; those that have begun, up to `taken`, are no longer kept.
    fn replay(&mut self, next: Replay, taken: u64) {
        self.replays.retain(|replay| replay.number > taken);
        self.replays.push(next);
    }

    /// The number of the last replay ordered; 0 when there was none.
    pub fn last_replay(&self) -> u64 {
        self.replays.last().map_or(0, |replay| replay.number)
    }
}

/// A tenant's order about its webhooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WebhookOrder {
    /// Add a webhook to those of the realm.
    Create {
        /// The address to which events are posted.
        url: String,
        /// The types that it wants; `None` wants all.
        types: Option<Vec<String>>,
        /// A line for people.
        description: Option<String>,
        /// The format of the bodies sent to it.
        format: WebhookFormat,
        /// The signing secret, encrypted, as stored.
        secret: Vec<u8>,
    },
    /// Change address, types, description or format, or switch it on or off; fields that are `None` stay.
    Change {
        /// Another address to which events are posted.
        url: Option<String>,
        /// The types that it wants; `Some(None)` wants all.
        types: Option<Option<Vec<String>>>,
        /// A line for people.
        description: Option<Option<String>>,
        /// The format of the bodies sent to it.
        format: Option<WebhookFormat>,
        /// Whether events are sent.
        active: Option<bool>,
    },
    /// Store secrets encrypted anew. It changes nothing for the tenant.
    Reseal {
        /// Each secret as it is stored, and as it is stored from now on.
        secrets: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// Add a new secret; the old ones keep signing for a while.
    Rotate {
        /// The new secret, encrypted, as stored.
        secret: Vec<u8>,
        /// How long the old ones keep signing, in seconds.
        overlap: u64,
    },
    /// Deliver events once more.
    Replay {
        /// The number of the first event.
        from: u64,
        /// The number of the last event; a number beyond the realm's last event is reduced to it.
        to: u64,
        /// Whether events of types that the webhook does not want are sent too.
        every_kind: bool,
    },
    /// Delete the webhook: nothing more is sent to it.
    Remove,
}

/// An event in the life of a realm's webhooks. Variants and fields are appended, never edited.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WebhookFact {
    /// The whole webhook after a change.
    Set(Webhook),
    /// A webhook was deleted.
    Removed {
        /// The number that it had.
        number: u64,
    },
}

/// The webhooks of one realm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Webhooks {
    known: BTreeMap<u64, Webhook>,
    last: Option<LastNumber>,
}

impl Webhooks {
    /// The webhook with a number.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, number: u64) -> Result<&Webhook, Rejection> {
        self.known.get(&number).ok_or(Rejection::WebhookNotFound)
    }

    /// All webhooks of the realm, by number.
    pub fn all(&self) -> impl Iterator<Item = &Webhook> {
        self.known.values()
    }

    /// Whether the realm has no webhooks.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of the webhook that an order concerns; for a new webhook the next number.
    pub fn number_of(
        &self,
        order: &WebhookOrder,
        named: u64,
        opening: Opening,
        now: Timestamp,
    ) -> u64 {
        match order {
            WebhookOrder::Create { .. } => opening.next(Kind::Webhook, self.last, now),
            WebhookOrder::Change { .. }
            | WebhookOrder::Rotate { .. }
            | WebhookOrder::Reseal { .. }
            | WebhookOrder::Replay { .. }
            | WebhookOrder::Remove => named,
        }
    }

    /// Decides an order about the webhook with the number that [`Self::number_of`] returned, while `last_event` is the
    /// realm's last event and `taken` the last replay that was begun.
    ///
    /// # Errors
    /// When there is no such webhook, or a limit is reached.
    pub fn decide(
        &self,
        number: u64,
        order: WebhookOrder,
        (last_event, taken): (u64, u64),
        now: Timestamp,
    ) -> Result<WebhookFact, Rejection> {
        let set = |change: &dyn Fn(&mut Webhook)| {
            let mut webhook = self.get(number)?.clone();
            webhook.updated_at = webhook.updated_at.max(now);
            change(&mut webhook);
            Ok(WebhookFact::Set(webhook))
        };
        match order {
            WebhookOrder::Create {
                url,
                types,
                description,
                format,
                secret,
            } => {
                let made = self.create(url, types, description, secret, last_event, now)?;
                Ok(WebhookFact::Set(Webhook {
                    number,
                    format,
                    ..made
                }))
            }
            WebhookOrder::Change {
                url,
                types,
                description,
                format,
                active,
            } => set(&|webhook| {
                webhook.format = format.unwrap_or(webhook.format);
                webhook.url = url.clone().unwrap_or_else(|| webhook.url.clone());
                webhook.types = types.clone().unwrap_or_else(|| webhook.types.clone());
                if let Some(description) = &description {
                    webhook.description.clone_from(description);
                }
                if active == Some(true) {
                    webhook.resumed = webhook.resumed.saturating_add(1);
                }
                webhook.active = active.unwrap_or(webhook.active);
            }),
            WebhookOrder::Rotate { secret, overlap } => {
                let until = now.plus_millis(overlap.saturating_mul(1000));
                set(&|webhook| webhook.rotate(&secret, now, until))
            }
            WebhookOrder::Reseal { secrets } => {
                let mut webhook = self.get(number)?.clone();
                webhook.reseal(&secrets);
                Ok(WebhookFact::Set(webhook))
            }
            WebhookOrder::Replay {
                from,
                to,
                every_kind,
            } => {
                let last = self.get(number)?.last_replay();
                let waiting = usize::try_from(last.saturating_sub(taken)).unwrap_or(usize::MAX);
                if waiting >= REPLAYS_MAX {
                    return Err(Rejection::TooManyReplays {
                        maximum: REPLAYS_MAX,
                    });
                }
                let next = Replay {
                    number: last.saturating_add(1),
                    from,
                    to: to.min(last_event),
                    every_kind,
                };
                set(&|webhook| webhook.replay(next, taken))
            }
            WebhookOrder::Remove => self.get(number).map(|_| WebhookFact::Removed { number }),
        }
    }

    fn create(
        &self,
        url: String,
        types: Option<Vec<String>>,
        description: Option<String>,
        secret: Vec<u8>,
        last_event: u64,
        now: Timestamp,
    ) -> Result<Webhook, Rejection> {
        if self.known.len() >= WEBHOOKS_MAX {
            return Err(Rejection::TooManyWebhooks {
                maximum: WEBHOOKS_MAX,
            });
        }
        Ok(Webhook {
            number: 0,
            url,
            types,
            description,
            active: true,
            resumed: 1,
            secrets: vec![Secret {
                sealed: secret,
                until: None,
            }],
            after: last_event,
            replays: Vec::new(),
            created_at: now,
            updated_at: now,
            format: WebhookFormat::Standard,
        })
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &WebhookFact) {
        match fact {
            WebhookFact::Set(webhook) => {
                self.last = self.last.max(Some(LastNumber {
                    number: webhook.number,
                    at: webhook.created_at,
                }));
                self.known.insert(webhook.number, webhook.clone());
            }
            WebhookFact::Removed { number } => drop(self.known.remove(number)),
        }
    }
}

#[cfg(test)]
mod tests;
