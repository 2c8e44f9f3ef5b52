//! The body of an operator's decision on a case: the outcome, who decides, and why.

use caudal_http::body::Fields;
use caudal_http::body::read::{boolean, line, text};
use caudal_http::errors::ApiError;
use caudal_http::request::request;
use caudal_http::words::Mistake;
use caudal_ledger::cases::{BY_MAX, Decision, REASON_MAX};
use caudal_ledger::collector::CollectorClass;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Verdict;

use crate::admin::access::Acting;
use crate::admin::collector_rules::class;

/// The longest reference of the bank, in characters.
const REFERENCE_MAX: usize = 64;

/// Declares a decision on a case: its outcome, who decides and why, and the fields that it needs besides.
macro_rules! decision {
    (
        $(#[$about:meta])+
        struct $name:ident($outcome:ident: $type:ty, $read:expr, $words:literal) { $($own:tt)* }
    ) => {
        request! {
            $(#[$about])+
            strict pub struct $name as $name {
                /// What becomes of it.
                $outcome: $type = required("outcome", text($read)) as String { pattern = $words };
                /// Who decides; with a person's credential it is the person.
                by: Option<String> = optional("by", line(BY_MAX)) as Option<String> { max_length = 100 };
                /// Why.
                reason: Option<String> = optional("reason", line(REASON_MAX))
                    as Option<String> { max_length = 500 };
                /// What the bank calls it.
                bank_reference: Option<String> = optional("bankReference", line(REFERENCE_MAX))
                    as Option<String> { max_length = 64 };
                $($own)*
            }
        }

        impl $name {
            /// The decision, taken now.
            ///
            /// # Errors
            /// 400 where nobody says who decides, or why.
            pub(super) fn decision(&self, acting: &Acting, now: Timestamp) -> Result<Decision, ApiError> {
                let (by, reason) = acting.signed(self.by.clone(), self.reason.clone())?;
                Ok(Decision {
                    by,
                    reason,
                    approval_reason: acting.second.as_ref().map(|it| it.reason.clone()),
                    at: now,
                    bank_reference: self.bank_reference.clone(),
                    forced: false,
                })
            }
        }
    };
}

decision! {
    /// About a transfer.
    struct DecideTransfer(outcome: Verdict, verdict, "^(completed|rejected)$") {
        /// Whether it ends although the bank may still say something.
        force: Option<bool> = optional("force", boolean) as Option<bool>;
    }
}

fn verdict(word: &str) -> Result<Verdict, Mistake> {
    match word {
        "completed" => Ok(Verdict::Completed),
        "rejected" => Ok(Verdict::Rejected),
        _ => Err(Mistake::NotAVerdict),
    }
}

/// The outcome for money in suspense.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resolution {
    /// An account takes it.
    Credit,
    /// The money goes back to its sender.
    Return,
}

fn resolution(word: &str) -> Result<Resolution, Mistake> {
    match word {
        "credit" => Ok(Resolution::Credit),
        "return" => Ok(Resolution::Return),
        _ => Err(Mistake::NotAResolution),
    }
}

decision! {
    /// About money in suspense.
    struct DecideSuspense(outcome: Resolution, resolution, "^(credit|return)$") {
        => |fields| credits(fields, outcome);
        /// The CVU to credit, and with no other outcome.
        cvu: Option<Cvu> = optional("cvu", text(Cvu::parse)) as Option<String>;
    }
}

/// Requires `cvu` for a credit, and forbids it otherwise.
fn credits(fields: &mut Fields, outcome: Option<Resolution>) {
    match (outcome, fields.has("cvu")) {
        (Some(Resolution::Credit), false) => fields.mistake("cvu", Mistake::Required),
        (Some(Resolution::Return) | None, true) => fields.mistake("cvu", Mistake::CreditAlone),
        (Some(Resolution::Credit), true) | (Some(Resolution::Return) | None, false) => {}
    }
}

/// The outcome for a bank item that could not be booked.
#[derive(Debug)]
pub(super) enum Dismissal {
    /// Nothing more is done about it.
    Dismiss,
}

fn dismissal(word: &str) -> Result<Dismissal, Mistake> {
    match word {
        "dismiss" => Ok(Dismissal::Dismiss),
        _ => Err(Mistake::NotADismissal),
    }
}

decision! {
    /// About what could not be booked.
    struct DecideUnbooked(outcome: Dismissal, dismissal, "^dismiss$") {}
}

decision! {
    /// About a movement of the collector account: what it is.
    struct DecideCollector(
        outcome: CollectorClass, class, "^(bank_fee|bank_tax|interest|funding|sweep)$"
    ) {}
}
