//! Every sentence in both languages.

use super::*;
use caudal_ledger::cuit::CuitError;
use caudal_ledger::text::TextError;

#[test]
fn variable_parts_appear_in_both_languages() {
    let choices = Choices::of(&[("asc", ()), ("desc", ())]);
    for (mistake, english, spanish) in [
        (Mistake::Required, "is required", "es obligatorio"),
        (
            Mistake::OutOfRange { min: 1, max: 200 },
            "must be a whole number from 1 to 200",
            "debe ser un número entero de 1 a 200",
        ),
        (
            Mistake::NotAmong { choices },
            "must be one of asc, desc",
            "debe ser uno de asc, desc",
        ),
        (
            Mistake::Line {
                why: TextError::TooLong,
                max: 5,
            },
            "is too long (1 to 5 characters)",
            "es demasiado largo (de 1 a 5 caracteres)",
        ),
        (
            CuitError::CheckDigit { right: 3 }.into(),
            "has a wrong check digit: it should be 3",
            "tiene mal el dígito verificador: debería ser 3",
        ),
    ] {
        assert_eq!(mistake.text(Language::English), english);
        assert_eq!(mistake.text(Language::Spanish), spanish);
    }
}

#[test]
fn both_languages_name_the_same_things_unless_figures_are_in_details() {
    for (english, spanish) in Mistake::SENTENCES {
        let holes = |text: &str| -> std::collections::BTreeSet<String> {
            let parts = text.split('{').skip(1);
            parts
                .map(|part| part.split('}').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(holes(english), holes(spanish), "{english}");
    }
}
