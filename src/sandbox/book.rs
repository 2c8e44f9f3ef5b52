//! The sandbox's book: the CVUs of each world and their aliases, and the bank's rules about them. For transfers see
//! `rail`.
//!
//! **Order.** Each operation decides by the present account, makes the new one, and `keep`s that: first on disk, then
//! in memory. An effect that cannot be written has not happened.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use caudal_ledger::alias::Alias;
use caudal_ledger::calendar::Calendar;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::accounts::Account;
use super::clock::{self, Advance};
use super::fund::Enrolled;
use super::log::{FORMAT, KeptRecords, Line, Log};
use super::names::three_words;
use super::refusals::{NoEffect, refusal};
use super::shapes::Notice;
use super::transfers::{Transfer, Transfers};
use super::worlds::{Rail, World};
use super::{COLLECTOR, external};

/// How often an alias is drawn before the bank gives up.
const DRAWS_MAX: usize = 32;

/// Rules of the bank that can be switched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rules {
    /// Whether an alias may be changed only once in 24 hours (`VW011`).
    pub alias_once_a_day: bool,
}

/// An account of a world by its client id.
pub(super) type Place = (World, u64);

/// The holder to whom an alias is reserved, and the CVU that has it now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    cuit: Cuit,
    pub(super) held_by: Option<Place>,
}

/// All CVUs of all worlds, and all transfers from and to them.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) psp: u16,
    /// The world of clients that name no other.
    pub(super) main: World,
    rules: Rules,
    /// The days on which banks are closed.
    pub(super) calendar: Arc<Calendar>,
    pub(super) accounts: BTreeMap<Place, Account>,
    places: HashMap<Cvu, Place>,
    /// The claims by rail and alias.
    pub(super) claims: HashMap<(Rail, String), Claim>,
    /// The worlds that were used.
    pub(super) worlds: BTreeSet<World>,
    keeping: Keeping,
    pub(super) transfers: Transfers,
    /// Enrolments in remuneration, by their references.
    pub(super) fund: BTreeMap<String, Enrolled>,
    /// How many days the clocks of collector accounts are ahead.
    pub(super) clocks: BTreeMap<Cbu, u32>,
    /// Notices that were not yet posted, oldest first.
    pub(super) notices: Vec<Notice>,
}

/// Where the book is kept.
#[derive(Debug)]
pub(super) enum Keeping {
    /// In memory only.
    Memory,
    /// On disk.
    Disk(Log),
    /// Nowhere any more: no effect is possible.
    Shut,
}

impl Book {
    /// The book; `None` if [`COLLECTOR`] were no collector account.
    pub(crate) fn new(
        psp: u16,
        (rules, calendar): (Rules, Arc<Calendar>),
        keeping: Keeping,
        kept: KeptRecords,
    ) -> Option<Self> {
        let main = World::of(COLLECTOR, psp)?;
        let mut book = Self {
            psp,
            main,
            rules,
            calendar,
            accounts: BTreeMap::new(),
            places: HashMap::new(),
            claims: HashMap::new(),
            worlds: BTreeSet::from([main]),
            keeping,
            transfers: Transfers::default(),
            fund: kept.enrolments,
            clocks: kept.clocks,
            notices: Vec::new(),
        };
        for transfer in kept.transfers.into_values() {
            let collector = transfer.collector.or(Some(main.collector));
            book.transfers.put(Transfer {
                collector,
                ..transfer
            });
        }
        for account in kept.accounts.into_values() {
            let named = account
                .collector
                .map(|named| World::of(named.as_str(), psp));
            let home = named.flatten().unwrap_or(main);
            book.worlds.insert(home);
            book.places.insert(account.cvu, (home, account.client_id));
            book.accounts.insert((home, account.client_id), account);
        }
        book.claim_all();
        Some(book)
    }

    /// Computes anew the holder of each alias.
    fn claim_all(&mut self) {
        self.claims.clear();
        let all = self.accounts.iter();
        let all: Vec<_> = all.map(|(at, it)| (*at, it.clone())).collect();
        for ((home, _), account) in &all {
            for alias in &account.past_aliases {
                self.claim(home.rail, alias, account.cuit, None);
            }
        }
        // After all the past ones: a holder may use on one CVU an alias that another of theirs gave up.
        for (at, account) in &all {
            if let Some(alias) = &account.alias {
                self.claim(at.0.rail, alias, account.cuit, Some(*at));
            }
        }
    }

    /// Enters the world of a collector account.
    pub(crate) fn enter(&mut self, collector: &str, rail: Rail) -> Result<World, NoEffect> {
        let world = World::for_login(collector, self.psp, rail)?;
        self.worlds.insert(world);
        Ok(world)
    }

    /// Allows no more effects, and closes the file, so that another sandbox may use it.
    pub(crate) fn shut(&mut self) {
        self.keeping = Keeping::Shut;
    }

    fn claim(&mut self, rail: Rail, alias: &Alias, cuit: Cuit, held_by: Option<Place>) {
        let claim = Claim { cuit, held_by };
        self.claims.insert((rail, alias.folded()), claim);
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), NoEffect> {
        match &mut self.keeping {
            Keeping::Memory => Ok(()),
            Keeping::Disk(log) => log.write(line).map_err(NoEffect::Disk),
            Keeping::Shut => Err(NoEffect::Disk(io::Error::other("it is shut"))),
        }
    }

    /// Keeps transfers that change together: all of them or none.
    pub(super) fn keep_transfers(&mut self, changed: Vec<Transfer>) -> Result<(), NoEffect> {
        self.write(&Line::Transfers {
            format: FORMAT,
            transfers: Cow::Borrowed(&changed),
        })?;
        for transfer in changed {
            self.transfers.put(transfer);
        }
        Ok(())
    }

    /// Keeps an enrolment.
    pub(super) fn keep_enrolled(&mut self, enrolled: Enrolled) -> Result<(), NoEffect> {
        self.write(&Line::Remuneration {
            format: FORMAT,
            enrolment: Cow::Borrowed(&enrolled),
        })?;
        self.fund.insert(enrolled.reference.clone(), enrolled);
        Ok(())
    }

    fn days_ahead(&self, collector: Cbu) -> u32 {
        self.clocks.get(&collector).map_or(0, |days| *days)
    }

    /// The time of a collector account when the machine's clock shows `now`.
    pub(super) fn time_of(&self, collector: Cbu, now: u64) -> u64 {
        clock::ahead(now, self.days_ahead(collector))
    }

    /// Puts the clock of a collector account ahead; it never goes back.
    pub(super) fn advance(&mut self, world: World, order: &Advance) -> Result<Value, NoEffect> {
        let days = order.days_ahead.max(self.days_ahead(world.collector));
        self.write(&Line::Clock {
            format: FORMAT,
            collector: world.collector,
            days,
        })?;
        self.clocks.insert(world.collector, days);
        Ok(json!({"daysAhead": days}))
    }

    fn keep(&mut self, world: World, account: Account) -> Result<(), NoEffect> {
        let account = Account {
            collector: Some(world.collector),
            ..account
        };
        self.write(&account)?;
        let at = (world, account.client_id);
        let before = self.accounts.get(&at);
        let given_up = before.and_then(|before| before.alias.clone());
        if let Some(alias) = given_up {
            self.claim(world.rail, &alias, account.cuit, None);
        }
        if let Some(alias) = &account.alias {
            self.claim(world.rail, alias, account.cuit, Some(at));
        }
        self.places.insert(account.cvu, at);
        self.accounts.insert(at, account);
        Ok(())
    }

    /// An account of any world.
    pub(super) fn by_cvu(&self, cvu: &str) -> Option<(World, &Account)> {
        let at = self.places.get(&Cvu::parse(cvu).ok()?)?;
        Some((at.0, self.accounts.get(at)?))
    }

    /// The world whose collector account takes money for a CVU.
    pub(super) fn home_of(&self, cvu: &Cvu) -> World {
        let known = self.places.get(cvu).map(|(home, _)| *home);
        let psp = cvu.as_str().get(3..7).and_then(|code| code.parse().ok());
        let of_psp = || self.worlds.iter().find(|it| Some(it.psp) == psp).copied();
        known.or_else(of_psp).unwrap_or(self.main)
    }

    pub(super) fn open_by_cvu(&self, world: World, cvu: &str) -> Result<&Account, NoEffect> {
        let (_, account) = self
            .by_cvu(cvu)
            .filter(|(home, account)| *home == world && account.active)
            .ok_or_else(|| refusal("VW006"))?;
        Ok(account)
    }

    /// Creates the CVU of a client id, reopens a closed one, or returns the existing one.
    pub(crate) fn create(
        &mut self,
        world: World,
        order: &Create,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let client_id = order.client_id().ok_or_else(|| refusal("VW001"))?;
        let cuit = Cuit::parse_relaxed(&order.cuit).map_err(|_| refusal("PA004"))?;
        let name = good_name(&order.name)?;
        if order.currency != "ARS" {
            return Err(refusal("TX012").into());
        }
        let answer = |cvu: Cvu, reactivated: bool| json!({"cvu": cvu, "label": "", "reactivated": reactivated});
        let known = self.accounts.get(&(world, client_id));
        let again = known.is_some();
        let account = match known {
            Some(known) if known.cuit != cuit => return Err(refusal("VW012").into()),
            Some(known) if known.active => return Ok(answer(known.cvu, false)),
            Some(closed) => Account {
                name,
                active: true,
                closed_at: None,
                ..closed.clone()
            },
            None => Account {
                format: FORMAT,
                client_id,
                cvu: Cvu::compose(world.psp, client_id)
                    .filter(|cvu| !self.places.contains_key(cvu))
                    .ok_or_else(|| refusal("VW013"))?,
                cuit,
                name,
                alias: None,
                alias_at: None,
                past_aliases: Vec::new(),
                active: true,
                opened_at: now,
                closed_at: None,
                collector: None,
            },
        };
        let answer = answer(account.cvu, again);
        self.keep(world, account)?;
        Ok(answer)
    }

    /// Sets an alias, or draws one if the order names none and the account has none.
    pub(crate) fn set_alias(
        &mut self,
        world: World,
        order: &SetAlias,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let account = self.open_by_cvu(world, &order.cvu)?;
        if account.cuit.as_str() != order.cuit {
            return Err(refusal("VW009").into());
        }
        let assign = order.label.is_none();
        let alias = match (&order.label, &account.alias) {
            (Some(label), _) => Alias::parse(label).map_err(|_| refusal("TX009"))?,
            // A repeated request for an assigned alias must not change it.
            (None, Some(own)) => return Ok(json!({"status": "OK", "label": own})),
            (None, None) => self.drawn(world.rail).ok_or_else(|| refusal("VW008"))?,
        };
        if account.alias.as_ref() == Some(&alias) {
            return Err(refusal("VW010").into());
        }
        if let Some(claim) = self.claims.get(&(world.rail, alias.folded()))
            && (claim.held_by.is_some() || claim.cuit != account.cuit)
        {
            return Err(refusal("VW007").into());
        }
        if external::by_alias(alias.as_str()).is_some() {
            return Err(refusal("VW007").into());
        }
        let fresh = |at: u64| now < at.saturating_add(clock::DAY_MILLIS);
        if self.rules.alias_once_a_day && account.alias_at.is_some_and(fresh) {
            return Err(refusal("VW011").into());
        }
        let mut account = account.clone();
        account.give_up_alias();
        account.past_aliases.retain(|past| *past != alias);
        account.alias = Some(alias.clone());
        account.alias_at = Some(now);
        self.keep(world, account)?;
        Ok(if assign {
            json!({"status": "OK", "label": alias})
        } else {
            json!({"status": "OK"})
        })
    }

    fn drawn(&self, rail: Rail) -> Option<Alias> {
        (0..DRAWS_MAX)
            .filter_map(|_| three_words())
            .filter_map(|words| Alias::parse(&words).ok())
            .find(|alias| !self.claims.contains_key(&(rail, alias.folded())))
    }

    /// Changes the holder's name.
    pub(crate) fn rename(
        &mut self,
        world: World,
        cvu: &str,
        name: &str,
    ) -> Result<Value, NoEffect> {
        let name = good_name(name)?;
        let account = Account {
            name,
            ..self.open_by_cvu(world, cvu)?.clone()
        };
        self.keep(world, account)?;
        Ok(json!({"status": "OK"}))
    }

    /// Closes a CVU; its alias stays reserved to its holder.
    pub(crate) fn close(
        &mut self,
        world: World,
        (cvu, cuit): (&str, &str),
        now: u64,
    ) -> Result<Value, NoEffect> {
        let mut account = self
            .by_cvu(cvu)
            .filter(|(home, it)| *home == world && it.active && it.cuit.as_str() == cuit)
            .map(|(_, account)| account.clone())
            .ok_or_else(|| refusal("VW015"))?;
        account.give_up_alias();
        account.active = false;
        account.closed_at = Some(now);
        self.keep(world, account)?;
        Ok(json!({"status": "OK"}))
    }
}

/// The bank's rule for names: `^[a-zA-Z0-9ñÑáéíóúÁÉÍÓÚ.\s]{5,41}$`.
fn good_name(name: &str) -> Result<String, NoEffect> {
    let good = |c: char| {
        c.is_ascii_alphanumeric() || c == '.' || c.is_whitespace() || "ñÑáéíóúÁÉÍÓÚ".contains(c)
    };
    if (5..=41).contains(&name.chars().count()) && name.chars().all(good) {
        Ok(name.to_owned())
    } else {
        Err(refusal("PA015").into())
    }
}

/// The body of the creation of a CVU.
#[derive(Debug, Deserialize)]
pub(super) struct Create {
    #[serde(default)]
    client_id: Value,
    #[serde(default)]
    cuit: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    currency: String,
}

impl Create {
    /// The client id: at most 12 digits, as a number or a text.
    fn client_id(&self) -> Option<u64> {
        let text = match &self.client_id {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return None,
        };
        let digits = (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| digits)
    }
}

/// The body of the assignment of an alias.
#[derive(Debug, Deserialize)]
pub(super) struct SetAlias {
    #[serde(default)]
    cvu: String,
    #[serde(default)]
    cuit: String,
    label: Option<String>,
}

/// The body of a change of name.
#[derive(Debug, Deserialize)]
pub(super) struct Rename {
    #[serde(default)]
    pub name: String,
}
