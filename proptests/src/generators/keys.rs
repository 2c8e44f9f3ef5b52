//! Makes valid CBU, CVU and CUIT with its own arithmetic (from the right, as python-stdnum does).

/// The check digit of a block of a CBU: from the right, weights 3, 1, 7, 9, repeated.
pub fn block_check(digits: &str) -> char {
    let sum: u64 = digits
        .chars()
        .rev()
        .zip([3, 1, 7, 9].into_iter().cycle())
        .map(|(digit, weight)| u64::from(digit.to_digit(10).unwrap()) * weight)
        .sum();
    // The digit that makes the sum a multiple of ten.
    (b'0'..=b'9')
        .map(char::from)
        .find(|c| (sum + u64::from(c.to_digit(10).unwrap())).is_multiple_of(10))
        .unwrap()
}

/// The 22 digits of two blocks (7 and 13 digits) with their check digits.
pub fn key_22(first: &str, second: &str) -> String {
    format!(
        "{first}{}{second}{}",
        block_check(first),
        block_check(second)
    )
}

/// The CBU of a bank account.
pub fn cbu(bank: u16, branch: u16, account: u64) -> String {
    key_22(&format!("{bank:03}{branch:04}"), &format!("{account:013}"))
}

/// The CVU of a client of a PSP.
pub fn cvu(psp: u16, client: u64) -> String {
    key_22(&format!("000{psp:04}"), &format!("0{client:012}"))
}

/// `11 − Σ mod 11` of ten digits: 1 to 11, where 11 is written 0 and 10 is written 9.
pub fn cuit_rest(ten: &str) -> u32 {
    let sum: u32 = ten
        .chars()
        .rev()
        .enumerate()
        .map(|(i, c)| c.to_digit(10).unwrap() * u32::try_from(2 + i % 6).unwrap())
        .sum();
    11 - sum % 11
}

/// The CUIT of a prefix and a number, with its check digit.
pub fn cuit(prefix: u8, number: u32) -> String {
    let ten = format!("{prefix:02}{number:08}");
    let digit = ["", "1", "2", "3", "4", "5", "6", "7", "8", "9", "9", "0"]
        [usize::try_from(cuit_rest(&ten)).unwrap()];
    ten + digit
}

/// Prefixes of a CUIT, natural persons first.
pub const PREFIXES: [u8; 12] = [20, 23, 24, 25, 26, 27, 30, 33, 34, 50, 51, 55];
