//! Webhooks: where a tenant wants its events to be sent.
//!
//! What a tenant orders is decided here; how far each webhook has come is in [`crate::deliveries`].

mod format;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::events::EventKinds;
use crate::ids::{AccountNo, RealmId, Tag, VoucherId};
use crate::rejection::Rejection;
use crate::time::Timestamp;

pub use format::WebhookFormat;

/// How many webhooks a realm may have.
pub const WEBHOOKS_MAX: usize = 16;
/// How many redeliveries of a webhook may wait or be under way.
pub const REPLAYS_MAX: usize = 16;
/// How many secrets of a webhook are kept, the current one and those that still sign.
pub const SECRETS_MAX: usize = 4;

/// A webhook of a realm. Written `whk_` and 26 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WebhookId {
    /// The realm whose events it is sent.
    pub realm: RealmId,
    /// The number in it, from 1.
    pub number: u64,
}

/// What becomes of one event at one webhook. Written `dlv_` and 26 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeliveryId {
    /// The webhook to which the event is sent.
    pub webhook: WebhookId,
    /// The number of the event in the realm's log.
    pub event: u64,
}

impl WebhookId {
    /// Reads an id; `None` for anything that was never written by `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        let id = VoucherId::after("whk_", text)?;
        (id.sequence == 0).then_some(Self {
            realm: id.realm,
            number: id.account.0,
        })
    }
}

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(*self, 0).write("whk_", f)
    }
}

impl DeliveryId {
    /// Reads an id; `None` for anything that was never written by `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        let id = VoucherId::after("dlv_", text)?;
        let webhook = WebhookId {
            realm: id.realm,
            number: id.account.0,
        };
        Some(Self {
            webhook,
            event: id.sequence,
        })
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(self.webhook, self.event).write("dlv_", f)
    }
}

const fn place(webhook: WebhookId, sequence: u64) -> VoucherId {
    VoucherId {
        realm: webhook.realm,
        account: AccountNo(webhook.number),
        sequence,
        tag: Tag::NONE,
    }
}

/// A secret that signs what is sent, encrypted: only the service can read it, and the ledger
/// never does.
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
    /// Whether types that the webhook does not want are sent too.
    pub every_kind: bool,
}

/// A webhook as its tenant wants it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Webhook {
    /// Its number in the realm, from 1, never reused.
    pub number: u64,
    /// The address to which events are posted.
    pub url: String,
    /// The types of events that it wants, families such as `hold.*` among them; `None` wants all
    /// types, also future ones.
    pub types: Option<Vec<String>>,
    /// A line for people.
    pub description: Option<String>,
    /// Whether events are sent to it.
    pub active: bool,
    /// How often it was switched on: a stop from before the last time no longer counts.
    pub resumed: u64,
    /// The secrets, the newest first.
    pub secrets: Vec<Secret>,
    /// The number of the last event before its creation: later ones are for it.
    pub after: u64,
    /// The last replay that was ordered, and those before it that had not begun by then.
    pub replays: Vec<Replay>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its tenant last changed it.
    pub updated_at: Timestamp,
    /// How the body of what is sent looks.
    #[serde(default, skip_serializing_if = "WebhookFormat::is_standard")]
    pub format: WebhookFormat,
}

impl Webhook {
    /// The types that it wants, of those that its format can carry.
    pub fn kinds(&self) -> EventKinds {
        // The words were read when they were set; a word that is known no longer wants nothing.
        let wanted = self.types.as_ref().map_or(EventKinds::EVERY, |words| {
            EventKinds::parse(words.iter().map(String::as_str)).unwrap_or_default()
        });
        wanted.and(self.format.kinds())
    }

    /// The secrets that sign at an instant, the newest first.
    pub fn signing(&self, now: Timestamp) -> Vec<Vec<u8>> {
        let valid = |secret: &&Secret| secret.until.is_none_or(|until| now < until);
        let valid = self.secrets.iter().filter(valid);
        valid.map(|secret| secret.sealed.clone()).collect()
    }

    /// Has a new secret sign; the old ones go on until then.
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

    /// The number of the last replay that was ordered; 0 when none was.
    pub fn last_replay(&self) -> u64 {
        self.replays.last().map_or(0, |replay| replay.number)
    }
}

/// What a tenant may order of its webhooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WebhookOrder {
    /// Add a webhook to those of the realm.
    Create {
        /// The address to which events are posted.
        url: String,
        /// The types that it wants; `None` is all.
        types: Option<Vec<String>>,
        /// A line for people.
        description: Option<String>,
        /// How the body of what is sent looks.
        format: WebhookFormat,
        /// The secret that signs, encrypted: its bytes as they are kept.
        secret: Vec<u8>,
    },
    /// Another address, other types, another description, another format, on or off; `None` leaves things as they
    /// are.
    Change {
        /// Another address to which events are posted.
        url: Option<String>,
        /// The types that it wants; `Some(None)` is all.
        types: Option<Option<Vec<String>>>,
        /// A line for people.
        description: Option<Option<String>>,
        /// How the body of what is sent looks.
        format: Option<WebhookFormat>,
        /// Whether events are sent.
        active: Option<bool>,
    },
    /// A new secret beside the old ones, which go on signing for a while.
    Rotate {
        /// The new secret, encrypted: its bytes as they are kept.
        secret: Vec<u8>,
        /// How long the old ones go on signing, in seconds.
        overlap: u64,
    },
    /// Deliver events once more.
    Replay {
        /// The number of the first event.
        from: u64,
        /// The number of the last event; one beyond the realm's last is cut.
        to: u64,
        /// Whether types that the webhook does not want are sent too.
        every_kind: bool,
    },
    /// Delete the webhook: nothing more is sent to it.
    Remove,
}

/// What happened to the webhooks of a realm. Variants and fields are appended, never edited.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WebhookFact {
    /// A webhook as it is now, whole.
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
    last: u64,
}

impl Webhooks {
    /// A webhook.
    ///
    /// # Errors
    /// When there is none of that number.
    pub fn get(&self, number: u64) -> Result<&Webhook, Rejection> {
        self.known.get(&number).ok_or(Rejection::WebhookNotFound)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of the webhook that an order is about: the next one for a new webhook.
    pub const fn number_of(&self, order: &WebhookOrder, named: u64) -> u64 {
        match order {
            WebhookOrder::Create { .. } => self.last.saturating_add(1),
            WebhookOrder::Change { .. }
            | WebhookOrder::Rotate { .. }
            | WebhookOrder::Replay { .. }
            | WebhookOrder::Remove => named,
        }
    }

    /// Decides an order about webhook `number`, while `last_event` is the realm's last event and
    /// `taken` the last replay that was begun.
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
                let made = self.create(url, (types, description), secret, last_event, now)?;
                Ok(WebhookFact::Set(Webhook { format, ..made }))
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
                set(&|webhook| {
                    webhook.replays.retain(|replay| replay.number > taken);
                    webhook.replays.push(Replay {
                        number: last.saturating_add(1),
                        from,
                        to: to.min(last_event),
                        every_kind,
                    });
                })
            }
            WebhookOrder::Remove => self.get(number).map(|_| WebhookFact::Removed { number }),
        }
    }

    fn create(
        &self,
        url: String,
        (types, description): (Option<Vec<String>>, Option<String>),
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
            number: self.last.saturating_add(1),
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

    /// Takes in what happened.
    pub fn apply(&mut self, fact: &WebhookFact) {
        match fact {
            WebhookFact::Set(webhook) => {
                self.last = self.last.max(webhook.number);
                self.known.insert(webhook.number, webhook.clone());
            }
            WebhookFact::Removed { number } => drop(self.known.remove(number)),
        }
    }
}

#[cfg(test)]
mod tests;
