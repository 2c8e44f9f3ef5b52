//! Why an order got no answer of its own: a rule, the bank, the key, or the machine.

use caudal_ledger::bank::BankRefusal;
use caudal_ledger::rejection::Rejection;
use caudal_storage::StoreError;

use crate::ports::BankError;

/// Every reason why a request to the actors can fail.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// A rule of the ledger refuses it.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// The bank refused, failed or did not answer.
    #[error("the bank did not do what was asked")]
    Bank(BankError),
    /// Nobody has the CBU, CVU or alias that was looked up, says the bank.
    #[error("nobody has this CBU, CVU or alias")]
    NobodyHas(BankRefusal),
    /// The bank failed or did not answer a question. Nothing was done, and nothing goes on.
    #[error("the bank did not answer a question; nothing was done")]
    NotRead(BankError),
    /// The idempotency key was used with another body.
    #[error("the Idempotency-Key was used before with another body")]
    KeyReused {
        /// The fields of the body that differ.
        fields: Vec<String>,
    },
    /// The first request with this idempotency key is still running.
    #[error("the first request with this Idempotency-Key is still running; try again shortly")]
    KeyInFlight,
    /// No answer was kept for this idempotency key.
    #[error("no request with this Idempotency-Key is known")]
    KeyUnknown,
    /// `If-Match` names another version of the account.
    #[error("the account has changed since; read it again")]
    Stale,
    /// More rows precede a page by number than one page may scan.
    #[error(
        "the page begins behind more rows than one request looks at; go on by cursor, or narrow the dates"
    )]
    PageTooFar,
    /// There are more rows to sort than one page may scan.
    #[error("there are more rows than one request sorts; narrow the dates, or leave out sort")]
    TooManyToSort,
    /// The day of an instant has more entries in the books than one request counts.
    #[error(
        "the day has more entries up to that instant than one request counts; name a date instead"
    )]
    TooManyEntries,
    /// The cursor is of another list.
    #[error("the cursor is not of this list; begin without one")]
    NotACursor,
    /// The realm's readers ask the bank too much. Nobody asked it.
    #[error(
        "too many questions to the bank that only read: lookups, reconciliation, positions; try again shortly"
    )]
    BankReadsLimited,
    /// A mailbox or the store's queue is full. Nothing was done.
    #[error("the service is overloaded; try again shortly")]
    Overloaded,
    /// The disk is nearly full. Nothing was done.
    #[error("the service takes no writes at present; try again later")]
    ReadOnly,
    /// The machine's clock is in doubt. Nothing was done.
    #[error("the service doubts its clock and takes no orders; try again later")]
    ClockInDoubt,
    /// The service stops, or the realm stopped before the order's turn: it was retired, or loaded again after a fall.
    /// Nothing was done.
    #[error("the service is shutting down; try again shortly")]
    ShuttingDown,
    /// The realm is being filled from a file, waits to be opened, or was closed. Nothing was done.
    #[error(
        "this realm is closed: it is being moved; try again later, or ask whoever runs the service"
    )]
    RealmClosed,
    /// Storage failed while the order was under way: it may have been done or not.
    #[error("the outcome is not known; try again with the same idExterno or Idempotency-Key")]
    OutcomeUnknown,
    /// Bytes on disk differ from those that were written; an operator must look.
    #[error("the service cannot read its own storage; an operator has to look")]
    Damaged,
    /// A bug of the service showed during a read: nothing was done. The log has the details.
    #[error("the service made a mistake of its own; nothing was done; tell whoever runs it")]
    Bug,
}

impl Failure {
    /// The failure of a question to the bank: a refusal is the bank's answer, and nothing goes on after any other one.
    pub fn of_question(error: BankError) -> Self {
        match error {
            BankError::Refused(_) => Self::Bank(error),
            BankError::Failed { .. } | BankError::TimedOut => Self::NotRead(error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            // An account in doubt was loaded again meanwhile: nothing was done.
            StoreError::Overloaded
            | StoreError::OutOfSequence { .. }
            | StoreError::Unreachable(_) => Self::Overloaded,
            StoreError::Full(_) => Self::ReadOnly,
            StoreError::Poisoned(_) | StoreError::Unreadable(_) | StoreError::Deposed => {
                Self::OutcomeUnknown
            }
            // The commit was not taken: the owner of the log has to be asked.
            StoreError::Closed | StoreError::NotOwner { .. } => Self::ShuttingDown,
            StoreError::Corrupt(why) => {
                tracing::error!(%why, "storage is damaged");
                Self::Damaged
            }
            StoreError::Invalid(why) => {
                tracing::error!(%why, "commit exceeds a limit of the store");
                Self::Damaged
            }
        }
    }
}
