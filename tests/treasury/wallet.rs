//! The treasury in the wallet family.

use super::{bodies, is_golden};
use crate::support::{TestClock, TestService, json, named};

#[actix_web::test]
async fn amounts_are_written_exactly() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let body = json!({"cuit": "27312547568", "holderName": "Ana Ñandú", "alias": "Mar.De.Sal"});
    let cvu = service.a.open_with(body).await["cvu"].clone();
    let cvu = cvu.as_str().unwrap();
    let credit = service
        .a
        .voucher(cvu, "IN", "999999999999999.99", "orden-1");
    credit.await.is(201);
    let hold = json!({"amount": "30.00", "idExterno": "reserva-1"});
    let path = format!("/v1/accounts/{cvu}/holds");
    service.a.post(&path, &hold).await.is(201);
    for (path, golden) in [
        (format!("SaldoClienteByCVU/{cvu}"), bodies::SALDO),
        ("SaldoClienteByIdCuenta/1".to_owned(), bodies::SALDO),
        (format!("MovimientosCliente?cvu={cvu}"), bodies::MOVIMIENTOS),
        (
            "MovimientosCliente?idCuenta=1".to_owned(),
            bodies::MOVIMIENTOS,
        ),
        (
            format!("SaldoClienteHistoricoByCVU/{cvu}?fecha=02-03-2026"),
            bodies::HISTORICO,
        ),
        (
            format!("SaldoClienteHistoricoByCVU/{cvu}?date=2026-03-02"),
            bodies::HISTORICO,
        ),
    ] {
        let read = service.a.get(&format!("/wallet/v1/{path}")).await;
        is_golden(&read.is(200), golden);
    }
}

#[actix_web::test]
async fn clients_are_paged_by_number() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let (first, second, third) = (
        service.a.cvu().await,
        service.a.cvu().await,
        service.a.cvu().await,
    );
    let path = "/wallet/v1/SaldosClientes";
    for (query, pages, found) in [
        ("", 1, vec![&third, &second, &first]),
        ("?pageSize=2", 2, vec![&third, &second]),
        ("?pageSize=2&page=0", 2, vec![&third, &second]),
        ("?pageSize=2&page=2", 2, vec![&first]),
        ("?pageSize=2&pageNumber=2", 2, vec![&first]),
        ("?pageSize=2&page=3", 2, vec![]),
        ("?page=1&q=nobody", 0, vec![]),
    ] {
        let listed = service.a.get(&format!("{path}{query}")).await.is(200);
        let items = listed["items"].as_array().unwrap().iter();
        let cvus: Vec<_> = items.map(|item| item["cvu"].as_str().unwrap()).collect();
        assert_eq!(cvus, found, "{query}");
        assert_eq!(listed["totalPages"], pages, "{query}");
        assert_eq!(listed["totalRecords"], if pages == 0 { 0 } else { 3 });
    }
    // The next page can also be requested by cursor.
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for _ in 0..3 {
        let query = format!("?pageSize=1&cursor={cursor}");
        let page = service.a.get(&format!("{path}{query}")).await.is(200);
        seen.push(page["items"][0]["cvu"].clone());
        cursor = page.header("x-next-cursor").to_owned();
    }
    assert_eq!(seen, [json!(third), json!(second), json!(first)]);
    assert_eq!(cursor, "", "there is no page after the last");
    for (query, field) in [
        ("?page=-1", "page"),
        ("?pageNumber=x", "pageNumber"),
        ("?pageSize=0", "pageSize"),
        ("?pageSize=201", "pageSize"),
    ] {
        let refused = service.a.get(&format!("{path}{query}")).await;
        assert_eq!(
            named(&refused.refused(400, "invalid_request").json),
            [field]
        );
    }
}

#[actix_web::test]
async fn a_client_is_named_once_and_another_tenants_is_none() {
    let service = TestService::start().await;
    let (own, theirs) = (service.a.cvu().await, service.b.cvu().await);
    for _ in 0..2 {
        service.b.cvu().await;
    }
    let get = async |path: String| service.a.get(&format!("/wallet/v1/{path}")).await;
    for path in [
        format!("SaldoClienteByCVU/{theirs}"),
        "SaldoClienteByIdCuenta/3".to_owned(),
        "SaldoClienteByIdCuenta/0".to_owned(),
        format!("MovimientosCliente?cvu={theirs}"),
        "MovimientosCliente?idCuenta=3".to_owned(),
        format!("SaldoClienteHistoricoByCVU/{theirs}?date=2026-01-01"),
    ] {
        get(path).await.refused(404, "account_not_found");
    }
    for (path, field) in [
        ("MovimientosCliente".to_owned(), "cvu"),
        ("MovimientosCliente?idCuenta=x".to_owned(), "idCuenta"),
        (
            format!("MovimientosCliente?cvu={own}&idCuenta=1"),
            "idCuenta",
        ),
        (
            format!("MovimientosCliente?cvu={own}&from=31-02-2026"),
            "from",
        ),
        (format!("MovimientosCliente?cvu={own}&limit=0"), "limit"),
        (format!("SaldoClienteHistoricoByCVU/{own}"), "date"),
        (
            format!("SaldoClienteHistoricoByCVU/{own}?fecha=31-12-2999"),
            "fecha",
        ),
        (
            format!("SaldoClienteHistoricoByCVU/{own}?date=ayer"),
            "date",
        ),
        (
            format!("SaldoClienteHistoricoByCVU/{own}?date=2026-01-01&fecha=02-01-2026"),
            "fecha",
        ),
    ] {
        let refused = get(path).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
}
