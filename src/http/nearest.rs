//! Guesses which known name was meant by an unknown one.

/// How much of an unknown name is shown, in characters.
const SHOWN: usize = 40;

/// An unknown name as an answer shows it: its beginning, without control characters.
pub(crate) fn shown(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control());
    visible.take(SHOWN).collect()
}

/// The known name that is nearest to another one, if at most half of the longer one's letters differ.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = shown(name).to_lowercase();
    let near = known.into_iter().filter_map(|known| {
        let longest = name.len().max(known.len());
        // At least as many letters are wrong as one name is longer than the other.
        if name.len().abs_diff(known.len()).strict_mul(2) > longest {
            return None;
        }
        let far = strsim::damerau_levenshtein(&name, &known.to_lowercase());
        (far.strict_mul(2) <= longest).then_some((far, known))
    });
    near.min().map(|(_, known)| known)
}
