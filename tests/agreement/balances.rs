//! Present and past balances, vouchers by their external ids, and the treasury: in both families, and
//! in the book.

use std::collections::BTreeMap;

use super::book::{Account, Book, Entry, checks, instant, written};
use super::play::{Play, centavos};
use super::walk::{List, Paging};
use crate::support::{Answer, SOON, Value, json, wait_until};

/// Checks the three amounts of a native body.
#[track_caller]
pub fn native(body: &Value, (available, held): (i64, i64), what: &str) {
    let right = [
        ("available", available),
        ("held", held),
        ("total", available + held),
    ];
    for (name, right) in right {
        assert_eq!(body[name], written(right), "{name} of {what}: {body}");
    }
}

/// Checks the four amounts of a body of the wallet family.
#[track_caller]
pub fn wallet(body: &Value, (available, held): (i64, i64), what: &str) {
    let right = [
        ("availableBalance", available),
        ("heldBalance", held),
        ("totalBalance", available + held),
    ];
    for (name, right) in right {
        assert_eq!(body[name], written(right), "{name} of {what}: {body}");
    }
    number(&body["saldo"], available, what);
}

/// Checks an amount that is a JSON number.
#[track_caller]
pub fn number(value: &Value, right: i64, what: &str) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{what}: {value}"));
    assert_eq!(format!("{value:.2}"), written(right), "{what}");
}

/// The accounts that have a CVU, newest first.
pub fn with_cvu(book: &Book) -> Vec<(usize, &Account)> {
    let all = book.accounts.iter().enumerate().rev();
    all.filter(|(_, account)| account.cvu.is_some()).collect()
}

/// The accounts whose positions are listed.
pub fn positions(book: &Book) -> Vec<&Account> {
    let listed =
        |account: &&Account| account.status != "closed" || account.available + account.held > 0;
    let all = with_cvu(book).into_iter().map(|(_, account)| account);
    all.filter(listed).collect()
}

/// Checks that the snapshot of each family is the sum of that family's positions, and of the book.
pub async fn treasury(play: &Play, size: usize) {
    let (client, book) = (play.client(), &play.book);
    let sums = book
        .accounts
        .iter()
        .fold((0, 0), |(available, held), account| {
            (available + account.available, held + account.held)
        });
    // While the bank is slow to answer, the snapshot is that of its last answer, and says so.
    let taken = wait_until("a snapshot as of the last posting", SOON, async || {
        let taken = client.get("/v1/treasury").await.is(200);
        (taken["sequence"] == book.entries.len()).then_some(taken)
    });
    let taken = taken.await;
    native(&taken["clientFunds"], sums, "treasury");
    let spanish = client.get("/wallet/v1/Tesoreria").await.is(200);
    for (name, right) in [
        ("saldoDisponible", sums.0),
        ("saldoRetenido", sums.1),
        ("saldoClientes", sums.0 + sums.1),
    ] {
        number(&spanish[name], right, name);
    }
    for (status, estado) in [
        ("active", "activas"),
        ("suspended", "suspendidas"),
        ("closed", "cerradas"),
    ] {
        let all = with_cvu(book).into_iter();
        let right = all.filter(|(_, account)| account.status == status).count();
        assert_eq!(taken["accounts"][status], right, "{status}");
        assert_eq!(spanish["cuentas"][estado], right, "{estado}");
    }
    let listed = List::of(client, "/v1/treasury/positions", Paging::Offset, size);
    let (listed, mut left) = (listed.all().await, sums);
    for position in &listed {
        left.0 -= centavos(position["available"].as_str().unwrap());
        left.1 -= centavos(position["held"].as_str().unwrap());
    }
    assert_eq!(left, (0, 0), "positions do not sum up");
    let clients = List::of(client, "/wallet/v1/SaldosClientes", Paging::Page, size);
    let (clients, right) = (clients.all().await, positions(book));
    assert_eq!((listed.len(), clients.len()), (right.len(), right.len()));
    for ((position, client), account) in listed.iter().zip(&clients).zip(right) {
        one_position(position, client, account);
    }
    let current = List::of(client, "/wallet/v1/SaldosActuales", Paging::Page, size);
    let (current, right) = (current.all().await, with_cvu(book));
    assert_eq!(current.len(), right.len());
    for (balance, (_, account)) in current.iter().zip(right) {
        assert_eq!(balance["idCuenta"], account.id);
        assert_eq!(balance["cvu"], json!(account.cvu));
        wallet(balance, (account.available, account.held), "SaldosActuales");
    }
}

/// Checks a client's position, in both families' words.
fn one_position(native_body: &Value, wallet_body: &Value, account: &Account) {
    let funds = (account.available, account.held);
    native(native_body, funds, "position");
    wallet(wallet_body, funds, "SaldoCliente");
    for (english, spanish, right) in [
        ("walletAccountId", "idCuenta", json!(account.id)),
        ("cvu", "cvu", json!(account.cvu)),
        ("alias", "alias", json!(account.alias)),
        ("holderName", "nombre", json!(account.name)),
        ("cuit", "cuitCuil", json!(account.cuit)),
    ] {
        assert_eq!(native_body[english], right, "{english}");
        assert_eq!(wallet_body[spanish], right, "{spanish}");
    }
    assert_eq!(native_body["status"], account.status);
    assert_eq!(
        native_body["lastMovementAt"],
        wallet_body["fechaUltimoMovimiento"]
    );
}

/// Checks each account alone: its present balance, and the one at the end of each day.
pub async fn one_by_one(play: &Play) {
    let (client, book) = (play.client(), &play.book);
    for (at, account) in with_cvu(book) {
        let (cvu, id) = (account.cvu.as_ref().unwrap(), account.id);
        assert!(checks(cvu), "{cvu}");
        let funds = (account.available, account.held);
        let now = client.balance(cvu).await;
        native(&now, funds, cvu);
        assert_eq!(now["sequence"], book.of(at).len());
        let position = client.get(&format!("/v1/treasury/positions/{cvu}")).await;
        let position = position.is(200).json;
        for path in [format!("ByCVU/{cvu}"), format!("ByIdCuenta/{id}")] {
            let path = format!("/wallet/v1/SaldoCliente{path}");
            let read = client.get(&path).await.is(200);
            one_position(&position, &read.json, account);
            // The number is written to the centavo, as the text is.
            let exact = format!(r#""saldo":{},"#, written(funds.0));
            assert!(read.text.contains(&exact), "{}", read.text);
        }
        for day in book.days() {
            past(play, at, account, &day).await;
        }
    }
}

async fn past(play: &Play, at: usize, account: &Account, day: &str) {
    let (client, book) = (play.client(), &play.book);
    let cvu = account.cvu.as_ref().unwrap();
    let (available, held, count) = book.closing(at, day);
    let turned: Vec<_> = day.split('-').rev().collect();
    let turned = turned.join("-");
    for path in [
        format!("/v1/accounts/{cvu}/balance/historical?date={day}"),
        format!("/v1/treasury/positions/{cvu}/balance/historical?date={day}"),
    ] {
        let then = client.get(&path).await.is(200);
        native(&then.json, (available, held), &path);
        assert_eq!(then["sequence"], count, "{path}");
        let today = book.days().last().is_some_and(|last| last == day);
        assert_eq!(then["final"], !today, "{path}");
    }
    for path in [
        format!("SaldoHistoricoByIdCuenta/{}?fecha={turned}", account.id),
        format!("SaldoHistoricoByIdCuenta/{}?date={day}", account.id),
        format!("SaldoClienteHistoricoByCVU/{cvu}?date={turned}"),
    ] {
        let then = client.get(&format!("/wallet/v1/{path}")).await.is(200);
        wallet(&then.json, (available, held), &path);
        assert_eq!(then["date"], day, "{path}");
        assert_eq!(
            (&then["cvu"], &then["idCuenta"]),
            (&json!(cvu), &json!(account.id))
        );
    }
}

/// Checks each adjustment by its external id, in both families, with a direction and without.
pub async fn externals(play: &Play) {
    let (client, book) = (play.client(), &play.book);
    let types = client.get("/v1/voucher-types").await.is(200);
    let listed: BTreeMap<_, _> = types
        .json
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["system"] == false)
        .map(|it| {
            (
                it["code"].as_str().unwrap(),
                (it["legacyId"].clone(), it["active"].clone()),
            )
        })
        .collect();
    let right = book.types.iter().filter(|it| !it.removed);
    let right: BTreeMap<_, _> = right
        .map(|it| (it.code.as_str(), (json!(it.id), json!(it.active))))
        .collect();
    assert_eq!(listed, right);
    // A voucher keeps the number of its type even if the type is removed.
    let numbers: BTreeMap<_, _> = book
        .types
        .iter()
        .map(|it| (it.code.as_str(), (json!(it.id), Value::Null)))
        .collect();
    for ((external, direction), nth) in &book.externals {
        let sign = if *direction == "credit" { "1" } else { "-1" };
        let both = book
            .externals
            .range((external.clone(), "")..=(external.clone(), "z"));
        let both: Vec<_> = both.map(|(_, nth)| &book.entries[*nth]).collect();
        let last = both.iter().map(|entry| entry.at).max();
        let newest: Vec<_> = both.into_iter().filter(|it| Some(it.at) == last).collect();
        for (found, english, spanish) in [
            (
                vec![&book.entries[*nth]],
                format!("?direction={direction}"),
                format!("?sentido={sign}"),
            ),
            (newest, String::new(), String::new()),
        ] {
            let path = format!("/v1/comprobantes/by-external/{external}{english}");
            let native = client.get(&path).await.is(200);
            let path = format!("/wallet/v1/ComprobanteByIdExterno/{external}{spanish}");
            let wallet = client.get(&path).await.is(200);
            // Of two vouchers posted at the same instant either may be the newest, but the same one
            // for both families.
            let entry = found.iter().find(|it| native["id"] == json!(it.id));
            let entry = entry.unwrap_or_else(|| panic!("{found:?}: {}", native.text));
            let id = entry.id.as_ref().unwrap();
            let by_id = client.get(&format!("/v1/comprobantes/{id}")).await.is(200);
            assert_eq!(by_id.text, native.text);
            voucher(book, entry, &native.json, &wallet.json, &numbers);
            exact(&wallet, entry);
        }
    }
}

/// The system types in the order of their numbers, from 1, with their names in the wallet family.
const SYSTEM: &[(&str, &str)] = &[
    ("CREDIT", "Crédito"),
    ("DEBIT", "Débito"),
    ("HOLD", "Retención"),
    ("RELEASE", "Liberación de retención"),
    ("CONFIRM_HOLD", "Confirmación de retención"),
    ("TRANSFER_IN", "Transferencia recibida"),
    ("TRANSFER_OUT", "Transferencia enviada"),
    ("TRANSFER_REVERSAL", "Devolución de transferencia"),
    ("INTERNAL_P2P_IN", "Transferencia interna recibida"),
    ("INTERNAL_P2P_OUT", "Transferencia interna enviada"),
    ("FEE", "Comisión"),
    ("FEE_TAX", "Impuesto sobre comisión"),
    ("REMUNERATION", "Remuneración de saldo"),
];

/// Checks that both bodies of a voucher match the movement in the book.
pub fn voucher(
    book: &Book,
    entry: &Entry,
    native: &Value,
    wallet: &Value,
    types: &BTreeMap<&str, (Value, Value)>,
) {
    let account = &book.accounts[entry.account];
    let sign = match entry.direction {
        "credit" | "release" => "1",
        _ => "-1",
    };
    let kind = types.get(entry.code.as_str());
    let system = SYSTEM.iter().position(|(code, _)| *code == entry.code);
    let (nth, spanish) = (system.map(|at| at + 1), system.map(|at| SYSTEM[at].1));
    let (available, held) = entry.after;
    for (name, right) in [
        ("cvu", json!(account.cvu)),
        ("amount", json!(written(entry.centavos))),
        ("availableAfter", json!(written(available))),
        ("heldAfter", json!(written(held))),
        ("totalAfter", json!(written(available + held))),
        ("voucherTypeCode", json!(entry.code)),
        ("ledgerType", json!(entry.direction)),
        ("createdAt", json!(instant(entry.at))),
    ] {
        assert_eq!(native[name], right, "{name} of {native}");
    }
    for (name, right) in [
        ("idComprobante", native["id"].clone()),
        (
            "descripcionTipoComprobante",
            spanish.map_or_else(|| native["voucherTypeName"].clone(), |name| json!(name)),
        ),
        ("fecha", json!(instant(entry.at))),
        ("sentido", json!(sign)),
        ("idExterno", native["idExterno"].clone()),
        ("cvu", json!(account.cvu)),
        (
            "idTipoComprobante",
            kind.map_or_else(|| json!(nth), |(id, _)| id.clone()),
        ),
        ("idCuenta", json!(account.id)),
        ("referencia", native["description"].clone()),
        ("fechaExterna", Value::Null),
    ] {
        assert_eq!(wallet[name], right, "{name} of {wallet}");
    }
    number(&wallet["importe"], entry.centavos, "importe");
    number(&wallet["saldo"], available, "saldo");
    if let Some(external) = &entry.external {
        assert_eq!(native["idExterno"], json!(external));
    }
}

/// Checks that the numbers of a voucher are written to the centavo.
fn exact(wallet: &Answer, entry: &Entry) {
    for part in [
        format!(r#""importe":{},"#, written(entry.centavos)),
        format!(r#""saldo":{},"#, written(entry.after.0)),
    ] {
        assert!(wallet.text.contains(&part), "{}", wallet.text);
    }
}
