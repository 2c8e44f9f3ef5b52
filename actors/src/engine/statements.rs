//! The door for statements of an account: the vouchers of a period, their sums, and the vouchers themselves.
//!
//! **Order.** The account is asked first, and answers when everything that it has in flight is on disk. So if the clock
//! had by then passed the period by [`caudal_ledger::statements::SETTLING`], every voucher of the period is on disk,
//! and the range of sequence numbers found then stays the same for ever.
//!
//! **Bounds.** A range is found by a few reads, so the caller can refuse a long one before it is read. Recounting reads
//! [`PAGE`] vouchers at a time and keeps none.

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::statements::{Broken, Named, Period, Statement, StatementCheck};
use caudal_ledger::tenants::{Provider, Tenant};
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Index, SortOrder, StoreError};

use super::Queries;
use super::read_slots::ReadCost;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::projection::VoucherPlace;
use crate::records::{LEDGER, account_stream, reads};

/// How many vouchers are read at once.
const PAGE: usize = 1000;

/// The vouchers of one statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// The account.
    pub account: AccountNo,
    /// The period.
    pub period: Period,
    /// Whether no further voucher can get into the period.
    pub is_final: bool,
    /// The last movement before the period; 0 if there is none.
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

impl Queries<'_> {
    /// Finds the vouchers of an account's statement.
    ///
    /// # Errors
    /// Those of every door, and of a query for the account's balance.
    pub async fn statement_pin(
        self,
        realm: RealmId,
        target: Target,
        period: Period,
    ) -> Result<Pin, Failure> {
        // before the account is asked: see the order above
        let is_final = period.is_final(self.0.now_in(realm));
        let head = self.balance(realm, target).await?;
        let account = head.account;
        let stream = account_stream(realm, account, LEDGER);
        self.0
            .scan(realm, ReadCost::Point, move |store| {
                let up_to = |at: Timestamp| {
                    let found = store.seq_at(stream, at.millis())?;
                    Ok::<_, StoreError>(found.map_or(0, |seq| seq.min(head.sequence)))
                };
                let before = period.before().map_or(Ok(0), up_to)?;
                let last = up_to(period.end())?.max(before);
                Ok::<_, StoreError>(Pin {
                    account,
                    period,
                    is_final,
                    before,
                    last,
                })
            })
            .await
    }

    /// The statement of the pinned vouchers, recounted.
    ///
    /// # Errors
    /// Those of every door; [`Failure::Damaged`] when the vouchers do not add up.
    pub async fn statement(self, realm: RealmId, pin: Pin) -> Result<Statement, Failure> {
        let tenant = self.tenant_of(realm).ok_or(Rejection::TenantNotFound)?;
        let read = move |store: &dyn Index| {
            let until = pin.period.end();
            let provider = reads::statements::tenant_at(store, &tenant.id, until)?;
            let provider = provider.unwrap_or((tenant.name, tenant.provider));
            let of = named(store, realm, pin, provider)?;
            Ok::<_, Failure>(recounted(store, realm, pin, of)?)
        };
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// Lines of a statement from a sequence on, at most `limit`.
    ///
    /// # Errors
    /// Those of every door.
    pub async fn statement_lines(
        self,
        realm: RealmId,
        pin: Pin,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Voucher>, Failure> {
        let ends = (from, pin.last);
        self.0
            .scan(realm, ReadCost::Page, move |store| {
                reads::vouchers(store, realm, pin.account, ends, SortOrder::Ascending, limit)
            })
            .await
    }

    /// The tenant that has a realm, as it is now.
    fn tenant_of(self, realm: RealmId) -> Option<Tenant> {
        let platform = self.0.platform();
        let mut tenants = platform.tenants.values();
        let found = tenants.find(|tenant| tenant.live == realm || tenant.test == realm)?;
        Some(found.clone())
    }
}

/// The names on the statement. An account gets a CVU only once, so a CVU given later still is this account's.
fn named(
    store: &dyn Index,
    realm: RealmId,
    pin: Pin,
    provider: (String, Provider),
) -> Result<Named, Failure> {
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
        provider: provider.0,
        provider_details: provider.1,
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
        sequence => reads::voucher(store, realm, VoucherPlace { account, sequence })?,
    };
    let mut tally = StatementCheck::begin(pin.period, before.as_ref());
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
    if found.last == pin.last {
        Ok(found)
    } else {
        Err(broken(Broken::Sequence {
            expected: pin.last,
            found: found.last,
        }))
    }
}
