//! The statement of a collector account: every movement in the order in which the bank posted it, with the balance
//! after it. Most are transfers; the others are the bank's own, on order: fees, taxes, interest, sweeps and funding.
//!
//! **Misbehaviour.** A movement may be posted late (on an earlier day), changed, withdrawn (with its effect on the
//! balance), or hidden (the balance keeps its effect).

use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::book::Book;
use super::rail::{amount_of, new_rail_id};
use super::refusals::{NoEffect, refusal};
use super::shapes;
use super::transfers::{Kind, Party, Query, Transfer, TransferStatus, Transfers, written};
use super::worlds::World;

/// The longest text of a movement, in characters.
const TEXT_MAX: usize = 200;
/// The tax id of the PSP, whose own money is swept and funded.
const PSP_CUIT: &str = "30712345671";
/// The tax id of the bank.
const BANK_CUIT: &str = "30500010912";

/// What the bank does to a collector account by itself, or the PSP does with its own money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OwnKind {
    Fee,
    Tax,
    Interest,
    Sweep,
    Funding,
}

impl OwnKind {
    const fn incoming(self) -> bool {
        matches!(self, Self::Interest | Self::Funding)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Fee => "COMISION MANTENIMIENTO DE CUENTA",
            Self::Tax => "IMP. LEY 25413 S/DEBITOS Y CREDITOS",
            Self::Interest => "INTERESES GANADOS",
            Self::Sweep | Self::Funding => "TRANSFERENCIA ENTRE CUENTAS PROPIAS",
        }
    }

    fn party(self) -> Party {
        let (cuit, name) = match self {
            Self::Fee | Self::Tax | Self::Interest => (BANK_CUIT, "BANCO INDUSTRIAL S.A."),
            Self::Sweep | Self::Funding => (PSP_CUIT, super::PSP_NAME),
        };
        Party {
            cbu: String::new(),
            label: String::new(),
            cuit: cuit.to_owned(),
            name: name.to_owned(),
            bank_code: "322".to_owned(),
            bank_name: "Banco Industrial".to_owned(),
        }
    }
}

/// The body of `POST /sandbox/collector-movements`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OwnMovement {
    kind: OwnKind,
    amount: Value,
    collector: Option<String>,
    text: Option<String>,
    counterparty_cuit: Option<String>,
    /// The day on which it is posted, when it comes late.
    date: Option<String>,
}

/// The body of `POST /sandbox/collector-movements/{id}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OwnChange {
    amount: Option<Value>,
    withdrawn: Option<bool>,
    hidden: Option<bool>,
}

impl Transfers {
    /// A page of a statement, with the balance after each movement.
    pub(crate) fn statement(&self, query: &Query, newest_first: bool) -> Vec<(&Transfer, String)> {
        let moved = |it: &&Transfer| it.collector == query.collector && it.moves() != 0;
        let (mut lines, mut balance) = (Vec::new(), i128::from(self.endowment));
        for transfer in self.all.values().filter(moved) {
            if query.from.is_some_and(|from| transfer.posted_at() < from) {
                balance += transfer.moves();
            } else if query.to.is_none_or(|to| transfer.posted_at() <= to) {
                lines.push(transfer);
            }
        }
        lines.sort_by_key(|it| (it.posted_at(), it.number));
        let lines = lines.into_iter().map(|it| {
            balance += it.moves();
            (it, balance)
        });
        let mut shown: Vec<_> = lines.filter(|(it, _)| !it.hidden).collect();
        if newest_first {
            shown.reverse();
        }
        let page = shown.into_iter().skip(query.offset).take(query.limit);
        page.map(|(it, balance)| (it, written(balance))).collect()
    }
}

impl Book {
    fn collector_of(&self, order: &OwnMovement) -> Result<World, NoEffect> {
        match &order.collector {
            Some(text) => World::of(text, self.psp).ok_or_else(|| refusal("VW003").into()),
            None => Ok(self.main),
        }
    }

    /// Posts a movement of the collector account itself.
    pub(crate) fn post_own(&mut self, order: &OwnMovement, now: u64) -> Result<Value, NoEffect> {
        let world = self.collector_of(order)?;
        let now = self.time_of(world.collector, now);
        let text = order.text.clone();
        let text = text.unwrap_or_else(|| order.kind.text().to_owned());
        if text.chars().count() > TEXT_MAX {
            return Err(NoEffect::Bad("the text is longer than 200 characters"));
        }
        let mut other = order.kind.party();
        if let Some(cuit) = &order.counterparty_cuit {
            let cuit = Cuit::parse_relaxed(cuit);
            let cuit = cuit.map_err(|_| NoEffect::Bad("counterpartyCuit is not a CUIT"))?;
            other.cuit = cuit.to_string();
        }
        let posted = match &order.date {
            Some(day) => {
                let day = BusinessDay::parse(day);
                let day = day.ok_or(NoEffect::Bad("date must be YYYY-MM-DD"))?;
                Some(day.end().millis().min(now))
            }
            None => None,
        };
        let movement = Transfer {
            number: self.transfers.number(now),
            kind: if order.kind.incoming() {
                Kind::OwnIn
            } else {
                Kind::OwnOut
            },
            origin_id: None,
            coelsa_id: new_rail_id()?,
            status: TransferStatus::Completed,
            reject_reason: None,
            amount: amount_of(&order.amount)?,
            concept: "VAR".into(),
            description: text,
            cvu: None,
            cuit: other.cuit.clone(),
            name: super::PSP_NAME.to_owned(),
            other,
            at: now,
            returned: 0,
            reverses: None,
            notices: None,
            due: None,
            collector: Some(world.collector),
            posted,
            hidden: false,
        };
        let id = movement.id();
        self.worlds.insert(world);
        self.keep_transfers(vec![movement])?;
        Ok(json!({"id": id}))
    }

    /// Changes, withdraws or hides a movement of the collector account itself.
    pub(crate) fn change_own(&mut self, id: &str, order: &OwnChange) -> Result<Value, NoEffect> {
        let found = self.transfers.own(id).ok_or_else(|| refusal("TX019"))?;
        let mut movement = found.clone();
        if let Some(amount) = &order.amount {
            movement.amount = amount_of(amount)?;
        }
        if let Some(withdrawn) = order.withdrawn {
            movement.status = if withdrawn {
                TransferStatus::Failed
            } else {
                TransferStatus::Completed
            };
        }
        movement.hidden = order.hidden.unwrap_or(movement.hidden);
        self.keep_transfers(vec![movement])?;
        Ok(json!({"id": id}))
    }

    /// A page of the statement of a collector account.
    pub(crate) fn statement(&self, collector: Cbu, query: Query, newest_first: bool) -> Value {
        let query = Query {
            collector: Some(collector),
            ..query
        };
        let lines = self.transfers.statement(&query, newest_first);
        lines.iter().map(|(it, after)| line(it, after)).collect()
    }
}

/// A movement as the statement shows it.
fn line(it: &Transfer, after: &str) -> Value {
    let details = shapes::present(json!({
        "type": shapes::kind(it),
        "description": it.description,
        "coelsa_id": it.coelsa_id,
        "posted": Timestamp::from_millis(it.posted_at()).to_string(),
        "value": {"currency": "ARS", "amount": written(it.moves())},
        "new_balance": {"currency": "ARS", "amount": after},
        "origin_id": it.origin_id,
        "reverses": it.reverses,
    }));
    json!({"id": it.id(), "counterparty": shapes::party(&it.other), "details": details})
}
