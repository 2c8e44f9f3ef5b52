//! The names of accounts, which are unique in a realm: each is claimed before the index is searched for it.

use caudal_ledger::accounts::Status;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::{Owner, Rejection};

use super::RealmSupervisor;
use crate::commit_writer::Shared;
use crate::failure::Failure;
use crate::records::projection::Listed;
use crate::records::reads;
use crate::reply::ClaimGuard;

impl RealmSupervisor {
    /// Claims the code and alias of a new account, or answers which of them is taken.
    pub(super) fn claim_names(
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

    /// Claims a tenant's own code for an account, or answers that another account has it.
    pub(super) fn claim_code(&self, code: &str, account: AccountNo) -> Result<ClaimGuard, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let claim = self.claim(&[b"c", code.as_bytes()], None);
        let guard = claim.ok_or(Rejection::AccountCodeTaken { by: None })?;
        match reads::account_of_code(store.as_ref(), *realm, code)? {
            Some(owner) if owner != account => {
                let by = self.owner(owner)?;
                Err(Rejection::AccountCodeTaken { by }.into())
            }
            Some(_) | None => Ok(guard),
        }
    }

    /// The owner of a name that another account asks for.
    fn owner(&self, account: AccountNo) -> Result<Option<Owner>, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let listed = reads::listed(store.as_ref(), *realm, account)?;
        Ok(listed.map(|Listed { cvu, .. }| Owner { account, cvu }))
    }

    /// Claims an alias in the realm; the bank refuses an alias that another realm has. Requests of one account share
    /// the claim: the account itself checks whether one of them is under way.
    fn claim_alias(
        &self,
        alias: &Alias,
        account: AccountNo,
        cuit: Cuit,
    ) -> Result<ClaimGuard, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let claim = self.claim(&[b"a", alias.folded().as_bytes()], Some(account));
        let guard = claim.ok_or(Rejection::AliasTaken { by: None })?;
        let taken = |owner| -> Result<ClaimGuard, Failure> {
            let by = self.owner(owner)?;
            Err(Rejection::AliasTaken { by }.into())
        };
        match reads::alias_owner(store.as_ref(), *realm, alias)? {
            None => Ok(guard),
            Some(owner) if owner.account == account => Ok(guard),
            // Given up, but reserved for its holder. A closed CVU has given its alias up.
            Some(owner) if owner.cuit == cuit => {
                let listed = reads::listed(store.as_ref(), *realm, owner.account)?;
                let closed = listed.is_some_and(|it| it.status == Status::Closed);
                if owner.current && !closed {
                    taken(owner.account)
                } else {
                    Ok(guard)
                }
            }
            Some(owner) => taken(owner.account),
        }
    }

    /// Claims an alias for an existing account.
    pub(super) fn claim_for(
        &self,
        alias: &Alias,
        number: AccountNo,
    ) -> Result<ClaimGuard, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let listed = reads::listed(store.as_ref(), *realm, number)?;
        let cuit = listed.ok_or(Rejection::AccountNotFound)?.cuit;
        self.claim_alias(alias, number, cuit)
    }
}
