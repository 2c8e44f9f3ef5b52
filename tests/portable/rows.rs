//! Realms exported as rows for people: the same data as in the API, with the treasury's sums.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{exported, worked};
use crate::backup::text;
use crate::support::client::fresh;
use crate::support::{TestService, Value, cuit, json};

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let all = fs::read_to_string(folder.join(format!("{name}.ndjson"))).unwrap();
    let parse = |line| serde_json::from_str(line).unwrap();
    all.lines().map(parse).collect()
}

fn found<'a>(lines: &'a [Value], name: &str, value: &Value) -> &'a Value {
    let mut all = lines.iter().filter(|it| it[name] == *value);
    let one = all.next().unwrap_or_else(|| panic!("no {name} is {value}"));
    assert!(all.next().is_none(), "{name} {value} twice");
    one
}

/// Whether a line has every field that the API shows.
fn has(line: &Value, body: &Value) -> bool {
    body.as_object()
        .unwrap()
        .iter()
        .all(|(name, value)| line[name] == *value)
}

#[actix_web::test]
async fn tables_have_what_the_api_shows_and_add_up_to_the_treasury() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let formula = json!({"cuit": cuit(fresh()), "holderName": "=HYPERLINK(\"x\",\"y\")", "phone": "+5491155550000"});
    let third = service.b.open_with(formula).await;
    let treasury = service.b.get("/v1/treasury").await.is(200).json.clone();
    let movements = service
        .b
        .get(&format!("/v1/accounts/{}/movements?limit=200", cvus[0]))
        .await;
    let movements = movements.is(200).json.clone();
    let holds = service
        .b
        .get(&format!("/v1/accounts/{}/holds?limit=200", cvus[0]))
        .await;
    let holds = holds.is(200).json.clone();
    let transfers = service
        .b
        .get(&format!("/v1/transfers?fromCvu={}", cvus[0]))
        .await;
    let transfers = transfers.is(200).json.clone();
    service.end(true).await;
    let folder = dir.path().join("json");
    let told = exported(service.data(), &folder, &["--format", "ndjson"]);
    assert_eq!(told["accounts"], 3);
    assert_eq!(
        (&told["available"], &told["held"]),
        (
            &treasury["clientFunds"]["available"],
            &treasury["clientFunds"]["held"]
        )
    );
    let vouchers = lines(&folder, "vouchers");
    assert_eq!(told["vouchers"], vouchers.len());
    let of = |body: &Value| match body.as_array() {
        Some(all) => all.clone(),
        None => body["items"].as_array().unwrap().clone(),
    };
    for (name, bodies) in [
        ("vouchers", movements),
        ("holds", holds),
        ("transfers", transfers),
    ] {
        let (all, bodies) = (lines(&folder, name), of(&bodies));
        assert_eq!(told[name], all.len());
        assert!(!bodies.is_empty(), "{name}");
        for body in bodies {
            let line = found(&all, "id", &body["id"]);
            assert!(has(line, &body), "{line} {body}");
        }
    }
    let accounts = lines(&folder, "accounts");
    let line = found(&accounts, "cvu", &json!(cvus[0]));
    assert_eq!(line["balance"]["held"], "2.50");
    let folder = dir.path().join("csv");
    let same = exported(service.data(), &folder, &["--format", "csv"]);
    assert_eq!(same, told);
    let accounts = fs::read_to_string(folder.join("accounts.csv")).unwrap();
    let cvu = third["cvu"].as_str().unwrap();
    let line = accounts.lines().find(|line| line.contains(cvu)).unwrap();
    assert!(
        line.contains("\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""),
        "{line}"
    );
    assert!(line.contains(",+5491155550000,"), "{line}");
    let vouchers = fs::read_to_string(folder.join("vouchers.csv")).unwrap();
    assert_eq!(told["vouchers"], vouchers.lines().count() - 1);
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, told);
    let left = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 2, "nothing else stays in {}", text(dir.path()));
}
