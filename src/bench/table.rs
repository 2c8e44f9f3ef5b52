//! Tables and bars as plain text.

use serde::{Deserialize, Serialize};

/// A table whose columns hold numbers, except the first.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header = header.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = String::new();
    for row in [&header, &rule].into_iter().chain(rows) {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str(&match place {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A limit for a figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bar {
    /// The name of the figure.
    pub what: String,
    /// The limit.
    pub bar: String,
    /// The figure.
    pub found: String,
    /// Whether the figure is within the limit.
    pub holds: bool,
}

impl Bar {
    /// A limit that a figure has to reach, as both are shown.
    pub fn at_least(what: &str, found: u64, bar: u64, show: impl Fn(u64) -> String) -> Self {
        Self {
            what: what.to_owned(),
            bar: format!(">= {}", show(bar)),
            found: show(found),
            holds: found >= bar,
        }
    }

    /// A limit that a figure may reach but not exceed.
    pub fn at_most(what: &str, found: u64, bar: u64, show: impl Fn(u64) -> String) -> Self {
        Self {
            what: what.to_owned(),
            bar: format!("<= {}", show(bar)),
            found: show(found),
            holds: found <= bar,
        }
    }
}

/// The bars, and which of them hold.
pub fn bars(bars: &[Bar]) -> String {
    let rows: Vec<_> = bars
        .iter()
        .map(|bar| {
            let verdict = if bar.holds { "holds" } else { "MISSED" };
            let cells = [&bar.what, &bar.bar, &bar.found, verdict];
            cells.map(|cell: &str| cell.to_owned()).to_vec()
        })
        .collect();
    table(&["bar", "", "found", ""], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "12 345"], ["µs longer", "1"]];
        let shown = table(
            &["case", "n"],
            &rows.map(|row| row.map(str::to_owned).to_vec()),
        );
        let lines: Vec<_> = shown.lines().collect();
        let right = [
            "case            n",
            "---------  ------",
            "a          12 345",
            "µs longer       1",
        ];
        assert_eq!(lines, right);
    }

    #[test]
    fn a_figure_at_its_bar_holds() {
        let show = |n: u64| format!("{n}/s");
        let least = |found| Bar::at_least("rate", found, 5, show).holds;
        let most = |found| Bar::at_most("rate", found, 5, show).holds;
        assert_eq!([4, 5, 6].map(least), [false, true, true]);
        assert_eq!([4, 5, 6].map(most), [true, true, false]);
        let shown = bars(&[Bar::at_most("rate", 6, 5, show)]);
        assert!(shown.ends_with("rate  <= 5/s    6/s  MISSED\n"), "{shown}");
    }
}
