//! The effects on transfers: sent, settled, returned, received. Each decides by the present records, makes the new
//! ones, keeps them together, and only then leaves a notice.

use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::money::Amount;
use caudal_ledger::transfers::Concept;
use serde::Deserialize;
use serde_json::{Value, json};

use super::accounts::Account;
use super::behaviours::Mode;
use super::book::Book;
use super::names::{is_code, rail_id};
use super::refusals::{NoEffect, refusal};
use super::transfers::{Due, Kind, NextStep, Party, Transfer, TransferStatus};
use super::worlds::{Rail, World};
use super::{SETTLE_AFTER, external, shapes};

/// The rail's word for an unknown fact about the other side.
const UNAVAILABLE: &str = "UNAVAILABLE";
/// The reason with which a destination that ends in 1 rejects.
const REJECTED: &str = "La cuenta destino no admite créditos";
/// The longest name of a sender, and the longest reason of a rejection, in characters.
const WORDS_MAX: usize = 200;

/// The body of the order to send a transfer.
#[derive(Debug, Deserialize)]
pub(super) struct Send {
    #[serde(default)]
    origin_id: String,
    #[serde(default)]
    origin_debit: Debit,
    #[serde(default)]
    to: To,
    #[serde(default)]
    value: Worth,
    description: Option<String>,
    concept: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Debit {
    #[serde(default)]
    cvu: String,
    #[serde(default)]
    cuit: String,
}

#[derive(Debug, Default, Deserialize)]
struct To {
    cbu: Option<String>,
    label: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Worth {
    #[serde(default)]
    currency: String,
    #[serde(default)]
    amount: Value,
}

/// The body of `POST /sandbox/cash-in`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CashIn {
    cvu: String,
    amount: Value,
    from_cuit: Option<String>,
    from_name: Option<String>,
    from_cbu: Option<String>,
    coelsa_id: Option<String>,
}

/// The body of `POST /sandbox/transfers/{id}/settle`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settle {
    status: String,
    reason: Option<String>,
}

/// The body of `POST /sandbox/transfers/{id}/reverse`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reverse {
    amount: Option<Value>,
}

/// The destination of a transfer.
enum TransferTarget {
    /// To a CVU of this or another PSP at the sandbox.
    Own(World, Account),
    /// To the rest of the country.
    Other(Cbu),
}

/// An amount in an order, as a text or a number.
pub(super) fn amount_of(value: &Value) -> Result<Amount, NoEffect> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    Amount::parse(&text).map_err(|_| NoEffect::Bad("the amount must be like \"1234.50\""))
}

/// A new id of the rail.
pub(super) fn new_rail_id() -> Result<String, NoEffect> {
    rail_id().ok_or_else(|| refusal("TX500").into())
}

impl Send {
    fn checked(&self) -> Result<(Amount, Concept), NoEffect> {
        let description = self.description.as_deref().unwrap_or_default();
        if description.chars().count() > 100 {
            return Err(refusal("TX035").into());
        }
        if self.value.currency != "ARS" {
            return Err(refusal("TX012").into());
        }
        let concept = match &self.concept {
            None => Concept::Var,
            Some(word) => serde_json::from_value(json!(word))
                .map_err(|_| NoEffect::Bad("the concept is not one of the central bank's"))?,
        };
        Ok((amount_of(&self.value.amount)?, concept))
    }
}

impl Book {
    /// Sends a transfer, or returns the existing one of the origin id; `own` sends from the collector account itself, in
    /// the name of no CVU.
    pub(crate) fn send(
        &mut self,
        world: World,
        order: &Send,
        own: bool,
        at: (Mode, u64),
    ) -> Result<Value, NoEffect> {
        if !is_code(&order.origin_id, 1..=15) {
            return Err(refusal("TX033").into());
        }
        if let Some(known) = self.transfers.by_origin(world.collector, &order.origin_id) {
            return Ok(shapes::repeated(known));
        }
        if own {
            return self.pay(world, order, None, at);
        }
        let origin = self.open_by_cvu(world, &order.origin_debit.cvu)?.clone();
        if origin.cuit.as_str() != order.origin_debit.cuit {
            return Err(refusal("VW009").into());
        }
        self.pay(world, order, Some(&origin), at)
    }

    fn pay(
        &mut self,
        world: World,
        order: &Send,
        origin: Option<&Account>,
        (mode, machine): (Mode, u64),
    ) -> Result<Value, NoEffect> {
        let now = self.time_of(world.collector, machine);
        let (amount, concept) = order.checked()?;
        let (target, other) = self.destination(world.rail, &order.to)?;
        let mut transfer = Transfer {
            number: self.transfers.number(now),
            kind: Kind::Out,
            origin_id: Some(order.origin_id.clone()),
            coelsa_id: String::new(),
            status: TransferStatus::InProgress,
            reject_reason: None,
            amount,
            concept: format!("{concept:?}").to_ascii_uppercase(),
            description: order.description.clone().unwrap_or_default(),
            cvu: origin.map(|it| it.cvu),
            cuit: origin.map_or_else(|| UNAVAILABLE.into(), |it| it.cuit.to_string()),
            name: origin.map_or_else(|| super::PSP_NAME.into(), |it| it.name.clone()),
            other,
            at: now,
            returned: 0,
            reverses: None,
            notices: Some(mode).filter(|mode| mode.is_of_notices()),
            due: None,
            collector: Some(world.collector),
            posted: None,
            hidden: false,
        };
        if mode == Mode::Forget {
            return Ok(shapes::transfer(&transfer));
        }
        let arrival = match target {
            TransferTarget::Own(home, account) => {
                transfer.status = TransferStatus::Completed;
                transfer.coelsa_id = new_rail_id()?;
                let from = origin.map_or_else(|| own_party(world), |it| party(world, it));
                let at = self.time_of(home.collector, machine);
                Some(Transfer {
                    at,
                    ..arrival(&transfer, home, &account, from)
                })
            }
            TransferTarget::Other(key) => {
                decide(&mut transfer, &key, machine)?;
                None
            }
        };
        let shown = shapes::transfer(&transfer);
        let notice = arrival.as_ref().map(|it| shapes::received(it, now));
        self.keep_transfers([transfer].into_iter().chain(arrival).collect())?;
        self.notices.extend(notice);
        Ok(shown)
    }

    fn destination(&self, rail: Rail, to: &To) -> Result<(TransferTarget, Party), NoEffect> {
        let found = match (&to.cbu, &to.label) {
            (Some(address), _) => self.find_key(rail, address)?,
            (None, Some(text)) => {
                let alias = Alias::parse(text).map_err(|_| refusal("PA006"))?;
                self.find_alias(rail, &alias)?
            }
            (None, None) => return Err(refusal("PA005").into()),
        };
        let (target, mut party) = match found {
            (Some((_, account)), _) if !account.active => return Err(refusal("PA012").into()),
            (Some((home, account)), _) => (
                TransferTarget::Own(home, account.clone()),
                party(home, account),
            ),
            (None, key) => (TransferTarget::Other(key), external::party(&key)),
        };
        if let (None, Some(label)) = (&to.cbu, &to.label) {
            party.label.clone_from(label);
        }
        Ok((target, party))
    }

    /// A transfer by the service's id or the bank's.
    pub(crate) fn transfer(&self, world: World, id: &str) -> Result<Value, NoEffect> {
        let found = self.transfers.find(world.collector, id);
        Ok(shapes::transfer(found.ok_or_else(|| refusal("TX019"))?))
    }

    /// An outgoing transfer by the service's id or the bank's, of one world or of any.
    fn outgoing(&self, world: Option<World>, id: &str) -> Result<Transfer, NoEffect> {
        let found = match world {
            Some(world) => self.transfers.find(world.collector, id),
            None => self.transfers.find_anywhere(id),
        };
        let found = found.filter(|it| it.kind == Kind::Out);
        Ok(found.ok_or_else(|| refusal("TX019"))?.clone())
    }

    /// Sets the outcome of a transfer that is not final.
    pub(crate) fn settle(
        &mut self,
        world: Option<World>,
        id: &str,
        order: &Settle,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let status = TransferStatus::parse(&order.status)
            .filter(|it| !matches!(it, TransferStatus::Pending | TransferStatus::InProgress))
            .ok_or(NoEffect::Bad(
                "status must be one of: COMPLETED, FAILED, UNKNOWN, UNKNOWN_FOREVER",
            ))?;
        let reason = order.reason.clone().unwrap_or_else(|| REJECTED.to_owned());
        if reason.chars().count() > WORDS_MAX {
            return Err(NoEffect::Bad("the reason is longer than 200 characters"));
        }
        let mut transfer = self.outgoing(world, id)?;
        if transfer.status.is_final() {
            return Err(refusal("GE409").into());
        }
        transfer.reject_reason = (status == TransferStatus::Failed).then_some(reason);
        self.finish(transfer, status, now)
    }

    fn finish(
        &mut self,
        mut transfer: Transfer,
        status: TransferStatus,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let now = self.time_of(transfer.collector.unwrap_or(self.main.collector), now);
        transfer.status = status;
        transfer.due = None;
        transfer.posted = (status == TransferStatus::Completed).then_some(now);
        if transfer.coelsa_id.is_empty() && status.is_final() {
            transfer.coelsa_id = new_rail_id()?;
        }
        let (shown, notice) = (shapes::transfer(&transfer), shapes::ended(&transfer, now));
        self.keep_transfers(vec![transfer])?;
        self.notices.extend(notice);
        Ok(shown)
    }

    /// Returns a completed transfer, whole or in part.
    pub(crate) fn reverse(
        &mut self,
        world: Option<World>,
        id: &str,
        order: &Reverse,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let amount = order.amount.as_ref().map(amount_of).transpose()?;
        let transfer = self.outgoing(world, id)?;
        self.turn_back(transfer, amount, now)
    }

    fn turn_back(
        &mut self,
        mut transfer: Transfer,
        amount: Option<Amount>,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let now = self.time_of(transfer.collector.unwrap_or(self.main.collector), now);
        // Transfers between CVUs of the PSP do not use the rail, so the rail cannot return them.
        let own = Cbu::parse(&transfer.other.cbu).is_ok_and(|key| self.is_own(&key));
        let rest = transfer.amount.centavos().saturating_sub(transfer.returned);
        let amount = amount.map_or_else(|| Amount::from_centavos(rest), Ok);
        let (TransferStatus::Completed, false, Ok(amount)) = (transfer.status, own, amount) else {
            return Err(refusal("GE409").into());
        };
        if amount.centavos() > rest {
            return Err(NoEffect::Bad("more than what is left of the transfer"));
        }
        transfer.returned += amount.centavos();
        transfer.due = None;
        let reversal = Transfer {
            number: self.transfers.number(now),
            kind: Kind::Reversal,
            origin_id: None,
            coelsa_id: new_rail_id()?,
            amount,
            at: now,
            returned: 0,
            reverses: transfer.origin_id.clone(),
            notices: None,
            posted: None,
            ..transfer.clone()
        };
        let notice = shapes::reversed(&transfer, &reversal, now);
        let shown = shapes::transfer(&transfer);
        self.keep_transfers(vec![transfer, reversal])?;
        self.notices.push(notice);
        Ok(shown)
    }

    /// Receives a transfer from outside for a CVU of a world, or for one of its PSP that nobody has.
    pub(crate) fn cash_in_of(
        &mut self,
        world: World,
        order: &CashIn,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let cvu = Cvu::parse(&order.cvu).map_err(|_| NoEffect::Bad("cvu is not a CVU"))?;
        let code = cvu.as_str().get(3..7).and_then(|code| code.parse().ok());
        let own = match self.by_cvu(cvu.as_str()) {
            Some((home, _)) => home == world,
            None => code == Some(world.psp),
        };
        if !own {
            return Err(refusal("VW005").into());
        }
        self.cash_in(order, now)
    }

    /// Receives a transfer from outside; if its rail id has already arrived, only the notice is sent again.
    pub(crate) fn cash_in(&mut self, order: &CashIn, now: u64) -> Result<Value, NoEffect> {
        if let Some(id) = &order.coelsa_id {
            if !is_code(id, 22..=22) {
                return Err(NoEffect::Bad("coelsaId must be 22 of A-Z and 0-9"));
            }
            if let Some(known) = self.transfers.received(id) {
                let notice = shapes::received(known, now);
                self.notices.push(notice);
                return Ok(json!({"coelsaId": id}));
            }
        }
        let cvu = Cvu::parse(&order.cvu).map_err(|_| NoEffect::Bad("cvu is not a CVU"))?;
        let amount = amount_of(&order.amount)?;
        let other = sender(order)?;
        let coelsa_id = order.coelsa_id.clone().map_or_else(new_rail_id, Ok)?;
        let collector = self.home_of(&cvu).collector;
        let now = self.time_of(collector, now);
        let holder = self.by_cvu(cvu.as_str()).map(|(_, account)| account);
        let transfer = Transfer {
            number: self.transfers.number(now),
            kind: Kind::In,
            origin_id: None,
            coelsa_id: coelsa_id.clone(),
            status: TransferStatus::Completed,
            reject_reason: None,
            amount,
            concept: "VAR".into(),
            description: String::new(),
            cvu: Some(cvu),
            cuit: holder.map_or_else(|| UNAVAILABLE.into(), |it| it.cuit.to_string()),
            name: holder.map_or_else(|| UNAVAILABLE.into(), |it| it.name.clone()),
            other,
            at: now,
            returned: 0,
            reverses: None,
            notices: None,
            due: None,
            collector: Some(collector),
            posted: None,
            hidden: false,
        };
        let notice = shapes::received(&transfer, now);
        self.keep_transfers(vec![transfer])?;
        self.notices.push(notice);
        Ok(json!({"coelsaId": coelsa_id}))
    }

    /// Makes everything happen that is due by now.
    pub(crate) fn catch_up(&mut self, now: u64) -> Result<(), NoEffect> {
        while let Some(transfer) = self.transfers.due(now).cloned() {
            match transfer.due.map(|due| due.next) {
                Some(NextStep::Complete) => {
                    self.finish(transfer, TransferStatus::Completed, now)?
                }
                Some(NextStep::Reverse) => self.turn_back(transfer, None, now)?,
                None => break,
            };
        }
        Ok(())
    }
}

/// A collector account as the other side sees it.
fn own_party(world: World) -> Party {
    Party {
        cbu: world.collector.to_string(),
        label: String::new(),
        cuit: UNAVAILABLE.to_owned(),
        name: super::PSP_NAME.to_owned(),
        bank_code: format!("{:04}", world.psp),
        bank_name: super::PSP_NAME.to_owned(),
    }
}

/// An account at the sandbox as the other side sees it.
fn party(home: World, account: &Account) -> Party {
    let alias = account.alias.as_ref();
    Party {
        cbu: account.cvu.to_string(),
        label: alias.map_or_else(String::new, |alias| alias.as_str().to_owned()),
        cuit: account.cuit.to_string(),
        name: account.name.clone(),
        bank_code: format!("{:04}", home.psp),
        bank_name: super::PSP_NAME.to_owned(),
    }
}

/// A transfer between CVUs at the sandbox, as its receiver has it.
fn arrival(transfer: &Transfer, home: World, account: &Account, other: Party) -> Transfer {
    Transfer {
        number: transfer.number.saturating_add(1),
        kind: Kind::In,
        origin_id: None,
        cvu: Some(account.cvu),
        cuit: account.cuit.to_string(),
        name: account.name.clone(),
        collector: Some(home.collector),
        other,
        notices: None,
        ..transfer.clone()
    }
}

/// The behaviour of a destination by its last digit.
fn decide(transfer: &mut Transfer, key: &Cbu, now: u64) -> Result<(), NoEffect> {
    let later = |next| {
        let after = u64::try_from(SETTLE_AFTER.as_millis()).unwrap_or(u64::MAX);
        let at = now.saturating_add(after);
        Some(Due { at, next })
    };
    let (status, due) = match external::digit(key) {
        Some(b'1') => (TransferStatus::Failed, None),
        Some(b'2') => (TransferStatus::Pending, None),
        Some(b'3') => (TransferStatus::Completed, later(NextStep::Reverse)),
        Some(b'4') => (TransferStatus::InProgress, later(NextStep::Complete)),
        _ => (TransferStatus::Completed, None),
    };
    transfer.reject_reason = (status == TransferStatus::Failed).then(|| REJECTED.to_owned());
    if status != TransferStatus::Pending {
        transfer.coelsa_id = new_rail_id()?;
    }
    (transfer.status, transfer.due) = (status, due);
    Ok(())
}

/// The sender of an incoming transfer: as the order says, and otherwise the holder of the account.
fn sender(order: &CashIn) -> Result<Party, NoEffect> {
    let unavailable = || UNAVAILABLE.to_owned();
    let key = match order.from_cbu.as_deref() {
        None => external::agreed(0),
        Some(UNAVAILABLE) => None,
        Some(text) => {
            Some(Cbu::parse(text).map_err(|_| NoEffect::Bad("fromCbu is not a CBU or CVU"))?)
        }
    };
    let mut party = key.as_ref().map_or_else(
        || Party {
            cbu: unavailable(),
            label: String::new(),
            cuit: unavailable(),
            name: unavailable(),
            bank_code: unavailable(),
            bank_name: unavailable(),
        },
        external::party,
    );
    if let Some(cuit) = &order.from_cuit {
        if cuit != UNAVAILABLE && Cuit::parse_relaxed(cuit).is_err() {
            return Err(NoEffect::Bad("fromCuit is not a CUIT"));
        }
        party.cuit.clone_from(cuit);
    }
    if let Some(name) = &order.from_name {
        if name.chars().count() > WORDS_MAX {
            return Err(NoEffect::Bad("fromName is longer than 200 characters"));
        }
        party.name.clone_from(name);
    }
    Ok(party)
}
