//! The promises of the service, statement by statement, as tables that are read when the tests run: a new row needs
//! no build. Each `tests/interface/NAME.table` is a conversation with a fresh service.
//!
//! ```text
//! # A remark.
//! clock 2026-03-02T15:00:00Z
//! == POST /v1/accounts: opens an account
//! POST /v1/accounts {"cuit": "{cuit 1}", "holderName": "Ana"} => 201 | opening returns 201
//!     with idempotency-key: first
//!     cvu is cvu                    | its CVU has 22 digits and right check digits
//!     header etag present           | the answer carries an ETag
//!     keep ana = cvu
//! GET /v1/accounts?limit=0 => 400 invalid_request limit | a limit is 1 or more
//! as bank POST /sandbox/cash-in {"cvu": "{ana}", "amount": "5.00"} => 200
//! soon GET /v1/accounts/{ana}/balance => 200 | money that arrives is credited
//!     available == "5.00"
//! ```
//!
//! - `==` heads an operation or a topic. The text after `|` is the statement that the line proves; it is
//!   counted, and following lines without a statement belong to it. A request without a statement only prepares.
//! - A request is `METHOD PATH [BODY] => STATUS [CODE [FIELD…]]`: the code of a refusal, and the fields that
//!   its `errors` name. The body of each refusal is checked to be whole. Two words may precede the request:
//!   `as` with the caller (`tenant`, which is the default, `live`: its live key, `other`: another tenant,
//!   `nobody`: no key, `wrong_key`: a wrong key, `bank`: to the sandbox bank, `admin`: to the operator's
//!   listener), and `soon`: the request is repeated until everything about it holds.
//! - `with HEADER: VALUE` is sent with the request.
//! - A check is a place and a test of the value there: `== JSON`, `!= JSON`, `has JSON` (text in a text, or a
//!   member of a list), `in [JSON, …]`, `is SHAPE [or SHAPE…]` (see [`checks::SHAPES`]), `count N`,
//!   `keys NAME NAME…` (these and no others), `rises`, `falls`, `present`, `absent`. A place is `field`, `a.b`,
//!   `list.0.a`, `list.*.a` (each member), `list.[code=FEE].a` (the first member with that code), or `.` for the
//!   whole body; a `$ref` is followed, and so are the parts of an `allOf`. `header NAME` is a place, and `body` is
//!   the text as received.
//! - `keep NAME = PLACE` keeps the value there, and `{NAME}` writes it into requests and expected values;
//!   `keep NAME = header H` keeps a header. `{cuit 7}` and `{company 7}` are CUITs of a person and of a
//!   company, `{text 9}` is a text of nine letters, `{day -1}` is yesterday in Buenos Aires, `{url}` the
//!   address of the service, `{key}` the tenant's key.
//! - `clock` before the first request makes the service start at an instant with a clock that stands still;
//!   later ones move it. Without it, the clock is the machine's.
//!
//! A word that is not described here is refused before any request is sent. Every line that does not hold is
//! reported, with its request and its answer.

mod checks;
mod play;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use table::Table;

/// How many statements the tables have at least.
const STATEMENTS: usize = 1_000;

macro_rules! tables {
    ($($name:ident),*) => {
        /// The tables, each a test of its own.
        const TABLES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[actix_web::test]
            async fn $name() {
                play::play(&read(stringify!($name))).await;
            }
        )*
    };
}

tables![
    accounts,
    account_states,
    account_limits,
    account_data,
    account_lists,
    aliases,
    authentication,
    bank,
    books,
    closing_balances,
    collector,
    document,
    document_fields,
    errors,
    events,
    fees,
    holds_and_transfers,
    idempotency,
    lookups,
    movements,
    remuneration,
    treasury,
    voucher_lists,
    voucher_types,
    vouchers,
    wallet_accounts,
    wallet_balances,
    wallet_lists,
    wallet_types,
    wallet_updates,
    wallet_vouchers
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface")
}

fn read(name: &str) -> Table {
    let path = folder().join(format!("{name}.table"));
    let text = std::fs::read_to_string(&path).unwrap();
    Table::parse(name, &text).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")))
}

#[test]
fn every_table_is_played_and_none_says_a_thing_twice() {
    let there: BTreeSet<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".table").map(str::to_owned))
        .collect();
    let known: BTreeSet<_> = TABLES.iter().copied().map(str::to_owned).collect();
    assert_eq!(there, known, "a table is played by the test of its name");
    let (mut all, mut said, mut twice) = (0, BTreeSet::new(), Vec::new());
    for name in TABLES {
        let table = read(name);
        for (heading, statements) in table.statements() {
            println!("{:4} {name}: {heading}", statements.len());
            all += statements.len();
            for statement in statements {
                if !said.insert((heading.to_owned(), statement.to_owned())) {
                    twice.push(format!("{name}: {heading}: {statement}"));
                }
            }
        }
    }
    println!("{all} statements");
    assert!(twice.is_empty(), "said twice:\n{}", twice.join("\n"));
    assert!(
        all >= STATEMENTS,
        "{all} statements, and there were {STATEMENTS}"
    );
}

#[test]
fn a_table_with_an_unknown_word_is_refused() {
    let rows = [
        "GET /x => 200 | a statement before any heading",
        "== h\nGET /x | a statement of a request without a status",
        "== h\nGET /x => ok | a status that is none",
        "== h\nFETCH /x => 200 | a method that is none",
        "== h\nas root GET /x => 200 | somebody who is nobody",
        "== h\nGET /x => 200\n    a equals 1 | a check that is none",
        "== h\nGET /x => 200\n    a is thing | a shape that is none",
        "== h\nGET /x => 200\n    a == {1} | a value that is no JSON",
        "== h\nGET /x => 200\n    a count many | a number that is none",
        "== h\nGET /x => 200\n    a == 1 | short",
        "== h\n    a == 1 | a check without a request",
        "== h\nclock noon",
        "== h\nGET x => 200 | a path that is none",
        "== h\nGET /x => 200\n    keep = a",
    ];
    for text in rows {
        let wrong = Table::parse("t", text).err().unwrap_or_default();
        assert_eq!(wrong.len(), 1, "{text}: {wrong:?}");
    }
    let right = "# r\n== h\nsoon as bank GET /x {\"a\": 1} => 404 gone id | it is not there\n    with a: b\n    \
        a.*.b is text or null | it is a text, or nothing\n    keep x = a";
    assert!(Table::parse("t", right).is_ok());
}
