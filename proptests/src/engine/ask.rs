//! Asks the orders of a story, and interprets their answers.

use std::collections::BTreeMap;
use std::rc::Rc;

use caudal_actors::accounts::{BatchMode, ChangeProfile, MakeTransfer, PlaceHold};
use caudal_actors::engine::money::{HoldView, NoticeOutcome};
use caudal_actors::engine::{Engine, Requester};
use caudal_actors::failure::Failure;
use caudal_actors::ports::{BankError, Notice};
use caudal_actors::realms::{Adjustment, Batch, Target, TypeRef};
use caudal_actors::reply::{Answered, Given, Keyed, Rendered, Scope};
use caudal_ledger::accounts::{ProfileOrder, SuspensionCode};
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::holds::{HoldAmendment, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId, OriginId, RealmId, VoucherId};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Concept, Destination, Send as Sending};
use caudal_ledger::voucher_types::TypeCode;

use super::bank::Arrival;
use super::book::Outcome;
use super::{Order, strays};

pub(super) const REALM: RealmId = RealmId(1);
pub(super) const TENANT: &str = "tnt_1";

pub(super) fn requester<T>() -> Requester<T> {
    Requester {
        keyed: None,
        request_id: "story".to_owned(),
        admitted: None,
    }
}

pub(super) fn target(account: u64) -> Target {
    Target::Account(AccountNo(account))
}

pub(super) fn amount(centavos: i64) -> Amount {
    Amount::from_centavos(centavos).unwrap()
}

fn external(number: usize, part: &str) -> ExternalId {
    ExternalId::parse(&format!("order-{number}{part}")).unwrap()
}

/// The reference of an order at the bank.
pub(super) fn origin(number: usize) -> OriginId {
    OriginId::of_order(TENANT, REALM.mode(), &external(number, ""))
}

pub(super) fn adjustment(account: u64, code: &str, centavos: i64, id: ExternalId) -> Adjustment {
    Adjustment {
        target: target(account),
        voucher_type: TypeRef::Code(TypeCode::parse(code).unwrap()),
        amount: Some(amount(centavos)),
        external_id: id,
        description: None,
        external_date: None,
        details: None,
        dry_run: false,
    }
}

/// The value of an answer that no key has kept.
pub(super) fn given<T>(answered: Answered<T>) -> Result<T, Failure> {
    answered.map(|given| match given {
        Given::Value(value) => value,
        Given::Kept { .. } => panic!("nothing is kept without a key"),
    })
}

/// Whether nothing was done, or the outcome is unknown: such an order is asked again.
pub(super) fn is_open(why: &Failure) -> bool {
    matches!(
        why,
        Failure::Overloaded
            | Failure::OutcomeUnknown
            | Failure::ShuttingDown
            | Failure::KeyInFlight
            // A decision waited too long for the bank's list.
            | Failure::NotRead(BankError::TimedOut)
            | Failure::Rejected(Rejection::ExternalIdInFlight | Rejection::OperationInFlight)
    )
}

/// The outcome of an order according to its answer; `None` if the outcome is unknown.
pub(super) fn known(answered: Result<Outcome, Failure>) -> Option<Outcome> {
    match answered {
        Ok(outcome) => Some(outcome),
        Err(why) if is_open(&why) => None,
        Err(Failure::Rejected(why)) => Some(Outcome::Refused(why.code().to_owned())),
        Err(why) => panic!("{why}"),
    }
}

/// An order with everything that is needed to ask it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub number: usize,
    pub order: Order,
    /// The CVU of the account that receives.
    pub to: Option<Cvu>,
    /// The hold that the step is about.
    pub hold: Option<HoldId>,
    /// The debit that is given back.
    pub debit: Option<VoucherId>,
    /// The money that arrives.
    pub arrival: Option<Arrival>,
}

fn holding(centavos: i64, id: ExternalId) -> OpenHold {
    OpenHold {
        amount: amount(centavos),
        external_id: id,
        description: None,
        expires_at: None,
        capture_tolerance: None,
        metadata: std::collections::BTreeMap::new(),
    }
}

/// Asks an order; returns its outcome.
pub(super) async fn ask(engine: Rc<Engine>, asked: Asked) -> Result<Outcome, Failure> {
    let number = asked.number;
    let id = external(number, "");
    let done = |id: String| Ok(Outcome::Done(id));
    match asked.order {
        Order::Credit(of, centavos) => post(&engine, adjustment(of, "IN", centavos, id)).await,
        Order::Debit(of, centavos) => post(&engine, adjustment(of, "OUT", centavos, id)).await,
        Order::Hold(of, centavos) => hold(&engine, of, holding(centavos, id)).await,
        Order::Confirm(_, part) => step(&engine, &asked, HoldStep::Confirm, part).await,
        Order::Release(_, part) => step(&engine, &asked, HoldStep::Release, part).await,
        Order::Amend(_, centavos) => amend(&engine, &asked, centavos).await,
        Order::Refund(_, centavos) => refund(&engine, asked.debit.unwrap(), centavos, id).await,
        Order::Give(from, _, centavos) => {
            let to = Destination::Key(Cbu::from(asked.to.unwrap()));
            send(&engine, from, to, centavos, id).await
        }
        Order::Send(from, centavos, _) => {
            let away = Destination::Key(Cbu::compose(11, 7, 42).unwrap());
            send(&engine, from, away, centavos, id).await
        }
        Order::Both(one, other, centavos) => {
            let items = vec![
                adjustment(one, "OUT", centavos, id),
                adjustment(other, "OUT", centavos, external(number, "-b")),
            ];
            let mode = BatchMode {
                atomic: true,
                dry_run: false,
            };
            let outcomes = given(
                engine
                    .ledger()
                    .order(REALM, Batch { items, mode }, requester())
                    .await,
            )?;
            let mut ids = Vec::new();
            for outcome in outcomes {
                let posted = outcome?.into_inner();
                ids.push(posted.voucher.id(REALM, posted.account).to_string());
            }
            done(ids.join(" "))
        }
        Order::Arrive(.., copies) => {
            let arrival = asked.arrival.unwrap();
            let response: Vec<_> = (0..copies)
                .map(|_| {
                    let (engine, notice) = (Rc::clone(&engine), arrival.notice());
                    actix::spawn(async move { hear(&engine, notice).await })
                })
                .collect();
            for response in response {
                response.await.unwrap()?;
            }
            done("arrived".to_owned())
        }
        Order::Stray(..) => strays::give_back(&engine, &asked.arrival.unwrap()).await,
        Order::Suspend(of) => {
            let reason = "a doubt".to_owned();
            let code = SuspensionCode::Other;
            change(&engine, of, ProfileOrder::Suspend { reason, code }).await
        }
        Order::Reactivate(of) => change(&engine, of, ProfileOrder::Reactivate).await,
        Order::Again(_) => panic!("it was resolved before"),
    }
}

/// Delivers a notice of the bank to the engine. Only returned money may come back to nobody.
pub(super) async fn hear(engine: &Engine, notice: Notice) -> Result<(), Failure> {
    let heard = engine
        .ledger()
        .notice(REALM.mode(), notice.clone(), "story")
        .await?;
    match heard {
        NoticeOutcome::Done | NoticeOutcome::Known => Ok(()),
        NoticeOutcome::Suspended if matches!(notice, Notice::Reversed { .. }) => Ok(()),
        NoticeOutcome::Suspended | NoticeOutcome::Ignored => panic!("{heard:?}: {notice:?}"),
    }
}

async fn post(engine: &Engine, order: Adjustment) -> Result<Outcome, Failure> {
    let posted = given(engine.ledger().order(REALM, order, requester()).await)?.into_inner();
    let id = posted.voucher.id(REALM, posted.account);
    Ok(Outcome::Done(id.to_string()))
}

async fn send(
    engine: &Engine,
    from: u64,
    to: Destination,
    centavos: i64,
    external_id: ExternalId,
) -> Result<Outcome, Failure> {
    let order = Sending {
        metadata: std::collections::BTreeMap::new(),
        to,
        amount: amount(centavos),
        concept: Concept::Var,
        description: None,
        external_id,
    };
    let sent = engine.ledger().order(
        REALM,
        MakeTransfer {
            from: target(from),
            order,
            dry_run: false,
        },
        requester(),
    );
    let sent = given(sent.await)?.into_inner();
    Ok(Outcome::Done(sent.transfer.sequence.to_string()))
}

/// Changes an account. A suspension has no id, so the book does not know it.
async fn change(engine: &Engine, of: u64, order: ProfileOrder) -> Result<Outcome, Failure> {
    let changed = engine
        .ledger()
        .order(REALM, ChangeProfile::new(target(of), order), requester());
    match given(changed.await) {
        Ok(_) | Err(Failure::Rejected(Rejection::AccountNotSuspended)) => Ok(Outcome::Untold),
        Err(why) => Err(why),
    }
}

async fn hold(engine: &Engine, of: u64, order: OpenHold) -> Result<Outcome, Failure> {
    let held = engine.ledger().order(
        REALM,
        PlaceHold {
            target: target(of),
            order,
            dry_run: false,
        },
        requester(),
    );
    let held = given(held.await)?.into_inner();
    let id = held.hold.id(REALM, held.account);
    Ok(Outcome::Done(id.to_string()))
}

/// Gives back a part of a debit.
async fn refund(
    engine: &Engine,
    debit: VoucherId,
    centavos: i64,
    id: ExternalId,
) -> Result<Outcome, Failure> {
    let voucher_type = TypeRef::Reverses {
        id: debit,
        refund_fees: false,
    };
    let reversal = adjustment(debit.account.0, "OUT", centavos, id);
    let reversal = Adjustment {
        voucher_type,
        ..reversal
    };
    post(engine, reversal).await
}

/// Sets the amount of a hold.
async fn amend(engine: &Engine, asked: &Asked, centavos: i64) -> Result<Outcome, Failure> {
    let change = HoldAmendment {
        amount: Some(amount(centavos)),
        expires_at: None,
    };
    let (hold, requester) = (asked.hold.unwrap(), keyed(asked.number));
    let changed = engine
        .ledger()
        .change_hold(REALM, hold, change, false, requester);
    kept(changed.await)
}

/// Asks a step of a hold.
async fn step(
    engine: &Engine,
    asked: &Asked,
    step: HoldStep,
    part: i64,
) -> Result<Outcome, Failure> {
    let part = (part > 0).then(|| amount(part));
    let (hold, requester) = (asked.hold.unwrap(), keyed(asked.number));
    let stepped = engine
        .ledger()
        .step_hold(REALM, hold, step, part, false, requester);
    kept(stepped.await)
}

/// A key for a step or a change of a hold, which has no id of its own; the kept answer says how the hold is after it.
fn keyed(number: usize) -> Requester<HoldView> {
    let render = |outcome: Result<&HoldView, &Failure>| {
        let (status, body) = match outcome {
            Ok(view) => {
                let hold = &view.hold;
                let parts = [hold.amount.money(), hold.confirmed, hold.released];
                let [amount, confirmed, released] = parts.map(Money::centavos);
                let moved = view.voucher.map_or(0, |(sequence, _)| sequence);
                (200, format!("{moved} {amount} {confirmed} {released}"))
            }
            Err(Failure::Rejected(why)) => (409, why.code().to_owned()),
            Err(why) => panic!("{why}"),
        };
        Rendered {
            status,
            body,
            again: false,
        }
    };
    let scope = Scope {
        key: format!("step-{number}"),
        method: "POST".to_owned(),
        path: "/story".to_owned(),
        fields: BTreeMap::new(),
    };
    Requester {
        keyed: Some(Keyed {
            scope,
            render: Box::new(render),
        }),
        request_id: "story".to_owned(),
        admitted: None,
    }
}

fn kept(answered: Answered<HoldView>) -> Result<Outcome, Failure> {
    match answered? {
        Given::Kept {
            status: 200, body, ..
        } => Ok(Outcome::Done(body)),
        Given::Kept { body, .. } => Ok(Outcome::Refused(body)),
        Given::Value(_) => panic!("a key keeps its answer"),
    }
}
