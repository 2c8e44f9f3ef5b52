//! The kit of every interface: connections, the caller, bodies, queries, errors and their words, statements, what goes
//! out to webhooks, and the log. It has no route of its own.

pub mod accept;
pub mod audit_rate;
pub mod bodies;
pub mod body;
pub mod borrowed;
pub mod bytes;
pub mod caller;
pub mod catalogue;
pub mod choice;
pub mod clients;
pub mod clock;
pub mod current;
pub mod cursors;
pub mod declared;
pub mod document;
mod encoding;
pub mod errors;
pub mod frame;
pub mod gate;
pub mod key_reads;
pub mod keys;
pub mod log;
pub mod measures;
pub mod memory;
mod nearest;
pub mod node;
mod origin;
pub mod pages;
pub mod params;
pub mod paths;
pub mod persons;
mod pieces;
pub mod pool;
pub mod problems;
pub mod query;
pub mod rate;
pub mod request;
pub mod respond;
pub mod routes;
pub mod rows;
pub mod scopes;
pub mod secret_lines;
pub mod shapes;
pub mod sheets;
pub mod shown;
pub mod statements;
pub mod streams;
pub mod text;
pub mod trace;
pub mod traces;
pub mod units;
mod unready;
pub mod walletentidad;
pub mod webhooks;
pub mod whole_list;
pub mod wire;
pub mod words;
pub mod wrong_keys;

use std::sync::Arc;

use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_ledger::calendar::Calendar;
use caudal_ledger::ids::RealmId;
use ipnet::IpNet;

use self::errors::ApiError;
use self::unready::Unready;
use crate::keys::{Keyring, RootKey};
use crate::measures::Measures;
use crate::memory::{MemoryPlan, UnreadAnswers};
use crate::webhooks::{AllowedAddresses, Sealer};

/// The state that every handler works with; shared by all workers.
#[derive(Clone, Debug)]
pub struct AppState {
    /// The actors.
    pub engine: Arc<Engine>,
    /// The keys.
    pub keyring: Arc<Keyring>,
    /// The configured admin key; none where it is switched off.
    pub root: Option<Arc<RootKey>>,
    /// Whether the service still takes requests.
    pub gate: Arc<gate::Gate>,
    /// The threads that read and write long JSON.
    pub pool: Arc<pool::Pool>,
    /// The parts that send events to tenants.
    pub hooks: Arc<Hooks>,
    /// The days on which banks are closed.
    pub calendar: Arc<Calendar>,
    /// How long the parts of a request may take to arrive.
    pub deadlines: bytes::Deadlines,
    /// One in this many successful requests gets a line in the log; 0 means none does.
    pub log_every: u32,
    /// How many looks an operator has, and how many checks and denials have entries in the audit log.
    pub audit_rate: Arc<audit_rate::AuditRate>,
    /// What keys were shown since it was last written into the audit log.
    pub key_reads: Arc<key_reads::KeyReads>,
    /// Addresses that sent wrong keys.
    pub wrong_keys: Arc<wrong_keys::WrongKeys>,
    /// The rate limit of each key; none unless configured.
    pub rate: Option<Arc<rate::KeyRate>>,
    /// The counters of requests and of the rest of the work.
    pub measures: Arc<Measures>,
    /// How the memory of the process is divided, where it is watched.
    pub memory: Option<MemoryPlan>,
    /// Answers that clients do not read.
    pub unread: Arc<UnreadAnswers>,
    /// The figures of the log; none where it is on this machine's disk.
    pub log: Option<Arc<caudal_postgres::Status>>,
    /// Peers whose word is believed about whom they ask for.
    pub proxies: Arc<[IpNet]>,
    /// This node, where several share the log.
    pub node: Option<Arc<node::Node>>,
}

impl AppState {
    /// Whether this node owns the log, or there is only this service.
    pub fn is_owners(&self) -> bool {
        self.node.as_ref().is_none_or(|node| node.serves())
    }

    /// The error for a request that this node does not serve, or no longer.
    pub fn refusal(&self) -> ApiError {
        match self.node.as_ref().filter(|node| !node.serves()) {
            Some(node) => node.refusal(),
            None => Failure::ShuttingDown.into(),
        }
    }

    /// Counts a request as one that this node serves, where there are several.
    ///
    /// # Errors
    /// `not_owner` where this node does not own the log.
    pub fn enter(&self) -> Result<Option<node::Inside>, ApiError> {
        let Some(node) = &self.node else {
            return Ok(None);
        };
        node.enter().map(Some).ok_or_else(|| node.refuses())
    }

    /// The reason why requests are served nowhere, as far as this node knows: it owns the log and does not serve, or
    /// knows of no owner. `None` while they are.
    pub fn waits(&self) -> Option<String> {
        let node = self.node.as_ref()?;
        (!node.is_served()).then(|| node.why_waits())
    }

    /// Whether this node does its part: the owner takes writes, and any other node knows who does.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn ready(&self) -> Result<(), Unready> {
        let elsewhere = !self.is_owners() && self.waits().is_none();
        if !elsewhere {
            if self.engine.lifecycle().clock_doubt().is_some() {
                return Err(Unready::Clock);
            }
            self.engine.store().ready()?;
        }
        self.waits().map_or(Ok(()), |why| Err(Unready::Waits(why)))
    }
}

/// The parts that the service needs to send events out.
#[derive(Debug)]
pub struct Hooks {
    /// The addresses that it may send to.
    pub reach: AllowedAddresses,
    /// Seals the secrets that sign.
    pub sealer: Sealer,
    /// How many streams each realm has.
    pub streams: streams::Streams,
    /// How many test calls each realm may make to its webhooks.
    pub tests: rate::Rate<RealmId>,
}
