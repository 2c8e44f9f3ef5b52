//! Lists that are longer than one page examines: every filter, walked by cursors to the end, equals the same
//! list filtered by hand; each page says how far it has looked, and questions that a part of the list cannot
//! answer are refused.

use crate::support::{Answer, Client, Setup, TestService, Value, json};

/// How many rows one page examines: enough for a few vouchers or accounts, or this many lines.
const ROWS: u64 = 50;
const SIZE: usize = 3;
const ACCOUNTS: usize = 11;

/// Whether a filter should find a row.
type Wanted = Box<dyn Fn(&Value) -> bool>;

/// A service with more of everything than a page examines: two CVUs that move money, and others.
async fn busy() -> (TestService, [String; 2]) {
    let service = TestService::with(Setup {
        list_rows: ROWS,
        ..Setup::default()
    })
    .await;
    let client = &service.a;
    client.in_and_out().await;
    client.create_type("RARE", "credit").await;
    let mut all = Vec::new();
    for _ in 0..ACCOUNTS {
        all.push(client.cvu().await);
    }
    let (one, two) = (all.swap_remove(3), all.swap_remove(7));
    for (nth, cvu) in [&one, &two].into_iter().enumerate() {
        client.credit(cvu, "1000.00").await;
        for turn in 0..11 {
            let other = [&two, &one][nth];
            client.credit(cvu, &format!("{turn}.50")).await;
            client
                .transfer(cvu, json!({"cvu": other}), "2.00")
                .await
                .is(201);
            let hold = client.hold(cvu, "3.00").await;
            match turn % 3 {
                0 => drop(client.step(&hold, "confirm", "3.00").await.is(200)),
                1 => drop(client.step(&hold, "release", "3.00").await.is(200)),
                _ => {}
            }
        }
        client
            .voucher(cvu, "RARE", "0.01", &format!("rare-{nth}"))
            .await
            .is(201);
    }
    for cvu in all.iter().take(3) {
        client.credit(cvu, "5.00").await;
    }
    (service, [one, two])
}

fn rows(page: &Answer) -> Vec<Value> {
    let rows = page.json.as_array().or(page["items"].as_array());
    rows.unwrap_or_else(|| panic!("{}", page.text)).clone()
}

fn count(number: &Value) -> usize {
    usize::try_from(number.as_u64().unwrap()).unwrap()
}

fn is_wallet(path: &str) -> bool {
    path.starts_with("/wallet")
}

fn paged(path: &str, rest: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    let size = if is_wallet(path) { "pageSize" } else { "limit" };
    format!("{path}{mark}{size}={SIZE}&{rest}")
}

/// Checks a page against what it says of itself; returns whether it examined only a part of the list.
fn is_part(path: &str, page: &Answer) -> bool {
    let (looked, total) = (page.header("x-looked-rows"), page.header("x-total-count"));
    assert_ne!(
        looked.is_empty(),
        total.is_empty(),
        "{path}: {looked} {total}"
    );
    let found = rows(page).len();
    assert!(found <= SIZE, "{path}");
    if looked.is_empty() {
        assert_eq!(page["looked"], Value::Null, "{path}");
        return false;
    }
    let looked: u64 = looked.parse().unwrap();
    if page.json.is_object() && !is_wallet(path) {
        assert_eq!(page["looked"]["rows"], looked, "{path}");
        let until = page["looked"]["until"].as_str().unwrap_or_default();
        assert_eq!(until, page.header("x-looked-until"), "{path}");
        assert!(count(&page["total"]) >= found, "{path}");
    }
    if is_wallet(path) {
        let more = !page.header("x-next-cursor").is_empty();
        assert_eq!(page["totalPages"], 1 + u64::from(more), "{path}");
        assert!(count(&page["totalRecords"]) >= found, "{path}");
    }
    true
}

/// All rows of a list by its cursors, and whether some page examined only a part.
async fn walked(client: &Client, path: &str) -> (Vec<Value>, bool) {
    let (mut all, mut cursor, mut part) = (Vec::new(), String::new(), false);
    loop {
        let page = client
            .get(&paged(path, &format!("cursor={cursor}")))
            .await
            .is(200);
        part |= is_part(path, &page);
        all.extend(rows(&page));
        cursor = page.header("x-next-cursor").to_owned();
        if cursor.is_empty() {
            return (all, part);
        }
    }
}

fn is(name: &'static str, wanted: impl Into<Value>) -> Wanted {
    let wanted = wanted.into();
    Box::new(move |row| row[name] == wanted)
}

fn has(names: &'static [&'static str], text: &'static str) -> Wanted {
    Box::new(move |row| {
        let texts = names.iter().filter_map(|name| match name.split_once('.') {
            Some((outer, inner)) => row[outer][inner].as_str(),
            None => row[*name].as_str(),
        });
        let mut texts = texts.map(str::to_lowercase);
        texts.any(|found| found.contains(text))
    })
}

fn at_least(name: &'static str, least: f64) -> Wanted {
    Box::new(move |row| row[name].as_str().unwrap().parse::<f64>().unwrap() >= least)
}

const VOUCHER: &[&str] = &["id", "idExterno", "description", "referenceId"];
const ACCOUNT: &[&str] = &["cvu", "alias", "holder.name", "holder.cuit"];
const POSITION: &[&str] = &["cvu", "alias", "holderName", "cuit"];

#[actix_web::test]
async fn every_filter_walked_by_cursors_is_the_list_filtered_by_hand() {
    let (service, [one, two]) = busy().await;
    let client = &service.a;
    let of = |list: &str| format!("/v1/accounts/{one}/{list}");
    let (movements, internal) = (of("movements"), "/v1/comprobantes/internal".to_owned());
    let (transfers, accounts) = ("/v1/transfers".to_owned(), "/v1/accounts".to_owned());
    let (positions, wallet) = (
        "/v1/treasury/positions".to_owned(),
        "/wallet/v1/ComprobantesByFilters".to_owned(),
    );
    let first = client.get(&format!("/v1/accounts/{one}")).await.is(200);
    let number = first["walletAccountId"].as_u64().unwrap();
    let of_wallet = format!("{wallet}?idCuenta={number}");
    let own = |cvu: &String| -> Wanted {
        let cvu = cvu.clone();
        Box::new(move |row| row["cvu"] == cvu || row["fromCvu"] == cvu)
    };
    let table: Vec<(&String, String, Wanted)> = vec![
        (
            &movements,
            "type=RARE".into(),
            is("voucherTypeCode", "RARE"),
        ),
        (&movements, "type=debit".into(), is("ledgerType", "debit")),
        (
            &movements,
            "referenceType=transfer".into(),
            is("referenceType", "transfer"),
        ),
        (&movements, "q=rare-0".into(), has(VOUCHER, "rare-0")),
        (&movements, "q=nothing".into(), Box::new(|_| false)),
        (
            &movements,
            "type=hold&from=2020-01-01".into(),
            is("ledgerType", "hold"),
        ),
        (&internal, "tipo=RARE".into(), is("voucherTypeCode", "RARE")),
        (&internal, "tipo=debit".into(), is("ledgerType", "debit")),
        (
            &internal,
            "importeMin=1000".into(),
            at_least("amount", 1000.0),
        ),
        (&internal, "desde=2020-01-01".into(), Box::new(|_| true)),
        (
            &internal,
            format!("cvu={two}&tipo=RARE"),
            Box::new({
                let two = two.clone();
                move |row| row["cvu"] == two && row["voucherTypeCode"] == "RARE"
            }),
        ),
        (&internal, format!("cvu={two}"), own(&two)),
        (
            &transfers,
            "status=completed".into(),
            is("status", "completed"),
        ),
        (&transfers, "status=rejected".into(), Box::new(|_| false)),
        (&transfers, format!("fromCvu={one}"), own(&one)),
        (
            &transfers,
            format!("fromCvu={one}&from=2020-01-01"),
            own(&one),
        ),
        (&transfers, "from=2020-01-01".into(), Box::new(|_| true)),
        (&accounts, "q=7".into(), has(ACCOUNT, "7")),
        (&accounts, "q=7&sort=holderName".into(), has(ACCOUNT, "7")),
        (&accounts, "q=7&sort=cvu".into(), has(ACCOUNT, "7")),
        (&positions, "q=7".into(), has(POSITION, "7")),
        (&positions, "min=5.00".into(), at_least("total", 5.0)),
        (&wallet, "codigo=RARE".into(), is("codigo", "RARE")),
        (&wallet, "signo=-1".into(), is("sentido", "-1")),
        (&wallet, "fechaDesde=2020-01-01".into(), Box::new(|_| true)),
        (&of_wallet, "codigo=HOLD".into(), is("codigo", "HOLD")),
        (&of_wallet, "signo=1".into(), is("sentido", "1")),
    ];
    for (list, filter, wanted) in table {
        let mark = if list.contains('?') { '&' } else { '?' };
        let sort = filter.split('&').find(|part| part.starts_with("sort="));
        for order in ["asc", "desc"] {
            let path = format!("{list}{mark}order={order}&{}", sort.unwrap_or_default());
            let (all, part) = walked(client, path.trim_end_matches('&')).await;
            assert!(!part, "{path}: a list without a filter is known whole");
            let path = format!("{list}{mark}order={order}&{filter}");
            let (found, part) = walked(client, &path).await;
            let right: Vec<_> = all.into_iter().filter(|row| wanted(row)).collect();
            assert_eq!(found, right, "{path}");
            assert!(part, "{path}: the list is longer than a page looks at");
        }
    }
}

#[actix_web::test]
async fn holds_are_walked_by_state_and_open_ones_are_found_without_the_others() {
    let (service, [one, _]) = busy().await;
    let client = &service.a;
    let path = format!("/v1/accounts/{one}/holds");
    let (all, _) = walked(client, &path).await;
    assert_eq!(all.len(), 11);
    for status in ["open", "confirmed", "released", "expired"] {
        let (found, _) = walked(client, &format!("{path}?status={status}")).await;
        let right = all.iter().filter(|hold| hold["status"] == status);
        assert_eq!(found, right.cloned().collect::<Vec<_>>(), "{status}");
    }
    let open = client.get(&format!("{path}?status=open")).await.is(200);
    assert_eq!(open.header("x-total-count"), "3");
}

#[actix_web::test]
async fn parameters_that_a_partial_list_does_not_support_are_refused() {
    let (service, [one, _]) = busy().await;
    let client = &service.a;
    let movements = format!("/v1/accounts/{one}/movements");
    for path in [
        format!("{movements}?type=RARE&offset=5"),
        "/v1/comprobantes/internal?tipo=RARE&offset=3".to_owned(),
        "/v1/transfers?status=completed&offset=9".to_owned(),
        "/v1/accounts?q=nobody&offset=1".to_owned(),
        "/v1/accounts?q=nobody&sort=alias&offset=1".to_owned(),
        "/v1/treasury/positions?min=1000&offset=3".to_owned(),
    ] {
        client.get(&path).await.refused(400, "page_too_far");
    }
    let far = "/wallet/v1/ComprobantesByFilters?codigo=RARE&pageNumber=2";
    let refused = client.get(far).await.refused(400, "page_too_far");
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains("siga con cursor"), "{said}");
    for path in [
        format!("{movements}?sort=amount"),
        "/v1/comprobantes/internal?sort=amount&tipo=RARE".to_owned(),
    ] {
        client.get(&path).await.refused(400, "too_many_to_sort");
    }
    // A short enough period can be sorted, and a page that begins within the bound is found.
    let none = format!("{movements}?sort=amount&to=2020-01-01");
    assert_eq!(client.get(&none).await.is(200).json, json!([]));
    let near = client
        .get(&format!("{movements}?type=credit&offset=1&limit=1"))
        .await
        .is(200);
    assert_eq!(rows(&near).len(), 1);
}
