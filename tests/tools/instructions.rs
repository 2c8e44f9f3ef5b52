//! The instructions of one answer, compared with the recorded figure.
//!
//! **Shape.** Each case of [`Counted`] runs twice under callgrind, with different numbers of answers; the difference in
//! instructions divided by the difference in answers is the cost of one, independent of other activity on the machine.
//! `instructions.table` has the figure of each case and of the functions that take most of it.
//!
//! **Bounds.** A case that costs over [`WORSE`] percent more than its figure fails, and the report names the functions
//! that grew. If a case costs that much less, its figure should be rewritten (`--to`), so that the gain is
//! kept.
//!
//! **Failure.** Without valgrind nothing is counted, and the report says so. Counts depend on the build and the
//! machine: the table is of a release build on x86-64.

mod callgrind;
pub(crate) mod counted;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use caudal_bench::{Folder, say};

use crate::Options;
use callgrind::Profile;
use counted::Counted;

/// Count the instructions of an answer of each kind, and compare them with the table of this program
///
/// Needs valgrind. It is a failure if one costs more than 5 % more.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the counts to a file as a new table, and compare nothing
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// How much more than its figure a case may cost, in percent.
const WORSE: u64 = 5;
/// The most times that a case is counted.
const TRIES: usize = 3;
/// The table has every function with at least one part in this many of a case.
const PARTS: u64 = 100;
/// The most functions that are named for a case that costs more.
const NAMED: usize = 8;
/// The comment above the table.
const HEADER: &str = "# Instructions of one answer, by case: all of them, then the functions with a hundredth or more.\n\
    # Written by `caudal-tools instructions --to FILE` of a release build on x86-64.\n";

/// The cost of one answer of each case: in total, and by function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table(BTreeMap<String, Costs>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Costs {
    all: u64,
    functions: Profile,
}

impl Table {
    /// The table that the program was built with.
    ///
    /// # Errors
    /// When it cannot be read.
    fn kept() -> anyhow::Result<Self> {
        Self::parse(include_str!("instructions.table"))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut table = BTreeMap::<String, Costs>::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (case, cost) = (words.next(), words.next());
            let (Some(case), Some(cost)) = (case, cost) else {
                continue;
            };
            let cost = cost.parse().with_context(|| format!("`{line}`"))?;
            let costs = table.entry(case.to_owned()).or_default();
            match words.next() {
                None => costs.all = cost,
                Some(function) => drop(costs.functions.insert(function.to_owned(), cost)),
            }
        }
        Ok(Self(table))
    }

    /// Whether a case may have this cost.
    fn allows(&self, case: &str, cost: u64) -> bool {
        let most = |costs: &Costs| costs.all.strict_mul(100 + WORSE) / 100;
        self.0.get(case).map(most).is_some_and(|most| cost <= most)
    }

    /// Compares another table with this one.
    fn compare(&self, now: &Self) -> Compared {
        let line = |(case, now): (&String, &Costs)| {
            let before = self.0.get(case);
            Line {
                case: case.clone(),
                before: before.map(|before| before.all),
                now: now.all,
                worse: !self.allows(case, now.all),
                grew: before.map_or_else(Vec::new, |before| grew(before, now)),
            }
        };
        Compared(now.0.iter().map(line).collect())
    }
}

/// The functions that cost more than before, by falling difference.
fn grew(before: &Costs, now: &Costs) -> Vec<(String, u64, u64)> {
    let more = |(name, cost): (&String, &u64)| {
        let was = before.functions.get(name).copied().unwrap_or_default();
        (*cost > was).then(|| (name.clone(), was, *cost))
    };
    let mut grew: Vec<_> = now.functions.iter().filter_map(more).collect();
    grew.sort_by_key(|(_, was, cost)| std::cmp::Reverse(cost.strict_sub(*was)));
    grew.truncate(NAMED);
    grew
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        for (case, costs) in &self.0 {
            writeln!(f, "\n{case} {}", costs.all)?;
            let mut functions: Vec<_> = costs.functions.iter().collect();
            functions.sort_by_key(|(name, cost)| (std::cmp::Reverse(**cost), (*name).clone()));
            for (name, cost) in functions {
                if cost.strict_mul(PARTS) >= costs.all {
                    writeln!(f, "{case} {cost} {name}")?;
                }
            }
        }
        Ok(())
    }
}

/// Each case with its figure.
#[derive(Clone, Debug)]
struct Compared(Vec<Line>);

#[derive(Clone, Debug)]
struct Line {
    case: String,
    before: Option<u64>,
    now: u64,
    worse: bool,
    grew: Vec<(String, u64, u64)>,
}

impl Compared {
    /// Whether every case stays within its limit.
    fn holds(&self) -> bool {
        self.0.iter().all(|line| !line.worse)
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12} {:>12} {:>12}", "answer", "table", "now")?;
        for line in &self.0 {
            let before = line.before.map_or("none".to_owned(), |n| n.to_string());
            let part = line.before.and_then(|n| {
                let part = line.now.checked_mul(1000)?.checked_div(n)?;
                Some(format!("  {}.{:03}", part / 1000, part % 1000))
            });
            let part = part.unwrap_or_default();
            let end = if line.worse { "  FAIL" } else { "" };
            writeln!(
                f,
                "{:<12} {before:>12} {:>12}{part}{end}",
                line.case, line.now
            )?;
            if line.worse {
                for (name, was, cost) in &line.grew {
                    writeln!(f, "    {was:>12} {cost:>12}  {name}")?;
                }
            }
        }
        Ok(())
    }
}

/// Counts each case in a folder until it is within its figure, at most [`TRIES`] times, and returns the lowest count of
/// each.
///
/// A busy machine only adds instructions (more timer interrupts, returned pages), so the lowest count is the best.
///
/// # Errors
/// When a run fails.
fn count(folder: &Path, kept: &Table) -> anyhow::Result<Table> {
    let mut table = Table::default();
    for case in Counted::ALL {
        let mut least: Option<Costs> = None;
        for _ in 0..TRIES {
            let costs = count_one(folder, case)?;
            let less = least.take().filter(|least| least.all <= costs.all);
            let least = least.insert(less.unwrap_or(costs));
            if kept.allows(case.name(), least.all) {
                break;
            }
        }
        let least = least.context("no try")?;
        table.0.insert(case.name().to_owned(), least);
    }
    Ok(table)
}

fn count_one(folder: &Path, case: Counted) -> anyhow::Result<Costs> {
    let program = std::env::current_exe().context("the program itself")?;
    let (few, many) = case.answers();
    let run = |answers: u64| {
        say(&format!("counting {answers} of {}", case.name()));
        let stores = folder.join("counted");
        let args = ["counted", case.name(), &answers.to_string()].map(str::to_owned);
        let args = [&args[..], &[stores.display().to_string()]].concat();
        let profile = callgrind::count(&program, &args, &folder.join("callgrind.out"))?;
        std::fs::remove_dir_all(&stores)
            .with_context(|| format!("removing {}", stores.display()))?;
        anyhow::Ok(profile)
    };
    Ok(between(&run(few)?, &run(many)?, many.strict_sub(few)))
}

/// The cost of one answer, from two profiles that differ by this many answers.
fn between(few: &Profile, many: &Profile, answers: u64) -> Costs {
    let each = |(name, cost): (&String, &u64)| {
        let more = cost.checked_sub(few.get(name).copied().unwrap_or_default())?;
        Some((name.clone(), more.checked_div(answers)?))
    };
    let sum = |profile: &Profile| profile.values().sum::<u64>();
    let more = sum(many).checked_sub(sum(few));
    Costs {
        all: more
            .and_then(|more| more.checked_div(answers))
            .unwrap_or_default(),
        functions: many.iter().filter_map(each).collect(),
    }
}

/// Counts, compares, and prints; writes the table if requested. Returns whether every case passes.
///
/// # Errors
/// When a run fails, or the table cannot be read or written.
pub(crate) fn run(args: &Args, options: &Options) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    if !callgrind::is_here() {
        writeln!(out, "instructions: not run, valgrind is not installed")?;
        return Ok(true);
    }
    let folder = Folder::new(options.dir.as_deref(), options.keep)?;
    let kept = Table::kept()?;
    // To write a table, count as often as allowed, because no count is low enough to stop early.
    let enough = match args.to {
        Some(_) => &Table::default(),
        None => &kept,
    };
    let now = count(&folder.path, enough)?;
    let compared = kept.compare(&now);
    write!(out, "{compared}")?;
    let Some(to) = &args.to else {
        return Ok(compared.holds());
    };
    std::fs::write(to, now.to_string()).with_context(|| format!("writing {}", to.display()))?;
    writeln!(out, "the table is in {}", to.display())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::parse(text).unwrap()
    }

    #[test]
    fn a_higher_instruction_count_fails_and_names_the_case() {
        let kept = table("# a comment\n\npage 1000\npage 600 render\npage 300 scan\n");
        assert!(kept.compare(&table("page 1050\npage 650 render\n")).holds());
        let worse = kept.compare(&table(
            "page 1051\npage 600 render\npage 351 scan\npage 90 new",
        ));
        assert!(!worse.holds());
        let shown = worse.to_string();
        let names: Vec<&str> = shown
            .lines()
            .skip(2)
            .filter_map(|l| l.split_whitespace().last())
            .collect();
        assert_eq!(names, ["new", "scan"], "{shown}");
        assert!(shown.contains("1.051") && shown.contains("FAIL"), "{shown}");
    }

    #[test]
    fn a_case_without_a_figure_fails() {
        assert!(!Table::default().compare(&table("page 1")).holds());
    }

    #[test]
    fn every_case_has_its_figure_and_a_table_reads_back() {
        let kept = Table::kept().unwrap();
        let names: Vec<&str> = kept.0.keys().map(String::as_str).collect();
        let mut cases = Counted::ALL.map(Counted::name);
        cases.sort_unstable();
        assert_eq!(names, cases);
        assert!(
            kept.0
                .values()
                .all(|costs| costs.all > 0 && !costs.functions.is_empty())
        );
        assert_eq!(table(&kept.to_string()), kept);
    }

    #[test]
    fn one_answer_is_the_difference_by_their_number() {
        let of =
            |post: u64, start: u64| Profile::from([("post".into(), post), ("start".into(), start)]);
        let one = between(&of(300, 70), &of(1100, 70), 8);
        assert_eq!(
            (one.all, one.functions["post"], one.functions["start"]),
            (100, 100, 0)
        );
    }
}
