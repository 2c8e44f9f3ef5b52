//! Decisions about what the wallet family sets: particulars, and a CVU for an account without one.

use super::{Account, AccountFact, Pending, Rejection, Status};
use crate::kyc::Kyc;
use crate::particulars::{Names, Particulars};

impl Account {
    /// The parts of the holder's name: those that were given, else what the name stands for.
    pub fn shown_names(&self) -> Names {
        if self.names.is_empty() {
            Names::of(&self.holder.name, self.holder.person_type)
        } else {
            self.names.clone()
        }
    }

    /// What of a change would change anything.
    fn reduced(&self, change: &Particulars) -> Particulars {
        fn other<T: Clone + PartialEq>(new: &Option<T>, old: Option<&T>) -> Option<T> {
            new.clone().filter(|new| Some(new) != old)
        }
        let cuit = change.cuit.filter(|cuit| *cuit != self.holder.cuit);
        let person = cuit.unwrap_or(self.holder.cuit).person_type();
        let names = self.shown_names().merged(&change.names);
        // Without a change of either, the name is what it is, however it came about.
        let named = cuit.is_some() || names != self.shown_names();
        let name = names.holder_name(person).filter(|_| named);
        let kyc = self.kyc.merged(&change.kyc) != self.kyc;
        Particulars {
            cuit,
            names: if names == self.shown_names() {
                Names::default()
            } else {
                names
            },
            name: name.filter(|name| *name != self.holder.name),
            code: other(&change.code, self.code.as_ref()),
            email: other(&change.email, self.email.as_ref()),
            phone: other(&change.phone, self.phone.as_ref()),
            kyc: if kyc {
                change.kyc.clone()
            } else {
                Kyc::default()
            },
            enabled: other(&change.enabled, Some(&self.enabled)),
        }
    }

    /// The name is synchronised with the bank once it knows the account; with it, all waits.
    pub(super) fn decide_particulars(
        &self,
        change: &Particulars,
    ) -> Result<Vec<AccountFact>, Rejection> {
        if self.status == Status::Void {
            return Err(Rejection::AccountNotFound);
        }
        let change = self.reduced(change);
        let only_enabled = Particulars {
            enabled: change.enabled,
            ..Particulars::default()
        };
        if change == only_enabled {
            let fact = |enabled| AccountFact::EnabledChanged { enabled };
            return Ok(change.enabled.map(fact).into_iter().collect());
        }
        if self.status == Status::Closed {
            return Err(Rejection::AccountClosed);
        }
        if change.cuit.is_some() && self.cvu.is_some() {
            return Err(Rejection::CuitImmutable);
        }
        if change.cuit.is_some() || change.code.is_some() || !change.names.is_empty() {
            self.nothing_pending()?;
        }
        let asks = change.name.is_some() && self.cvu.is_some();
        Ok(vec![if asks {
            AccountFact::ParticularsRequested(change)
        } else {
            AccountFact::ParticularsChanged(change)
        }])
    }

    /// A wallet account that has its CVU needs none.
    pub(super) fn decide_cvu(
        &self,
        client_id: u64,
        name: Option<&String>,
        automatic_alias: bool,
    ) -> Result<Vec<AccountFact>, Rejection> {
        match self.status {
            Status::Void => Err(Rejection::AccountNotFound),
            Status::Closed => Err(Rejection::AccountClosed),
            Status::Active | Status::Suspended => Ok(Vec::new()),
            Status::Registered => {
                self.nothing_pending()?;
                Ok(vec![AccountFact::CvuRequested {
                    client_id,
                    name: name.cloned(),
                    automatic_alias,
                }])
            }
        }
    }

    /// Takes in particulars that have changed.
    pub(super) fn apply_particulars(&mut self, change: &Particulars) {
        // A change that needed no bank may come while another one waits.
        let asked = |p: &Pending| matches!(p, Pending::Particulars(it) if **it == *change);
        self.pending = self.pending.take().filter(|pending| !asked(pending));
        self.kyc = self.kyc.merged(&change.kyc);
        if let Some(cuit) = change.cuit {
            self.holder.cuit = cuit;
            self.holder.person_type = cuit.person_type();
        }
        if let Some(name) = &change.name {
            self.holder.name.clone_from(name);
        }
        if change.names.is_empty() {
            // Another person may be called by other parts.
            self.names
                .forget_unless(self.holder.person_type, &self.holder.name);
        } else {
            self.names = change.names.clone();
        }
        if (change.cuit.is_some() || change.name.is_some())
            && let Some(own) = self.holders.first_mut()
        {
            *own = self.holder.clone();
        }
        fn set<T: Clone>(old: &mut Option<T>, new: &Option<T>) {
            if new.is_some() {
                old.clone_from(new);
            }
        }
        set(&mut self.code, &change.code);
        set(&mut self.email, &change.email);
        set(&mut self.phone, &change.phone);
        self.enabled = change.enabled.unwrap_or(self.enabled);
    }
}
