//! Names as the bank accepts them: `^[a-zA-Z0-9ñÑáéíóúÁÉÍÓÚ.\s]{5,41}$`, at most 40 characters by its own documents.
//! We keep the name as it was given.

/// The longest name that is sent, in characters.
const NAME_MAX: usize = 40;
/// The shortest name that the bank accepts.
const NAME_MIN: usize = 5;
/// Stands in for a name without any letter that the bank could read.
const NAMELESS: &str = "TITULAR";

/// A name that the bank accepts: near letters for those it lacks, other characters left out, one space between words,
/// cut at the maximum, filled with dots up to the minimum.
pub(super) fn for_the_bank(name: &str) -> String {
    let mut letters = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '.' || "ñÑáéíóúÁÉÍÓÚ".contains(c) => {
                letters.push(c);
            }
            // A character that joins two words becomes a space.
            c if c.is_whitespace() || matches!(c, '-' | '/' | '&' | ',' | '_' | '+') => {
                letters.push(' ');
            }
            // A combining mark after its letter, as some keyboards and files write it.
            '\u{300}'..='\u{36f}' => join(&mut letters, c),
            other => letters.push_str(near(other)),
        }
    }
    let words: Vec<_> = letters.split_whitespace().collect();
    let short: String = words.join(" ").chars().take(NAME_MAX).collect();
    let mut short = short.trim_end().to_owned();
    if short.chars().all(|c| c == '.') {
        NAMELESS.clone_into(&mut short);
    }
    while short.chars().count() < NAME_MIN {
        short.push('.');
    }
    short
}

fn join(letters: &mut String, mark: char) {
    let whole = match (letters.chars().next_back(), mark) {
        (Some('n'), '\u{303}') => 'ñ',
        (Some('N'), '\u{303}') => 'Ñ',
        (Some('a'), '\u{301}') => 'á',
        (Some('e'), '\u{301}') => 'é',
        (Some('i'), '\u{301}') => 'í',
        (Some('o'), '\u{301}') => 'ó',
        (Some('u'), '\u{301}') => 'ú',
        (Some('A'), '\u{301}') => 'Á',
        (Some('E'), '\u{301}') => 'É',
        (Some('I'), '\u{301}') => 'Í',
        (Some('O'), '\u{301}') => 'Ó',
        (Some('U'), '\u{301}') => 'Ú',
        // The bank has no letter with this mark: the letter alone is near enough.
        _ => return,
    };
    letters.pop();
    letters.push(whole);
}

/// The letters that come near one that the bank lacks; empty for characters that are no letters.
const fn near(c: char) -> &'static str {
    match c {
        'à' | 'â' | 'ä' | 'ã' | 'å' => "a",
        'è' | 'ê' | 'ë' => "e",
        'ì' | 'î' | 'ï' => "i",
        'ò' | 'ô' | 'ö' | 'õ' | 'ø' => "o",
        'ù' | 'û' | 'ü' => "u",
        'À' | 'Â' | 'Ä' | 'Ã' | 'Å' => "A",
        'È' | 'Ê' | 'Ë' => "E",
        'Ì' | 'Î' | 'Ï' => "I",
        'Ò' | 'Ô' | 'Ö' | 'Õ' | 'Ø' => "O",
        'Ù' | 'Û' | 'Ü' => "U",
        'ç' | 'ć' | 'č' => "c",
        'Ç' | 'Ć' | 'Č' => "C",
        'š' => "s",
        'Š' => "S",
        'ž' => "z",
        'Ž' => "Z",
        'ý' | 'ÿ' => "y",
        'Ý' => "Y",
        'ł' => "l",
        'Ł' => "L",
        'đ' => "d",
        'Đ' => "D",
        'ß' => "ss",
        'æ' => "ae",
        'Æ' => "AE",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_bank_takes() {
        for (given, sent) in [
            ("José Pérez", "José Pérez"),
            ("  Ana   María\tLópez ", "Ana María López"),
            ("O'Higgins & Cía. S.A.", "OHiggins Cía. S.A."),
            ("Pérez-Gómez", "Pérez Gómez"),
            ("Agüero", "Aguero"),
            ("Mun\u{303}oz Rami\u{301}rez", "Muñoz Ramírez"),
            ("Ana", "Ana.."),
            ("Li Wu", "Li Wu"),
            ("李小龙", "TITULAR"),
            ("", "TITULAR"),
            ("...", "TITULAR"),
            ("Straße 🌊 Ñandú", "Strasse Ñandú"),
        ] {
            assert_eq!(for_the_bank(given), sent, "{given}");
        }
        let long = "Constructora Bahía Blanca Hermanos y Asociados S.R.L.";
        assert_eq!(
            for_the_bank(long),
            "Constructora Bahía Blanca Hermanos y Aso"
        );
        assert_eq!(for_the_bank(&"x".repeat(60)).chars().count(), 40);
    }
}
