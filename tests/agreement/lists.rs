//! Lists of accounts, positions and movements: the same rows in both families, each once, and under
//! filters those that the book finds.

use std::collections::BTreeMap;

use super::balances::{positions, voucher, with_cvu};
use super::book::{Account, Book, Entry, day_of, written};
use super::play::Play;
use super::walk::{List, Paging};
use crate::support::{Value, json};

/// The numbers in a field of each row.
fn ids(rows: &[Value], name: &str) -> Vec<u64> {
    rows.iter().map(|row| row[name].as_u64().unwrap()).collect()
}

/// The text in lower case, and without accents.
fn folded(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.replace('á', "a").replace('í', "i")
}

/// Texts to search for.
fn texts(book: &Book) -> Vec<String> {
    let mut texts = vec!["PAZ".to_owned(), "nadie".to_owned(), "1".to_owned()];
    for account in &book.accounts {
        texts.push(folded(&account.name));
        texts.push(account.cuit.chars().skip(2).take(7).collect());
        texts.extend(
            account
                .cvu
                .as_ref()
                .map(|cvu| cvu.chars().skip(12).collect()),
        );
        texts.extend(account.alias.as_ref().map(|alias| alias.to_uppercase()));
        texts.extend(account.code.clone());
    }
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Whether a text search of the native family finds an account.
fn named(account: &Account, text: &str) -> bool {
    let wanted = folded(text);
    let parts = [
        Some(&account.name),
        Some(&account.cuit),
        account.cvu.as_ref(),
        account.alias.as_ref(),
    ];
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| folded(part).contains(&wanted))
}

/// Whether a text search of the wallet family finds an account.
fn known_by(account: &Account, text: &str) -> bool {
    let wanted = folded(text);
    let digits = wanted.replace('-', "");
    let parts = [Some(&account.name), account.code.as_ref()];
    account.id.to_string() == wanted
        || (!digits.is_empty() && account.cuit.contains(&digits))
        || parts
            .into_iter()
            .flatten()
            .any(|part| folded(part).contains(&wanted))
}

/// Checks the list of accounts in both families.
pub async fn accounts(play: &Play, size: usize) {
    let (client, book) = (play.client(), &play.book);
    let listed = List::of(client, "/v1/accounts", Paging::Offset, size)
        .all()
        .await;
    let cuentas = List::of(client, "/wallet/v1/Cuentas", Paging::Page, size)
        .all()
        .await;
    let everyone: Vec<_> = book.accounts.iter().rev().map(|it| it.id).collect();
    assert_eq!(ids(&cuentas, "id"), everyone);
    let own: Vec<_> = with_cvu(book).iter().map(|(_, it)| it.id).collect();
    assert_eq!(ids(&listed, "walletAccountId"), own);
    for cuenta in &cuentas {
        let id = cuenta["id"].as_u64().unwrap();
        let account = book.accounts.iter().find(|it| it.id == id).unwrap();
        for (name, right) in [
            ("cuitCuil", json!(account.cuit)),
            ("habilitado", json!(account.enabled)),
            ("codigo", json!(account.code)),
            ("cvu", json!(account.cvu)),
            ("alias", json!(account.alias)),
        ] {
            assert_eq!(cuenta[name], right, "{name}: {cuenta}");
        }
        let alone = client.get(&format!("/wallet/v1/Cuenta/{id}")).await.is(200);
        assert_eq!(&alone.json, cuenta);
    }
    for (row, (_, account)) in listed.iter().zip(with_cvu(book)) {
        for (name, right) in [
            ("cvu", json!(account.cvu)),
            ("alias", json!(account.alias)),
            ("status", json!(account.status)),
            ("enabled", json!(account.enabled)),
            ("externalId", json!(account.code)),
        ] {
            assert_eq!(row[name], right, "{name}: {row}");
        }
        assert_eq!(row["holder"]["cuit"], account.cuit.as_str());
        assert_eq!(row["holder"]["name"], account.name.as_str());
    }
    for cuit in &play.holders {
        let of = client
            .get(&format!("/wallet/v1/CuentaByCuit?cuit={cuit}"))
            .await;
        let right = book.accounts.iter().filter(|it| it.cuit == *cuit);
        let right: Vec<_> = right.map(|it| it.id).collect();
        assert_eq!(ids(of.is(200).json.as_array().unwrap(), "id"), right);
    }
    unique(book);
}

/// Checks that no CVU, alias, code or number occurs twice.
fn unique(book: &Book) {
    let once = |mut all: Vec<String>| {
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "{all:?}");
    };
    let all = || book.accounts.iter();
    once(all().filter_map(|it| it.cvu.clone()).collect());
    once(
        all()
            .filter_map(|it| it.alias.as_deref().map(str::to_lowercase))
            .collect(),
    );
    once(all().filter_map(|it| it.code.clone()).collect());
    once(all().map(|it| it.id.to_string()).collect());
}

/// The account numbers that a query of the native family returns.
async fn native(play: &Play, query: &str, size: usize) -> Vec<u64> {
    let path = format!("/v1/accounts?{query}");
    let list = List::of(play.client(), &path, Paging::Offset, size);
    ids(&list.all().await, "walletAccountId")
}

/// The account numbers that a query of the wallet family returns.
async fn wallet(play: &Play, query: &str, size: usize) -> Vec<u64> {
    let path = format!("/wallet/v1/Cuentas?{query}");
    let list = List::of(play.client(), &path, Paging::Page, size);
    ids(&list.all().await, "id")
}

/// Checks the accounts by state, switch and text.
pub async fn filtered(play: &Play, size: usize) {
    let book = &play.book;
    let with: Vec<_> = with_cvu(book).into_iter().map(|(_, it)| it).collect();
    let all: Vec<_> = book.accounts.iter().rev().collect();
    for status in ["active", "suspended", "closed"] {
        let right = with.iter().filter(|it| it.status == status);
        let right: Vec<_> = right.map(|it| it.id).collect();
        let found = native(play, &format!("status={status}"), size).await;
        assert_eq!(found, right, "{status}");
    }
    for on in [true, false] {
        let right = all.iter().filter(|it| it.enabled == on);
        let right: Vec<_> = right.map(|it| it.id).collect();
        let found = wallet(play, &format!("habilitado={on}"), size).await;
        assert_eq!(found, right, "{on}");
    }
    for text in texts(book) {
        let right = with.iter().filter(|it| named(it, &text));
        let mut right: Vec<_> = right.map(|it| it.id).collect();
        let query = format!("q={text}");
        assert_eq!(native(play, &query, size).await, right, "{query}");
        right.reverse();
        let query = format!("q={text}&order=asc");
        assert_eq!(native(play, &query, size).await, right, "{query}");
        let right = all.iter().filter(|it| known_by(it, &text));
        let right: Vec<_> = right.map(|it| it.id).collect();
        let query = format!("q={text}");
        assert_eq!(wallet(play, &query, size).await, right, "{query}");
    }
}

/// The sort key of an account.
type Key = fn(&Account) -> String;

/// Checks the accounts in every order.
pub async fn sorted(play: &Play, size: usize) {
    let of = |it: &Account, key: Key| (key(it), it.id);
    let code: Key = |it| it.code.clone().unwrap_or_default();
    let name: Key = |it| folded(&it.name);
    for (sort, key) in [
        ("nombre", name),
        ("codigo", code),
        ("cuitCuil", |it| it.cuit.clone()),
    ] {
        let all = play.book.accounts.iter();
        let mut right: Vec<_> = all.map(|it| of(it, key)).collect();
        right.sort();
        let right: Vec<_> = right.into_iter().map(|(_, id)| id).collect();
        let query = format!("sort={sort}&order=asc");
        assert_eq!(wallet(play, &query, size).await, right, "{query}");
    }
    let cvu: Key = |it| it.cvu.clone().unwrap_or_default();
    let alias: Key = |it| it.alias.as_deref().map(folded).unwrap_or_default();
    for (sort, key) in [("holderName", name), ("cvu", cvu), ("alias", alias)] {
        let with = with_cvu(&play.book).into_iter();
        let mut right: Vec<_> = with.map(|(_, it)| of(it, key)).collect();
        right.sort();
        let right: Vec<_> = right.into_iter().rev().map(|(_, id)| id).collect();
        let query = format!("sort={sort}&order=desc");
        assert_eq!(native(play, &query, size).await, right, "{query}");
    }
}

/// Checks positions by total and by text.
pub async fn held_by(play: &Play, size: usize) {
    let (client, book) = (play.client(), &play.book);
    let listed = positions(book);
    let total = |account: &Account| account.available + account.held;
    let mut totals: Vec<_> = listed.iter().map(|it| total(it)).collect();
    totals.sort_unstable();
    totals.dedup();
    let mut asked = vec![(None, None, None)];
    for edge in totals {
        asked.push((Some(edge), None, None));
        asked.push((None, Some(edge), None));
        asked.push((Some(edge), Some(edge), Some("paz".to_owned())));
        asked.push((Some(edge + 1), None, None));
    }
    asked.extend(texts(book).into_iter().map(|text| (None, None, Some(text))));
    for (min, max, text) in asked {
        let right = listed.iter().filter(|it| {
            min.is_none_or(|min| min <= total(it))
                && max.is_none_or(|max| total(it) <= max)
                && text.as_ref().is_none_or(|text| named(it, text))
        });
        let right: Vec<_> = right.map(|it| it.id).collect();
        let mut query = vec![];
        query.extend(min.map(|min| format!("min={}", written(min))));
        query.extend(max.map(|max| format!("max={}", written(max))));
        query.extend(text.as_ref().map(|text| format!("q={text}")));
        let query = query.join("&");
        let path = format!("/v1/treasury/positions?{query}");
        let found = List::of(client, &path, Paging::Offset, size).all().await;
        assert_eq!(ids(&found, "walletAccountId"), right, "{query}");
        if min.is_none() && max.is_none() {
            let path = format!("/wallet/v1/SaldosClientes?{query}");
            let found = List::of(client, &path, Paging::Page, size).all().await;
            assert_eq!(ids(&found, "idCuenta"), right, "{query}");
        }
    }
}

/// Checks the movements of each account, wherever they are listed.
pub async fn movements(play: &Play, size: usize) {
    let (client, book) = (play.client(), &play.book);
    // A voucher keeps the number of its type even if the type is removed.
    let types: BTreeMap<_, _> = book
        .types
        .iter()
        .map(|it| (it.code.as_str(), (json!(it.id), Value::Null)))
        .collect();
    for (at, account) in with_cvu(book) {
        let (cvu, own) = (account.cvu.as_ref().unwrap(), book.of(at));
        let walk = async |path: String| List::of(client, &path, Paging::Offset, size).all().await;
        let native = walk(format!("/v1/accounts/{cvu}/movements")).await;
        let wallet = walk(format!("/wallet/v1/MovimientosCliente?cvu={cvu}")).await;
        let by_id = walk(format!(
            "/wallet/v1/MovimientosCliente?idCuenta={}",
            account.id
        ))
        .await;
        let position = walk(format!("/v1/treasury/positions/{cvu}/movements")).await;
        let vouchers = walk(format!("/v1/accounts/{cvu}/comprobantes")).await;
        assert_eq!((&by_id, &position), (&wallet, &native));
        assert_eq!(
            (native.len(), wallet.len(), vouchers.len()),
            (own.len(), own.len(), own.len())
        );
        for (nth, entry) in own.iter().enumerate() {
            let (native, wallet) = (&native[nth], &wallet[nth]);
            voucher(book, entry, native, wallet, &types);
            assert_eq!(native["sequence"], own.len() - nth);
            assert_eq!(wallet["sentidoLedger"], entry.direction);
            assert_eq!(vouchers[nth]["id"], native["id"]);
            for (name, right) in [
                ("availableBalance", "availableAfter"),
                ("heldBalance", "heldAfter"),
                ("totalBalance", "totalAfter"),
            ] {
                assert_eq!(wallet[name], native[right]);
            }
            assert_eq!(wallet["fechaNegocio"], day_of(entry.at));
        }
        of_days(play, cvu, &own, size).await;
        narrowed(play, cvu, &own, size).await;
    }
}

/// Checks the movements of a day, and from a day on, in both families.
async fn of_days(play: &Play, cvu: &str, own: &[&Entry], size: usize) {
    let client = play.client();
    for day in play.book.days() {
        for (query, right) in [
            (
                format!("from={day}&to={day}"),
                own.iter().filter(|it| day_of(it.at) == day).count(),
            ),
            (
                format!("to={day}"),
                own.iter().filter(|it| day_of(it.at) <= day).count(),
            ),
        ] {
            for path in [
                format!("/v1/accounts/{cvu}/movements?{query}"),
                format!("/wallet/v1/MovimientosCliente?cvu={cvu}&{query}"),
            ] {
                let found = List::of(client, &path, Paging::Offset, size.max(3))
                    .all()
                    .await;
                assert_eq!(found.len(), right, "{path}");
            }
        }
    }
}

/// Checks the movements of a direction, of a type, of a text, and by amount.
async fn narrowed(play: &Play, cvu: &str, own: &[&Entry], size: usize) {
    let client = play.client();
    let found = async |query: &str| {
        let path = format!("/v1/accounts/{cvu}/movements?{query}");
        List::of(client, &path, Paging::Offset, size.max(3))
            .all()
            .await
    };
    for direction in ["credit", "debit", "hold", "release", "confirm_hold"] {
        let right = own.iter().filter(|it| it.direction == direction).count();
        let rows = found(&format!("type={direction}")).await;
        assert_eq!(rows.len(), right, "{direction}");
        assert!(rows.iter().all(|row| row["ledgerType"] == direction));
    }
    let right = own.iter().filter(|it| it.code == "TYPE_0").count();
    assert_eq!(found("type=TYPE_0").await.len(), right);
    let has = |it: &&&Entry| it.external.as_ref().is_some_and(|id| id.contains("ext-1"));
    assert_eq!(
        found("referenceType=adjustment&q=EXT-1").await.len(),
        own.iter().filter(has).count()
    );
    let mut right: Vec<_> = own.iter().map(|it| it.centavos).collect();
    right.sort_unstable();
    let right: Vec<_> = right.into_iter().map(|it| json!(written(it))).collect();
    let amounts: Vec<_> = found("sort=amount&order=asc").await;
    let amounts: Vec<_> = amounts.iter().map(|row| row["amount"].clone()).collect();
    assert_eq!(amounts, right);
}

/// The movements that a query should find.
type Wanted = Box<dyn Fn(&Entry) -> bool>;

/// Checks the adjustments and internal transfers of the realm.
pub async fn internal(play: &Play, size: usize) {
    let (client, book) = (play.client(), &play.book);
    let today = day_of(book.now);
    let mut asked: Vec<(String, Wanted)> = vec![
        (String::new(), Box::new(|_| true)),
        ("tipo=debit".into(), Box::new(|it| it.direction == "debit")),
        (
            "tipo=INTERNAL_P2P_IN".into(),
            Box::new(|it| it.code == "INTERNAL_P2P_IN"),
        ),
        (
            "importeMin=12.34&importeMax=1000.00".into(),
            Box::new(|it| (1234..=100_000).contains(&it.centavos)),
        ),
        ("importeMin=0.51".into(), Box::new(|it| it.centavos >= 51)),
        (
            format!("desde={today}"),
            Box::new({
                let today = today.clone();
                move |it| day_of(it.at) == today
            }),
        ),
        (
            "hasta=2026-02-26".into(),
            Box::new(|it| day_of(it.at).as_str() <= "2026-02-26"),
        ),
    ];
    for (at, account) in with_cvu(book) {
        let cvu = account.cvu.as_ref().unwrap();
        asked.push((format!("cvu={cvu}"), Box::new(move |it| it.account == at)));
    }
    for (query, wanted) in asked {
        let path = format!("/v1/comprobantes/internal?{query}");
        let found = List::of(client, &path, Paging::Offset, size.max(2))
            .all()
            .await;
        // Both halves of a transfer are in one commit, and have no order between them.
        let row = |it: &Entry| {
            let cvu = book.accounts[it.account].cvu.clone().unwrap();
            (it.code.clone(), it.centavos, it.after, cvu, it.at)
        };
        let right = book.entries.iter().filter(|it| it.internal && wanted(it));
        let mut right: Vec<_> = right.map(|it| format!("{:?}", row(it))).collect();
        let found = found.iter().map(|it| {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            let cents = |name: &str| super::play::centavos(&text(name));
            let after = (cents("availableAfter"), cents("heldAfter"));
            let at = book.entries.iter().map(|it| it.at);
            let at = at
                .clone()
                .find(|at| super::book::instant(*at) == text("createdAt"))
                .unwrap();
            format!(
                "{:?}",
                (
                    text("voucherTypeCode"),
                    cents("amount"),
                    after,
                    text("cvu"),
                    at
                )
            )
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        right.sort_unstable();
        assert_eq!(found, right, "{query}");
    }
}
