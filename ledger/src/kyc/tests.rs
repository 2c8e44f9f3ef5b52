//! The rules for KYC data, and the result of a change.

use super::*;

type Rule = fn(&str) -> Result<String, KycError>;

#[test]
fn each_rule_keeps_what_is_right_and_says_why_it_refuses() {
    let long = format!("{}@x", "a".repeat(253));
    let cases: Vec<(Rule, &str, Result<&str, KycError>)> = vec![
        (country, "ar", Ok("AR")),
        (country, "ARG", Err(KycError::Country)),
        (country, "A1", Err(KycError::Country)),
        (country, "ñ", Err(KycError::Country)),
        (birth_date, "1989-02-16", Ok("1989-02-16")),
        (birth_date, "1850-01-01", Ok("1850-01-01")),
        (birth_date, "1849-12-31", Err(KycError::BirthDate)),
        (birth_date, "1989-02-30", Err(KycError::BirthDate)),
        (birth_date, "1989-2-16", Err(KycError::BirthDate)),
        (birth_date, "16/02/1989", Err(KycError::BirthDate)),
        (birth_date, "", Err(KycError::BirthDate)),
        (sex, "X", Ok("X")),
        (sex, "f", Err(KycError::Word { choices: SEXES })),
        (risk_level, "medium", Ok("medium")),
        (
            risk_level,
            "alto",
            Err(KycError::Word {
                choices: RISK_LEVELS,
            }),
        ),
        (document, "123456", Ok("123456")),
        (document, "AAB123456", Ok("AAB123456")),
        (document, "12", Err(KycError::Document)),
        (document, "12.345.678", Err(KycError::Document)),
        (document, "ÑAB123456", Err(KycError::Document)),
        (document, "A23456789012345678901", Err(KycError::Document)),
        (afip_activity, "000007", Ok("000007")),
        (afip_activity, "7", Err(KycError::Activity)),
        (afip_activity, "٠٠٠", Err(KycError::Activity)),
        (email, " a@b.example ", Ok("a@b.example")),
        (email, "a.example", Err(KycError::Email)),
        (email, "@b", Err(KycError::Email)),
        (email, "a@", Err(KycError::Email)),
        (email, "a@b@c", Err(KycError::Email)),
        (email, "a b@c", Err(KycError::Email)),
        (email, "a@b,c@d", Err(KycError::Email)),
        (
            email,
            &long,
            Err(KycError::Line {
                why: TextError::TooLong,
                max: 254,
            }),
        ),
        (
            email,
            " ",
            Err(KycError::Line {
                why: TextError::Empty,
                max: 254,
            }),
        ),
        (phone, "+54 (11) 5555-5555", Ok("+54 (11) 5555-5555")),
        (phone, "12345", Err(KycError::Phone)),
        (phone, "11 5555 x5", Err(KycError::Phone)),
    ];
    for (rule, sent, kept) in cases {
        assert_eq!(rule(sent), kept.map(str::to_owned), "{sent}");
    }
}

#[test]
fn a_refusal_says_what_would_be_right() {
    for (why, text) in [
        (
            KycError::Dni,
            "must have 6 to 9 digits, unless documentType is another than DNI",
        ),
        (KycError::Document, "must have 3 to 20 letters and digits"),
        (KycError::Activity, "must have 6 digits"),
        (KycError::Word { choices: SEXES }, "must be one of F, M, X"),
        (
            KycError::Line {
                why: TextError::Empty,
                max: 254,
            },
            "must not be empty (1 to 254 characters)",
        ),
    ] {
        assert_eq!(why.to_string(), text);
    }
}

#[test]
fn a_change_sets_what_it_brings_and_nothing_else() {
    let text = |text: &str| Some(text.to_owned());
    let address = |street, number| Address {
        street,
        number,
        ..Address::default()
    };
    let old = Kyc {
        nationality: text("AR"),
        pep: Some(true),
        address: address(text("Florida"), text("1")),
        ..Kyc::default()
    };
    let change = Kyc {
        pep: Some(false),
        kyc_level: Some(LEVEL_MAX),
        address: address(None, text("2")),
        ..Kyc::default()
    };
    let new = Kyc {
        nationality: text("AR"),
        pep: Some(false),
        kyc_level: Some(LEVEL_MAX),
        address: address(text("Florida"), text("2")),
        ..Kyc::default()
    };
    assert_eq!(old.merged(&Kyc::default()), old);
    assert_eq!(old.merged(&change), new);
}

#[test]
fn a_document_has_a_number_of_its_kind() {
    let fits = |kind: Option<&str>, number: &str| {
        let kyc = Kyc {
            document_type: kind.map(str::to_owned),
            dni: Some(number.to_owned()),
            ..Kyc::default()
        };
        kyc.document_fits()
    };
    for (kind, number, right) in [
        (None, "12345678", Ok(())),
        (None, "12345", Err(KycError::Dni)),
        (None, "AAB123456", Ok(())),
        (Some("DNI"), "123456789", Ok(())),
        (Some("dni"), "AAB123456", Err(KycError::Dni)),
        (Some("DNI"), "1234567890", Err(KycError::Dni)),
        (Some("PASAPORTE"), "123", Ok(())),
        (Some("PASAPORTE"), "AAB123456", Ok(())),
    ] {
        assert_eq!(fits(kind, number), right, "{kind:?} {number}");
    }
    assert_eq!(Kyc::default().document_fits(), Ok(()));
}

#[test]
fn a_change_clears_what_it_marks_and_nothing_else() {
    let text = |text: &str| Some(text.to_owned());
    let old = Kyc {
        nationality: text("AR"),
        pep: Some(true),
        address: Address {
            street: text("Florida"),
            floor: text("3"),
            ..Address::default()
        },
        ..Kyc::default()
    };
    assert_eq!(old.without(&KycMarks::default()), old);
    let marks = KycMarks {
        pep: true,
        sex: true,
        address: AddressMarks {
            floor: true,
            ..AddressMarks::default()
        },
        ..KycMarks::default()
    };
    let mut new = old.clone();
    new.pep = None;
    new.address.floor = None;
    assert_eq!(old.without(&marks), new);
    assert_eq!(old.without(&KycMarks::all()), Kyc::default());
    assert_ne!(marks, KycMarks::default());
}
