//! Client ids: the numbers by which the bank knows accounts, derived from the holder of each
//! account.
//!
//! For one client id a bank always gives the same CVU, as long as the CUIT is the same, and it refuses a client id that
//! it knows with another CUIT. So a client id must never come to mean another account, even if a store begins anew or
//! an older copy of it is put back, while the bank remembers earlier requests.
//!
//! **Shape.** A digest of the tenant, the mode, the holder's CUIT, the mark that distinguishes the accounts of one holder
//! ([`Mark`]), and the number of ids already taken. All of that is the client's own. So a client that opens the same
//! account again, after a restore or in a new store with the same tenants, gets the CVU that the account had and not a
//! second one, and nobody gets the CVU of another client.
//!
//! **Bounds.** A client id has 12 digits, as many as a CVU has room for: so it is never taken for a CUIT, which has 11.
//! There are [`DRAWS`] of them, and two accounts may draw the same one.
//! If they belong to one holder, the ledger notices it; if not, the bank refuses it. Either way the next number is
//! drawn. A client id says nothing of the realm: the realm of a CVU is in the index.
//!
//! **Order.** The drawn id is on disk before the bank is asked. It is never computed anew for an account that waits or
//! has a CVU.

use crate::chain::Canonical;
use crate::cuit::Cuit;
use crate::cvu::Cvu;
use crate::ids::{AccountNo, Mode};

/// The first client id.
pub const FIRST: u64 = 100_000_000_000;
/// How many client ids there are: all numbers of 12 digits.
pub const DRAWS: u64 = 900_000_000_000;
/// How many accounts without a code a holder may have before further ones are distinguished by their numbers.
pub const UNCODED_MAX: usize = 100;

/// The mark that distinguishes the accounts of one holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark<'a> {
    /// The tenant's own code of the account. If another account of the same holder gets the code later, the bank takes
    /// it for the same account, in whatever order they are opened.
    Code(&'a str),
    /// No mark, for an account without a code: it gets the first id that no other account of the holder has here. After
    /// a restore the holder's accounts get their CVUs back in the order in which they are opened again.
    Uncoded,
    /// Its number, for an account without a code whose holder has [`UNCODED_MAX`] accounts before it. After a restore
    /// it gets its CVU back if accounts are opened in the same order as before, otherwise a new one.
    Number(AccountNo),
}

/// The account for which a client id is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client<'a> {
    /// The id of the tenant.
    pub tenant: &'a str,
    /// Which of the tenant's realms the account is in: one bank may serve both.
    pub mode: Mode,
    /// The holder's CUIT: the bank ties a client id to one.
    pub cuit: Cuit,
    /// The mark among the holder's accounts.
    pub mark: Mark<'a>,
}

impl Client<'_> {
    /// The client id to try when `taken` others turned out to belong to other accounts: 12 digits, and always
    /// the same for the same arguments, because the bank keeps it.
    pub fn id(&self, taken: u32) -> u64 {
        let form = Canonical::default()
            .text("client")
            .text(self.tenant)
            .text(self.mode.as_str())
            .text(self.cuit.as_str());
        let form = match self.mark {
            Mark::Code(code) => form.text("code").text(code),
            Mark::Uncoded => form.text("untold"),
            Mark::Number(account) => {
                let number = i64::try_from(account.0).unwrap_or(i64::MAX);
                form.text("number").number(number)
            }
        };
        let digest = form.number(i64::from(taken)).digest();
        let drawn = u64::from_be_bytes(digest.first()) % DRAWS;
        drawn.strict_add(FIRST)
    }
}

/// The client id in a CVU.
pub fn client_in(cvu: &Cvu) -> Option<u64> {
    cvu.as_str().get(9..21)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ANA: &str = "20055361682";

    fn client<'a>(tenant: &'a str, cuit: &str, mark: Mark<'a>) -> Client<'a> {
        Client {
            tenant,
            mode: Mode::Live,
            cuit: Cuit::parse(cuit).unwrap(),
            mark,
        }
    }

    #[test]
    fn each_account_draws_its_own_and_always_the_same() {
        let marks = [
            Mark::Code("shop"),
            Mark::Code("home"),
            Mark::Uncoded,
            Mark::Number(AccountNo(7)),
            Mark::Number(AccountNo(8)),
        ];
        let mut seen = BTreeSet::new();
        for mark in marks {
            for (tenant, cuit) in [("tnt_1", ANA), ("tnt_2", ANA), ("tnt_1", "27312547568")] {
                for taken in 0..20 {
                    let id = client(tenant, cuit, mark).id(taken);
                    assert!(seen.insert(id), "{mark:?} {tenant} {cuit} {taken}");
                    assert_eq!(id.to_string().len(), 12);
                }
            }
        }
        let test = Client {
            mode: Mode::Test,
            ..client("tnt_1", ANA, Mark::Uncoded)
        };
        assert!(seen.insert(test.id(0)), "one bank may serve both modes");
        // The bank keeps it, so a later version must not compute another one.
        assert_eq!(client("tnt_1", ANA, Mark::Uncoded).id(0), 707_265_729_627);
        assert_eq!(
            client("tnt_1", ANA, Mark::Code("shop")).id(0),
            809_389_351_054
        );
    }
}
