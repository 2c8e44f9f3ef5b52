//! The days on which banks are closed: from a list in the binary, or from a file that replaces it.

use std::collections::BTreeMap;
use std::path::Path;

use caudal_ledger::calendar::Calendar;

/// The list in the binary.
pub const BUILT_IN: &str = include_str!("calendar/bank-closed-days.toml");

/// Reads a list: by year, days as `MM-DD`.
///
/// # Errors
/// The first thing wrong with it.
pub fn parse(text: &str) -> Result<Calendar, String> {
    let file = config::File::from_str(text, config::FileFormat::Toml);
    let read = config::Config::builder().add_source(file).build();
    let years: Result<BTreeMap<String, Vec<String>>, _> =
        read.and_then(config::Config::try_deserialize);
    let years = years.map_err(|why| why.to_string())?;
    if years.is_empty() {
        return Err("has no year".to_owned());
    }
    let years = years
        .iter()
        .map(|(year, days)| (year.as_str(), days.iter().map(String::as_str)));
    Calendar::read(years).map_err(|why| why.to_string())
}

/// Reads the list of a file, or the one in the binary.
///
/// # Errors
/// When the file cannot be read, or is not such a list.
pub fn load(file: Option<&Path>) -> Result<Calendar, String> {
    match file {
        None => parse(BUILT_IN),
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|why| why.to_string());
            text.and_then(|text| parse(&text))
                .map_err(|why| format!("{}: {why}", file.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_ledger::time::BusinessDay;

    fn day(text: &str) -> BusinessDay {
        BusinessDay::parse(text).unwrap()
    }

    #[test]
    fn the_built_in_list_covers_two_years_and_gives_the_known_dates() {
        let calendar = load(None).unwrap();
        assert_eq!(calendar.years().collect::<Vec<_>>(), [2026, 2027]);
        for (business, processed, published) in [
            ("2026-03-20", "2026-03-20", "2026-03-25"),
            ("2026-03-21", "2026-03-25", "2026-03-26"),
            ("2026-04-02", "2026-04-06", "2026-04-07"),
            ("2026-12-05", "2026-12-09", "2026-12-10"),
            ("2026-11-05", "2026-11-05", "2026-11-11"),
            ("2027-03-23", "2027-03-23", "2027-03-29"),
        ] {
            assert_eq!(calendar.processed(day(business)), Ok(day(processed)));
            assert_eq!(calendar.published(day(business)), Ok(day(published)));
        }
        // Banking days of a year: 365, less weekends, less holidays on working days.
        let mut open = 0;
        let mut at = day("2026-01-01");
        while at <= day("2026-12-31") {
            open += i32::from(calendar.is_banking_day(at).unwrap());
            at = at.next();
        }
        assert_eq!(open, 261 - 21);
    }

    #[test]
    fn a_list_that_is_none_is_named() {
        for (text, why) in [
            ("", "has no year"),
            ("2026 = [\"13-01\"]", "13-01 is no day of 2026"),
            ("holidays = [\"01-01\"]", "holidays is no year"),
            ("2026 = 5", "invalid type"),
            ("2026 = [", "TOML"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
        let missing = load(Some(Path::new("no/such/file"))).unwrap_err();
        assert!(missing.starts_with("no/such/file: "), "{missing}");
    }
}
