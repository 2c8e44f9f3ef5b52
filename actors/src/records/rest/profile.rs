//! The profile of an account as it is stored in its row at rest.
//!
//! **Shape.** A form u8, then: form 1, the length u16 of a record and the record as one zstd frame, made with the
//! dictionary next to this file; form 0, the record. The record is the whole account, as if it had never moved. The dictionary is the record of a typical account, so the common parts are not written for each
//! account. It never changes; a better one gets another form.
//!
//! **Bounds.** One zstd context for each thread that packs or unpacks (about 150 KiB).
//!
//! **Failure.** A profile that cannot be unpacked counts as no row.

use std::cell::RefCell;
use std::sync::LazyLock;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::limits::Usage;
use caudal_storage::StoreError;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use crate::records::{decode, encode};

/// The record is plain.
const PLAIN: u8 = 0;
/// The record is packed with the first dictionary.
const PACKED: u8 = 1;
/// The compression level of zstd.
const LEVEL: i32 = 3;

static DICTIONARY: &[u8] = include_bytes!("first.dictionary");
static PACKING: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static UNPACKING: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

thread_local! {
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The profile of an account, packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    seq: u64,
    cvu: Option<Cvu>,
    bytes: Box<[u8]>,
}

impl Profile {
    /// Packs the profile of an account.
    pub fn of(account: &Account) -> Result<Self, StoreError> {
        let mut bare = account.clone();
        bare.balance = Balance::default();
        bare.sequence = 0;
        bare.hash = Digest::default();
        bare.last_movement_at = None;
        bare.usage = Usage::default();
        let record = encode(&bare)?;
        let bytes = pack(&record).unwrap_or_else(|| [&[PLAIN], record.as_slice()].concat());
        Ok(Self {
            seq: account.profile_seq,
            cvu: account.cvu,
            bytes: bytes.into(),
        })
    }

    /// The account of a profile in a row, without its movements.
    pub fn parse(bytes: &[u8]) -> Option<(Box<Account>, Self)> {
        let account: Box<Account> = match bytes.split_first()? {
            (&PLAIN, record) => decode(record).ok()?,
            (&PACKED, packed) => decode(&unpack(packed)?).ok()?,
            _ => return None,
        };
        let profile = Self {
            seq: account.profile_seq,
            cvu: account.cvu,
            bytes: bytes.into(),
        };
        Some((account, profile))
    }

    /// The last fact in the profile.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The CVU of the account.
    pub fn cvu(&self) -> Option<Cvu> {
        self.cvu
    }

    /// The bytes as they are stored in a row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Packs a record; `None` if that saves nothing or fails.
fn pack(record: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(record.len()).ok()?;
    let frame = PACKER.with_borrow_mut(|kept| {
        let packer = match kept {
            Some(packer) => packer,
            None => kept.insert(Compressor::with_prepared_dictionary(&PACKING).ok()?),
        };
        packer.compress(record).ok()
    })?;
    let head = [[PACKED].as_slice(), &length.to_be_bytes()].concat();
    (frame.len() < record.len()).then(|| [head, frame].concat())
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (length, frame) = packed.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    UNPACKER.with_borrow_mut(|kept| {
        let unpacker = match kept {
            Some(unpacker) => unpacker,
            None => kept.insert(Decompressor::with_prepared_dictionary(&UNPACKING).ok()?),
        };
        let record = unpacker.decompress(frame, length).ok()?;
        (record.len() == length).then_some(record)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use caudal_ledger::accounts::{Holder, Status};
    use caudal_ledger::alias::Alias;
    use caudal_ledger::cuit::Cuit;
    use caudal_ledger::facts::Registration;
    use caudal_ledger::ids::AccountNo;
    use caudal_ledger::kyc::{Address, Kyc};
    use caudal_ledger::particulars::Names;
    use caudal_ledger::time::Timestamp;

    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn kyc() -> Kyc {
        Kyc {
            nationality: text("AR"),
            birth_country: text("AR"),
            birth_date: text("1985-07-14"),
            sex: text("F"),
            dni: text("26756539"),
            document_type: text("DNI"),
            marital_status: text("soltera"),
            occupation: text("empleada"),
            afip_activity: text("620100"),
            pep: Some(false),
            uif: Some(false),
            fatca: Some(false),
            ocde: Some(false),
            address: Address {
                street: text("Avenida Corrientes"),
                number: text("1234"),
                floor: text("5"),
                apartment: text("B"),
                city_code: text("02000010"),
                province_code: text("02"),
                postal_code: text("1043"),
                ..Address::default()
            },
            risk_level: text("low"),
            kyc_level: Some(2),
            verified_at: Some(Timestamp::from_millis(1_795_000_000_000)),
        }
    }

    /// A typical account, with most fields that are known of a holder, or with the fewest.
    fn account(number: u64, all: bool) -> Account {
        let cuit = Cuit::parse("20267565393").unwrap();
        let at = Timestamp::from_millis(1_795_000_000_000 + number);
        let mut account = Account::registered(
            &Registration {
                number: AccountNo(number),
                holder: Holder {
                    cuit,
                    name: "María Fernández".into(),
                    person_type: cuit.person_type(),
                },
                code: text("cliente-0001").filter(|_| all),
                email: text("maria.fernandez@gmail.com").filter(|_| all),
                phone: text("+5491155550000").filter(|_| all),
                metadata: BTreeMap::new(),
                kyc: if all { kyc() } else { Kyc::default() },
                enabled: true,
                names: Names::default(),
                asks_cvu: false,
            },
            at,
        );
        account.profile_seq = 3;
        account.status = Status::Active;
        account.cvu = Cvu::compose(999, number);
        account.alias = Alias::parse("maria.fernandez.ar").ok();
        account
    }

    /// Another account, which differs as accounts do.
    fn other(all: bool) -> Account {
        let mut other = account(1_234_567, all);
        other.holder.name = "Titular de Prueba 1234567".into();
        other.holders = vec![other.holder.clone()];
        other.alias = Alias::parse("titular.1234567").ok();
        other
    }

    #[test]
    fn a_profile_comes_back_without_the_movements_and_takes_half_of_its_record() {
        for account in [other(true), other(false)] {
            let mut moved = account.clone();
            moved.sequence = 7;
            moved.hash = Digest([7; 32]);
            moved.last_movement_at = Some(moved.updated_at);
            let profile = Profile::of(&moved).unwrap();
            let (found, same) = Profile::parse(profile.bytes()).unwrap();
            assert_eq!((*found, &same), (account.clone(), &profile));
            assert_eq!(profile.seq(), 3);
            let (record, packed) = (encode(&account).unwrap(), profile.bytes());
            assert!(
                packed.len() < record.len() / 2,
                "{} of {}",
                packed.len(),
                record.len()
            );
            for cut in 0..packed.len() {
                assert_eq!(Profile::parse(&packed[..cut]), None, "{cut}");
            }
            let plain = [&[PLAIN], record.as_slice()].concat();
            assert_eq!(*Profile::parse(&plain).unwrap().0, account);
            assert_eq!(Profile::parse(&[&[9], packed].concat()), None);
        }
    }

    #[test]
    fn a_profile_of_more_than_a_length_says_is_left_as_it_is() {
        let mut large = other(false);
        let text: String = (0..20_000_u32).map(|n| n.to_string()).collect();
        large.metadata.insert("k".into(), text);
        let profile = Profile::of(&large).unwrap();
        assert_eq!(profile.bytes()[0], PLAIN);
        assert_eq!(*Profile::parse(profile.bytes()).unwrap().0, large);
    }

    /// Rows on disk are read with it for ever.
    #[test]
    fn the_dictionary_is_the_same_for_ever() {
        let sum = |sum: u64, byte: &u8| sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        assert_eq!(DICTIONARY.iter().fold(0, sum), 4_908_661_072_955_586_387);
    }
}
