//! Which refusals end an order: each code that the bank has, and codes that it does not have, for each operation.

use caudal_actors::ports::ReturnOrder;
use caudal_ledger::cvu::Cbu;

use super::fake::{Act, bank, no, scripted, yes};
use super::transfers::{order, origin, transfer};
use super::*;

/// Every code of the bank's documents, and codes that nobody has seen so far.
const CODES: [&str; 47] = [
    "VW001", "VW002", "VW003", "VW004", "VW005", "VW006", "VW007", "VW008", "VW009", "VW010",
    "VW011", "VW012", "VW013", "VW014", "VW015", "PA004", "PA005", "PA006", "PA011", "PA012",
    "PA015", "TX009", "TX012", "TX019", "TX033", "TX035", "TX040", "TX046", "TX500", "GE500",
    "GE403", "GE003", "GE503", "GE409", "RM001", "RM002", "RM003", "RM004", "TX999", "VW999",
    "ZZ001", "tx046", "TX046 ", "TX", "46", " ", "",
];

/// The operations, with the codes that end each.
const FINAL: [(&str, &[&str]); 9] = [
    ("transfer", OF_TRANSFER),
    ("give_back", OF_TRANSFER),
    (
        "create_cvu",
        &[
            "VW001", "VW012", "VW013", "PA004", "PA015", "TX012", "TX040",
        ],
    ),
    (
        "set_alias",
        &[
            "VW005", "VW006", "VW007", "VW008", "VW009", "VW011", "VW015", "PA004", "PA006",
            "PA012", "TX009",
        ],
    ),
    (
        "rename",
        &["VW005", "VW006", "VW009", "VW015", "PA012", "PA015"],
    ),
    // VW006 and VW015 are asked about: the lookup gets the same code.
    ("close", &["VW005", "VW009", "VW014", "PA004", "PA012"]),
    (
        "lookup",
        &["VW006", "PA005", "PA006", "PA011", "PA012", "TX009"],
    ),
    (
        "enrol",
        &[
            "RM002", "RM003", "RM004", "VW005", "VW006", "VW009", "VW015", "PA004", "PA012",
        ],
    ),
    ("fund_position", &[]),
];
const OF_TRANSFER: &[&str] = &[
    "VW005", "VW006", "VW009", "VW015", "PA004", "PA005", "PA006", "PA011", "PA012", "TX009",
    "TX012", "TX033", "TX035", "TX040", "TX046",
];

fn give_back() -> ReturnOrder {
    ReturnOrder {
        origin: origin(3),
        to: Cbu::parse("2850590940090418135201").unwrap(),
        amount: order().amount,
        returns: "80V1JXON1874QG39Z64EL7".into(),
    }
}

/// How an operation ends: whether it was done, refused, or left in doubt.
fn ended<T>(reply: BankReply<T>) -> &'static str {
    match reply.result {
        Ok(_) => "done",
        Err(BankError::Refused(_)) => "refused",
        Err(BankError::Failed { .. } | BankError::TimedOut) => "doubt",
    }
}

async fn asked(gateway: &HttpGateway, operation: &str) -> &'static str {
    let (cvu, cuit) = (order().from, holder().cuit);
    let alias = Alias::parse("mi.alias").unwrap();
    match operation {
        "transfer" => ended(gateway.transfer(&order(), ID).await),
        "give_back" => ended(gateway.give_back(&give_back(), ID).await),
        "create_cvu" => ended(gateway.create_cvu(1, &holder(), ID).await),
        "set_alias" => ended(gateway.set_alias(cvu, cuit, Some(&alias), ID).await),
        "rename" => ended(gateway.rename(cvu, "Eva Perez", ID).await),
        "close" => ended(gateway.close(cvu, cuit, ID).await),
        "lookup" => ended(gateway.lookup(&order().to, ID).await),
        "enrol" => {
            let order = remuneration::order(cvu, "7");
            ended(gateway.enrol(&order, ID).await)
        }
        _ => ended(gateway.fund_position("5-1", ID).await),
    }
}

#[actix_web::test]
async fn each_code_ends_the_operations_that_it_is_final_for() {
    for code in CODES {
        let (url, _requests) = bank(move |_| no(code));
        let mut gateway = gateway(&url);
        gateway.config.replica_lag = Duration::from_millis(1);
        for (operation, finals) in FINAL {
            let expected = match (operation, code) {
                // The alias that the CVU should get; a CVU that is closed already; an enrolment that does not exist.
                ("set_alias", "VW010") | ("close", "VW006") | ("fund_position", "RM001") => "done",
                (_, code) if finals.contains(&code) => "refused",
                _ => "doubt",
            };
            assert_eq!(
                asked(&gateway, operation).await,
                expected,
                "{operation} {code:?}"
            );
        }
    }
}

#[actix_web::test]
async fn a_transfer_that_was_made_in_spite_of_an_error_code_is_found() {
    for code in ["TX500", "VW003", "GE409", "ZZ001"] {
        let (url, _requests) = scripted(vec![no(code), yes(&transfer("COMPLETED"))]);
        let gateway = gateway(&url);
        assert_eq!(ended(gateway.transfer(&order(), ID).await), "doubt");
        let status = gateway.transfer_status(origin(3), ID).await;
        assert!(matches!(status.result, Ok(Some(_))), "{code}: {status:?}");
    }
}

#[actix_web::test]
async fn an_enrolment_that_is_refused_after_a_doubt_is_asked_for() {
    let made = json!({"reference": "5-1", "status": "ACTIVE"});
    for (last, expected) in [
        (yes(&made), "done"),
        (no("RM001"), "refused"),
        (no("RM004"), "doubt"),
    ] {
        let shown = format!("{last:?}");
        let (url, _requests) = scripted(vec![Act::Hang, no("RM003"), last]);
        let mut gateway = gateway(&url);
        gateway.config.replica_lag = Duration::from_millis(1);
        let order = remuneration::order(order().from, "7");
        assert_eq!(ended(gateway.enrol(&order, ID).await), expected, "{shown}");
    }
}
