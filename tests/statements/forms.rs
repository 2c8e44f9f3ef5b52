//! The forms of a statement: all have the same movements and the same sums, and nobody's text becomes a formula, a
//! tag or the end of anything.

use tempfile::TempDir;

use super::{FORMS, HOSTILE, begun, camt, october, pdf, worked};
use crate::support::Value;

/// The centavos of an amount that is a text.
fn centavos(amount: &Value) -> i64 {
    let digits = amount.as_str().unwrap().replace('.', "");
    digits.parse().unwrap()
}

/// The cells of a CSV text, row by row.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => cell.extend(chars.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(c),
        }
    }
    assert!(
        row.is_empty() && cell.is_empty() && !quoted,
        "it is cut off"
    );
    rows
}

/// The business day of a line: the transfers of [`worked`] are posted before midnight in Buenos Aires, when it is
/// already the next day in UTC.
fn day(line: &Value) -> String {
    let at = line["createdAt"].as_str().unwrap();
    if at.starts_with("2026-10-20T02:59:59") {
        "2026-10-19".to_owned()
    } else {
        at.split_once('T').unwrap().0.to_owned()
    }
}

#[actix_web::test]
async fn all_forms_say_the_same() {
    let dir = TempDir::new().unwrap();
    let (service, clock) = begun(&dir).await;
    let cvu = worked(&service, &clock).await;
    clock.set("2026-11-02T12:00:00Z");
    let all = october(&service.a, &cvu).await;
    let whole = all[0].json();
    let lines = whole["lines"].as_array().unwrap();
    let sums = &whole["sums"];
    let sum = |direction: &str| centavos(&sums[direction]["amount"]);
    let (opening, closing) = (&whole["opening"]["total"], &whole["closing"]["total"]);
    assert_eq!(opening, "100.00");
    assert_eq!(
        centavos(opening) + sum("credit") - sum("debit") - sum("confirmHold"),
        centavos(closing)
    );
    assert_eq!(whole["movements"], lines.len());
    assert_eq!(lines[0]["sequence"], 2);
    let last = lines.last().unwrap();
    assert_eq!(last["sequence"], whole["lastSequence"]);
    assert_eq!(
        (&last["totalAfter"], &whole["holderName"]),
        (closing, &HOSTILE.into())
    );
    let listed = format!("/v1/accounts/{cvu}/movements?order=asc&from=2026-10-01&to=2026-10-31");
    let listed = service.a.get(&listed).await.is(200).json;
    let ids = |list: &Value| -> Vec<Value> {
        let list = list.as_array().unwrap().iter();
        list.map(|it| it["id"].clone()).collect()
    };
    assert_eq!(ids(&listed), ids(&whole["lines"]));

    let table = rows(all[1].text());
    assert_eq!(table.len(), lines.len() + 3);
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    let column = |name: &str| table[0].iter().position(|it| it == name).unwrap();
    for (row, line) in table[2..].iter().zip(lines) {
        for name in ["id", "amount", "totalAfter", "createdAt", "ledgerType"] {
            assert_eq!(row[column(name)], line[name].as_str().unwrap());
        }
        assert_eq!(row[column("createdAt.date")], day(line));
        assert_eq!(row[column("cvu")], cvu);
    }
    let ends = [&table[1], table.last().unwrap()];
    let records = ends.map(|row| row[column("record")].as_str());
    assert_eq!(records, ["opening", "closing"]);
    let totals = ends.map(|row| row[column("totalAfter")].as_str());
    assert_eq!(totals, [opening, closing].map(|it| it.as_str().unwrap()));
    for row in &table {
        for cell in row {
            assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell}");
        }
    }
    assert_eq!(table[2][column("description")], format!("'{HOSTILE}"));

    let entries = camt::read(all[2].text());
    assert_eq!(entries.balances["OPBD"], opening.as_str().unwrap());
    assert_eq!(entries.balances["CLBD"], closing.as_str().unwrap());
    assert_eq!(
        entries.balances["CLAV"],
        whole["closing"]["available"].as_str().unwrap()
    );
    let booked = ["credit", "debit", "confirm_hold"];
    let booked = lines
        .iter()
        .filter(|it| booked.contains(&it["ledgerType"].as_str().unwrap()));
    let booked = booked.map(|it| {
        let text = it["description"].as_str().unwrap_or_default();
        (it["sequence"].to_string(), day(it), text.to_owned())
    });
    assert_eq!(entries.entries, booked.collect::<Vec<_>>());
    assert_eq!(entries.created, "2026-10-31T23:59:59.999-03:00");
    assert_eq!(entries.owner, HOSTILE);

    let pages = &all[3].bytes;
    assert!(pages.starts_with(b"%PDF-1.") && pages.trim_ascii_end().ends_with(b"%%EOF"));
    let shown = pdf::shown(pages);
    assert!(shown.contains("1.234.567,89") && shown.contains(&cvu));
    let dated = pages.windows(4).any(|it| it == b"Date");
    assert!(!dated, "a file has no date of its making");
    for (form, media) in all.iter().zip(FORMS) {
        assert!(form.headers["content-type"].starts_with(media), "{media}");
        assert_eq!(form.headers["vary"], "accept");
        let named = form.headers.get("content-disposition");
        assert_eq!(named.is_some(), media != FORMS[0]);
    }
}
