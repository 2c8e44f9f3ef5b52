//! Numbers as decimals, without floating point.

/// A number of such parts of one, as a decimal without zeros at its end; `unit` is 1, or that of nanoseconds.
pub(super) fn decimal(parts: u64, unit: u64) -> String {
    let (whole, rest) = (parts / unit, parts % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_has_no_zeros_at_its_end() {
        let nanos = [0, 1, 250_000, 1_000_000_000, 2_500_000_000];
        let shown = nanos.map(|nanos| decimal(nanos, 1_000_000_000));
        assert_eq!(shown, ["0", "0.000000001", "0.00025", "1", "2.5"]);
        assert_eq!(decimal(7, 1), "7");
    }
}
