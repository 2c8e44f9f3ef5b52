//! Every operation of the OpenAPI document, in a table: how it is called, and how it refuses.
//!
//! An operation without a row fails [`every_operation_has_a_row`]: whoever adds an endpoint adds a
//! row here, and the endpoint is covered.

mod checks;
mod days;
mod document;
mod dry;
mod events;
mod foreign;
mod lists;
mod outline;
mod owned;
mod parameters;
mod schema;
mod scopes;
mod sizes;
mod table;
mod treasury;
mod updates;

use caudal_ledger::events::EventId;
use caudal_ledger::ids::{AccountNo, HoldId, RealmId, Tag, TransferId, VoucherId};
use caudal_ledger::webhooks::{DeliveryId, WebhookId};

use crate::support::client::fresh;
use crate::support::{Answer, Client, Value, cuit, json};
use schema::Document;
use table::table;

/// Ids for the parameters of paths.
#[derive(Clone)]
struct Ids {
    cvu: String,
    suspended: String,
    code: String,
    voucher: String,
    external: String,
    key: String,
    hold: String,
    transfer: String,
    account: String,
    webhook: String,
    /// An event of the realm and its delivery, if a row needs one that was tried.
    event: String,
    delivery: String,
    /// The number of the account of `cvu`, and of one without a CVU.
    cuenta: String,
    bare: String,
    /// The record of `cvu`, and the number of the type `code`.
    record: String,
    tipo: String,
    /// The external id of `transfer`.
    sent: String,
}

impl Ids {
    /// Creates one of everything in a realm.
    async fn of(client: &Client) -> Self {
        let number = fresh();
        let (code, key, external) = (
            format!("TYPE_{number}"),
            format!("key-{number}"),
            format!("ext-{number}"),
        );
        let webhook = events::webhook(client).await;
        let body = json!({"cuit": cuit(number), "holderName": format!("Canary Holder {number}")});
        let opened = client.post("/v1/accounts", &body).key(&key).await.is(201);
        let cvu = opened["cvu"].as_str().unwrap().to_owned();
        let suspended = client.cvu().await;
        let path = format!("/v1/accounts/{suspended}/suspend");
        client
            .post(&path, &json!({"reason": "a test"}))
            .await
            .is(200);
        let tipo = client.create_type(&code, "credit").await["legacyId"].to_string();
        let posted = client
            .voucher(&cvu, &code, "10.00", &external)
            .await
            .is(201);
        let voucher = posted["id"].as_str().unwrap().to_owned();
        let hold = client.hold(&cvu, "5.00").await["id"].clone();
        let sent = client.transfer(&cvu, json!({"cvu": suspended}), "1.00");
        let sent = sent.await.is(201);
        let transfer = sent["id"].clone();
        let names = json!({"cuitCuil": cuit(number), "razonSocial": "Canary SA"});
        let bare = client.post("/wallet/v1/Cuenta", &names).await.is(201);
        let path = format!("/wallet/v1/Cuenta/{}", opened["walletAccountId"]);
        let record = client.get(&path).await.is(200)["cuentaCVUId"].to_string();
        Self {
            record,
            tipo,
            sent: sent["idExterno"].as_str().unwrap().to_owned(),
            cuenta: opened["walletAccountId"].to_string(),
            bare: bare["id"].to_string(),
            cvu,
            suspended,
            code,
            voucher,
            external,
            key,
            hold: hold.as_str().unwrap().to_owned(),
            transfer: transfer.as_str().unwrap().to_owned(),
            account: opened["walletAccountId"].to_string(),
            webhook,
            event: String::new(),
            delivery: String::new(),
        }
    }

    /// Creates everything that an operation needs, by its row.
    async fn for_row(client: &Client, row: &Row) -> Self {
        let mut ids = Self::of(client).await;
        if row.tried {
            (ids.event, ids.delivery) = events::delivery(client, &ids).await;
        }
        ids
    }

    /// Well-formed ids that belong to nothing.
    fn unknown() -> Self {
        let place = VoucherId {
            realm: RealmId(4_000_000),
            account: AccountNo(1),
            sequence: 1,
            tag: Tag::NONE,
        };
        Self {
            cvu: "0000532609100002749314".into(),
            suspended: "0000532609100002749314".into(),
            code: "NO_SUCH_TYPE".into(),
            voucher: place.to_string(),
            external: "no-such-external".into(),
            key: "no-such-key".into(),
            hold: HoldId(place).to_string(),
            transfer: TransferId(place).to_string(),
            account: "16000000".into(),
            webhook: WebhookId {
                realm: place.realm,
                number: 1,
            }
            .to_string(),
            event: EventId {
                realm: place.realm,
                number: 1,
                tag: Tag::NONE,
            }
            .to_string(),
            delivery: DeliveryId {
                webhook: WebhookId {
                    realm: place.realm,
                    number: 1,
                },
                event: 1,
                tag: Tag::NONE,
            }
            .to_string(),
            record: "40000000000007".into(),
            tipo: "999999".into(),
            sent: "no-such-transfer".into(),
            cuenta: "9999999".into(),
            bare: "9999998".into(),
        }
    }

    fn all(&self) -> [&str; 9] {
        [
            &self.cvu,
            &self.suspended,
            &self.code,
            &self.voucher,
            &self.external,
            &self.key,
            &self.hold,
            &self.transfer,
            &self.webhook,
        ]
    }
}

/// How to call an operation successfully.
struct Row {
    /// Its `operationId`.
    operation: &'static str,
    /// The status of success.
    status: u16,
    /// The values of its path's parameters.
    path: fn(&Ids) -> Vec<&str>,
    /// Ids that are malformed in the path's first parameter, each refused with 400.
    malformed: &'static [&'static str],
    /// Its query; `OWN_CVU` stands for the caller's CVU.
    query: &'static str,
    /// Its body.
    body: Option<fn(&Ids) -> Value>,
    /// Whether its body may be left out.
    bodiless: bool,
    /// How many bytes its body may have.
    bytes: usize,
    /// Whether the thing in its path belongs to no realm.
    public: bool,
    /// Whether it needs an idempotency key.
    keyed: bool,
    /// Whether unknown fields of its body are accepted.
    lenient: bool,
    /// Whether its answer has no end.
    endless: bool,
    /// Whether it concerns an event that was sent to a webhook.
    tried: bool,
    /// Whether it shows closed days: a realm has none on its first day.
    past: bool,
}

const ROW: Row = Row {
    operation: "",
    status: 200,
    path: |_| vec![],
    malformed: &[],
    query: "",
    body: None,
    bodiless: false,
    bytes: 64 * 1024,
    public: false,
    keyed: false,
    lenient: false,
    endless: false,
    tried: false,
    past: false,
};

/// An operation of the document with its row.
struct Operation {
    row: Row,
    method: String,
    template: String,
}

impl Operation {
    /// The path with these values for its parameters.
    fn path(&self, values: &[&str]) -> String {
        let mut path = self.template.clone();
        for value in values {
            let (open, close) = (path.find('{').unwrap(), path.find('}').unwrap());
            path.replace_range(open..=close, value);
        }
        assert!(!path.contains('{'), "{}: {path}", self.row.operation);
        path + self.row.query
    }

    /// Whether its path addresses something of the realm by an id.
    fn addresses(&self) -> bool {
        self.template.contains('{') && !self.row.public
    }

    /// Calls it with the ids of `own` in its body and these values in its path.
    async fn call(&self, client: &Client, values: &[&str], own: &Ids) -> Answer {
        self.call_with(client, values, own, &[]).await
    }

    async fn call_with(
        &self,
        client: &Client,
        values: &[&str],
        own: &Ids,
        headers: &[(&str, &str)],
    ) -> Answer {
        let path = self.path(values).replace("OWN_CVU", &own.cvu);
        let mut call = client.call(&self.method, &path);
        if let Some(body) = self.row.body {
            let mut body = body(own);
            if body["titulares"].is_array() {
                body["titulares"][0]["cuit"] = json!(holder_of(client, &own.cvu).await);
            }
            call = call.json(&body);
        }
        if self.row.keyed {
            call = call.key(&format!("row-{}", fresh()));
        }
        for (name, value) in headers {
            call = call.header(name, value);
        }
        call.await
    }
}

/// The CUIT of an account's holder; a valid one that belongs to nobody if the client cannot see the
/// account.
async fn holder_of(client: &Client, cvu: &str) -> String {
    let account = client.get(&format!("/v1/accounts/{cvu}")).await;
    account["holder"]["cuit"]
        .as_str()
        .map_or_else(|| cuit(1), str::to_owned)
}

/// All operations of the document, each with its row.
fn operations() -> Vec<Operation> {
    let document = Document::of_the_service();
    let mut rows = table();
    rows.extend(treasury::rows());
    rows.extend(events::rows());
    let mut found = Vec::new();
    // The operation that the bank calls has no API key, and tests of its own.
    let own = |(_, _, operation): &(String, String, Value)| operation["security"].is_null();
    for (template, method, operation) in document.operations().into_iter().filter(own) {
        let id = operation["operationId"].as_str().unwrap();
        let at = rows.iter().position(|row| row.operation == id);
        let row = rows.swap_remove(at.unwrap_or_else(|| panic!("{id} has no row in this table")));
        found.push(Operation {
            row,
            method,
            template,
        });
    }
    let left: Vec<_> = rows.iter().map(|row| row.operation).collect();
    assert!(
        left.is_empty(),
        "rows without an operation in the document: {left:?}"
    );
    found
}

#[test]
fn every_operation_has_a_row() {
    assert!(operations().len() >= 60);
}
