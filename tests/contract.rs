//! Every operation of the OpenAPI document, by a table: how it is reached, and how it refuses.
//!
//! An operation without a row fails [`every_operation_has_a_row`]: whoever adds an endpoint adds
//! its row here, and it is covered.

mod checks;
mod schema;
mod treasury;

use caudal_ledger::ids::{AccountNo, HoldId, RealmId, TransferId, VoucherId};

use crate::support::client::fresh;
use crate::support::{Answer, Client, Value, cuit, json};
use schema::Document;

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
}

impl Ids {
    /// A realm with one of everything.
    async fn of(client: &Client) -> Self {
        let number = fresh();
        let (code, key, external) = (
            format!("TYPE_{number}"),
            format!("key-{number}"),
            format!("ext-{number}"),
        );
        let body = json!({"cuit": cuit(number), "holderName": format!("Canary Holder {number}")});
        let opened = client.post("/v1/accounts", &body).key(&key).await.is(201);
        let cvu = opened["cvu"].as_str().unwrap().to_owned();
        let suspended = client.cvu().await;
        let path = format!("/v1/accounts/{suspended}/suspend");
        client
            .post(&path, &json!({"reason": "a test"}))
            .await
            .is(200);
        client.create_type(&code, "credit").await;
        let posted = client
            .voucher(&cvu, &code, "10.00", &external)
            .await
            .is(201);
        let voucher = posted["id"].as_str().unwrap().to_owned();
        let hold = client.hold(&cvu, "5.00").await["id"].clone();
        let sent = client.transfer(&cvu, json!({"cvu": suspended}), "1.00");
        let transfer = sent.await.is(201)["id"].clone();
        Self {
            cvu,
            suspended,
            code,
            voucher,
            external,
            key,
            hold: hold.as_str().unwrap().to_owned(),
            transfer: transfer.as_str().unwrap().to_owned(),
            account: opened["walletAccountId"].to_string(),
        }
    }

    /// Well-formed ids of nothing.
    fn unknown() -> Self {
        let place = VoucherId {
            realm: RealmId(4_000_000),
            account: AccountNo(1),
            sequence: 1,
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
        }
    }

    fn all(&self) -> [&str; 8] {
        [
            &self.cvu,
            &self.suspended,
            &self.code,
            &self.voucher,
            &self.external,
            &self.key,
            &self.hold,
            &self.transfer,
        ]
    }
}

/// How an operation is called successfully.
struct Row {
    /// Its `operationId`.
    operation: &'static str,
    /// The status of success.
    status: u16,
    /// What goes into its path's parameters.
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
    /// Whether what its path names belongs to nobody here.
    public: bool,
    /// Whether it needs an idempotency key.
    keyed: bool,
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
};
const BAD_CVUS: &[&str] = &[
    "1",
    "abc",
    "0000532609100002749315",
    "000053260910000274931",
    "00005326091000027493140",
    "2850590940090418135201",
    "0000000000000000000000",
    "000053260910000274931%00",
];
const BAD_CBUS: &[&str] = &[
    "1",
    "abc",
    "2850590940090418135200",
    "285059094009041813520",
    "28505909400904181352010",
    "2850590940090418135201%00",
];
const BAD_CODES: &[&str] = &[
    "A",
    "con%20espacio",
    "%C3%91ANDU",
    "A-B",
    "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDE",
];

#[expect(clippy::too_many_lines, reason = "a table")]
fn table() -> Vec<Row> {
    let cvu = Row {
        path: |ids| vec![&ids.cvu],
        malformed: BAD_CVUS,
        ..ROW
    };
    let hold = Row {
        path: |ids| vec![&ids.hold],
        ..ROW
    };
    let code = Row {
        path: |ids| vec![&ids.code],
        malformed: BAD_CODES,
        ..ROW
    };
    vec![
        Row {
            operation: "createAccount",
            status: 201,
            body: Some(|_| json!({"cuit": cuit(fresh()), "holderName": "Juana Azurduy"})),
            keyed: true,
            ..ROW
        },
        Row {
            operation: "listAccounts",
            query: "?limit=1&q=0&status=active&sort=alias&order=asc",
            ..ROW
        },
        Row {
            operation: "readAccount",
            ..cvu
        },
        Row {
            operation: "closeAccount",
            ..cvu
        },
        Row {
            operation: "readLimits",
            ..cvu
        },
        Row {
            operation: "changeLimits",
            body: Some(|_| json!({"dailyAmount": "1000", "dailyCount": null})),
            ..cvu
        },
        Row {
            operation: "suspendAccount",
            body: Some(|_| json!({"reason": "a test", "code": "fraud"})),
            ..cvu
        },
        Row {
            operation: "reactivateAccount",
            path: |ids| vec![&ids.suspended],
            ..cvu
        },
        Row {
            operation: "changeIdentity",
            body: Some(identity),
            ..cvu
        },
        Row {
            operation: "changeKyc",
            body: Some(|_| json!({"pep": false, "address": {"street": "Maipú"}})),
            ..cvu
        },
        Row {
            operation: "setAlias",
            body: Some(|_| json!({"alias": format!("alias.{}", fresh())})),
            ..cvu
        },
        Row {
            operation: "listVoucherTypes",
            ..ROW
        },
        Row {
            operation: "createVoucherType",
            status: 201,
            body: Some(
                |_| json!({"code": format!("made_{}", fresh()), "name": "Made", "sense": "debit"}),
            ),
            ..ROW
        },
        Row {
            operation: "toggleVoucherType",
            body: Some(|_| json!({"active": false})),
            ..code
        },
        Row {
            operation: "deleteVoucherType",
            status: 204,
            ..code
        },
        Row {
            operation: "listComprobantes",
            query: "?limit=10&type=credit&sort=amount",
            ..cvu
        },
        Row {
            operation: "createComprobante",
            status: 201,
            body: Some(adjustment),
            ..cvu
        },
        Row {
            operation: "listMovements",
            query: "?from=2020-01-01&q=e",
            ..cvu
        },
        Row {
            operation: "listInternalComprobantes",
            query: "?desde=2020-01-01&importeMin=0",
            ..ROW
        },
        Row {
            operation: "readComprobanteByExternal",
            path: |ids| vec![&ids.external],
            malformed: &["a%20b", "a%2Fb", "%C3%B1", "%00"],
            query: "?direction=credit",
            ..ROW
        },
        Row {
            operation: "readComprobante",
            path: |ids| vec![&ids.voucher],
            ..ROW
        },
        Row {
            operation: "readHistoricalBalance",
            query: "?date=2024-02-29",
            ..cvu
        },
        Row {
            operation: "readBalance",
            ..cvu
        },
        Row {
            operation: "createComprobantes",
            body: Some(batch),
            bytes: 1024 * 1024,
            ..ROW
        },
        Row {
            operation: "createHold",
            status: 201,
            body: Some(|_| json!({"amount": "0.10", "idExterno": format!("row-{}", fresh())})),
            ..cvu
        },
        Row {
            operation: "listHolds",
            query: "?status=open&limit=5",
            ..cvu
        },
        Row {
            operation: "readHold",
            ..hold
        },
        Row {
            operation: "confirmHold",
            body: Some(|_| json!({"amount": "1.00"})),
            bodiless: true,
            ..hold
        },
        Row {
            operation: "releaseHold",
            body: Some(|_| json!({"amount": 2.5})),
            bodiless: true,
            ..hold
        },
        Row {
            operation: "createTransfer",
            status: 201,
            body: Some(transfer),
            ..ROW
        },
        Row {
            operation: "listTransfers",
            query: "?status=completed&from=2020-01-01&fromCvu=OWN_CVU",
            ..ROW
        },
        Row {
            operation: "readTransfer",
            path: |ids| vec![&ids.transfer],
            ..ROW
        },
        Row {
            operation: "previewFee",
            query: "?cvu=OWN_CVU&importe=100.00&voucherTypeCode=TRANSFER_OUT",
            ..ROW
        },
        Row {
            operation: "lookupCbu",
            path: |_| vec!["2850590940090418135201"],
            malformed: BAD_CBUS,
            public: true,
            ..ROW
        },
        Row {
            operation: "lookupAlias",
            path: |_| vec!["DESTINO.0"],
            malformed: &[
                "corto",
                "con%20espacio",
                "%C3%B1and%C3%BA.s",
                "a_b.c.d",
                "%00",
            ],
            public: true,
            ..ROW
        },
        Row {
            operation: "reconcile",
            ..ROW
        },
        Row {
            operation: "readIdempotencyKey",
            path: |ids| vec![&ids.key],
            malformed: &["a%20b", "%00"],
            ..ROW
        },
    ]
}

fn identity(_: &Ids) -> Value {
    // The CUIT of the account is filled in by the call: see `Row::call`.
    json!({"holderName": "Juana Azurduy de Padilla", "titulares": [{"cuit": "own", "name": "Juana Azurduy"}]})
}

fn adjustment(ids: &Ids) -> Value {
    json!({"voucherTypeCode": ids.code, "amount": "1.50", "idExterno": format!("row-{}", fresh())})
}

fn batch(ids: &Ids) -> Value {
    let mut item = adjustment(ids);
    item["cvu"] = json!(ids.cvu);
    json!({"mode": "atomic", "items": [item]})
}

fn transfer(ids: &Ids) -> Value {
    json!({
        "fromCvu": ids.cvu, "to": {"cvu": ids.suspended}, "amount": "0.25", "concept": "fac",
        "idExterno": format!("row-{}", fresh()),
    })
}

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

    /// Whether it addresses something of the realm by an id.
    fn addresses(&self) -> bool {
        self.template.contains('{') && !self.row.public
    }

    /// Calls it with the ids of `own` in its body and these in its path.
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

/// The CUIT of an account's holder; a right one of nobody where the client cannot see it.
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
    let mut found = Vec::new();
    for (template, method, operation) in document.operations() {
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
    assert!(operations().len() >= 48);
}
