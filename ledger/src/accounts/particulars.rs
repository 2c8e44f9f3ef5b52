//! Decisions of the wallet family: particulars, and a CVU for an account without one.

use super::{Account, AccountFact, CvuRequest, Pending, Rejection, Status};
use crate::clients::client_in;
use crate::kyc::{Kyc, KycMarks};
use crate::particulars::{Cleared, Names, NamesMarks, Particulars};

impl Account {
    /// The parts of the holder's name: the given ones, or those derived from the name.
    pub fn shown_names(&self) -> Names {
        if self.names.is_empty() {
            Names::of(&self.holder.name, self.holder.person_type)
        } else {
            self.names.clone()
        }
    }

    /// The fields of a change that would really change something.
    fn reduced(&self, change: &Particulars) -> Particulars {
        fn other<T: Clone + PartialEq>(new: &Option<T>, old: Option<&T>) -> Option<T> {
            new.clone().filter(|new| Some(new) != old)
        }
        let cuit = change.cuit.filter(|cuit| *cuit != self.holder.cuit);
        let person = cuit.unwrap_or(self.holder.cuit).person_type();
        let names = self.renamed(change);
        // If neither changes, the name stays as it is, however it came about.
        let named = cuit.is_some() || names != self.shown_names();
        let name = names.holder_name(person).filter(|_| named);
        let kyc = self.known_after(change) != self.kyc;
        let gone = &change.cleared;
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
            cleared: Cleared {
                names: NamesMarks::default(),
                code: gone.code && self.code.is_some(),
                email: gone.email && self.email.is_some(),
                phone: gone.phone && self.phone.is_some(),
                kyc: if kyc {
                    gone.kyc.clone()
                } else {
                    KycMarks::default()
                },
            },
        }
    }

    /// The parts of the name after a change.
    fn renamed(&self, change: &Particulars) -> Names {
        let kept = self.shown_names().without(&change.cleared.names);
        kept.merged(&change.names)
    }

    /// The KYC data after a change.
    fn known_after(&self, change: &Particulars) -> Kyc {
        self.kyc.merged(&change.kyc).without(&change.cleared.kyc)
    }

    /// Refuses a change after which the holder would have no name, or an invalid identity document.
    fn admissible(&self, change: &Particulars) -> Result<(), Rejection> {
        let shown = self.shown_names();
        let clears = shown.without(&change.cleared.names) != shown;
        if clears && !self.renamed(change).are_whole() {
            return Err(Rejection::NameRequired);
        }
        let known = self.known_after(change);
        known.document_fits().map_err(Rejection::Document)
    }

    /// Decides a change of the wallet account's particulars. Once the bank knows the account, a
    /// change of the name needs the bank; then the whole change waits.
    ///
    /// # Errors
    /// When the account never existed or is closed, the CUIT would change although there is a CVU,
    /// the holder would have no name or a document of another kind, or another operation waits for
    /// the bank.
    pub(super) fn decide_particulars(
        &self,
        change: &Particulars,
    ) -> Result<Vec<AccountFact>, Rejection> {
        if self.status == Status::Void {
            return Err(Rejection::AccountNotFound);
        }
        self.admissible(change)?;
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
        let code = change.code.is_some() || change.cleared.code;
        if change.cuit.is_some() || code || !change.names.is_empty() {
            self.nothing_pending()?;
        }
        let asks = change.name.is_some() && self.cvu.is_some();
        Ok(vec![if asks {
            AccountFact::ParticularsRequested(change)
        } else {
            AccountFact::ParticularsChanged(change)
        }])
    }

    /// Decides to ask for a CVU. An account with an open CVU needs none. A closed CVU is requested
    /// again under the client id that it carries, so that the bank returns the same one.
    ///
    /// # Errors
    /// When the account never existed, or another operation waits for the bank.
    pub(super) fn decide_cvu(&self, asked: &CvuRequest) -> Result<Vec<AccountFact>, Rejection> {
        match self.status {
            Status::Void => Err(Rejection::AccountNotFound),
            Status::Active | Status::Suspended => Ok(Vec::new()),
            Status::Registered | Status::Closed => {
                self.nothing_pending()?;
                let carried = self.cvu.as_ref().and_then(client_in);
                Ok(vec![AccountFact::CvuRequested(CvuRequest {
                    client_id: carried.unwrap_or(asked.client_id),
                    ..asked.clone()
                })])
            }
        }
    }

    /// Applies changed particulars.
    pub(super) fn apply_particulars(&mut self, change: &Particulars) {
        // A change that needed no bank may be applied while another one waits.
        let asked = |p: &Pending| matches!(p, Pending::Particulars(it) if **it == *change);
        self.pending = self.pending.take().filter(|pending| !asked(pending));
        self.kyc = self.known_after(change);
        if let Some(cuit) = change.cuit {
            self.holder.cuit = cuit;
            self.holder.person_type = cuit.person_type();
        }
        if let Some(name) = &change.name {
            self.holder.name.clone_from(name);
        }
        if change.names.is_empty() {
            // Another kind of person may have a name of other parts.
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
        for (old, new, gone) in [
            (&mut self.code, &change.code, change.cleared.code),
            (&mut self.email, &change.email, change.cleared.email),
            (&mut self.phone, &change.phone, change.cleared.phone),
        ] {
            if gone || new.is_some() {
                old.clone_from(new);
            }
        }
        self.enabled = change.enabled.unwrap_or(self.enabled);
    }
}
