//! Checks of names: the glossary of the code names what is declared, and no deleted word comes back.

use std::collections::BTreeSet;

use super::documents::declared;
use super::{files, none, rust};

/// The glossary of the code.
const GLOSSARY: &str = "docs/internals/words.md";
/// The deleted words, one a line, each with the term that took its place.
const DELETED: &str = include_str!("deleted_words.txt");

/// The words of a name, in small letters: `AccountState` and `account_state` have two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut small = false;
    for c in name.chars() {
        if c.is_alphabetic() {
            if words.is_empty() || (c.is_uppercase() && small) {
                words.push(String::new());
            }
            words.last_mut().unwrap().extend(c.to_lowercase());
        } else {
            words.push(String::new());
        }
        small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A line of code without its texts and its comment.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap();
    line.split('"').step_by(2).collect()
}

#[test]
fn no_deleted_word_comes_back() {
    let deleted: BTreeSet<_> = DELETED
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(deleted.len() > 10, "only {} words", deleted.len());
    let mut found = Vec::new();
    for (name, text) in rust() {
        for (n, line) in text.lines().enumerate() {
            let code = code(line);
            let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let back = names.flat_map(words).find(|word| deleted.contains(&**word));
            found.extend(back.map(|word| format!("{name}:{}: {word}", n + 1)));
        }
    }
    none(&found, "tests/tidy/deleted_words.txt has the term to use");
}

#[test]
fn the_glossary_names_what_is_declared() {
    let files = files();
    let (_, text) = files.iter().find(|(name, _)| name == GLOSSARY).unwrap();
    let declared = declared();
    let heads = ["| word |", "| --- |"];
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !heads.iter().any(|head| line.starts_with(head)))
        .collect();
    assert!(rows.len() > 40, "only {} rows", rows.len());
    let names = rows
        .iter()
        .flat_map(|row| row.split('`').skip(1).step_by(2));
    let missing: Vec<_> = names
        .filter(|name| name.starts_with(|c: char| c.is_uppercase()))
        .filter(|name| !declared.contains(*name))
        .map(str::to_owned)
        .collect();
    none(&missing, "the glossary names what is declared");
    let terms: Vec<_> = rows
        .iter()
        .filter_map(|row| row.split('|').nth(1))
        .collect();
    let unique: BTreeSet<_> = terms.iter().collect();
    assert_eq!(unique.len(), terms.len(), "each word has one line");
}

#[test]
fn names_are_split_into_words() {
    assert_eq!(words("AccountState"), ["account", "state"]);
    assert_eq!(words("account_state"), ["account", "state"]);
    assert_eq!(words("LANES_MAX"), ["lanes", "max"]);
    assert_eq!(code("let a = \"a text\"; // a comment"), "let a = ; ");
}
