//! The pages: each exists, in both languages, escaped, and within the policy that the browser gets.

use tokio::time::timeout;

use super::browser::Browser;
use super::sessions::PAGES;
use crate::support::{SOON, TestService, Value, json};

const HOSTILE: &str = r#"<script>alert(1)</script><img src=x onerror=alert(1)>'"&"#;

/// A service with the things that the pages are about.
pub struct Told {
    pub service: TestService,
    pub cvu: String,
    voucher: String,
    transfer: String,
    hook: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A service with an account whose every text is hostile.
pub async fn told() -> Told {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let body = json!({
        "cuit": crate::support::cuit(424_242),
        "holderName": HOSTILE,
        "metadata": {"note": HOSTILE},
    });
    let cvu = text(&service.a.open_with(body).await["cvu"]);
    let posted = json!({
        "voucherTypeCode": "IN",
        "amount": "1234567.50",
        "idExterno": "order-1",
        "description": HOSTILE,
    });
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let posted = service.a.post(&path, &posted).await;
    assert!((200..300).contains(&posted.status), "{}", posted.text);
    service.a.hold(&cvu, "10.00").await;
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(&cvu, to, "10.00").await.is(201).json;
    let sent = service.a.settled(&sent, "in_progress").await;
    service
        .bank
        .settle(&sent["originId"], "UNKNOWN_FOREVER")
        .await;
    service.a.settled(&sent, "audit").await;
    let hook = json!({"url": "http://127.0.0.1:9/secret-path", "description": HOSTILE});
    let hook = service.a.post("/v1/webhooks", &hook).await.is(201);
    Told {
        voucher: text(&posted["id"]),
        transfer: text(&sent["id"]),
        hook: text(&hook["id"]),
        cvu,
        service,
    }
}

impl Told {
    pub fn pages(&self) -> Vec<String> {
        let realm = "/console/tenants/tnt_first/test";
        let mut pages: Vec<_> = PAGES.map(str::to_owned).into();
        pages.extend([
            "/console/search?q=order-1".to_owned(),
            "/console/search?q=alert".to_owned(),
            "/console/search?q=req_0199f1e2d3c40aaaaaaaaaaaaaaaaaaa00000001".to_owned(),
            "/console/tenants/tnt_first".to_owned(),
            format!("{realm}/accounts"),
            format!("{realm}/accounts?text=alert&status=active"),
            format!("{realm}/vouchers"),
            format!("{realm}/transfers?status=audit"),
            format!("{realm}/events"),
            format!("{realm}/positions"),
            format!("{realm}/reconciliation"),
            format!("{realm}/collector"),
            format!("{realm}/collector?date=2026-01-01"),
            format!("{realm}/days"),
            format!("{realm}/books"),
            format!("{realm}/books?date=2026-01-01"),
            format!("{realm}/books/entries"),
            format!("{realm}/books/entries?account=clients&from=2026-01-01"),
            format!("{realm}/reconciliation?whole=yes&date=2026-01-01"),
            "/console/parts/reconciliation/tnt_first/test".to_owned(),
            format!("/console/accounts/{}", self.cvu),
            format!("/console/accounts/{}?at=2026-01-01", self.cvu),
            format!("/console/accounts/{}/movements", self.cvu),
            format!("/console/accounts/{}/transfers", self.cvu),
            format!("/console/vouchers/{}", self.voucher),
            format!("/console/transfers/{}", self.transfer),
            format!("/console/cases/{}", self.transfer),
            format!("/console/webhooks/{}", self.hook),
        ]);
        pages
    }
}

/// Checks that hostile text appears as text or not at all, and that nothing on a page runs or has a
/// style of its own.
fn is_tame(page: &str, html: &str) {
    for bad in [
        "<script>",
        "<img src=x",
        "onerror=\"",
        " style=\"",
        "onclick",
        "<style",
        "{{",
        "javascript:",
    ] {
        assert!(!html.contains(bad), "{page} has {bad}: {html}");
    }
    for tag in html.split("<script").skip(1) {
        assert!(tag.starts_with(" src=\"/console/files/"), "{page}: {tag}");
    }
}

#[actix_web::test]
async fn every_page_is_there_in_both_languages_and_tame() {
    let told = told().await;
    let mut spanish = Browser::entered(&told.service).await;
    let mut english = Browser::entered(&told.service).await.reads("en");
    let mut seen = 0;
    for page in told.pages() {
        let [es, en] = [
            spanish.get(&page).await.is(200),
            english.get(&page).await.is(200),
        ];
        for answer in [&es, &en] {
            is_tame(&page, &answer.text);
            seen += answer.text.matches("&#60;script&#62;").count();
            let policy = answer.header("content-security-policy");
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
                "{policy}"
            );
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("x-frame-options"), "DENY");
        }
        assert_ne!(es.text, en.text, "{page}");
        // The address of a webhook may contain a secret.
        assert!(!es.text.contains("secret-path"), "{page}");
    }
    assert!(seen > 10, "hostile texts were shown {seen} times");
}

#[actix_web::test]
async fn an_account_is_shown_with_its_balances_and_its_actor() {
    let told = told().await;
    let mut browser = Browser::entered(&told.service).await;
    let page = browser
        .get(&format!("/console/accounts/{}", told.cvu))
        .await
        .is(200)
        .text;
    // The transfer in doubt is held as well as the hold.
    for shown in [
        "1.234.547,50",
        "20,00",
        "1.234.567,50",
        "En memoria",
        "order-1",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for kind in ["account.created", "voucher.created", "transfer.audit"] {
        assert!(
            page.contains(kind),
            "{kind} is not among its events: {page}"
        );
    }
    let past = format!("/console/accounts/{}?at=2020-01-01", told.cvu);
    let past = browser.get(&past).await.is(200).text;
    assert!(
        past.contains("Saldo histórico 2020-01-01 23:59:59"),
        "{past}"
    );
    let wrong = format!("/console/accounts/{}?at=yesterday", told.cvu);
    browser.get(&wrong).await.is(400);
    // The same account by its number.
    let number = told
        .service
        .a
        .get(&format!("/v1/accounts/{}", told.cvu))
        .await["walletAccountId"]
        .clone();
    let listed = browser
        .get("/console/tenants/tnt_first/test/accounts")
        .await
        .text;
    assert!(
        listed.contains(&told.cvu) && listed.contains(&number.to_string()),
        "{listed}"
    );
}

#[actix_web::test]
async fn the_search_leads_to_what_is_named_and_finds_the_rest() {
    let told = told().await;
    let mut browser = Browser::entered(&told.service).await;
    for (text, place) in [
        (&told.cvu, format!("/console/accounts/{}", told.cvu)),
        (&told.voucher, format!("/console/vouchers/{}", told.voucher)),
        (
            &told.transfer,
            format!("/console/transfers/{}", told.transfer),
        ),
        (&told.hook, format!("/console/webhooks/{}", told.hook)),
    ] {
        let answer = browser
            .get(&format!("/console/search?q={text}"))
            .await
            .is(303);
        assert_eq!(answer.header("location"), place);
    }
    let found = browser.get("/console/search?q=order-1").await.is(200);
    assert!(found.text.contains(&told.voucher), "{}", found.text);
    let found = browser.get("/console/search?q=onerror").await.is(200);
    assert!(found.text.contains(&told.cvu), "{}", found.text);
    let found = browser
        .get("/console/search?q=nobody-has-this")
        .await
        .is(200);
    assert!(
        found.text.contains("No se encontró nada."),
        "{}",
        found.text
    );
}

#[actix_web::test]
async fn long_lists_in_memory_have_pages_too() {
    let service = TestService::start().await;
    let key = json!({"mode": "test"});
    for _ in 0..51 {
        let issued = service.admin("POST", "/admin/tenants/tnt_first/keys", &key);
        let issued = issued.await.is(201);
        // A tenant may have only a few active keys; revoked ones stay in the list.
        let path = format!("/admin/keys/{}", text(&issued["id"]));
        let gone = service.admin("DELETE", &path, &json!({})).await;
        assert!((200..300).contains(&gone.status), "{}", gone.text);
    }
    let platform = service.engine().platform();
    let keys = platform.keys.values();
    let count = keys.filter(|key| key.tenant == "tnt_first").count();
    let mut browser = Browser::entered(&service).await;
    let rows = |page: &str| {
        let (_, table) = page.split_once("<h2>Claves de API</h2>").expect(page);
        let (table, after) = table.split_once("</table>").unwrap();
        let next = after.split("</section>").next().unwrap();
        let next = next.contains("/console/tenants/tnt_first?offset=50");
        (table.matches("<tr>").count() - 1, next)
    };
    let first = browser.get("/console/tenants/tnt_first").await.is(200);
    assert_eq!(rows(&first.text), (50, true));
    let rest = browser.get("/console/tenants/tnt_first?offset=50").await;
    assert_eq!(rows(&rest.is(200).text), (count - 50, false));
}

#[actix_web::test]
async fn what_is_not_there_is_a_page_that_says_so() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await;
    for page in [
        "/console/nowhere",
        "/console/tenants/nobody",
        "/console/tenants/tnt_first/other/accounts",
        "/console/accounts/0000003100000000000000",
        "/console/accounts/x",
        "/console/accounts/99-1",
        "/console/accounts/18446744073709551616-1",
        "/console/vouchers/x",
        "/console/transfers/x",
        "/console/cases/x",
        "/console/webhooks/x",
        "/console/deliveries/x",
        "/console/files/x/console.css",
    ] {
        browser.get(page).await.is(404);
    }
    let long = "x".repeat(3000);
    for query in [
        "cursor=x",
        "offset=x&limit=1",
        "before=x",
        "from=x&to=y",
        "text=%00",
        &format!("q={long}"),
    ] {
        for page in [
            "/console/cases",
            "/console/audit",
            "/console/search",
            "/console/tenants/tnt_first/test/accounts",
        ] {
            browser.get(&format!("{page}?{query}")).await.is(200);
        }
    }
}

#[actix_web::test]
async fn assets_of_a_page_are_cacheable_forever() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await;
    let page = browser.get("/console/").await.is(200).text;
    let files = page
        .split('"')
        .filter(|part| part.starts_with("/console/files/"));
    let files: std::collections::BTreeSet<_> = files.collect();
    assert_eq!(files.len(), 7, "{files:?}");
    for file in files {
        // They are served without a session, too: the login page needs them.
        let answer = service.admin_client().get(file).await.is(200);
        assert!(
            answer.header("cache-control").contains("immutable"),
            "{file}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

#[actix_web::test]
async fn the_overview_goes_on_while_it_is_open() {
    let service = TestService::start().await;
    let mut browser = Browser::entered(&service).await;
    let secret = browser.cookie("caudal_session").unwrap().clone();
    let call = service
        .admin_client()
        .get("/console/live")
        .header("cookie", &format!("caudal_session={secret}"));
    let answered = timeout(SOON, call.raw().send()).await;
    let mut stream = answered.expect("an answer").unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while text.matches("event: now\n").count() < 2 {
        let chunk = timeout(SOON, stream.chunk()).await.expect("it goes on");
        let chunk = chunk.unwrap().expect("it goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    for message in text.split("\n\n").filter(|message| !message.is_empty()) {
        let data = message.strip_prefix("event: now\ndata: ");
        let whole = data.is_none_or(|data| !data.contains('\n'));
        assert!(whole, "{message}");
    }
    assert!(text.contains("data-point=\"["), "{text}");
    // The stream ends with the session.
    browser
        .act("/console/", "/console/logout", &[])
        .await
        .is(303);
    let ended = async { while let Ok(Some(_)) = stream.chunk().await {} };
    timeout(SOON, ended).await.expect("it ends");
}
