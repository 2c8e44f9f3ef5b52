//! Everything is found by the id at hand: the tenant's own, COELSA's, the bank's, or our reference at the bank.

use crate::cli::caudal;
use crate::console::browser::Browser;
use crate::support::{SOON, TestService, Value, json, wait_until};

/// What a story leaves behind: the ids by which it is looked for.
struct Story {
    service: TestService,
    cvu: String,
    /// The id on the rail of money that arrived.
    arrived: String,
    /// A transfer that left and came back.
    sent: Value,
    /// The id on the rail of what came back.
    back: String,
    hold: Value,
    voucher: Value,
    reversal: Value,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn story() -> Story {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let body = json!({"cvu": cvu, "amount": "500.00", "fromName": "Zulema Remitente"});
    let arrived = service.a.post("/v1/simulations/cash-in", &body).await;
    let arrived = text(&arrived.is(200)["coelsaId"]);
    wait_until("the money arrives", SOON, async || {
        (service.a.available(&cvu).await == "500.00").then_some(())
    })
    .await;
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "DESTINO.0"}), "40.00")
        .await
        .is(201);
    let sent = service.a.settled(&sent.json, "completed").await;
    let body = json!({"transferId": sent["id"], "amount": "15.00"});
    let reversal = service.a.post("/v1/simulations/reversal", &body).await;
    assert_eq!(reversal.status, 204, "{}", reversal.text);
    let sent = service.a.settled(&sent, "reversed").await;
    let path = format!("/v1/accounts/{cvu}/movements?referenceType=transfer&type=credit");
    let back = service.a.get(&path).await.is(200).json[0].clone();
    let hold = service.a.hold(&cvu, "7.00").await;
    let voucher = service.a.debit(&cvu, "30.00").await;
    let path = format!("/v1/comprobantes/{}/reverse", text(&voucher["id"]));
    let body = json!({"idExterno": "give-back-1", "amount": "10.00"});
    let reversal = service.a.post(&path, &body).await.is(201).json;
    Story {
        back: text(&back["counterparty"]["coelsaId"]),
        service,
        cvu,
        arrived,
        sent,
        hold,
        voucher,
        reversal,
    }
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|it| text(&it["id"])).collect()
}

#[actix_web::test]
async fn transfers_are_found_by_each_of_their_ids_and_by_all_of_them() {
    let story = story().await;
    let (a, sent) = (&story.service.a, &story.sent);
    let id = text(&sent["id"]);
    let named = [
        ("idExterno", text(&sent["idExterno"])),
        ("originId", text(&sent["originId"])),
        ("bankTransferId", text(&sent["bankTransferId"])),
        ("coelsaId", text(&sent["coelsaId"])),
        ("coelsaId", story.back.clone()),
    ];
    let find = async |query: String| a.get(&format!("/v1/transfers?{query}")).await.is(200).json;
    for (name, value) in &named {
        let page = find(format!("{name}={value}")).await;
        assert_eq!(ids(&page), [id.as_str()], "{name}");
        assert_eq!(page["total"], 1);
        let page = find(format!("{name}={value}&status=rejected")).await;
        assert_eq!(ids(&page), [""; 0], "{name}");
        // What another tenant has is not there.
        let other = story
            .service
            .b
            .get(&format!("/v1/transfers?{name}={value}"));
        assert_eq!(ids(&other.await.is(200).json), [""; 0], "{name}");
    }
    let all = named.iter().skip(1).take(3);
    let all: Vec<_> = all.map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(ids(&find(all.join("&")).await), [id.as_str()]);
    let page = find(format!("coelsaId={}&originId=NOSUCHREFERENCE", story.back)).await;
    assert_eq!(ids(&page), [""; 0]);
    assert_eq!(ids(&find("amount=40".to_owned()).await), [id]);
    assert_eq!(ids(&find("amount=40.01".to_owned()).await), [""; 0]);
    a.get("/v1/transfers?amount=x")
        .await
        .refused(400, "invalid_request");
}

#[actix_web::test]
async fn vouchers_are_found_over_all_accounts() {
    let mut story = story().await;
    for restarted in [false, true] {
        let a = &story.service.a;
        let find = async |query: String| {
            let path = format!("/v1/comprobantes?{query}&order=asc");
            let page = a.get(&path).await.is(200).json;
            let items = page["items"].as_array().unwrap().iter();
            let found: Vec<_> = items
                .map(|it| (text(&it["ledgerType"]), text(&it["amount"])))
                .collect();
            found
        };
        let of = |kind: &str, amount: &str| (kind.to_owned(), amount.to_owned());
        let sent = &story.sent;
        for (query, found) in [
            (
                format!("coelsaId={}", story.arrived),
                vec![of("credit", "500.00")],
            ),
            (
                format!("coelsaId={}", text(&sent["coelsaId"])),
                vec![of("confirm_hold", "40.00")],
            ),
            (
                format!("coelsaId={}", story.back),
                vec![of("credit", "15.00")],
            ),
            (
                format!("idExterno={}", text(&sent["idExterno"])),
                vec![of("hold", "40.00"), of("confirm_hold", "40.00")],
            ),
            (
                format!("idExterno={}", text(&story.hold["idExterno"])),
                vec![of("hold", "7.00")],
            ),
            (
                "idExterno=give-back-1".to_owned(),
                vec![of("credit", "10.00")],
            ),
            (
                format!("idExterno=give-back-1&coelsaId={}", story.back),
                vec![],
            ),
            ("idExterno=give-back-1&type=debit".to_owned(), vec![]),
            ("type=debit".to_owned(), vec![of("debit", "30.00")]),
        ] {
            assert_eq!(find(query.clone()).await, found, "{query}");
        }
        let other = story
            .service
            .b
            .get("/v1/comprobantes?idExterno=give-back-1");
        assert_eq!(other.await.is(200)["total"], 0);
        let all = a.get("/v1/comprobantes?limit=200").await.is(200).json;
        let of_account = format!("/v1/accounts/{}/comprobantes?limit=200", story.cvu);
        let of_account = a.get(&of_account).await.is(200).json;
        assert_eq!(
            all["items"], of_account,
            "all vouchers are of the one account"
        );
        if !restarted {
            // The index is made again from the journal.
            story.service.end(true).await;
            story.service.lose_index();
            story.service.begin().await;
        }
    }
    story.service.verified().await;
}

#[actix_web::test]
async fn the_search_of_the_console_opens_what_an_id_names() {
    let story = story().await;
    let mut browser = Browser::entered(&story.service).await;
    let opened = format!(
        "/console/vouchers/{}",
        text(&story.hold["id"]).replace("hld_", "cmp_")
    );
    let transfer = format!("/console/transfers/{}", text(&story.sent["id"]));
    let arrived = story
        .service
        .a
        .get(&format!("/v1/comprobantes?coelsaId={}", story.arrived));
    let arrived = ids(&arrived.await.is(200).json);
    let arrived = format!("/console/vouchers/{}", arrived[0]);
    for (id, place) in [
        (story.arrived.clone(), arrived),
        (text(&story.sent["coelsaId"]), transfer.clone()),
        (text(&story.sent["bankTransferId"]), transfer.clone()),
        (text(&story.sent["originId"]), transfer.clone()),
        (text(&story.sent["id"]), transfer.clone()),
        (story.back.clone(), transfer.clone()),
        (text(&story.hold["id"]), opened),
        (
            text(&story.reversal["id"]),
            format!("/console/vouchers/{}", text(&story.reversal["id"])),
        ),
    ] {
        let answer = browser
            .get(&format!("/console/search?q={id}"))
            .await
            .is(303);
        assert_eq!(answer.header("location"), place, "{id}");
    }
    // An id that the tenant chose may also be a name, so what has it is listed.
    let own = text(&story.sent["idExterno"]);
    let page = browser
        .get(&format!("/console/search?q={own}"))
        .await
        .is(200);
    assert!(
        page.text.contains(&text(&story.sent["id"])),
        "{}",
        page.text
    );
    // The page of a reversal leads to what it reverses, and that page says how much is.
    let place = format!("/console/vouchers/{}", text(&story.reversal["id"]));
    let page = browser.get(&place).await.is(200).text;
    assert!(page.contains(&text(&story.voucher["id"])), "{page}");
    let place = format!("/console/vouchers/{}", text(&story.voucher["id"]));
    let page = browser.get(&place).await.is(200).text;
    assert!(page.contains("Puede revertirse"), "{page}");
}

#[actix_web::test]
async fn the_command_line_finds_an_id_among_all_tenants() {
    let story = story().await;
    let url = story.service.admin_client().url;
    let run = |id: &str| {
        let output = caudal(&["find", id])
            .env("CAUDAL_ADMIN_URL", &url)
            .env("CAUDAL_ADMIN_KEY", caudal_service::TEST_ADMIN_KEY)
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), out)
    };
    let (code, out) = run(&story.back);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains(&text(&story.sent["id"])) && out.contains("reversed"),
        "{out}"
    );
    assert_eq!(run("NOBODYHASTHIS").0, Some(1));
    let empty = story.service.admin_get("/admin/find?id=").await;
    empty.refused(400, "invalid_request");
}
