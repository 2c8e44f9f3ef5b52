//! Whose a CVU is: one row for each CVU, of all realms.

use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Index, StoreError};

use super::keys;

/// The account that a CVU is attached to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its realm.
    pub realm: RealmId,
    /// Its number there.
    pub account: AccountNo,
}

impl Owner {
    /// Sixteen bytes: the account, then the realm.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (account, realm) = bytes.split_at_mut(8);
        account.copy_from_slice(&self.account.0.to_be_bytes());
        realm.copy_from_slice(&u64::from(self.realm.0).to_be_bytes());
        bytes
    }

    /// Reads them back.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when they are no row of a CVU.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let wrong = || StoreError::Corrupt("the row of a CVU names no account".into());
        let (account, realm) = bytes.split_first_chunk::<8>().ok_or_else(wrong)?;
        let realm: [u8; 8] = realm.try_into().map_err(|_| wrong())?;
        let realm = u32::try_from(u64::from_be_bytes(realm)).map_err(|_| wrong())?;
        Ok(Self {
            realm: RealmId(realm),
            account: AccountNo(u64::from_be_bytes(*account)),
        })
    }
}

/// Whose a CVU is; `None` while it is nobody's.
///
/// # Errors
/// When the store cannot be read, or the row is damaged.
pub fn owner_of(store: &dyn Index, cvu: Cvu) -> Result<Option<Owner>, StoreError> {
    let row = store.get(&keys::cvu(cvu))?;
    row.map(|row| Owner::from_bytes(&row)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_cvu_is_read_as_it_was_written_and_no_other() {
        let owner = Owner {
            realm: RealmId(7),
            account: AccountNo(300),
        };
        let bytes = owner.to_bytes();
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 1, 44, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(Owner::from_bytes(&bytes).unwrap(), owner);
        for wrong in [&[0; 15][..], &[1; 16], &[0; 17]] {
            assert!(Owner::from_bytes(wrong).is_err());
        }
    }
}
