//! Client ids: the numbers by which the bank knows accounts, derived from the holder of each
//! account.
//!
//! For one client id a bank always gives the same CVU, as long as the CUIT is the same, and it refuses
//! a client id that it knows with another CUIT. So a client id must never come to mean another
//! account, even if a store begins anew or an older copy of it is put back, while the bank remembers
//! earlier requests.
//!
//! **Shape.** A digest of the tenant, the holder's CUIT, what tells the accounts of one holder apart
//! ([`Mark`]), and how many were taken. All of that is the client's own. So a client that opens the
//! same account again, after a restore or in a new store with the same tenants, gets the CVU that the
//! account had and not a second one, and nobody gets the CVU of somebody else.
//!
//! **Bounds.** A client id has at most 12 digits, and the first of them are the realm's number: money
//! for a CVU that nobody here has is known by them. That leaves [`DRAWS`] numbers to draw from, so two
//! accounts may draw the same. If they belong to one holder, it is noticed here; if not, the bank
//! refuses it. Either way the next number is drawn.
//!
//! **Order.** The id that was drawn is on disk before the bank is asked. Nobody computes it anew for an
//! account that waits or has a CVU.

use crate::chain::Canonical;
use crate::cuit::Cuit;
use crate::cvu::Cvu;
use crate::ids::{AccountNo, RealmId};

/// How many client ids a realm has.
pub const DRAWS: u64 = AccountNo::MAX;
/// How many accounts without a code a holder may have before the further ones are told apart by
/// their numbers.
pub const UNCODED_MAX: usize = 100;

/// What tells the accounts of one holder apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark<'a> {
    /// The tenant's own code of the account. The account that has it next, of the same holder, is the
    /// same one to the bank, in whatever order they are opened.
    Code(&'a str),
    /// Nothing, where it has no code: it gets the first that no other account of the holder has here.
    /// After a restore the holder's accounts get their CVUs back in the order in which they are opened
    /// again.
    Uncoded,
    /// Its number, where it has no code and the holder has [`UNCODED_MAX`] accounts before it. After a
    /// restore it gets its CVU back if accounts are opened in the same order as before, else a new one.
    Number(AccountNo),
}

/// For whom a client id is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client<'a> {
    /// The realm of the account: the leading digits of the id.
    pub realm: RealmId,
    /// The id of the tenant.
    pub tenant: &'a str,
    /// The holder's CUIT: the bank ties a client id to one.
    pub cuit: Cuit,
    /// Which of the holder's accounts.
    pub mark: Mark<'a>,
}

impl Client<'_> {
    /// The client id that is tried when `taken` others turned out to belong to other accounts: at
    /// most 12 digits, and the same for the same arguments for ever, because the bank has it.
    pub fn id(&self, taken: u32) -> u64 {
        let form = Canonical::default()
            .text("client")
            .text(self.tenant)
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
        AccountNo(drawn.strict_add(1)).bank_client_id(self.realm)
    }
}

/// The client id in a CVU.
pub fn client_in(cvu: &Cvu) -> Option<u64> {
    cvu.as_str().get(9..21)?.parse().ok()
}

/// The realm that the client id in a CVU begins with; `None` where the number does not fit a
/// realm. Whether there is such a realm is not looked at.
pub fn realm_in(cvu: &Cvu) -> Option<RealmId> {
    let realm = client_in(cvu)?.checked_div(RealmId::CLIENTS)?;
    u32::try_from(realm).ok().map(RealmId)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ANA: &str = "20055361682";

    fn client<'a>(tenant: &'a str, cuit: &str, mark: Mark<'a>) -> Client<'a> {
        Client {
            realm: RealmId(12),
            tenant,
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
                    assert_eq!(id / 10_000_000, 12);
                    assert_ne!(id % 10_000_000, 0);
                }
            }
        }
        // The bank has it: never another one in a later version.
        assert_eq!(client("tnt_1", ANA, Mark::Uncoded).id(0), 120_036_969);
        assert_eq!(client("tnt_1", ANA, Mark::Code("shop")).id(0), 126_142_340);
    }

    #[test]
    fn the_largest_fits_in_twelve_digits() {
        let largest = Client {
            realm: RealmId(99_999),
            ..client("tnt_1", ANA, Mark::Uncoded)
        };
        for taken in 0..1_000 {
            assert!(largest.id(taken) < 1_000_000_000_000);
        }
    }
}
