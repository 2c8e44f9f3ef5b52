//! The door for statements of an account: which vouchers one is of, what they come to, and the vouchers themselves.
//!
//! **Order.** The account is asked first, which waits for what it has under way. So when the clock had passed the
//! period by [`caudal_ledger::statements::SETTLING`] before that, every voucher of the period is on disk, and the range of sequence
//! numbers found then is the same for ever.
//!
//! **Failure.** A pin is of the generation of the realm that was in force; when another one is put into force, whatever
//! is asked with the pin fails, so no statement is of two.
//!
//! **Bounds.** A range is found by a few reads, so whoever asks can refuse a long one before it is read. Recounting
//! reads [`PAGE`] vouchers at a time and keeps none.

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::statements::{Broken, Named, Period, Statement, Tally};
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, SortOrder, StoreError};

use super::Engine;
use super::read_slots::Cost;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::projection::Place;
use crate::records::{LEDGER, account_stream, reads};

/// How many vouchers are read at once.
const PAGE: usize = 1000;

/// Which vouchers a statement is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// Which history the realm had.
    pub history: u32,
    /// The account.
    pub account: AccountNo,
    /// The days.
    pub period: Period,
    /// Whether nothing can get into it any more.
    pub is_final: bool,
    /// The last movement before the period; 0 where there is none.
    pub before: u64,
    /// The last movement of the period, not before `before`.
    pub last: u64,
}

impl Pin {
    /// How many lines the statement has.
    pub const fn lines(&self) -> u64 {
        self.last.strict_sub(self.before)
    }
}

impl Engine {
    /// Which vouchers the statement of an account is of.
    ///
    /// # Errors
    /// Those of every door, and what the account says to a question for its balance.
    pub async fn statement_pin(
        &self,
        realm: RealmId,
        target: Target,
        period: Period,
    ) -> Result<Pin, Failure> {
        let history = self.cells().history(realm);
        // before the account is asked: see the order above
        let is_final = period.is_final(self.now());
        let head = self.balance(realm, target).await?;
        let account = head.account;
        let stream = account_stream(realm, account, LEDGER);
        self.scan(realm, Cost::Point, move |store| {
            let up_to = |at: Timestamp| {
                let found = store.seq_at(stream, at.millis())?;
                Ok::<_, StoreError>(found.map_or(0, |seq| seq.min(head.sequence)))
            };
            let before = period.before().map_or(Ok(0), up_to)?;
            let last = up_to(period.end())?.max(before);
            Ok(Pin {
                history,
                account,
                period,
                is_final,
                before,
                last,
            })
        })
        .await
    }

    /// Whether the realm still has the history that was pinned.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] where it does not: ask again.
    pub fn still_lies(&self, realm: RealmId, pin: Pin) -> Result<(), Failure> {
        self.still(realm, pin.history)
    }

    /// The statement of what was pinned, recounted.
    ///
    /// # Errors
    /// Those of every door, and of [`Self::still_lies`]; [`Failure::Damaged`] where the vouchers do not add up.
    pub async fn statement(&self, realm: RealmId, pin: Pin) -> Result<Statement, Failure> {
        let tenant = self.tenant_of(realm).ok_or(Rejection::TenantNotFound)?;
        let found = self.look(realm, Cost::Scan, move |books| {
            let until = pin.period.end();
            let platform = books.cells.platform();
            let called = reads::statements::tenant_name_at(platform.as_ref(), &tenant.0, until)?;
            let provider = called.unwrap_or(tenant.1);
            let store = books.cells.of(realm);
            let of = named(store.as_ref(), realm, pin, provider)?;
            Ok(recounted(store.as_ref(), realm, pin, of)?)
        });
        let found = found.await;
        // before what was found, which is damaged where it is of two generations
        self.still_lies(realm, pin)?;
        found
    }

    /// Lines of a statement from a sequence on, at most `limit`.
    ///
    /// # Errors
    /// Those of every door, and of [`Self::still_lies`].
    pub async fn statement_lines(
        &self,
        realm: RealmId,
        pin: Pin,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Voucher>, Failure> {
        let ends = (from, pin.last);
        let found = self.scan(realm, Cost::Page, move |store| {
            reads::vouchers(store, realm, pin.account, ends, SortOrder::Ascending, limit)
        });
        let found = found.await;
        self.still_lies(realm, pin)?;
        found
    }

    /// The id and the present name of the tenant that has a realm.
    fn tenant_of(&self, realm: RealmId) -> Option<(String, String)> {
        let platform = self.platform();
        let mut tenants = platform.tenants.values();
        let found = tenants.find(|tenant| tenant.live == realm || tenant.test == realm)?;
        Some((found.id.clone(), found.name.clone()))
    }
}

/// Whose statement it is. A CVU is given once, so it is the account's whenever it was given.
fn named(store: &dyn Index, realm: RealmId, pin: Pin, provider: String) -> Result<Named, Failure> {
    let (account, until) = (pin.account, pin.period.end());
    let then = reads::statements::profile_at(store, realm, account, until)?;
    let then = then.ok_or(Rejection::AccountNotFound)?;
    let cvu = match then.cvu {
        Some(cvu) => Some(cvu),
        None => reads::profile(store, realm, account)?.and_then(|now| now.cvu),
    };
    Ok(Named {
        account,
        cvu: cvu.ok_or(Rejection::AccountWithoutCvu)?,
        alias: then.alias,
        cuit: then.holder.cuit.to_string(),
        holder: then.holder.name,
        provider,
    })
}

fn recounted(
    store: &dyn Index,
    realm: RealmId,
    pin: Pin,
    of: Named,
) -> Result<Statement, StoreError> {
    let account = pin.account;
    let broken = |why: Broken| {
        let why = format!("a statement of account {account}: {why}");
        StoreError::Corrupt(why.into())
    };
    let before = match pin.before {
        0 => None,
        sequence => reads::voucher(store, realm, Place { account, sequence })?,
    };
    let mut tally = Tally::begin(pin.period, before.as_ref());
    let mut from = pin.before.strict_add(1);
    while from <= pin.last {
        let ends = (from, pin.last);
        let page = reads::vouchers(store, realm, account, ends, SortOrder::Ascending, PAGE)?;
        for voucher in &page {
            tally.take(voucher).map_err(broken)?;
        }
        from = match page.last() {
            Some(voucher) => voucher.sequence.strict_add(1),
            None => break,
        };
    }
    let found = tally.end(of, pin.is_final).map_err(broken)?;
    match found.last == pin.last {
        true => Ok(found),
        false => Err(broken(Broken::Sequence {
            expected: pin.last,
            found: found.last,
        })),
    }
}
