//! The three verifiers as programs, and that they agree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use caudal_ledger::days::{BankSide, LateBank, SealKey};
use caudal_ledger::money::Money;
use caudal_ledger::seal::{DayLeaf, TreeBuilder};
use serde_json::Value;
use tempfile::TempDir;

use crate::day::{Day, Realm, days};

/// The path of a file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What a program printed and its exit code; `None` if it is not installed.
fn run(name: &str, words: &[String]) -> Option<Output> {
    match Command::new(name).args(words).output() {
        Ok(ended) => Some(ended),
        Err(why) => {
            let needed = std::env::var_os("CAUDAL_REQUIRE_VERIFIERS").is_some();
            assert!(
                !needed,
                "CAUDAL_REQUIRE_VERIFIERS is set, and {name}: {why}"
            );
            println!("not run: {name}: {why}");
            None
        }
    }
}

pub(crate) fn python(script: &str, words: &[String]) -> Option<Output> {
    let script = repository(script).display().to_string();
    run("python3", &[&[script], words].concat())
}

pub(crate) fn node(words: &[String]) -> Option<Output> {
    let file = |path| repository(path).display().to_string();
    let own = [
        file("tests/sealed_days/page.mjs"),
        file("docs/verify/verify-day.html"),
    ];
    run("node", &[own.as_slice(), words].concat())
}

/// The lines on standard output, and the exit code.
pub(crate) fn said(ended: &Output) -> (Vec<String>, Option<i32>) {
    let text = String::from_utf8(ended.stdout.clone()).unwrap();
    (
        text.lines().map(str::to_owned).collect(),
        ended.status.code(),
    )
}

/// Writes files into a folder; returns their paths.
pub(crate) fn written<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, Vec<u8>)>,
) -> Vec<String> {
    let write = |(name, bytes): (&str, Vec<u8>)| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    files.into_iter().map(write).collect()
}

fn bytes(file: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(file).unwrap()
}

/// The words for files, after the key if there is one.
fn words(key: Option<&str>, files: &[String]) -> Vec<String> {
    let key = key.map(|key| vec!["--key".to_owned(), key.to_owned()]);
    [key.unwrap_or_default(), files.to_vec()].concat()
}

fn command(words: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    command.arg("verify-day").args(words).output().unwrap()
}

/// Runs all three; returns what they printed, which is the same.
fn agreed(key: Option<&str>, files: &[String]) -> (Vec<String>, Option<i32>) {
    let words = words(key, files);
    let found = said(&command(&words));
    for (name, ended) in [
        ("python", python("docs/verify/verify_day.py", &words)),
        ("node", node(&words)),
    ] {
        if let Some(ended) = ended {
            let why = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(said(&ended), found, "{name}: {why}");
        }
    }
    found
}

fn three_days(realm: &Realm) -> [Day; 3] {
    days(realm, ["2026-02-28", "2026-03-01", "2026-03-02"], 5_000)
}

#[test]
fn all_verifiers_print_what_they_verified() {
    let realm = Realm::new("acme", 1);
    let [first, second, third] = three_days(&realm);
    let folder = TempDir::new().unwrap();
    let files = [
        ("third.json", bytes(&third.file(&realm))),
        ("first.json", bytes(&first.file(&realm))),
        ("proof.json", bytes(&second.proof(&realm, 4_321))),
        ("same.json", bytes(&second.file(&realm))),
    ];
    let files = written(folder.path(), files);
    let (lines, code) = agreed(Some(&realm.key()), &files);
    assert_eq!(code, Some(0));
    let expected = "proof.json: verified: a proof of 2026-03-01 by caudal/acme/live
  signature: verified with the key that was given
  balance: CVU 0000184300000000043225 has 4191499.63 available and 0.02 held after its voucher 21, and is part of the total
  total: 12122949925.00 available and 149.95 held in 5000 accounts
  bank: 1234.56
  books: bank 12122950100.93, clients 12122950074.95, suspense 12.05, unclassified -0.03, fee_tax 0.10, fees 5.00, \
                    interest 0.07, adjustments -0.20, bank_fees 0.90, bank_taxes 0.11, psp_funds 10.00; they add up
  counts: 125000 vouchers, 155000 events";
    let text = lines.join("\n");
    assert!(text.contains(expected), "{text}");
    let order = [
        "caudal/acme/live: 2026-03-01 follows 2026-02-28",
        "caudal/acme/live: 2026-03-02 follows 2026-03-01",
    ];
    assert!(lines.ends_with(&order.map(str::to_owned)), "{text}");
    let (lines, code) = agreed(None, &[files[1].clone(), files[0].clone()]);
    assert_eq!(code, Some(0));
    let unknown = "  signature: verified with the key in the file; THE KEY ITSELF WAS NOT VERIFIED: give the key that the PSP \
                   publishes";
    assert_eq!(lines[1], unknown);
    let between = "caudal/acme/live: the days between 2026-02-28 and 2026-03-02 were not given: their order was not verified";
    assert_eq!(lines.last().unwrap(), between);
}

#[test]
fn all_verifiers_refuse_another_history_and_go_on_with_the_other_files() {
    let realm = Realm::new("acme", 1);
    let [first, second, _] = three_days(&realm);
    let mut other = second.checkpoint.clone();
    other.previous = None;
    let other = realm.day(other.date, &other.text());
    let other_realm = Day::of(&Realm::new("other", 2), "2026-03-01", 3, None);
    let other_realm = other_realm.file(&Realm::new("other", 2));
    let folder = TempDir::new().unwrap();
    let files = [
        ("first.json", bytes(&first.file(&realm))),
        ("unlinked.json", bytes(&other)),
        ("second.json", bytes(&second.file(&realm))),
        ("other_realm.json", bytes(&other_realm)),
        ("text.json", b"no JSON".to_vec()),
        ("long.json", vec![b' '; (1 << 20) + 1]),
        ("deep.json", vec![b'['; 1 << 20]),
    ];
    let files = written(folder.path(), files);
    let (lines, code) = agreed(None, &files);
    assert_eq!(code, Some(1));
    let refused = lines
        .iter()
        .filter_map(|line| line.split_once(": refused "));
    let refused: Vec<_> = refused
        .map(|(name, why)| {
            let name = name.rsplit('/').next().unwrap();
            (name, why.split(')').next().unwrap())
        })
        .collect();
    let expected = [
        ("unlinked.json", "(previous"),
        ("text.json", "(form: JSON"),
        ("long.json", "(form: more than 1048576 bytes"),
        ("deep.json", "(form: JSON"),
    ];
    assert_eq!(refused, expected);
    // With the key of one realm the file of another is refused.
    let (lines, code) = agreed(Some(&realm.key()), &files[3..4]);
    assert_eq!(code, Some(1));
    assert!(lines[0].contains(": refused (key): "), "{lines:?}");
}

#[test]
fn all_verifiers_follow_a_new_key_that_the_old_one_names() {
    let (old, new, other) = (
        Realm::new("acme", 1),
        Realm::new("acme", 2),
        Realm::new("acme", 3),
    );
    let [mut first, mut second, mut third] = three_days(&old);
    first.checkpoint.next_key = Some(SealKey {
        generation: 2,
        public: new.public(),
    });
    second.checkpoint.previous = Some(first.checkpoint.digest());
    third.checkpoint.previous = Some(second.checkpoint.digest());
    let folder = TempDir::new().unwrap();
    let files = [
        ("1.json", bytes(&first.file(&old))),
        ("2.json", bytes(&second.file(&new))),
        ("3.json", bytes(&third.proof(&new, 4_321))),
        ("old.json", bytes(&second.file(&old))),
        ("other.json", bytes(&second.file(&other))),
    ];
    let files = written(folder.path(), files);
    let refused = |lines: &[String]| {
        let all = lines
            .iter()
            .filter_map(|line| line.split_once(": refused "));
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        all.map(|(path, why)| format!("{} {}", name(path), why.split(':').next().unwrap()))
            .collect::<Vec<_>>()
    };
    for (key, given, expected) in [
        (Some(&old), [0, 1, 2].as_slice(), [].as_slice()),
        // The day that names the new key is enough.
        (Some(&old), &[0, 2], &[]),
        (Some(&new), &[1, 2], &[]),
        (None, &[0, 1, 2], &[]),
        (Some(&old), &[1, 2], &["2.json (key)", "3.json (key)"]),
        (Some(&new), &[0, 1], &["1.json (key)"]),
        // The old key signed after it had named the new one, and a key that nobody named signed.
        (Some(&old), &[0, 3], &["old.json (key)"]),
        (None, &[0, 3], &["old.json (key)"]),
        (Some(&old), &[0, 4], &["other.json (key)"]),
        (None, &[0, 4], &["other.json (key)"]),
    ] {
        let given: Vec<_> = given.iter().map(|at: &usize| files[*at].clone()).collect();
        let (lines, _) = agreed(key.map(Realm::key).as_deref(), &given);
        assert_eq!(refused(&lines), expected, "{lines:?}");
    }
    let (lines, code) = agreed(Some(&old.key()), &files[..3]);
    assert_eq!(code, Some(0));
    let next = format!("  key: the days after it are signed with {}", new.key());
    assert!(lines.contains(&next), "{lines:?}");
    let named = "  signature: verified with the key that an earlier day names".to_owned();
    assert_eq!(lines.iter().filter(|line| **line == named).count(), 2);
}

#[test]
fn a_file_that_is_not_there_and_a_key_that_is_none_are_reported() {
    let ended = command(&["/nowhere/day.json".to_owned()]);
    let (lines, code) = said(&ended);
    assert_eq!(code, Some(1));
    assert!(
        lines[0].starts_with("/nowhere/day.json: refused (file: No such file"),
        "{lines:?}"
    );
    let words = words(
        Some("caudal/acme/live+00000000+AQ=="),
        &["day.json".to_owned()],
    );
    let code = command(&words).status.code();
    assert_eq!(code, Some(2));
    if let Some(ended) = python("docs/verify/verify_day.py", &words) {
        assert_eq!(ended.status.code(), code);
    }
}

#[test]
fn days_without_accounts_with_one_and_without_a_bank_are_verified() {
    let realm = Realm::new("acme", 1);
    let folder = TempDir::new().unwrap();
    let one = Day::of(&realm, "2026-01-02", 1, None);
    let mut empty = Day::of(&realm, "2026-01-01", 0, None).checkpoint;
    let mut files = vec![("none.json", bytes(&realm.day(empty.date, &empty.text())))];
    files.push(("one.json", bytes(&one.proof(&realm, 0))));
    files.push(("day.json", bytes(&one.file(&realm))));
    for (name, bank) in [
        ("pending.json", BankSide::Pending),
        ("bankless.json", BankSide::Absent),
    ] {
        empty.bank = bank;
        let late = LateBank {
            date: empty.date,
            balance: Money::from_centavos(1_205),
            digest: empty.digest(),
        };
        empty.late = vec![late; 3];
        let realm = Realm::new(name.split('.').next().unwrap(), 3);
        empty.origin = realm.origin.clone();
        files.push((name, bytes(&realm.day(empty.date, &empty.text()))));
    }
    // Two histories begin here: the first day names no day before it.
    let files = written(folder.path(), files);
    let (lines, code) = agreed(None, &files[..1]);
    assert_eq!(code, Some(0), "{lines:?}");
    let (lines, code) = agreed(None, &files[1..]);
    assert_eq!(code, Some(0), "{lines:?}");
    assert!(
        lines.contains(&"  bank: pending, a later day has it".to_owned()),
        "{lines:?}"
    );
    assert!(lines.contains(&"  bank: none".to_owned()), "{lines:?}");
}

/// The examples of the documents are what the ledger makes; `CAUDAL_UPDATE_EXAMPLES=1` writes them anew.
#[test]
fn the_examples_are_verified_and_those_of_the_ledger() {
    let realm = Realm::new("example", 42);
    let [_, day] = days(&realm, ["2026-02-28", "2026-03-01"], 3);
    let examples = [
        ("docs/verify/example-proof.json", day.proof(&realm, 1)),
        ("docs/verify/example-day.json", day.file(&realm)),
    ];
    for (path, file) in examples {
        let path = repository(path);
        let text = format!("{}\n", serde_json::to_string_pretty(&file).unwrap());
        if std::env::var_os("CAUDAL_UPDATE_EXAMPLES").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let (lines, code) = agreed(Some(&realm.key()), &[path.display().to_string()]);
        assert_eq!(code, Some(0), "{lines:?}");
    }
}

#[test]
fn a_proof_among_a_million_accounts_has_at_most_4096_bytes() {
    let realm = Realm::new("a-tenant-with-quite-a-long-name", 1);
    let day = Day::of(&realm, "2026-03-01", 1_000_000, None);
    let begun = Instant::now();
    let nodes = day.leaves.iter().map(DayLeaf::node);
    let root = nodes.collect::<TreeBuilder>().root();
    println!("a tree of 1,000,000 leaves: {:?}", begun.elapsed());
    assert_eq!(root, day.checkpoint.root);
    let begun = Instant::now();
    let proof = serde_json::to_vec(&day.proof(&realm, 765_432)).unwrap();
    println!("{} bytes, made in {:?}", proof.len(), begun.elapsed());
    assert!(proof.len() <= 4_096, "{}", proof.len());
    let folder = TempDir::new().unwrap();
    let files = written(folder.path(), [("proof.json", proof.clone())]);
    let begun = Instant::now();
    assert!(crate::sealed::verify(&proof).is_ok());
    println!("verified in {:?}", begun.elapsed());
    assert_eq!(agreed(Some(&realm.key()), &files).1, Some(0));
}
