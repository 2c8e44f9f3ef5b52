//! Tables for people: columns are as wide as their widest cell.

/// Rows under their header, without an end of line behind the last one. A control character, such as the end of a line
/// in a reason, becomes a space.
pub(super) fn aligned<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let plain = |row: [String; N]| row.map(|cell| cell.replace(char::is_control, " "));
    let rows: Vec<_> = rows.into_iter().map(plain).collect();
    let header = header.map(str::to_owned);
    let widths: [usize; N] = std::array::from_fn(|place| {
        let cells = rows.iter().chain([&header]);
        let cells = cells.filter_map(|row| row.get(place));
        let lengths = cells.map(|cell| cell.chars().count());
        lengths.fold(0, usize::max)
    });
    let rule = widths.map(|width| "-".repeat(width));
    let lines = [&header, &rule].into_iter().chain(&rows).map(|row| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["ñandú", ""], ["a\n", "yes"]].map(|row| row.map(str::to_owned));
        let right = "name   x\n-----  ---\nñandú\na      yes";
        assert_eq!(aligned(["name", "x"], rows), right);
        assert_eq!(aligned(["name", "x"], []), "name  x\n----  -");
    }
}
