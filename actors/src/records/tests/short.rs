//! Writing and reading a record the short way gives the same as by its names.

use caudal_ledger::accounts::Account;

use super::super::{decode_by_names, encode_by_names, encode_sparse, short};
use super::*;

/// A record has the same bytes written by its names or directly, and both ways read it back. Wherever it is cut off,
/// neither way gives another record than the other.
pub(super) fn both_ways<T>(name: &str, sample: &T)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let bytes = encode_by_names(sample).unwrap();
    assert_eq!(encode(sample).unwrap(), bytes, "{name}");
    assert_eq!(&decode_by_names::<T>(&bytes).unwrap(), sample, "{name}");
    if bytes.first() != Some(&2) {
        return;
    }
    let written = short::write(sample, vec![2], false);
    assert_eq!(written.as_ref(), Some(&bytes), "{name} takes the long way");
    let read = short::read::<T>(&bytes[1..]);
    assert_eq!(read.as_ref(), Some(sample), "{name} takes the long way");
    for cut in (1..bytes.len()).step_by(1 + bytes.len() / 500) {
        let read = short::read::<T>(&bytes[1..cut]);
        assert_eq!(read, decode_by_names(&bytes[..cut]).ok(), "{name}, {cut}");
    }
}

#[test]
fn numbers_texts_and_lists_of_every_width_are_written_alike() {
    let whole = [
        0,
        1,
        127,
        128,
        255,
        256,
        65_535,
        65_536,
        u64::from(u32::MAX),
        1 << 32,
        u64::MAX,
    ];
    let below = [
        -1,
        -32,
        -33,
        -128,
        -129,
        -32_768,
        -32_769,
        i64::MIN,
        i64::from(i32::MIN) - 1,
    ];
    for number in whole {
        both_ways("whole", &number);
    }
    for number in below {
        both_ways("below", &number);
    }
    both_ways(
        "small",
        &(7_u8, -7_i8, 300_u16, -300_i16, 70_000_u32, -70_000_i32),
    );
    let words = ["cvu", "head", "ends_at", "credit", "no word", "ñ", ""];
    both_ways("words", &words.map(str::to_owned).to_vec());
    for length in [0, 1, 15, 16, 31, 32, 255, 256, 70_000] {
        both_ways("text", &"x".repeat(length));
        both_ways("list", &vec![Some(true); length.min(300)]);
    }
    both_ways("bytes", &Digest([7; 32]));
    let texts = words.map(|word| (word.to_owned(), word.to_owned()));
    both_ways("keys", &BTreeMap::from(texts));
    both_ways("no short keys", &BTreeMap::from([(1_u64, 'x')]));
    both_ways("nothing", &Some(()).filter(|()| false));
}

/// An account before and after each fact of its profile.
fn accounts() -> Vec<Account> {
    let facts = [account_facts(), wallet::facts(), enrolment_facts()].concat();
    let Some(AccountFact::Registered(registration)) = facts.first() else {
        panic!("the first fact is that of an account");
    };
    let mut account = Account::registered(registration, at(1));
    let plain = Registration {
        kyc: Kyc::default(),
        code: None,
        email: None,
        metadata: BTreeMap::new(),
        ..registration.clone()
    };
    let mut accounts = vec![Account::registered(&plain, at(1)), account.clone()];
    for (fact, seq) in facts.iter().skip(1).zip(2..) {
        account.apply(fact, seq, at(seq));
        accounts.push(account.clone());
    }
    accounts
}

#[test]
fn an_account_without_its_empty_fields_reads_as_it_was() {
    for account in accounts() {
        both_ways("account", &account);
        let (whole, sparse) = (encode(&account).unwrap(), encode_sparse(&account).unwrap());
        assert!(sparse.len() < whole.len());
        assert_eq!(decode::<Account>(&sparse).unwrap(), account);
        // Older programs read it by its names.
        assert_eq!(decode_by_names::<Account>(&sparse).unwrap(), account);
    }
}
