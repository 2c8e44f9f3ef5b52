//! The words of closed sets, as answers show them and requests name them. They are derived from the
//! ledger's types, so that reader, answer and document cannot differ.

use std::borrow::Cow;
use std::marker::PhantomData;

use caudal_ledger::accounts::{Status, SuspensionCode};
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::PersonType;
use caudal_ledger::events::EventKind;
use caudal_ledger::holds::HoldStatus;
use caudal_ledger::limits::Level;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::tenants::{BankKind, RealmState, Serving};
use caudal_ledger::transfers::{Concept, RejectionCode, TransferStatus};
use caudal_ledger::voucher_types::Sense;
use caudal_ledger::vouchers::ReferenceType;
use caudal_ledger::webhooks::WebhookFormat;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema;

/// A type whose values each have a word on the wire.
pub trait ClosedSet: Copy + 'static {
    /// Its name in the document.
    const NAME: &'static str;
    /// The document's description of the type.
    const ABOUT: &'static str;
    /// Every value, in the order of the document.
    const ALL: &'static [Self];

    /// The word of a value.
    fn word(self) -> &'static str;
}

/// The schema of one of the words of a type.
#[derive(Debug)]
pub struct OneOf<T>(PhantomData<T>);

impl<T: ClosedSet> PartialSchema for OneOf<T> {
    fn schema() -> RefOr<Schema> {
        among(T::ABOUT.trim(), T::ALL.iter().map(|value| value.word()))
    }
}

impl<T: ClosedSet> ToSchema for OneOf<T> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(T::NAME)
    }
}

/// The schema of one word out of a few.
pub fn among(about: &str, words: impl Iterator<Item = &'static str>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .enum_values(Some(words))
        .into()
}

/// Declares the words of types of the ledger, and the names under which bodies show them.
macro_rules! choices {
    ($(#[doc = $about:literal] $shown:ident as $name:literal: $type:ident;)+) => {$(
        impl ClosedSet for $type {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const ALL: &'static [Self] = &Self::ALL;

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        #[doc = $about]
        pub type $shown = OneOf<$type>;
    )+};
}

/// Declares words that are of no type of the ledger, each set by the list of them.
macro_rules! words {
    ($(#[doc = $about:literal] $shown:ident as $name:literal: $list:expr;)+) => {$(
        #[doc = $about]
        #[derive(Debug)]
        pub struct $shown;

        schema!($shown, $name, among($about.trim(), $list.iter().copied()));
    )+};
}

choices! {
    /// The state of an account.
    AccountStatusWord as "AccountStatus": Status;
    /// Natural or legal person.
    PersonTypeWord as "PersonType": PersonType;
    /// The API of a bank: `api_bank` is API BANK of Banco Industrial.
    BankKindWord as "BankKind": BankKind;
    /// Whether a realm is to be served.
    ServingWord as "Serving": Serving;
    /// How the body of what is sent to a webhook looks: `standard` is an `Event`; `walletentidad` a flat notice of transfers that ended, of money that arrived and of accounts that were disabled.
    WebhookFormatWord as "WebhookFormat": WebhookFormat;
    /// Why an account is suspended.
    SuspensionWord as "SuspensionCode": SuspensionCode;
    /// The level that a limit or a fee schedule comes from.
    LevelWord as "LimitLevel": Level;
    /// The direction of a custom voucher type.
    SenseWord as "Sense": Sense;
    /// What a voucher does to the balance of its account.
    LedgerTypeWord as "LedgerType": Direction;
    /// What a voucher belongs to.
    ReferenceTypeWord as "ReferenceType": ReferenceType;
    /// The state of a hold.
    HoldStatusWord as "HoldStatus": HoldStatus;
    /// The state of a transfer; `completed`, `rejected` and `reversed` are final.
    TransferStatusWord as "TransferStatus": TransferStatus;
    /// Why a transfer was rejected, whatever the bank: one of a closed list.
    RejectionCodeWord as "RejectionCode": RejectionCode;
    /// What a transfer is for: the code of the central bank.
    ConceptWord as "TransferConcept": Concept;
    /// How the bank's side of a movement and the ledger's agree.
    AgreementWord as "ReconciliationResult": Agreement;
    /// What happened.
    EventTypeWord as "EventType": EventKind;
}

words! {
    /// The sex that the holder's identity document has.
    SexWord as "Sex": caudal_ledger::kyc::SEXES;
    /// How likely it is that an account is misused.
    RiskLevelWord as "RiskLevel": caudal_ledger::kyc::RISK_LEVELS;
    /// Whether a realm is served: only an `open` one is.
    RealmStateWord as "RealmState": RealmState::WORDS;
}

/// `1` where money comes in, `-1` where it goes out, as a number.
#[derive(Debug)]
pub struct SignoWord;

schema!(
    SignoWord,
    "Signo",
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("`1` where money comes in, `-1` where it goes out."))
        .enum_values(Some([1, -1]))
);

words! {
    /// The currency: always Argentine pesos.
    CurrencyWord as "Currency": ["ARS"];
    /// `internal`: to an account of the realm, final at once; `bank`: through the bank.
    TransferKindWord as "TransferKind": ["internal", "bank"];
    /// The state of the CVU of a wallet account.
    EstadoCvuWord as "EstadoCvu": ["ACTIVA", "SUSPENDIDA", "CERRADA"];
    /// How far the bank says that a transfer is.
    BankWordWord as "BankTransferStatus": ["completed", "failed", "in_progress", "unknown"];
    /// What the bank has otherwise than it was ordered.
    DifferenceWord as "TransferDifference": ["amount", "currency", "cvu", "to"];
    /// How a simulated transfer ends.
    SimulatedOutcomeWord as "SimulatedOutcome": ["completed", "rejected", "audit"];
    /// How far an enrolment in remuneration is.
    EnrolmentWord as "EnrolmentStatus": ["pending", "active", "rejected", "suspended", "ended"];
    /// What became of money that no account could take.
    OutcomeWord as "SuspenseOutcome": ["credited", "returned"];
    /// Where money is that no account could take.
    SuspenseWord as "SuspenseState": ["waiting", "returning", "credited", "returned"];
    /// What a movement of the collector account is: a client's, or the account's own by its class.
    CollectorClassWord as "CollectorClass": ["matched", "bank_fee", "bank_tax", "interest", "funding", "sweep",
        "unclassified"];
    /// What records a client's movement.
    MatchWord as "MovementMatchType": ["transfer", "voucher", "suspense", "return"];
    /// Whether the bank's side of a closed day is known.
    DayBankWord as "DayBankStatus": ["known", "late", "pending", "absent"];
    /// The side of a sibling in a tree.
    SideWord as "TreeSide": ["left", "right"];
    /// On which side an account of the books grows: assets and expenses by debits; a `memo` is in no total.
    BookKindWord as "BookKind": ["asset", "liability", "income", "expense", "equity", "memo"];
    /// What an entry of the books is about.
    EntrySourceWord as "BookEntrySourceType": ["voucher", "suspense", "collector"];
    /// Which way money moved.
    WayWord as "Way": ["in", "out"];
    /// Whether a key is of a bank account or of a virtual one.
    KeyKindWord as "CbuType": ["CBU", "CVU"];
    /// What became of an item of a batch.
    BatchStatusWord as "BatchItemStatus": ["recorded", "replayed", "rejected", "not_posted"];
    /// `independent`: each item has its own result; `atomic`: all or nothing.
    BatchModeWord as "BatchMode": ["independent", "atomic"];
    /// Whether a request has its answer; `in_progress` while the bank's outcome is not known.
    KeyStateWord as "KeyState": ["completed", "in_progress"];
    /// The state of a webhook.
    WebhookStatusWord as "WebhookStatus": ["active", "paused", "failing", "parked", "gone"];
    /// How the last try to deliver an event ended.
    DeliveryStatusWord as "DeliveryStatus": ["delivered", "failing", "parked"];
    /// How a try to deliver an event ended; one that failed is tried again.
    AttemptWord as "AttemptOutcome": ["delivered", "failed", "parked"];
    /// Why a receiver gave no answer.
    TroubleWord as "DeliveryError": ["timed_out", "connection_failed", "host_unresolved",
        "address_forbidden", "connection_broken", "not_sendable"];
    /// Why the bank's balance is not known.
    SilenceWord as "BankSilenceCode": ["bank_refused", "bank_failed", "bank_timeout", "bank_not_yet",
        "bank_not_set", "bank_not_kept", "collector_shared"];
    /// `1` where money comes in, `-1` where it goes out.
    SentidoWord as "Sentido": ["1", "-1"];
    /// How far an enrolment in remuneration is.
    EstadoWord as "EstadoRemuneracion": ["NO_ENROLADA", "PENDIENTE", "ACTIVA", "RECHAZADA",
        "SUSPENDIDA", "BAJA"];
    /// What became of a notice of the bank.
    HeardWord as "BankNoticeOutcome": ["done", "known", "suspended", "ignored"];
    /// The states of accounts that a list can be asked for.
    ListedStatusWord as "AccountStatusFilter": ["active", "suspended", "closed"];
    /// What a list of accounts is sorted by.
    AccountSortWord as "AccountSort": ["createdAt", "holderName", "cvu", "alias"];
    /// What a list of vouchers is sorted by.
    VoucherSortWord as "VoucherSort": ["createdAt", "amount"];
    /// `asc` is oldest or least first, `desc` newest or greatest first.
    OrderWord as "SortOrder": ["asc", "desc"];
}

/// A filter for webhooks and readers of events: a type, or every type with the same prefix.
#[derive(Debug)]
pub struct EventFilterWord;

schema!(EventFilterWord, "EventFilter", {
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str());
    let mut words: Vec<String> = kinds.clone().map(str::to_owned).collect();
    for kind in kinds {
        for (dot, _) in kind.match_indices('.') {
            let family = kind.get(..=dot).map(|family| format!("{family}*"));
            words.extend(family.filter(|family| !words.contains(family)));
        }
    }
    let about = "A type of events, or with `*` every type that begins so.";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .enum_values(Some(words))
});
