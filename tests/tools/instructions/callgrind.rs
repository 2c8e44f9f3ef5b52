//! The output of callgrind: instructions by function.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

/// The instructions that each function executed itself, without those of the functions that it called.
pub(super) type Profile = BTreeMap<String, u64>;

/// Functions that spin until another thread arrives: their number of iterations is chance.
const WAITING: [&str; 3] = [
    "sled::lazy::Lazy",
    "once_cell::imp::OnceCell",
    "sched_yield",
];

/// Whether valgrind can be run.
pub(super) fn is_here() -> bool {
    let mut asked = Command::new("valgrind");
    asked.arg("--version").stdout(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Runs a program under callgrind, and returns its profile, which is also written to a file.
///
/// # Errors
/// When valgrind cannot be run, or the program fails.
pub(super) fn count(program: &Path, args: &[String], out: &Path) -> anyhow::Result<Profile> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(args);
    let ran = command.output().context("running valgrind")?;
    ensure!(
        ran.status.success(),
        "{} under valgrind ended with {}: {}",
        program.display(),
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
    parse(&std::fs::read_to_string(out).with_context(|| format!("reading {}", out.display()))?)
}

/// Parses a profile in callgrind's format, version 1, with names written out; leaves out the functions that wait.
///
/// # Errors
/// When the text has another format, or its total is not the sum of its lines.
pub(super) fn parse(text: &str) -> anyhow::Result<Profile> {
    let mut profile = Profile::new();
    let (mut function, mut called, mut total) = (String::new(), false, None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = plain(name);
        } else if line.starts_with("calls=") {
            called = true;
        } else if let Some(sum) = line.strip_prefix("totals: ") {
            total = Some(sum.trim().parse::<u64>().context("callgrind's sum")?);
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // This line repeats the cost of a called function, which has its own lines.
            if !std::mem::take(&mut called) {
                let cost = line.split_whitespace().nth(1);
                let cost = cost.context("a line of callgrind without its cost")?;
                let cost: u64 = cost.parse().context("a cost of callgrind")?;
                let sum = profile.entry(function.clone()).or_default();
                *sum = sum.strict_add(cost);
            }
        }
    }
    let sum: u64 = profile.values().sum();
    profile.retain(|name, _| !WAITING.iter().any(|waiting| name.contains(waiting)));
    match total {
        Some(total) if total == sum => Ok(profile),
        Some(total) => bail!("callgrind's lines are {sum} instructions, its sum is {total}"),
        None => bail!("this is no profile of callgrind"),
    }
}

/// A function's name without the parts that differ between builds.
fn plain(name: &str) -> String {
    let (path, hash) = name.rsplit_once("::h").unwrap_or((name, ""));
    let hashed = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    let name = if hashed { path } else { name };
    // A recursive function's name includes its depth.
    let name = name.split_once('\'').map_or(name, |(name, _)| name);
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "version: 1\ncreator: callgrind-3\npositions: line\nevents: Ir\n\nob=/x\nfl=/a.rs\n\
        fn=caudal::post::h0123456789abcdef\n12 100\n+1 20\ncfn=caudal::seal\ncalls=3 7\n+2 4000\n* 5\n\n\
        fn=caudal::seal\n7 4000\n\nfn=caudal::post::hffffffffffffffff\n9 1\n\ntotals: 4126\n";

    #[test]
    fn each_function_has_what_it_executed_itself() {
        let profile = parse(PROFILE).unwrap();
        let rows: Vec<_> = profile.iter().map(|(n, c)| (n.as_str(), *c)).collect();
        assert_eq!(rows, [("caudal::post", 126), ("caudal::seal", 4000)]);
    }

    #[test]
    fn truncated_or_foreign_bytes_are_no_profile() {
        assert!(parse("").is_err());
        assert!(parse(&PROFILE.replace("4126", "4127")).is_err());
        assert!(parse(PROFILE.split("totals").next().unwrap()).is_err());
    }
}
