//! How the bank misbehaves on request: per operation one behaviour, for good or for some calls.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use caudal_ledger::cvu::Cbu;

use super::LATE_DEFAULT;
use super::names::is_code;
use super::refusals::{Refusal, refusal};

macro_rules! words {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $word:literal: $says:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $(#[doc = $says] $variant,)+ }

        impl $type {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Their words on the wire.
            const WORDS: &[&'static str] = &[$($word),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What it is, for people.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$variant => $says,)+ }
            }

            /// Reads the word on the wire.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == word)
            }
        }
    };
}

words! {
    /// What can be asked of the bank, or what the bank does by itself.
    Operation {
        CreateCvu = "create_cvu": "Creates the CVU of a client id.",
        Rename = "rename": "Changes the holder's name of a CVU.",
        Close = "close": "Closes a CVU.",
        SetAlias = "set_alias": "Sets or assigns the alias of a CVU.",
        Lookup = "lookup": "Looks up a CBU, CVU or alias.",
        Transfer = "transfer": "Sends a transfer.",
        TransferStatus = "transfer_status": "Gives one transfer.",
        TransferList = "transfer_list": "Lists transfers.",
        Balance = "balance": "Gives the balance of the collector account.",
        Statement = "statement": "Lists the movements of the collector account.",
        CashIn = "cash_in": "The notice of an incoming transfer.",
        Remuneration = "remuneration": "Enrols a CVU in remuneration, and gives its position.",
    }
}

words! {
    /// How an operation behaves.
    Mode {
        Ok = "ok": "As it should; ends any other behaviour.",
        Reject = "reject": "409 with a business code, without effect.",
        Error = "error": "500 GE500, without effect.",
        Timeout = "timeout": "The effect happens; the connection is held without an answer until the client leaves, at most 60 s.",
        Late = "late": "The effect happens; the answer (for cash_in: the notice) comes after delayMillis (2000 unless given).",
        DuplicateNotice = "duplicate_notice": "The notice to the PSP is sent twice.",
        LoseNotice = "lose_notice": "The notice to the PSP is never sent.",
        ReorderNotice = "reorder_notice": "The notice to the PSP is kept back until a later one has been sent, at most 2 s.",
        Forget = "forget": "For transfer: the answer is 200 IN_PROGRESS, and the bank knows nothing of it.",
        Reset = "reset": "The effect happens; the connection is closed without an answer.",
        Garbage = "garbage": "The effect happens; the answer is 200 with a body that is not JSON.",
    }
}

impl Mode {
    /// Whether the mode concerns notices and not answers.
    pub(super) const fn is_of_notices(self) -> bool {
        matches!(
            self,
            Self::DuplicateNotice | Self::LoseNotice | Self::ReorderNotice
        )
    }
}

impl Operation {
    /// The code that `reject` answers when it names none.
    fn usual_refusal(self) -> &'static str {
        match self {
            Self::CreateCvu => "VW013",
            Self::Rename => "PA015",
            Self::Close => "VW014",
            Self::SetAlias => "VW008",
            Self::Lookup => "PA011",
            Self::TransferStatus => "TX019",
            // A final one: `TX500` leaves the PSP in doubt.
            Self::Transfer => "TX046",
            Self::TransferList | Self::Balance | Self::Statement | Self::CashIn => "TX500",
            Self::Remuneration => "RM004",
        }
    }
}

/// An order for a behaviour: the body of `POST /sandbox/behaviour`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BehaviourOrder {
    operation: String,
    mode: String,
    count: Option<u64>,
    delay_millis: Option<u64>,
    code: Option<String>,
}

/// The longest `delayMillis`.
const DELAY_MAX_MILLIS: u64 = 60_000;

/// A behaviour in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Behaviour {
    pub operation: Operation,
    /// The collector account whose operations it is about; all of them when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collector: Option<Cbu>,
    pub mode: Mode,
    /// The calls for which it still applies; `None` applies for good.
    pub remaining: Option<u64>,
    pub delay_millis: u64,
    /// The code of a rejection.
    pub code: Option<String>,
}

impl Behaviour {
    fn ok(operation: Operation) -> Self {
        Self {
            operation,
            collector: None,
            mode: Mode::Ok,
            remaining: None,
            delay_millis: default_delay(),
            code: None,
        }
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_millis)
    }

    pub(crate) fn refusal(&self) -> Refusal {
        refusal(
            self.code
                .clone()
                .map_or_else(|| Cow::Borrowed(self.operation.usual_refusal()), Cow::Owned),
        )
    }
}

fn default_delay() -> u64 {
    u64::try_from(LATE_DEFAULT.as_millis()).unwrap_or(u64::MAX)
}

/// Why an order was refused: the field, and what it may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BadOrder {
    pub field: &'static str,
    pub allowed: Vec<&'static str>,
}

/// All behaviours in force, and how often each operation was called.
#[derive(Default, Debug)]
pub(super) struct Behaviours {
    /// One of a collector account goes before one of all.
    now: BTreeMap<(Operation, Option<Cbu>), Behaviour>,
    calls: BTreeMap<Operation, u64>,
}

impl Behaviours {
    /// Takes an order, for one collector account or for all.
    pub(crate) fn set(
        &mut self,
        order: BehaviourOrder,
        collector: Option<Cbu>,
    ) -> Result<Behaviour, BadOrder> {
        let bad = |field, allowed: &[&'static str]| {
            let allowed = allowed.to_vec();
            Err(BadOrder { field, allowed })
        };
        let Some(operation) = Operation::parse(&order.operation) else {
            return bad("operation", Operation::WORDS);
        };
        if operation == Operation::Lookup && collector.is_some() {
            return bad("operation", &["an operation of a collector account"]);
        }
        let Some(mode) = Mode::parse(&order.mode) else {
            return bad("mode", Mode::WORDS);
        };
        if order.count == Some(0) {
            return bad("count", &["1 or more", "absent"]);
        }
        let delay_millis = order.delay_millis.unwrap_or_else(default_delay);
        if delay_millis > DELAY_MAX_MILLIS {
            return bad("delayMillis", &["0 to 60000"]);
        }
        if !order.code.as_ref().is_none_or(|code| is_code(code, 5..=5)) {
            return bad("code", &["a code of the bank, like VW007"]);
        }
        let behaviour = Behaviour {
            operation,
            collector,
            mode,
            remaining: order.count,
            delay_millis,
            code: order.code,
        };
        match mode {
            Mode::Ok => self.now.remove(&(operation, collector)),
            _ => self.now.insert((operation, collector), behaviour.clone()),
        };
        Ok(behaviour)
    }

    /// Counts a call and returns its behaviour.
    pub(crate) fn take(&mut self, operation: Operation, collector: Option<Cbu>) -> Behaviour {
        let calls = self.calls.entry(operation).or_default();
        *calls += 1;
        self.use_up(operation, collector)
    }

    /// The behaviour of a notice: as ordered when its transfer was sent, else as ordered by now.
    pub(crate) fn take_for_notice(
        &mut self,
        operation: Operation,
        collector: Option<Cbu>,
        ordered: Option<Mode>,
    ) -> Behaviour {
        if let Some(mode) = ordered {
            let usual = Behaviour::ok(operation);
            return Behaviour { mode, ..usual };
        }
        if operation != Operation::Transfer {
            return self.take(operation, collector);
        }
        // The calls of `transfer` are counted when it is sent.
        let key = self.key(operation, collector);
        match self.now.get(&key) {
            Some(found) if found.mode.is_of_notices() => self.use_up(operation, collector),
            _ => Behaviour::ok(operation),
        }
    }

    /// The key of the behaviour that counts for a collector account.
    fn key(&self, operation: Operation, collector: Option<Cbu>) -> (Operation, Option<Cbu>) {
        let own = (operation, collector);
        if self.now.contains_key(&own) {
            own
        } else {
            (operation, None)
        }
    }

    fn use_up(&mut self, operation: Operation, collector: Option<Cbu>) -> Behaviour {
        let key = self.key(operation, collector);
        let Some(found) = self.now.get_mut(&key) else {
            return Behaviour::ok(operation);
        };
        let taken = found.clone();
        if let Some(remaining) = found.remaining.as_mut() {
            *remaining = remaining.saturating_sub(1);
            if *remaining == 0 {
                self.now.remove(&key);
            }
        }
        taken
    }

    /// The behaviours in force.
    pub(crate) fn now(&self) -> Vec<&Behaviour> {
        self.now.values().collect()
    }

    /// How often each operation was called.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u64> {
        let count = |it: &Operation| self.calls.get(it).copied().unwrap_or(0);
        Operation::ALL
            .iter()
            .map(|it| (it.as_str(), count(it)))
            .collect()
    }
}
