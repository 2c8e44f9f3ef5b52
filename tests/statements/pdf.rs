//! A statement as a PDF: every text in it is whole, in whatever letters, for people and for programs that copy it.

use std::collections::HashMap;
use std::process::Command;

use tempfile::TempDir;

use super::{ADDRESS, FORMS, begun, statement};
use crate::support::client::fresh;
use crate::support::{TestService, cuit, json};

/// Letters of many scripts, all of which the font has.
const LETTERS: &str =
    "Łukasz Kovačević Đorđe Ødegård Şükrü Nguyễn Ελένη Иванов Հայկ ქართული Åsa œuvre ½ € — …";
/// Characters that the font lacks, and one that cannot be seen.
const STRANGE: &str = "李小龙 🎉 한글\u{fe0f} हिन्दी";

/// The streams of a file without compression.
fn streams(file: &[u8]) -> Vec<&[u8]> {
    let place = |from: usize, what: &[u8]| {
        let rest = &file[from..];
        rest.windows(what.len())
            .position(|it| it == what)
            .map(|at| from + at + what.len())
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(length) = place(at, b"/Length ") {
        let digits = file[length..]
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .count();
        let digits = std::str::from_utf8(&file[length..length + digits]).unwrap();
        let begin = place(length, b"stream\n").unwrap();
        at = begin + digits.parse::<usize>().unwrap();
        found.push(&file[begin..at]);
    }
    found
}

/// What the codes of a font stand for.
fn codes(table: &str) -> HashMap<u16, String> {
    let pairs = table
        .lines()
        .filter_map(|line| line.strip_prefix('<')?.strip_suffix('>')?.split_once("> <"));
    let pairs = pairs.filter(|(code, _)| *code != "0000");
    let text = |hex: &str| {
        let units = hex.as_bytes().chunks(4).map(|digits| {
            let digits = std::str::from_utf8(digits).unwrap();
            u16::from_str_radix(digits, 16).unwrap()
        });
        String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
    };
    pairs
        .map(|(code, hex)| (u16::from_str_radix(code, 16).unwrap(), text(hex)))
        .collect()
}

/// The bytes of a string of a page.
fn bytes(text: &str) -> Vec<u8> {
    if let Some(hex) = text.strip_prefix('<') {
        let hex = hex.trim_end_matches('>');
        let pairs = hex.as_bytes().chunks(2).map(|digits| {
            let digits = std::str::from_utf8(digits).unwrap();
            u8::from_str_radix(digits, 16).unwrap()
        });
        return pairs.collect();
    }
    let inside = text.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let (mut all, mut chars) = (Vec::new(), inside.unwrap().chars());
    while let Some(c) = chars.next() {
        let c = match (c, c == '\\') {
            (c, false) => c,
            (_, true) => match chars.next().unwrap() {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'b' => '\x08',
                'f' => '\x0c',
                digit @ '0'..='7' => {
                    let octal: String = [digit].into_iter().chain(chars.by_ref().take(2)).collect();
                    char::from(u8::from_str_radix(&octal, 8).unwrap())
                }
                other => other,
            },
        };
        all.push(u8::try_from(u32::from(c)).unwrap());
    }
    all
}

/// The characters that the pages show, in the order in which they are drawn, without spaces.
pub fn shown(file: &[u8]) -> String {
    let (mut fonts, mut pages) = (Vec::new(), Vec::new());
    for stream in streams(file) {
        match std::str::from_utf8(stream) {
            Ok(table) if table.contains("begincmap") => fonts.push(codes(table)),
            Ok(page) if page.contains(" Tf\n") => pages.push(page),
            _ => {}
        }
    }
    let (mut all, mut font) = (String::new(), &fonts[0]);
    for line in pages.iter().flat_map(|page| page.lines()) {
        if line.ends_with(" Tf") {
            font = &fonts[usize::from(line.starts_with("/F2 "))];
        }
        let Some(text) = line.strip_suffix(" Tj") else {
            continue;
        };
        let text = bytes(text);
        let (codes, []) = text.as_chunks::<2>() else {
            panic!("{line}");
        };
        all.extend(
            codes
                .iter()
                .map(|code| font[&u16::from_be_bytes(*code)].as_str()),
        );
    }
    all.replace([' ', '\u{a0}'], "")
}

/// What a reader copies from a file, without spaces. Machines without the tool skip this, unless
/// `CAUDAL_REQUIRE_PDFTOTEXT` is set.
fn copied(file: &[u8], dir: &TempDir) -> Option<String> {
    let path = dir.path().join("copied.pdf");
    std::fs::write(&path, file).unwrap();
    let said = Command::new("pdftotext")
        .args(["-raw", "-enc", "UTF-8"])
        .arg(&path)
        .arg("-")
        .output();
    let said = match said {
        Ok(said) => said,
        Err(why) => {
            let needed = std::env::var_os("CAUDAL_REQUIRE_PDFTOTEXT").is_some();
            assert!(!needed, "pdftotext: {why}");
            println!("not run: pdftotext: {why}");
            return None;
        }
    };
    let problems = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() && problems.is_empty(), "{problems}");
    let text = String::from_utf8(said.stdout).unwrap();
    Some(text.replace(|c: char| c.is_whitespace() || c == '\u{c}', ""))
}

/// A text without spaces, with the characters that the font lacks as their code points.
fn drawn(text: &str) -> String {
    let chars = text.chars().filter(|c| *c != ' ');
    let strange = |c: char| {
        STRANGE
            .contains(c)
            .then(|| format!("[U+{:04X}]", u32::from(c)))
    };
    chars
        .map(|c| strange(c).unwrap_or_else(|| c.to_string()))
        .collect()
}

#[actix_web::test]
async fn no_text_is_replaced_or_cut() {
    let dir = TempDir::new().unwrap();
    let (service, clock) = begun(&dir).await;
    let client = &service.a;
    let provider = format!(
        "Pagos {STRANGE} {}",
        &LETTERS.chars().take(50).collect::<String>()
    );
    let stated = json!({"cuit": "30500001735", "address": ADDRESS});
    service
        .tenant(&json!({"name": provider, "provider": stated}))
        .await;
    let holder: String = format!("{LETTERS} {STRANGE}").chars().take(100).collect();
    let opened = client
        .open_with(json!({"cuit": cuit(fresh()), "holderName": holder}))
        .await;
    let cvu = opened["cvu"].as_str().unwrap().to_owned();
    let kind = json!({"code": "LONG", "name": "Ñ".repeat(80), "sense": "credit"});
    client.post("/v1/voucher-types", &kind).await.is(201);
    let texts = [
        LETTERS.to_owned(),
        format!("pago (1) \\ \"x\" {STRANGE}"),
        "W".repeat(200),
        "🎉".repeat(200),
        "alquiler de octubre ".repeat(10).trim().to_owned(),
    ];
    let reference = "ñ".repeat(64);
    let mut last = json!(null);
    for (number, text) in (1..).zip(&texts) {
        clock.set(&format!("2026-10-0{number}T12:00:00Z"));
        let id = if number == 1 {
            reference.clone()
        } else {
            format!("pdf-{}", fresh())
        };
        let body = json!({
            "voucherTypeCode": "LONG", "amount": "1234567890123.45", "idExterno": id, "description": text,
        });
        let path = format!("/v1/accounts/{cvu}/comprobantes");
        last = client.post(&path, &body).await.is(201)["id"].clone();
    }
    let path = format!("/v1/comprobantes/{}/reverse", last.as_str().unwrap());
    let part = json!({"amount": "0.45", "idExterno": "pdf-back"});
    client.post(&path, &part).await.is(201);
    let reversal = "Reversa del movimiento N.º 5".to_owned();
    clock.set("2026-11-02T12:00:00Z");
    let days = ("2026-10-01", "2026-10-31");
    let form = statement(client, &cvu, days, FORMS[3]).await;
    assert_eq!(form.status, 200);
    let shown = shown(&form.bytes);
    let whole = [
        &provider,
        &ADDRESS.to_owned(),
        &"CUIT 30-50000173-5".to_owned(),
        &holder,
        &reference,
        &reversal,
        &kind["name"].as_str().unwrap().to_owned(),
    ];
    for text in whole.into_iter().chain(&texts) {
        assert!(shown.contains(&drawn(text)), "{text} is not in {shown}");
    }
    assert!(
        shown.contains("1.234.567.890.123,45") && !shown.contains('?'),
        "{shown}"
    );
    if let Some(copied) = copied(&form.bytes, &dir) {
        for text in [&provider, &holder, &reference].into_iter().chain(&texts) {
            assert!(
                copied.contains(&text.replace(' ', "")),
                "{text} is not in {copied}"
            );
        }
    }
    assert_eq!(statement(client, &cvu, days, FORMS[3]).await, form);
}

#[actix_web::test]
async fn what_moved_on_the_rail_has_its_coelsa_id() {
    let service = TestService::start().await;
    service.hear().await;
    let today = || service.engine().now().business_day().to_string();
    let (client, first) = (&service.a, today());
    client.in_and_out().await;
    let cvu = client.cvu().await;
    let arrived = service.bank.cash_in(&cvu, "10.00").await;
    service.heard().await;
    let to = json!({"alias": "DESTINO.0"});
    let sent = client.transfer(&cvu, to, "4.00").await;
    let sent = client.settled(&sent.is(201).json, "completed").await;
    let left = sent["coelsaId"].as_str().unwrap();
    client.credit(&cvu, "1.00").await;
    let last = today();
    let all = async |form| statement(client, &cvu, (&first, &last), form).await;
    let whole = all(FORMS[0]).await.json();
    let lines = whole["lines"].as_array().unwrap();
    let ids: Vec<_> = lines.iter().map(|line| line["coelsaId"].as_str()).collect();
    assert_eq!(ids.first(), Some(&Some(&*arrived)), "{whole}");
    assert_eq!((ids.last(), ids.contains(&Some(left))), (Some(&None), true));
    let (pages, entries) = (shown(&all(FORMS[3]).await.bytes), all(FORMS[2]).await);
    let table = all(FORMS[1]).await;
    for id in [&arrived, left] {
        assert!(pages.contains(&format!("COELSA{id}")), "{pages}");
        let entry = format!("<ClrSysRef>{id}</ClrSysRef>");
        assert!(entries.text().contains(&entry), "{entry}");
        assert!(table.text().contains(&format!(",{id}\n")), "{id}");
    }
}
