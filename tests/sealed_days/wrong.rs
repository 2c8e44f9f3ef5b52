//! Every part of a proof and of a day, changed by somebody else or wrong from the start: each is refused for what it is.

use caudal_ledger::chain::Digest;
use caudal_ledger::money::Sum;
use caudal_ledger::seal::{DayLeaf, SumNode, TreeBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::day::{Checkpoint, Day, Realm, base64, days};
use crate::programs::{node, python, said, written};
use crate::sealed::{Refusal, Verified, VerifierKey, compare, verify};

/// The word for what is wrong.
pub(crate) fn word(line: &str) -> &str {
    let word = line.split_once("refused (").map(|(_, rest)| rest);
    word.map_or("verified", |rest| rest.split([':', ')']).next().unwrap())
}

pub(crate) fn verified(file: &[u8], key: Option<&VerifierKey>) -> Result<Verified, Refusal> {
    let mut files = [(String::new(), verify(file))];
    compare(&mut files, key);
    let [(_, found)] = files;
    found
}

/// A file with the word for what is wrong with it.
type Case = (&'static str, Value, &'static str);

/// Changes a file at one place.
fn set(file: &Value, place: &str, to: impl Into<Value>) -> Value {
    let mut file = file.clone();
    let to = to.into();
    assert_ne!(file.pointer(place), Some(&to), "{place}");
    *file.pointer_mut(place).unwrap() = to;
    file
}

fn remove(file: &Value, place: &str) -> Value {
    let mut file = file.clone();
    let (within, name) = place.rsplit_once('/').unwrap();
    match file.pointer_mut(within).unwrap() {
        Value::Object(fields) => fields.remove(name).map(drop).unwrap(),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        other => panic!("{other} has no parts"),
    }
    file
}

/// Changes a text in the checkpoint without signing it anew.
fn write(file: &Value, change: &str) -> Value {
    let change = change.replace("\\n", "\n");
    let (from, to) = change.split_once(" => ").unwrap();
    let checkpoint = file["checkpoint"].as_str().unwrap();
    let (before, after) = checkpoint.rsplit_once(from).unwrap();
    set(file, "/checkpoint", [before, to, after].concat())
}

/// What the table has.
fn in_the_table(realm: &Realm, day: &Day) -> Vec<Case> {
    let (proof, file) = (day.proof(realm, 77), day.file(realm));
    let other = day.proof(realm, 78);
    let rows = include_str!("changes.table").lines();
    let case = |row: &'static str| {
        let cells: Vec<_> = row.split(" | ").collect();
        let [kind, change, word, name] = cells[..] else {
            panic!("{row}")
        };
        let file = if kind.trim() == "proof" {
            &proof
        } else {
            &file
        };
        let (verb, rest) = change.trim().split_once(' ').unwrap();
        let changed = match verb {
            "set" => {
                let (place, to) = rest.split_once(' ').unwrap();
                let to: Value = serde_json::from_str(to).unwrap();
                set(file, place, to)
            }
            "other" => set(file, rest, other.pointer(rest).unwrap().clone()),
            "remove" => remove(file, rest),
            "write" => write(file, change.split_once(' ').unwrap().1),
            unknown => panic!("{unknown}"),
        };
        (name, changed, word.trim())
    };
    rows.filter(|row| !row.starts_with('#')).map(case).collect()
}

/// What needs more than a change of one value.
fn changed_by_others(realm: &Realm, day: &Day) -> Vec<Case> {
    let (proof, file) = (day.proof(realm, 77), day.file(realm));
    let other_realm = Realm::new("acme", 9);
    let key = realm.key();
    let mut long = proof.clone();
    let step = proof["path"][0].clone();
    long["path"].as_array_mut().unwrap().push(step.clone());
    let many = set(&proof, "/path", vec![step; 65]);
    let signed = other_realm.sign(&day.checkpoint.text());
    let two = file["checkpoint"].as_str().unwrap().to_owned() + realm.sign("").trim_start();
    vec![
        ("a step more", long, "path"),
        ("65 steps", many, "form"),
        ("two signatures", set(&file, "/checkpoint", two), "form"),
        (
            "signed by another",
            set(&file, "/checkpoint", signed),
            "key",
        ),
        (
            "key of another",
            set(&file, "/key", other_realm.key()),
            "key",
        ),
        ("capital digits", set(&file, "/key", capital(&key)), "key"),
    ]
}

/// A key whose id is written in capital letters.
fn capital(key: &str) -> String {
    let parts: Vec<_> = key.splitn(3, '+').collect();
    assert_ne!(parts[1], parts[1].to_uppercase());
    [parts[0], &parts[1].to_uppercase(), parts[2]].join("+")
}

fn less(sum: Sum) -> Sum {
    sum.minus(Sum::from_centavos(1_000))
}

/// What a realm may sign and what is wrong all the same.
fn wrong_from_the_start(realm: &Realm, day: &Day) -> Vec<Case> {
    let signed = |change: &dyn Fn(&mut Checkpoint)| {
        let mut checkpoint = day.checkpoint.clone();
        change(&mut checkpoint);
        realm.day(day.checkpoint.date, &checkpoint.text())
    };
    let proof_with = |change: &dyn Fn(&mut Checkpoint)| {
        let checkpoint = signed(change)["checkpoint"].clone();
        set(&day.proof(realm, 77), "/checkpoint", checkpoint)
    };
    // The total is less than the sum of the accounts, and the books agree with it.
    let short = |day: &mut Checkpoint| {
        day.root.available = less(day.root.available);
        for book in &mut day.books {
            if ["bank", "clients"].contains(&book.account.as_str()) {
                book.balance = less(book.balance);
            }
        }
    };
    let books = |day: &mut Checkpoint| day.books[5].balance = Sum::from_centavos(1);
    let without = |day: &mut Checkpoint| {
        day.books.remove(4);
    };
    let mut empty = Day::of(realm, "2026-03-01", 0, None).checkpoint;
    empty.root.hash = Digest::default();
    let origin = |day: &mut Checkpoint| day.origin = "caudal/other/live".to_owned();
    let date = |day: &mut Checkpoint| day.date = day.date.next();
    vec![
        ("a total below the sum", proof_with(&short), "sums"),
        (
            "clients that are not the total",
            signed(&|day| day.root.held = less(day.root.held)),
            "books",
        ),
        ("books that do not add up", signed(&books), "books"),
        (
            "suspense that is not the books'",
            signed(&|day| day.suspense = Sum::default()),
            "books",
        ),
        ("books without an account", signed(&without), "form"),
        (
            "another size",
            proof_with(&|day| day.accounts = 9_000),
            "path",
        ),
        ("a size of 1", proof_with(&|day| day.accounts = 1), "path"),
        ("a size of 0", proof_with(&|day| day.accounts = 0), "path"),
        (
            "another root",
            proof_with(&|day| day.root.hash = Digest::default()),
            "path",
        ),
        ("another day", proof_with(&date), "date"),
        ("another realm", signed(&origin), "key"),
        (
            "no accounts and another root",
            realm.day(empty.date, &empty.text()),
            "sums",
        ),
        ("accounts below zero", below_zero(realm), "negative"),
        (
            "a checkpoint that goes on",
            realm.day(day.checkpoint.date, &(day.checkpoint.text() + "more\n")),
            "form",
        ),
        (
            "an empty checkpoint",
            realm.day(day.checkpoint.date, ""),
            "form",
        ),
    ]
}

/// Days that name the key of the days after them, and not as they may.
fn wrong_next_keys(realm: &Realm, day: &Day) -> Vec<Case> {
    let with = |lines: String| {
        let text = day.checkpoint.text();
        let text = text.replace("\nprevious ", &format!("\n{lines}previous "));
        realm.day(day.checkpoint.date, &text)
    };
    let own = format!("key {}\n", realm.key());
    let other = format!("key {}\n", Realm::new("other", 2).key());
    vec![
        ("a next key of another realm", with(other), "key"),
        ("two next keys", with(own.repeat(2)), "form"),
        ("no next key", with("key \n".to_owned()), "form"),
    ]
}

/// The proof of an honest balance next to a made-up account that is below zero, so that the total is less than what clients
/// have.
fn below_zero(realm: &Realm) -> Value {
    let mut day = Day::of(realm, "2026-03-01", 2, None);
    let owed = day.leaves[1].available;
    let fake = DayLeaf {
        available: Sum::from_centavos(-50),
        ..day.leaves[0]
    };
    let leaves = [fake, day.leaves[1]];
    let root: SumNode = leaves
        .iter()
        .map(DayLeaf::node)
        .collect::<TreeBuilder>()
        .root();
    let before = day.checkpoint.owed();
    for book in &mut day.checkpoint.books {
        if ["bank", "clients"].contains(&book.account.as_str()) {
            let clients = root.available.plus(root.held);
            book.balance = book.balance.minus(before).plus(clients);
        }
    }
    day.checkpoint.root = root;
    assert!(root.available < owed);
    let node = fake.node();
    let mut proof = day.proof(realm, 1);
    proof["path"][0]["hash"] = base64(&node.hash.0).into();
    proof["path"][0]["available"] = json!(node.available.to_string());
    proof
}

#[test]
fn every_part_of_a_file_is_refused_by_all_verifiers_when_it_is_wrong() {
    let realm = Realm::new("acme", 1);
    let [_, day] = days(&realm, ["2026-02-28", "2026-03-01"], 5_000);
    let mut cases = in_the_table(&realm, &day);
    cases.extend(changed_by_others(&realm, &day));
    cases.extend(wrong_from_the_start(&realm, &day));
    cases.extend(wrong_next_keys(&realm, &day));
    for (name, file, expected) in &cases {
        let found = verified(&serde_json::to_vec(file).unwrap(), None);
        let line = found.map_or_else(|why| why.to_string(), |it| it.lines().join("; "));
        assert_eq!(word(&line), *expected, "{name}: {line}");
    }
    let folder = TempDir::new().unwrap();
    let names: Vec<_> = (0..cases.len()).map(|at| format!("{at:02}.json")).collect();
    let files = names.iter().zip(&cases);
    let files =
        files.map(|(name, (_, file, _))| (name.as_str(), serde_json::to_vec(file).unwrap()));
    let files = written(folder.path(), files);
    for (program, ended) in [
        ("python", python("docs/verify/verify_day.py", &files)),
        ("node", node(&files)),
    ] {
        let Some(ended) = ended else { continue };
        let (lines, code) = said(&ended);
        let why = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(
            (lines.len(), code),
            (cases.len(), Some(1)),
            "{program}: {why}"
        );
        for (line, (name, _, expected)) in lines.iter().zip(&cases) {
            assert_eq!(word(line), *expected, "{program}, {name}: {line}");
        }
    }
}

#[test]
fn a_day_that_does_not_name_the_one_before_is_refused() {
    let realm = Realm::new("acme", 1);
    let [first, second, third] = days(&realm, ["2026-02-28", "2026-03-01", "2026-03-02"], 3);
    let found = |day: &Day| {
        let file = serde_json::to_vec(&day.file(&realm)).unwrap();
        ("name".to_owned(), verified(&file, None))
    };
    let mut other = Day::of(&realm, "2026-03-01", 4, Some(first.checkpoint.digest()));
    let order = |days: &[&Day]| {
        let mut files: Vec<_> = days.iter().map(|day| found(day)).collect();
        let lines = compare(&mut files, None).len();
        (
            lines,
            files
                .iter()
                .filter(|(_, it)| *it.as_ref().err().unwrap_or(&Refusal::Key) == Refusal::Previous)
                .count(),
        )
    };
    assert_eq!(order(&[&third, &first, &second]), (2, 0));
    assert_eq!(order(&[&first, &third]), (1, 0));
    // Two checkpoints of a day that both name the one before it.
    assert_eq!(order(&[&first, &second, &other, &third]), (2, 1));
    // The third names the second one, and not this.
    assert_eq!(order(&[&first, &other, &third]), (1, 1));
    other.checkpoint.previous = None;
    assert_eq!(order(&[&first, &other]), (0, 1));
}
