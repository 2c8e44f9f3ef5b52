//! Cases of all tenants, which wait for a person, and the person's decisions.
//!
//! The person of the credential decides; with the configured admin key, `by` names who does. The name and the reason go
//! into the journal, the transfer, the event and the day's reconciliation.

pub(super) mod deciding;
mod decisions;

use caudal_actors::engine::cases::{Case, RealmCase};
use caudal_actors::engine::lists::ListPage;
use caudal_actors::engine::money::TransferView;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_http::bodies::body;
use caudal_http::bodies::collector::MATCHED;
use caudal_http::bodies::counterparty::CounterpartyBody;
use caudal_http::bodies::events::{ResolvedBody, resolved};
use caudal_http::bodies::transfers::{
    BankCallBody, DecisionBody, RejectionBody, TransferBody, transfer,
};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::query::Query;
use caudal_ledger::cases::{
    BankSays, CaseId, CaseKind, Parked, RecordedMovement, Unbooked, UnbookedState,
};
use caudal_ledger::collector::CollectorClass;
use caudal_ledger::ids::{RealmId, TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::TransferStatus;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AdminState, PathPart, State, ok, owner};
use caudal_http::declared::{declared, id};
use caudal_http::params::{PageParams, params};
use caudal_http::query::{LIMIT_MAX, OFFSET_MAX};

/// A case.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Case)]
pub(crate) struct CaseBody {
    pub id: String,
    pub kind: &'static str,
    tenant_id: Option<String>,
    pub mode: &'static str,
    /// `open`, `returning` (the bank is asked), `decided`, `booked` (what could not be booked has been
    /// since), or `not_waiting`: a transfer that no person has to decide.
    state: &'static str,
    /// Since when it waits, or waited.
    pub since: Option<String>,
    /// For how long it has waited; null when it does not wait.
    age_seconds: Option<u64>,
    /// The CVU; null when the bank's line names none that can be read.
    pub cvu: Option<String>,
    /// ARS with two decimals; null when it cannot be read.
    pub amount: Option<String>,
    /// Why it waits, in a word.
    pub reason: String,
    decision: Option<DecisionBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<TransferBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspense: Option<SuspenseDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbooked: Option<UnbookedDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collector: Option<CollectorDetail>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bank_calls: Vec<BankCallBody>,
}

/// Money in suspense, with who sent it and why the bank refused to return it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SuspenseCase)]
struct SuspenseDetail {
    #[serde(flatten)]
    suspense: ResolvedBody,
    return_refusal: Option<RejectionBody>,
}

body! {
    /// What the bank says and the ledger could not book.
    struct UnbookedDetail as UnbookedCase {
        /// `out`: money left by an order that the ledger does not know. `in`: an arrival reported again, with
        /// another amount or CVU. With `field`: the list on which the line is.
        direction: &'static str;
        /// The reference under which it left.
        origin_id: Option<String>;
        bank_transfer_id: Option<String>;
        coelsa_id: Option<String>;
        /// When, by the bank's clock; the beginning of the day of a line that cannot be read.
        bank_at: String;
        counterparty: CounterpartyBody;
        /// The transfer that it was booked as.
        transfer_id: Option<String>;
        /// Of a line that cannot be read: the field, as the bank names it.
        #[serde(skip_serializing_if = "Option::is_none")]
        field: Option<String>;
        /// Of a line that cannot be read: the line, without persons.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<String>;
    }
}

body! {
    /// A movement of the collector account that belongs to no client.
    struct CollectorDetail as CollectorCase from record: &RecordedMovement {
        => let RecordedMovement { movement, class, matched, .. } = record;
        /// `in` or `out`.
        direction: &'static str = if movement.incoming { "in" } else { "out" };
        /// What it is; `unclassified` until somebody says, and `matched` if it turned out to be a client's.
        class: &'static str = if *matched { MATCHED } else { class.as_str() };
        /// The bank's text.
        text: String = movement.text.clone();
        bank_id: String = movement.bank_id.clone();
        coelsa_id: Option<String> = movement.coelsa_id.clone();
        /// When the bank posted it.
        bank_at: String = movement.at.to_string();
        counterparty: CounterpartyBody = movement.counterparty.clone().into();
    }
}

/// A page of cases.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CasePage)]
struct CasesPage {
    items: Vec<CaseBody>,
    total: u64,
    limit: usize,
    offset: usize,
}

/// The realm of a case.
pub(crate) const fn realm_of(id: CaseId) -> RealmId {
    match id {
        CaseId::Transfer(id) => id.0.realm,
        CaseId::Suspense(id) => id.realm,
        CaseId::Unbooked(id) => id.realm,
        CaseId::Collector(id) => id.realm,
    }
}

/// A case of this kind in a realm, with nothing else yet.
fn in_realm(admin_state: &AdminState, realm: RealmId, kind: CaseKind) -> CaseBody {
    let platform = admin_state.app.engine.platform();
    CaseBody {
        kind: kind.as_str(),
        tenant_id: owner(&platform, realm).map(|(tenant, _)| tenant.id.clone()),
        mode: realm.mode().as_str(),
        ..CaseBody::default()
    }
}

/// A case as it is shown.
pub(crate) fn render(admin_state: &AdminState, (realm, case): &RealmCase) -> CaseBody {
    match case {
        Case::Transfer(view, since) => of_transfer(admin_state, *realm, view, *since),
        Case::Suspense(parked) => of_suspense(admin_state, *realm, parked),
        Case::Unbooked(unbooked) => of_unbooked(admin_state, *realm, unbooked),
        Case::Collector(record) => of_collector(admin_state, *realm, record),
    }
}

fn age(admin_state: &AdminState, realm: RealmId, since: Timestamp) -> u64 {
    let now = admin_state.queries().now(realm).millis();
    now.saturating_sub(since.millis())
        .checked_div(1000)
        .unwrap_or(0)
}

fn of_transfer(
    admin_state: &AdminState,
    realm: RealmId,
    view: &TransferView,
    since: Option<Timestamp>,
) -> CaseBody {
    let body = transfer(realm, view);
    let it = &view.transfer;
    CaseBody {
        id: body.id.clone(),
        state: match (&it.decision, it.status) {
            (Some(_), _) => "decided",
            (None, TransferStatus::Audit) => "open",
            (None, _) => "not_waiting",
        },
        since: since.map(|since| since.to_string()),
        age_seconds: since.map(|since| age(admin_state, realm, since)),
        cvu: Some(body.from_cvu.clone()),
        amount: Some(body.amount.to_string()),
        reason: body.status.to_owned(),
        decision: body.decision.clone(),
        transfer: Some(body),
        ..in_realm(admin_state, realm, CaseKind::Transfer)
    }
}

fn of_suspense(admin_state: &AdminState, realm: RealmId, parked: &Parked) -> CaseBody {
    let arrived = &parked.suspense.cash_in;
    let body = resolved(realm, parked);
    let state = match body.outcome {
        "waiting" => "open",
        "returning" => "returning",
        _ => "decided",
    };
    CaseBody {
        id: body.id.clone(),
        state,
        since: Some(parked.since.to_string()),
        age_seconds: (state != "decided").then(|| age(admin_state, realm, parked.since)),
        cvu: Some(arrived.cvu.to_string()),
        amount: Some(arrived.amount.to_string()),
        reason: parked.suspense.reason.clone(),
        decision: body.decision.clone(),
        suspense: Some(SuspenseDetail {
            suspense: body,
            return_refusal: parked.refused.as_ref().map(RejectionBody::from),
        }),
        ..in_realm(admin_state, realm, CaseKind::Suspense)
    }
}

/// What the bank says of a movement that is not booked; `transfer` is the one that was booked for it.
fn unbooked_detail(says: &BankSays, transfer: Option<String>) -> UnbookedDetail {
    match says {
        BankSays::Left(left) => UnbookedDetail {
            direction: "out",
            origin_id: Some(left.origin.to_string()),
            bank_transfer_id: Some(left.bank_id.clone()),
            coelsa_id: left.coelsa_id.clone(),
            bank_at: left.recovered.at.to_string(),
            counterparty: left.counterparty().into(),
            transfer_id: transfer,
            field: None,
            line: None,
        },
        BankSays::Arrived(it) => UnbookedDetail {
            direction: "in",
            origin_id: None,
            bank_transfer_id: Some(it.bank_id.clone()),
            coelsa_id: Some(it.coelsa_id.clone()),
            bank_at: it.at.to_string(),
            counterparty: it.counterparty().into(),
            transfer_id: transfer,
            field: None,
            line: None,
        },
        BankSays::Unreadable(line) => UnbookedDetail {
            direction: if line.incoming { "in" } else { "out" },
            origin_id: line.origin.map(|origin| origin.to_string()),
            bank_transfer_id: line.bank_id.clone(),
            coelsa_id: line.coelsa_id.clone(),
            bank_at: line.day.start().to_string(),
            counterparty: CounterpartyBody::default(),
            transfer_id: transfer,
            field: Some(line.field.clone()),
            line: Some(line.text.clone()),
        },
    }
}

fn of_unbooked(admin_state: &AdminState, realm: RealmId, unbooked: &Unbooked) -> CaseBody {
    let (state, transfer_id) = match &unbooked.state {
        UnbookedState::Waiting => ("open", None),
        UnbookedState::Dismissed(_) => ("decided", None),
        UnbookedState::Booked {
            account,
            transfer,
            tag,
        } => {
            let id = VoucherId {
                realm,
                account: *account,
                sequence: *transfer,
                tag: *tag,
            };
            ("booked", Some(TransferId(id).to_string()))
        }
    };
    let waits = unbooked.waits();
    CaseBody {
        id: unbooked.id(realm).to_string(),
        state,
        since: Some(unbooked.since.to_string()),
        age_seconds: waits.then(|| age(admin_state, realm, unbooked.since)),
        cvu: unbooked.says.cvu().map(|cvu| cvu.to_string()),
        amount: unbooked.says.amount().map(|amount| amount.to_string()),
        reason: unbooked.reason.clone(),
        decision: unbooked.decision().map(DecisionBody::from),
        unbooked: Some(unbooked_detail(&unbooked.says, transfer_id)),
        ..in_realm(admin_state, realm, CaseKind::Unbooked)
    }
}

fn of_collector(admin_state: &AdminState, realm: RealmId, record: &RecordedMovement) -> CaseBody {
    let waits = record.waits();
    CaseBody {
        id: record.id(realm).to_string(),
        state: if waits { "open" } else { "decided" },
        since: Some(record.since.to_string()),
        age_seconds: waits.then(|| age(admin_state, realm, record.since)),
        cvu: None,
        amount: Some(record.movement.amount.to_string()),
        reason: CollectorClass::Unclassified.as_str().to_owned(),
        decision: record.decision.as_ref().map(DecisionBody::from),
        collector: Some(record.into()),
        ..in_realm(admin_state, realm, CaseKind::Collector)
    }
}

params! {
    /// Which cases.
    pub struct CaseParams {
        /// Only cases of this kind
        kind: Option<CaseKind> =
            choice("kind", &CaseKind::ALL.map(|kind| (kind.as_str(), kind)))
            as Option<String> { pattern = "^(transfer|suspense|unbooked|collector)$" };
        /// Only cases of this tenant
        tenant: Option<String> = text("tenant") as Option<String>;
        /// Only cases of this mode
        mode: Option<Mode> =
            choice("mode", &[Mode::Live, Mode::Test].map(|mode| (mode.as_str(), mode)))
            as Option<String> { pattern = "^(live|test)$" };
        /// How many, 1 to 200
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u64> { minimum = 1, maximum = 200 };
        /// How many to skip
        offset: Option<u64> = integer("offset", 0, OFFSET_MAX) as Option<u64> { minimum = 0 };
    }
}

/// Lists what waits for a person, the longest waiting first.
#[utoipa::path(
    get,
    path = "/admin/cases",
    params(CaseParams),
    responses((status = 200, body = CasesPage))
)]
pub(super) async fn list(admin_state: State, query: Query) -> HandlerResult {
    let engine = &admin_state.app.engine;
    let sent = CaseParams::read(query)?;
    let page = ListPage::from(PageParams {
        limit: sent.limit,
        offset: sent.offset,
        order: None,
        cursor: None,
    });
    let CaseParams {
        kind, tenant, mode, ..
    } = sent;
    let platform = engine.platform();
    if let Some(id) = &tenant {
        platform.tenant(id)?;
    }
    let wanted = realms(&platform).filter(|(found, of)| {
        tenant.as_ref().is_none_or(|id| found.id == *id) && mode.is_none_or(|mode| mode == *of)
    });
    let wanted = wanted.map(|(tenant, mode)| tenant.realm(mode)).collect();
    let kinds = kind.map_or_else(|| CaseKind::ALL.to_vec(), |kind| vec![kind]);
    let span = (page.offset, page.limit);
    let (cases, total) = engine.operators().cases(wanted, kinds, span).await?;
    let items = cases.iter().map(|case| render(&admin_state, case));
    let body = CasesPage {
        items: items.collect(),
        total,
        limit: page.limit,
        offset: page.offset,
    };
    Ok(ok(&body))
}

/// Reports an unknown transfer as an unknown case.
fn no_case(why: Failure) -> ApiError {
    match why {
        Failure::Rejected(Rejection::TransferNotFound) => Rejection::CaseNotFound.into(),
        why => why.into(),
    }
}

declared! {
    /// Its id
    CaseInPath = Path "id" as String => CaseId: id(CaseId::parse, Rejection::CaseNotFound);
}

/// Reads a case, open or decided, with the calls to the bank.
#[utoipa::path(
    get,
    path = "/admin/cases/{id}",
    params(CaseInPath),
    responses((status = 200, body = CaseBody))
)]
pub(super) async fn one(admin_state: State, path: PathPart) -> HandlerResult {
    let body = self::read(&admin_state, CaseInPath::read(&path)?).await?;
    Ok(ok(&body))
}

/// A case, open or decided, with the calls to the bank.
///
/// # Errors
/// When there is none; those of every read.
pub(super) async fn read(admin_state: &AdminState, id: CaseId) -> Result<CaseBody, ApiError> {
    let operators = admin_state.operators();
    Ok(match id {
        CaseId::Transfer(id) => {
            let found = operators.transfer_case(id).await;
            let (case, calls) = found.map_err(no_case)?;
            CaseBody {
                bank_calls: calls.iter().map(BankCallBody::from).collect(),
                ..render(admin_state, &(id.0.realm, case))
            }
        }
        CaseId::Suspense(id) => of_suspense(admin_state, id.realm, &operators.suspense_case(id)?),
        CaseId::Unbooked(id) => of_unbooked(admin_state, id.realm, &operators.unbooked_case(id)?),
        CaseId::Collector(id) => {
            of_collector(admin_state, id.realm, &operators.collector_case(id)?)
        }
    })
}
