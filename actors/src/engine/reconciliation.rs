//! Reconciliation: the bank's list of a business day against the ledger, both ways.
//!
//! **Shape.** What the bank lists is looked for in the ledger by its reference, whatever day it was
//! posted; what the ledger has of the day and the bank's list does not, is looked for on the lists of
//! the days before and after, because both clocks differ around midnight. Each movement appears in
//! the reconciliation of one day. The bank is asked where requests are served, the ledger is read off
//! those threads.

use std::collections::BTreeSet;
use std::sync::Arc;

use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, TransferId};
use caudal_ledger::money::Money;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankWord, Suspense};
use caudal_ledger::vouchers::ReferenceType;

use super::Engine;
use super::money::TransferView;
use super::turns::{Books, Cost};
use crate::accounts::Placed;
use crate::banks::Voice;
use crate::failure::Failure;
use crate::ports::{BankGateway as _, BankMovement, Way};
use crate::records::keys::Rail;
use crate::records::projection::Place;
use crate::records::reads;

/// What reconciliation says of one movement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// Bank and ledger agree.
    Matched,
    /// The bank has it, the ledger has not.
    MissingInLedger,
    /// The ledger has it, the bank has not.
    MissingAtBank,
    /// Both have it, with different amounts.
    AmountDiffers,
}

/// One movement of a reconciliation: the bank's side, the ledger's, or both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reconciled {
    /// As the bank lists it.
    pub bank: Option<BankMovement>,
    /// The voucher that moved it in the ledger; for a transfer on its way, the hold.
    pub voucher: Option<Placed>,
    /// The transfer that it belongs to, when it is one of ours.
    pub transfer: Option<TransferView>,
    /// Where it waits, when no account could take it.
    pub suspense: Option<(Suspense, Timestamp)>,
    /// What follows.
    pub agreement: Agreement,
}

/// What the bank moved in one direction; a sum beyond the range of money stays where it was.
pub fn moved(found: &[Reconciled], way: Way) -> Money {
    let counts = |bank: &&BankMovement| bank.way == way && bank.word == BankWord::Completed;
    let banks = found.iter().filter_map(|it| it.bank.as_ref());
    let amounts = banks.filter(counts).map(|bank| bank.amount.money());
    amounts.fold(Money::ZERO, |sum, more| sum.plus(more).unwrap_or(sum))
}

/// How many keys are read at once.
const KEYS_PAGE: usize = 1000;

impl Engine {
    /// Compares the bank's list of a business day with the ledger, both ways.
    pub async fn reconcile(
        &self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<Vec<Reconciled>, Failure> {
        let listed = self.listed_by_bank(realm, day, request_id).await?;
        let compare = move |books: &Books| {
            let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
            for movement in books.own(realm, listed)? {
                let reconciled = books.against_ledger(realm, movement)?;
                seen.extend(reconciled.iter().flat_map(place));
                found.extend(reconciled);
            }
            let ours = books.of_the_day(realm, day, &seen)?;
            Ok((found, seen, ours))
        };
        let (mut found, mut seen, ours) = self.look(realm, Cost::Scan, compare).await?;
        if ours.is_empty() {
            return Ok(found);
        }
        for other in [day.before(), day.next()] {
            if other > self.now().business_day() {
                continue;
            }
            let listed = self.listed_by_bank(realm, other, request_id).await?;
            let compare = move |books: &Books| {
                for movement in books.own(realm, listed)? {
                    let reconciled = books.against_ledger(realm, movement)?;
                    seen.extend(reconciled.iter().flat_map(place));
                }
                Ok(seen)
            };
            seen = self.look(realm, Cost::Scan, compare).await?;
        }
        let rest = move |books: &Books| {
            for placed in ours {
                if !seen.contains(&(placed.account, placed.voucher.sequence)) {
                    found.push(Reconciled {
                        bank: None,
                        transfer: books.transfer_behind(realm, &placed)?,
                        voucher: Some(placed),
                        suspense: None,
                        agreement: Agreement::MissingAtBank,
                    });
                }
            }
            Ok(found)
        };
        self.look(realm, Cost::Scan, rest).await
    }

    /// What the bank lists of a day.
    async fn listed_by_bank(
        &self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<Vec<BankMovement>, Failure> {
        let reply = self.bank(realm)?.movements(day, request_id).await;
        self.journal(realm, reply.calls);
        reply.result.map_err(Failure::Bank)
    }
}

impl Books {
    /// What the bank lists, as far as it is this realm's.
    fn own(
        &self,
        realm: RealmId,
        mut listed: Vec<BankMovement>,
    ) -> Result<Vec<BankMovement>, Failure> {
        let mut failed = None;
        listed.retain(|movement| {
            let Ok(cvu) = Cvu::parse(&movement.cvu) else {
                return false;
            };
            match self.home_of(&Voice::Mode(realm.mode()), cvu) {
                Ok(home) => home == Some(realm),
                Err(why) => {
                    failed = Some(why);
                    false
                }
            }
        });
        failed.map_or(Ok(listed), Err)
    }

    /// What the ledger has of a movement that the bank lists; `None` where no money moved at all.
    fn against_ledger(
        &self,
        realm: RealmId,
        movement: BankMovement,
    ) -> Result<Option<Reconciled>, Failure> {
        let transfer = self.transfer_from(realm, movement.origin)?;
        let (voucher, suspense) = match movement.way {
            Way::In => self.arrival(realm, &movement)?,
            Way::Out => (self.departure(realm, &movement, transfer.as_ref())?, None),
        };
        let failed = matches!(movement.word, BankWord::Failed { .. });
        let agreement = match &voucher {
            // Nothing moved, neither there nor here.
            None if failed => return Ok(None),
            None => Agreement::MissingInLedger,
            Some(_) if failed => Agreement::MissingAtBank,
            Some(placed) if placed.voucher.amount == movement.amount => Agreement::Matched,
            Some(_) => Agreement::AmountDiffers,
        };
        Ok(Some(Reconciled {
            bank: Some(movement),
            voucher,
            transfer,
            suspense,
            agreement,
        }))
    }

    /// The credit of money that arrived or came back, or where it waits.
    #[expect(clippy::type_complexity, reason = "two alternatives of one answer")]
    fn arrival(
        &self,
        realm: RealmId,
        movement: &BankMovement,
    ) -> Result<(Option<Placed>, Option<(Suspense, Timestamp)>), Failure> {
        let store = self.store.as_ref();
        let kind = if movement.reversal {
            Rail::Return
        } else {
            Rail::Arrival
        };
        let landed = match &movement.coelsa_id {
            Some(id) => reads::money::landed(store, realm.mode(), kind, id)?,
            None => None,
        };
        let Some(landed) = landed.filter(|landed| landed.realm == realm) else {
            return Ok((None, None));
        };
        if landed.suspended {
            return Ok((None, reads::money::suspense(store, realm, landed)?));
        }
        Ok((self.placed(realm, landed.account, landed.sequence)?, None))
    }

    /// What the ledger has of a transfer that the bank lists: what took the money out, or keeps it
    /// apart while neither side has said its last word.
    fn departure(
        &self,
        realm: RealmId,
        movement: &BankMovement,
        transfer: Option<&TransferView>,
    ) -> Result<Option<Placed>, Failure> {
        let Some(TransferView { account, transfer }) = transfer else {
            return Ok(None);
        };
        let store = self.store.as_ref();
        let left = reads::money::confirmed(store, realm, *account, transfer.sequence)?;
        let on_its_way = matches!(movement.word, BankWord::InProgress | BankWord::Lost);
        match left {
            Some(sequence) => self.placed(realm, *account, sequence),
            None if on_its_way && transfer.status.is_open() => {
                self.placed(realm, *account, transfer.sequence)
            }
            None => Ok(None),
        }
    }

    fn placed(
        &self,
        realm: RealmId,
        account: AccountNo,
        sequence: u64,
    ) -> Result<Option<Placed>, Failure> {
        let place = Place { account, sequence };
        let voucher = reads::voucher(self.store.as_ref(), realm, place)?;
        Ok(voucher.map(|voucher| Placed {
            account,
            voucher: Arc::new(voucher),
        }))
    }

    fn transfer_from(
        &self,
        realm: RealmId,
        origin: Option<OriginId>,
    ) -> Result<Option<TransferView>, Failure> {
        let Some(origin) = origin else {
            return Ok(None);
        };
        let found = reads::money::transfer_by_origin(self.store.as_ref(), origin)?;
        let found = found.filter(|(of, ..)| *of == realm);
        Ok(found.map(|(_, account, transfer)| TransferView { account, transfer }))
    }

    /// The ledger's movements of a day that the bank has to have too, but for those `seen`.
    fn of_the_day(
        &self,
        realm: RealmId,
        day: BusinessDay,
        seen: &BTreeSet<(AccountNo, u64)>,
    ) -> Result<Vec<Placed>, Failure> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let store = self.store.as_ref();
            let places = reads::money::bank_day(store, realm, day, after, KEYS_PAGE)?;
            after = places.last().copied();
            for (account, sequence) in &places {
                if !seen.contains(&(*account, *sequence)) {
                    found.extend(self.placed(realm, *account, *sequence)?);
                }
            }
            if places.len() < KEYS_PAGE {
                return Ok(found);
            }
        }
    }

    fn transfer_behind(
        &self,
        realm: RealmId,
        placed: &Placed,
    ) -> Result<Option<TransferView>, Failure> {
        let voucher = &placed.voucher;
        let id = voucher.reference_id.as_deref();
        let id = id.filter(|_| voucher.reference_type == ReferenceType::Transfer);
        let Some(TransferId(id)) = id.and_then(TransferId::parse) else {
            return Ok(None);
        };
        let (account, sequence) = (id.account, id.sequence);
        let place = Place { account, sequence };
        let found = reads::money::transfer(self.store.as_ref(), realm, place)?;
        Ok(found.map(|transfer| TransferView { account, transfer }))
    }
}

fn place(reconciled: &Reconciled) -> Option<(AccountNo, u64)> {
    let placed = reconciled.voucher.as_ref()?;
    Some((placed.account, placed.voucher.sequence))
}
