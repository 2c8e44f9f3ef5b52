//! Vectors of other implementations. Each file names its source.

use std::fs;
use std::process::Output;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_ledger::chain::Digest;
use caudal_ledger::money::Sum;
use caudal_ledger::seal::{Side, SumNode, key_id, path, signed_note, verifier_key};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::programs::{node, python, repository, written};
use crate::sealed::{VerifierKey, is_signature, open_note};

fn vectors(name: &str, list: &str) -> Vec<Value> {
    let path = repository("tests/sealed_days/vectors").join(name);
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(file["source"].as_str().unwrap().len() > 20);
    file[list].as_array().unwrap().clone()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn base64(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

/// A note of the vectors as `seal.rs` writes it.
fn note(vector: &Value) -> String {
    let key: Vec<&str> = text(vector, "key").splitn(3, '+').collect();
    let public: [u8; 32] = base64(key[2])[1..].try_into().unwrap();
    let signature: [u8; 64] = base64(text(vector, "signature"))[4..].try_into().unwrap();
    assert_eq!(verifier_key(key[0], &public), text(vector, "key"));
    assert_eq!(key_id(key[0], &public).to_vec(), hex(key[1]));
    signed_note(text(vector, "text"), key[0], &public, &signature)
}

#[test]
fn notes_are_written_and_opened_as_the_go_library_does() {
    for vector in vectors("sumdb_note.json", "notes") {
        let note = note(&vector);
        let (content, name) = (text(&vector, "text"), text(&vector, "name"));
        let signature = text(&vector, "signature");
        assert_eq!(note, format!("{content}\n\u{2014} {name} {signature}\n"));
        let key = VerifierKey::parse(text(&vector, "key")).unwrap();
        assert_eq!(open_note(&note, &key), Ok(content));
    }
}

/// Every key that the Go library refuses: cut at either end, changed in a byte, of another kind or length.
fn bad_keys() -> Vec<String> {
    let mut bad: Vec<_> = vectors("sumdb_note.json", "badKeys");
    let good = &vectors("sumdb_note.json", "notes")[0];
    let good = text(good, "key");
    let cuts = (0..=good.len()).flat_map(|from| (from + 1..=good.len()).map(move |to| from..to));
    bad.extend(
        cuts.filter(|cut| cut.len() < good.len())
            .map(|cut| json!(good.get(cut).unwrap())),
    );
    for at in 0..good.len() {
        let mut bytes = good.as_bytes().to_vec();
        bytes[at] += 1;
        bad.push(json!(String::from_utf8(bytes).unwrap()));
    }
    bad.iter()
        .map(|key| key.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn signatures_notes_and_keys_are_accepted_and_refused_as_others_do() {
    let mut signatures = vectors("rfc8032.json", "signatures");
    signatures.extend(vectors("wycheproof_ed25519.json", "signatures"));
    let notes = vectors("sumdb_note.json", "notes");
    let mut keys: Vec<_> = notes.iter().map(|it| text(it, "key").to_owned()).collect();
    keys.extend(bad_keys());
    let valid: Vec<_> = signatures
        .iter()
        .map(|it| it["valid"].as_bool().unwrap())
        .collect();
    assert!(valid.iter().filter(|valid| **valid).count() > 80);
    assert!(valid.iter().filter(|valid| !**valid).count() > 60);
    for (it, valid) in signatures.iter().zip(&valid) {
        let part = |field| hex(text(it, field));
        let found = is_signature(&part("public"), &part("message"), &part("signature"));
        assert_eq!(found, *valid, "{it}");
    }
    let accepted = |key: &String| VerifierKey::parse(key).is_some();
    assert_eq!(keys.iter().filter(|key| accepted(key)).count(), notes.len());
    println!(
        "{} signatures, {} notes, {} keys",
        signatures.len(),
        notes.len(),
        keys.len()
    );

    let expected = json!({
        "signatures": valid,
        "notes": notes.iter().map(|it| text(it, "text")).collect::<Vec<_>>(),
        "keys": keys.iter().map(accepted).collect::<Vec<_>>(),
    });
    let notes = notes
        .iter()
        .map(|it| json!({"key": text(it, "key"), "note": note(it)}));
    let notes: Vec<_> = notes.collect();
    let file = json!({"signatures": signatures, "notes": notes, "keys": keys});
    let folder = TempDir::new().unwrap();
    let content = serde_json::to_vec(&file).unwrap();
    let files = written(folder.path(), [("vectors.json", content)]);
    let words = ["--vectors".to_owned(), files[0].clone()];
    let programs: [(&str, Option<Output>); 2] = [
        ("python", python("tests/sealed_days/vectors.py", &files)),
        ("node", node(&words)),
    ];
    for (name, ended) in programs {
        let Some(ended) = ended else { continue };
        let why = String::from_utf8_lossy(&ended.stderr).into_owned();
        let found: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
        for list in ["signatures", "notes", "keys"] {
            assert_eq!(found[list], expected[list], "{name}, {list}: {why}");
        }
    }
}

/// The path of a place in a tree has the sides of the inclusion proof of another implementation: followed with the hashes of
/// that proof, they lead to its root.
#[test]
fn the_tree_has_the_shape_of_rfc_6962() {
    let nothing = SumNode {
        hash: Digest::default(),
        available: Sum::default(),
        held: Sum::default(),
    };
    for proof in vectors("rfc6962_inclusion.json", "proofs") {
        let number = |field: &str| usize::try_from(proof[field].as_u64().unwrap()).unwrap();
        let steps = path(&vec![nothing; number("size")], number("index"));
        let hashes = proof["proof"].as_array().unwrap();
        assert_eq!(steps.len(), hashes.len(), "{proof}");
        let mut hash = base64(text(&proof, "leaf"));
        for (step, sibling) in steps.iter().zip(hashes) {
            let sibling = base64(sibling.as_str().unwrap());
            let children = match step.side {
                Side::Left => [sibling, hash],
                Side::Right => [hash, sibling],
            };
            let node = [vec![1], children.concat()].concat();
            hash = digest(&SHA256, &node).as_ref().to_vec();
        }
        assert_eq!(hash, base64(text(&proof, "root")), "{proof}");
    }
}
