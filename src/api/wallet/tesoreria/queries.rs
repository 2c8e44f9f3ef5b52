//! The parameters of the treasury's operations.

use caudal_actors::realms::Target;
use caudal_http::query::Query;
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::BusinessDay;

/// The name of the parameter for a wallet account's number.
pub(crate) const ACCOUNT: &str = "idCuenta";

/// A day as `YYYY-MM-DD` or `DD-MM-YYYY`.
pub(crate) fn day(text: &str) -> Option<BusinessDay> {
    BusinessDay::parse(text).or_else(|| {
        let mut parts = text.splitn(3, '-');
        let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
        BusinessDay::parse(&format!("{year}-{month}-{day}"))
    })
}

/// The number of a wallet account.
pub(crate) fn account(text: &str) -> Result<AccountNo, Mistake> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits).map(AccountNo);
    number.ok_or(Mistake::NotAnAccountNumber)
}

/// The client that a query names, by CVU or by wallet account.
pub(crate) fn client(query: &mut Query) -> Option<Target> {
    let cvu = query.read("cvu", Cvu::parse).map(Target::Cvu);
    let number = query.read(ACCOUNT, account).map(Target::Account);
    if cvu.is_some() && number.is_some() {
        query.mistake(ACCOUNT, Mistake::Beside { other: "cvu" });
    }
    cvu.or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_both_ways_and_no_other() {
        let right = BusinessDay::parse("2024-06-01");
        assert_eq!((day("2024-06-01"), day("01-06-2024")), (right, right));
        for wrong in [
            "1-6-2024",
            "01/06/2024",
            "31-02-2024",
            "2024-6-1",
            "01-06-24",
            "",
            "--",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_of_accounts_are_digits_alone() {
        assert_eq!(account("7"), Ok(AccountNo(7)));
        for wrong in ["", "+7", "-7", "7.0", "x", "99999999999999999999"] {
            assert!(account(wrong).is_err(), "{wrong}");
        }
    }
}
