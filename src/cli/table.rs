//! Tables for people: columns are as wide as their widest cell.

/// Rows under their header, without an end of line behind the last one. A control character, such as the end of a line
/// in a reason, becomes a space.
pub(super) fn aligned<R: AsRef<[String]>>(
    header: &[&str],
    rows: impl IntoIterator<Item = R>,
) -> String {
    let plain = |row: R| -> Vec<String> {
        let cells = row.as_ref().iter();
        let cells = cells.map(|cell| cell.replace(char::is_control, " "));
        cells.collect()
    };
    let header: Vec<_> = header.iter().map(|name| (*name).to_owned()).collect();
    let mut lines = vec![header.clone(), Vec::new()];
    lines.extend(rows.into_iter().map(plain));
    let width = |place: usize| {
        let cells = lines.iter().filter_map(|line| line.get(place));
        let lengths = cells.map(|cell| cell.chars().count());
        lengths.fold(0, usize::max)
    };
    let widths: Vec<_> = (0..header.len()).map(width).collect();
    if let Some(rule) = lines.get_mut(1) {
        rule.extend(widths.iter().map(|width| "-".repeat(*width)));
    }
    let lines = lines.iter().map(|line| {
        let cells = line.iter().zip(&widths);
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
        assert_eq!(aligned(&["name", "x"], rows), right);
        assert_eq!(
            aligned::<[String; 2]>(&["name", "x"], []),
            "name  x\n----  -"
        );
    }
}
