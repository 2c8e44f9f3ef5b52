//! CBU, CVU, CUIT and the service's own ids: what is made reads back, what is wrong is caught.

use caudal_ledger::cuit::{Cuit, CuitError, PersonType};
use caudal_ledger::cvu::{Cbu, Cvu, KeyError};
use caudal_ledger::ids::{AccountNo, RealmId, Tag, VoucherId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;
use proptest::prelude::*;
use proptest::sample::select;

use crate::generators::keys::{self, PREFIXES};
use crate::generators::texts;
use crate::{config, invariants as inv};

fn client() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..=10,
        0_u64..=999_999_999_999,
        999_999_999_990_u64..=999_999_999_999
    ]
}

fn voucher_id() -> impl Strategy<Value = VoucherId> {
    let edge = |max: u64| prop_oneof![0_u64..=3, 0..=max, max - 3..=max];
    (
        edge(u64::from(u32::MAX)),
        edge((1 << 40) - 1),
        edge((1 << 40) - 1),
        prop_oneof![
            Just(Tag::NONE),
            any::<(u64, [u8; 8])>()
                .prop_map(|(at, record)| { Tag::of_record(&record, Timestamp::from_millis(at)) })
        ],
    )
        .prop_map(|(realm, account, sequence, tag)| VoucherId {
            realm: RealmId(u32::try_from(realm).unwrap()),
            account: AccountNo(account),
            sequence,
            tag,
        })
}

fn account() -> impl Strategy<Value = (RealmId, AccountNo)> {
    let realm = prop_oneof![1_u32..=4, 1_u32..=99_999];
    let number = prop_oneof![
        1_u64..=4,
        1..=AccountNo::MAX,
        AccountNo::MAX - 3..=AccountNo::MAX
    ];
    (realm, number).prop_map(|(realm, number)| (RealmId(realm), AccountNo(number)))
}

proptest! {
    #![proptest_config(config(2_000))]

    /// Made by our own arithmetic or by the ledger's: the same 22 digits, which read back.
    #[test]
    fn cvus_are_what_they_should_be(psp in 1_u16..=9_999, client in client()) {
        let text = keys::cvu(psp, client);
        let cvu = Cvu::compose(psp, client);
        prop_assert_eq!(cvu.map(|c| c.to_string()), Some(text.clone()));
        prop_assert_eq!(Cvu::parse(&text).ok(), cvu);
        let cbu = Cbu::parse(&text).unwrap();
        prop_assert_eq!(cbu.cvu(), cvu);
        prop_assert_eq!(cbu.entity(), format!("{psp:04}"));
        prop_assert!(cvu.unwrap().as_str().ends_with(cvu.unwrap().last4()));
    }

    #[test]
    fn cbus_are_what_they_should_be(
        bank in 1_u16..=999, branch in 0_u16..=9_999, account in 0_u64..=9_999_999_999_999
    ) {
        let text = keys::cbu(bank, branch, account);
        let cbu = Cbu::compose(bank, branch, account);
        prop_assert_eq!(cbu.map(|c| c.to_string()), Some(text.clone()));
        prop_assert_eq!(Cbu::parse(&text).ok(), cbu);
        prop_assert_eq!(Cvu::parse(&text), Err(KeyError::NotACvu));
        let cbu = cbu.unwrap();
        prop_assert_eq!(cbu.entity(), format!("{bank:03}"));
    }

    /// Every single digit, replaced by every other: never another key.
    #[test]
    fn every_wrong_digit_of_a_key_is_caught(
        text in prop_oneof![
            (1_u16..=9_999, client()).prop_map(|(psp, client)| keys::cvu(psp, client)),
            (1_u16..=999, 0_u16..=9_999, 0_u64..=9_999_999_999_999)
                .prop_map(|(bank, branch, account)| keys::cbu(bank, branch, account)),
        ]
    ) {
        for place in 0..22 {
            for shift in 1..=9 {
                let wrong = texts::other_digit(&text, place, shift);
                prop_assert!(Cbu::parse(&wrong).is_err(), "{} for {}", wrong, text);
                prop_assert!(Cvu::parse(&wrong).is_err(), "{} for {}", wrong, text);
            }
        }
    }

    #[test]
    fn cuits_are_what_they_should_be(prefix in select(PREFIXES.to_vec()), number in 0_u32..=99_999_999) {
        let text = keys::cuit(prefix, number);
        let cuit = Cuit::parse(&text);
        prop_assert_eq!(cuit.clone().map(|c| c.to_string()), Ok(text.clone()));
        let legal = prefix >= 30;
        let right = if legal { PersonType::Legal } else { PersonType::Human };
        prop_assert_eq!(cuit.unwrap().person_type(), right);
        // Personal data: its debug form does not show the number.
        let shown = format!("{:?}", Cuit::parse(&text).unwrap());
        prop_assert!(!shown.contains(text.get(2..10).unwrap()));
    }

    /// Every wrong digit of a CUIT is caught, with the one exception that the rule itself has: two
    /// sums share the check digit 9.
    #[test]
    fn wrong_digits_of_a_cuit_are_caught(prefix in select(PREFIXES.to_vec()), number in 0_u32..=99_999_999) {
        let text = keys::cuit(prefix, number);
        for place in 0..11 {
            for shift in 1..=9 {
                let wrong = texts::other_digit(&text, place, shift);
                let (ten, last) = wrong.split_at(10);
                let shared = last == "9" && matches!(keys::cuit_rest(ten), 9 | 10);
                match Cuit::parse(&wrong) {
                    Ok(_) => prop_assert!(shared && place < 10, "{} for {}", wrong, text),
                    Err(CuitError::CheckDigit { right }) => {
                        prop_assert!(!shared, "{} for {}", wrong, text);
                        // The digit named is the one that makes it right.
                        let named = format!("{ten}{right}");
                        prop_assert!(Cuit::parse(&named).is_ok(), "{}", named);
                        prop_assert!(Cuit::parse_relaxed(&wrong).is_ok(), "{}", wrong);
                    }
                    Err(CuitError::Prefix(_)) => prop_assert!(place < 2, "{}", wrong),
                    Err(CuitError::Shape) => prop_assert!(false, "{}", wrong),
                }
            }
        }
    }

    /// Whatever is not made of the right number of ASCII digits is refused without a panic.
    #[test]
    fn odd_texts_are_no_keys(text in prop_oneof!["\\PC{0,24}", "[0-9]{0,30}", "[0-9٠-٩]{11}", "[0-9a ]{22}"]) {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        if !digits || text.len() != 22 {
            prop_assert_eq!(Cvu::parse(&text), Err(KeyError::Shape));
            prop_assert_eq!(Cbu::parse(&text), Err(KeyError::Shape));
        }
        if !digits || text.len() != 11 {
            prop_assert_eq!(Cuit::parse(&text), Err(CuitError::Shape));
        }
    }

    /// 10: one account, one record of its CVU; two accounts of a realm, two.
    #[test]
    fn records_of_cvus_are_unique_in_a_realm(one in account(), other in account()) {
        prop_assert_eq!(inv::check_i10(one, other), Ok(()));
    }

    #[test]
    fn voucher_ids_read_back(id in voucher_id()) {
        let text = id.to_string();
        prop_assert_eq!(VoucherId::parse(&text), Some(id), "{}", text);
        let length = if id.tag.is_none() { 30 } else { 36 };
        prop_assert!(text.starts_with("cmp_") && text.len() == length, "{}", text);
    }

    /// One character wrong, or two neighbours swapped: no voucher at all.
    #[test]
    fn a_typing_error_is_no_other_voucher(id in voucher_id(), place in 0_usize..36, with in "[0-9a-zA-Z]") {
        let text = id.to_string();
        let place = place % text.len();
        let wrong = texts::replaced(&text, place, with.chars().next().unwrap());
        if wrong != text {
            prop_assert_eq!(VoucherId::parse(&wrong), None, "{} for {}", wrong, text);
        }
        let mut swapped: Vec<char> = text.chars().collect();
        swapped.swap(place, (place + 1) % text.len());
        let swapped: String = swapped.into_iter().collect();
        if swapped != text {
            prop_assert_eq!(VoucherId::parse(&swapped), None, "{} for {}", swapped, text);
        }
    }

    /// Nothing is an id but what was written as one.
    #[test]
    fn only_what_was_written_is_an_id(text in prop_oneof!["cmp_[0-9a-z]{26}", "cmp_[0-9a-z]{32}", "cmp_\\PC{0,30}", "\\PC{0,40}"]) {
        if let Some(id) = VoucherId::parse(&text) {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn external_ids_are_printable(text in prop_oneof!["[ -~]{0,70}", "[!-~]{1,64}", "[ña/ \u{7}]{0,70}"]) {
        let good = (1..=64).contains(&text.chars().count())
            && !text.starts_with(' ')
            && !text.ends_with(' ')
            && !text.contains('\u{7}');
        let read = ExternalId::parse(&text);
        prop_assert_eq!(read.is_ok(), good, "{:?}", text);
        if let Ok(id) = read {
            prop_assert_eq!(id.as_str(), text.as_str());
        }
    }

    #[test]
    fn type_codes_are_raised(text in prop_oneof!["[A-Za-z0-9_]{0,45}", "\\PC{0,10}", "[a-zß_-]{2,6}"]) {
        let good = (2..=40).contains(&text.chars().count())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let read = TypeCode::parse(&text);
        prop_assert_eq!(read.is_ok(), good, "{:?}", text);
        if let Ok(code) = read {
            let upper: String = text.chars().map(|c| c.to_ascii_uppercase()).collect();
            prop_assert_eq!(code.as_str(), upper.as_str());
        }
    }
}
