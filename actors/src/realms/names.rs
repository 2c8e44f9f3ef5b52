//! What is unique in a realm or a mode: the names of accounts, claimed before they are looked for.

use caudal_ledger::accounts::Order;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;

use super::{RealmSupervisor, Target};
use crate::accounts::{AccountMessage, AccountView, Versions};
use crate::failure::Failure;
use crate::records::reads;
use crate::reply::ClaimGuard;
use crate::scribe::{Shared, Ticket};

impl RealmSupervisor {
    pub(super) fn register(
        &mut self,
        registration: Registration,
        open: bool,
        alias: Option<Alias>,
        ticket: Ticket<AccountView>,
    ) {
        let Some(mut ticket) = self.admit_or_adopt(ticket) else {
            return;
        };
        let number = AccountNo(self.next_account);
        let registration = Registration {
            number,
            asks_cvu: open,
            ..registration
        };
        let claimed = self.claim_names(&registration, alias.as_ref());
        match claimed.and_then(|guards| Ok((guards, self.children.start_unborn(&registration)?))) {
            Err(why) => self.end(Err(why), ticket),
            Ok((guards, child)) => {
                ticket.guards.extend(guards);
                // The account draws the client id.
                let client_id = 0;
                let opening = open.then_some(Order::Open { client_id, alias });
                child.send(AccountMessage::Register {
                    registration,
                    opening,
                    ticket,
                });
                self.next_account = self.next_account.saturating_add(1);
            }
        }
    }

    /// Claims the code and alias of a new account, or says which is taken.
    fn claim_names(
        &self,
        registration: &Registration,
        alias: Option<&Alias>,
    ) -> Result<Vec<ClaimGuard>, Failure> {
        let number = registration.number;
        if number.0 > AccountNo::MAX {
            return Err(Rejection::TooManyAccounts {
                maximum: AccountNo::MAX,
            }
            .into());
        }
        let mut guards = Vec::new();
        if let Some(code) = &registration.code {
            guards.push(self.claim_code(code, number)?);
        }
        if let Some(alias) = alias {
            guards.push(self.claim_alias(alias, number, registration.holder.cuit)?);
        }
        Ok(guards)
    }

    /// Claims a tenant's own code for an account, or says that another one has it.
    fn claim_code(&self, code: &str, account: AccountNo) -> Result<ClaimGuard, Failure> {
        let Shared {
            realm,
            store,
            claims,
            ..
        } = &*self.shared;
        let name = [b"c", code.as_bytes()].concat();
        let claim = claims.claim(*realm, name, account, false);
        let guard = claim.map_err(|_| Rejection::AccountCodeTaken)?;
        match reads::account_of_code(store.as_ref(), *realm, code)? {
            Some(owner) if owner != account => Err(Rejection::AccountCodeTaken.into()),
            Some(_) | None => Ok(guard),
        }
    }

    /// Claims an alias over all realms of the mode.
    fn claim_alias(
        &self,
        alias: &Alias,
        account: AccountNo,
        cuit: Cuit,
    ) -> Result<ClaimGuard, Failure> {
        let Shared {
            realm,
            store,
            claims,
            ..
        } = &*self.shared;
        let mode = realm.mode();
        let name = [b"a", mode.as_str().as_bytes(), alias.folded().as_bytes()].concat();
        let everywhere = RealmId(0);
        let claim = claims.claim(everywhere, name, account, false);
        let guard = claim.map_err(|_| Rejection::AliasTaken)?;
        match reads::alias_owner(store.as_ref(), mode, alias)? {
            None => Ok(guard),
            Some(owner) if owner.realm == realm.0 && owner.account == account => Ok(guard),
            // Given up, but reserved to its holder.
            Some(owner) if !owner.current && owner.cuit == cuit => Ok(guard),
            Some(_) => Err(Rejection::AliasTaken.into()),
        }
    }

    pub(super) fn change(
        &mut self,
        target: Target,
        order: Order,
        if_match: Option<Versions>,
        ticket: Ticket<AccountView>,
    ) {
        let Some(mut ticket) = self.admit_or_adopt(ticket) else {
            return;
        };
        let number = match self.number(target) {
            Ok(number) => number,
            Err(why) => return self.end(Err(why), ticket),
        };
        let claimed = match &order {
            Order::SetAlias(alias) => Some(self.claim_for(alias, number)),
            Order::ChangeParticulars(change) => change
                .code
                .as_ref()
                .map(|code| self.claim_code(code, number)),
            _ => None,
        };
        match claimed {
            Some(Ok(guard)) => ticket.guards.push(guard),
            Some(Err(why)) => return self.end(Err(why), ticket),
            None => {}
        }
        self.forward(number, ticket, |ticket| AccountMessage::Change {
            order,
            if_match,
            ticket,
        });
    }

    fn claim_for(&self, alias: &Alias, number: AccountNo) -> Result<ClaimGuard, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let listed = reads::listed(store.as_ref(), *realm, number)?;
        let cuit = listed.ok_or(Rejection::AccountNotFound)?.cuit;
        self.claim_alias(alias, number, cuit)
    }
}
