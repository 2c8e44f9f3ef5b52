//! How figures are written in Argentina.

use crate::units::grouped;

/// An amount as it is written in Argentina: `1234.50` is `1.234,50`.
pub(super) fn pesos(amount: &str) -> String {
    grouped(amount, '.', ',').unwrap_or_else(|| amount.to_owned())
}

/// A tax id as people write it: `20-12345678-6`.
pub(super) fn hyphened(cuit: &str) -> String {
    let digits: Vec<char> = cuit.chars().collect();
    match digits.as_slice() {
        [a, b, middle @ .., last] if digits.len() == 11 => {
            let middle: String = middle.iter().collect();
            format!("{a}{b}-{middle}-{last}")
        }
        _ => cuit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_tax_ids_are_written_as_in_argentina() {
        for (amount, shown) in [
            ("0.00", "0,00"),
            ("999.90", "999,90"),
            ("1234.50", "1.234,50"),
            ("123456789.01", "123.456.789,01"),
            ("-1000.00", "-1.000,00"),
        ] {
            assert_eq!(pesos(amount), shown);
        }
        assert_eq!(hyphened("20123456786"), "20-12345678-6");
        assert_eq!(hyphened("x"), "x");
    }
}
