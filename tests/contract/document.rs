//! The properties of the document that client generators need.

use std::collections::BTreeSet;
use std::path::Path;

use caudal_api::catalogue::Catalogue;
use caudal_ledger::events::EventKind;
use caudal_ledger::voucher_types::TypeCode;

use super::schema::Document;
use crate::support::Value;

/// The most bytes of the document as it is served, for each operation: more operations may make it longer.
const BYTES_OF_AN_OPERATION: usize = 3_550;

fn words(values: &Value) -> BTreeSet<&str> {
    let values = values.as_array().into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

#[test]
fn it_is_small_and_says_whose_it_is() {
    let whole = Document::of_the_service();
    let operations = whole.operations().len();
    let Document(document) = whole;
    let text = document.to_string();
    let most = operations * BYTES_OF_AN_OPERATION;
    assert!(text.len() < most, "{} bytes, {most} at most", text.len());
    assert!(!text.contains('§'));
    let info = &document["info"];
    assert_eq!(info["license"]["identifier"], "Apache-2.0");
    assert_eq!(info["contact"].get("email"), None);
    assert_eq!(document["servers"][0]["url"], "/");
}

#[test]
fn every_operation_says_what_it_does_under_a_tag_that_is_explained() {
    let document = Document::of_the_service();
    let tags = document.0["tags"].as_array().unwrap();
    assert!(tags.iter().all(|tag| tag["description"].is_string()));
    let tags: Vec<_> = tags.iter().map(|tag| &tag["name"]).collect();
    for (path, method, operation) in document.operations() {
        let what = format!("{method} {path}");
        for field in ["summary", "description", "operationId"] {
            assert!(operation[field].is_string(), "{what} has no {field}");
        }
        assert!(tags.contains(&&operation["tags"][0]), "{what}: no such tag");
    }
}

#[test]
fn errors_bodies_and_headers_are_written_once_and_referred_to() {
    let document = Document::of_the_service();
    for (path, method, operation) in document.operations() {
        let what = format!("{method} {path}");
        for (status, answer) in operation["responses"].as_object().unwrap() {
            if status.starts_with(['4', '5']) {
                assert!(answer["$ref"].is_string(), "{what}: {status}");
                continue;
            }
            assert!(answer["description"].is_string(), "{what}: {status}");
            let mut headers = answer["headers"].as_object().unwrap().values();
            assert!(headers.all(|it| it["$ref"].is_string()), "{what}");
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(body.is_null() || body["$ref"].is_string(), "{what}: {body}");
    }
}

#[test]
fn parameters_of_several_operations_are_written_once_and_referred_to() {
    let document = Document::of_the_service();
    let shared = document.0["components"]["parameters"].as_object().unwrap();
    let text = document.0.to_string();
    for name in shared.keys() {
        let place = format!("\"#/components/parameters/{name}\"");
        assert!(text.contains(&place), "{name} is no operation's");
    }
    let mut seen: BTreeSet<_> = shared.values().map(Value::to_string).collect();
    assert_eq!(seen.len(), shared.len(), "two of them are the same");
    for (path, method, operation) in document.operations() {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let mut places = BTreeSet::new();
        for it in parameters {
            let place = (it["in"].to_string(), it["name"].to_string());
            assert!(places.insert(place), "{method} {path} has it twice: {it}");
        }
    }
    for (path, method, operation) in document.written() {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for own in parameters.filter(|it| it["$ref"].is_null()) {
            assert!(seen.insert(own.to_string()), "{method} {path}: {own}");
        }
    }
    // Parameters of the same name and place are shared if they mean the same.
    for (operations, name, place) in [
        (
            &["listAccounts", "walletMovimientosCliente", "reconcile"][..],
            "cursor",
            "Cursor",
        ),
        (
            &["listSaldosActuales", "readSaldoHistorico"],
            "fecha",
            "Fecha",
        ),
        (&["closeAccount", "updateCuenta"], "If-Match", "IfMatch"),
        (
            &["createHold", "walletTransferir"],
            "Idempotency-Key",
            "IdempotencyKey",
        ),
        (
            &["listMovements", "listTransfers", "walletMovimientosCliente"],
            "from",
            "From",
        ),
    ] {
        assert_eq!(shared[place]["name"], name);
        for id in operations {
            let written = document.written();
            let (_, _, operation) = written
                .iter()
                .find(|(_, _, it)| it["operationId"] == *id)
                .unwrap();
            let parameters = operation["parameters"].as_array().unwrap();
            let place = serde_json::json!({"$ref": format!("#/components/parameters/{place}")});
            assert!(parameters.contains(&place), "{id}: {name}");
        }
    }
}

#[test]
fn operations_promise_the_statuses_that_they_have() {
    let document = Document::of_the_service();
    let every = ["400", "401", "403", "429", "503"];
    let shown = ["406"];
    let (found, keyed, changes) = (["404"], ["409"], ["409", "412"]);
    let (body, bank) = (["413", "415"], ["502", "504"]);
    let table: [(&str, &[&[&str]]); 8] = [
        ("listVoucherTypes", &[&shown]),
        ("readBalance", &[&shown, &found]),
        ("lookupAlias", &[&shown, &bank]),
        ("createAccount", &[&shown, &keyed, &body, &bank]),
        ("setAlias", &[&shown, &found, &changes, &body, &bank]),
        ("createComprobante", &[&shown, &found, &keyed, &body]),
        ("createTransfer", &[&shown, &found, &keyed, &body]),
        ("deleteWebhook", &[&found]),
    ];
    for (id, more) in table {
        let operation = document.operation(id);
        let answers = operation["responses"].as_object().unwrap().keys();
        let reply: BTreeSet<_> = answers.map(String::as_str).collect();
        let reply: BTreeSet<_> = reply.into_iter().filter(|it| *it >= "400").collect();
        let wanted = more.iter().copied().flatten().chain(&every);
        assert_eq!(reply, wanted.copied().collect(), "{id}");
    }
    // The bank has no key, and its bodies are read whatever content type they claim, unless they are encoded.
    let notice = document.operation("takeBankNotice");
    let answers = notice["responses"].as_object().unwrap().keys();
    let answers: Vec<_> = answers.map(String::as_str).collect();
    assert_eq!(answers, ["200", "400", "401", "413", "415", "503"]);
}

#[test]
fn closed_sets_times_and_money_have_their_types() {
    let Document(document) = Document::of_the_service();
    let schemas = &document["components"]["schemas"];
    let property = |schema: &str, name: &str| schemas[schema]["properties"][name].clone();
    for (schema, name, set) in [
        ("Hold", "status", "HoldStatus"),
        ("Transfer", "status", "TransferStatus"),
        ("ComprobanteResponse", "ledgerType", "LedgerType"),
        ("AccountSummary", "status", "AccountStatus"),
        ("TipoComprobante", "sentido", "Sentido"),
        ("TipoComprobante", "signo", "Signo"),
        ("Movimiento", "signo", "Signo"),
        ("Error", "code", "ErrorCode"),
    ] {
        let place = format!("#/components/schemas/{set}");
        assert_eq!(property(schema, name)["$ref"], place, "{schema}.{name}");
        assert!(schemas[set]["enum"].is_array(), "{set}");
    }
    for (schema, fields) in schemas.as_object().unwrap() {
        for (name, property) in fields["properties"].as_object().into_iter().flatten() {
            let text = property["type"] == "string" || words(&property["type"]).contains("string");
            let instant = name.ends_with("At") || name == "timestamp";
            assert!(
                !(text && instant) || property["format"] == "date-time",
                "{schema}.{name} is no date-time"
            );
            let spanish = name.starts_with("fecha");
            let formats = ["date", "date-time"];
            let known = property["format"]
                .as_str()
                .is_some_and(|it| formats.contains(&it));
            assert!(
                !(text && spanish) || known,
                "{schema}.{name} is neither a day nor an instant"
            );
            let money = ["amount", "available", "held", "total"].contains(&name.as_str());
            assert!(
                !(text && money) || property["pattern"].is_string(),
                "{schema}.{name} is any text"
            );
        }
    }
    for (schema, name, set) in [
        ("KycBody", "sex", "Sex"),
        ("UpdateAccountKycDto", "sex", "Sex"),
        ("KycBody", "riskLevel", "RiskLevel"),
        ("CreateTipoComprobanteDto", "sentido", "Sense"),
        ("CreateTipoComprobanteDto", "signo", "Signo"),
    ] {
        let choices = property(schema, name)["oneOf"].to_string();
        let place = format!("#/components/schemas/{set}\"");
        assert!(choices.contains(&place), "{schema}.{name}: {choices}");
    }
    for (id, name, format) in [
        ("readHistoricalBalance", "date", "date"),
        ("readHistoricalBalance", "at", "date-time"),
        ("reconcile", "fecha", "date"),
        ("reconcile", "from", "date"),
        ("readSaldoHistorico", "fecha", "date"),
        ("listSaldosActuales", "asOf", "date-time"),
        ("listComprobantesByFilters", "fechaExterna", "date"),
    ] {
        let operation = Document::of_the_service().operation(id);
        let mut parameters = operation["parameters"].as_array().unwrap().iter();
        let found = parameters.find(|it| it["name"] == name).unwrap();
        assert_eq!(found["schema"]["format"], format, "{id}: {name}");
    }
    let holds = Document::of_the_service().operation("listHolds");
    let mut parameters = holds["parameters"].as_array().unwrap().iter();
    let status = parameters.find(|it| it["name"] == "status").unwrap();
    assert_eq!(status["schema"]["$ref"], "#/components/schemas/HoldStatus");
}

/// Calls `see` with every schema of a document that takes numbers, and its place.
fn numbers(value: &Value, place: &str, see: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            let kinds = &value["type"];
            let takes = |kind: &str| *kinds == kind || words(kinds).contains(kind);
            if takes("number") || takes("integer") {
                see(place, value);
            }
            for (name, field) in fields {
                numbers(field, &format!("{place}/{name}"), see);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                numbers(item, &format!("{place}/{n}"), see);
            }
        }
        _ => {}
    }
}

/// A generator takes the least precise type for a number without a format: in Go 1234567.89 becomes 1234567.9.
#[test]
fn every_number_has_a_format_that_holds_it() {
    let Document(tenants) = Document::of_the_service();
    let operators = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    for document in [tenants, operators] {
        let mut seen = 0;
        numbers(&document, "", &mut |place, schema| {
            seen += 1;
            let whole = schema["type"] == "integer" || words(&schema["type"]).contains("integer");
            let format = schema["format"].as_str().unwrap_or("none");
            let small = i64::from(i32::MAX);
            let fits = schema["maximum"].as_i64().is_some_and(|most| most <= small);
            let right = if whole {
                format == "int64" || format == "int32" && fits
            } else {
                format == "double"
            };
            assert!(right, "{place}: {format} for {schema}");
        });
        assert!(seen > 50, "only {seen} numbers");
    }
}

/// Generators that do not know alternatives take the first one.
#[test]
fn amounts_are_text_first() {
    let Document(document) = Document::of_the_service();
    for name in ["AmountDto", "MoneyDto"] {
        let amount = &document["components"]["schemas"][name];
        assert_eq!(amount["oneOf"][0]["type"], "string", "{name}");
        assert_eq!(amount["oneOf"][1]["format"], "double", "{name}");
        let about = amount["description"].as_str().unwrap();
        let (text, number) = (about.find("text"), about.find("number"));
        assert!(text.is_some() && text < number, "{about}");
    }
}

/// A client that has to choose between a body and `null` sends one of them always.
#[test]
fn a_body_that_may_be_left_out_is_not_required_and_never_null() {
    let document = Document::of_the_service();
    for id in ["confirmHold", "releaseHold", "rotateWebhookSecret"] {
        let body = &document.operation(id)["requestBody"];
        assert_ne!(body["required"], true, "{id}");
        let schema = &body["content"]["application/json"]["schema"];
        assert!(schema["$ref"].is_string(), "{id}: {schema}");
    }
}

/// Calls `see` with each text that has words in backticks, and the words that the value next to it may have.
fn listed(
    document: &Document,
    value: &Value,
    place: &str,
    see: &mut impl FnMut(&str, &str, &BTreeSet<String>),
) {
    match value {
        Value::Object(fields) => {
            let schema = value.get("schema").unwrap_or(value);
            let allowed = document.allowed(schema);
            if let (Some(said), false) = (value["description"].as_str(), allowed.is_empty()) {
                see(place, said, &allowed);
            }
            for (name, field) in fields {
                listed(document, field, &format!("{place}/{name}"), see);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                listed(document, item, &format!("{place}/{n}"), see);
            }
        }
        _ => {}
    }
}

/// Places whose sentence names some of the words on purpose.
const SOME_WORDS: [&str; 4] = [
    // These accounts have a CVU, so they are neither `registered` nor `rejected`.
    "/AccountSummary/properties/status",
    "/Position/properties/status",
    // It was enrolled by this request.
    "/RemuneracionAlta/properties/estado",
    // It says which of them are final.
    "/TransferStatus",
];

/// A sentence that leaves a word out is believed: `rejected` was missing where an event reports an account.
#[test]
fn a_sentence_that_lists_the_words_of_a_field_lists_all_of_them() {
    let operators = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    let mut lists = BTreeSet::new();
    for document in [Document::of_the_service(), Document(operators)] {
        listed(&document, &document.0, "", &mut |place, said, allowed| {
            let said: BTreeSet<_> = said
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect();
            let some = SOME_WORDS.iter().any(|some| place.ends_with(some));
            if said.intersection(allowed).count() > 1 && !some {
                let missing: Vec<_> = allowed.difference(&said).collect();
                assert!(missing.is_empty(), "{place} does not say {missing:?}");
                lists.insert(place.to_owned());
            }
        });
    }
    let status = "/components/schemas/AccountOfEvent/properties/status";
    assert!(lists.contains(status), "{lists:?}");
}

#[test]
fn answers_have_the_names_of_the_interface_and_ends_of_periods_both_of_their_forms() {
    let document = Document::of_the_service();
    let schema = |id: &str| {
        let operation = document.operation(id);
        operation["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    let named = |name: &str| serde_json::json!({"$ref": format!("#/components/schemas/{name}")});
    for id in ["listMovements", "listPositionMovements"] {
        assert_eq!(schema(id)["items"], named("LedgerMovementResponse"), "{id}");
    }
    assert_eq!(schema("listCuentas"), named("CuentasListResponse"));
    let schemas = &document.0["components"]["schemas"];
    let movement = &schemas["LedgerMovementResponse"]["allOf"];
    assert_eq!(*movement, serde_json::json!([named("ComprobanteResponse")]));

    let formats = schemas["DayOrInstant"]["anyOf"].as_array().unwrap().iter();
    let formats: Vec<_> = formats.map(|it| it["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["date", "date-time"]);
    for (id, names) in [
        ("listMovements", ["from", "to"]),
        ("listTransfers", ["from", "to"]),
        ("listInternalComprobantes", ["desde", "hasta"]),
        ("listComprobantesByFilters", ["fechaDesde", "fechaHasta"]),
    ] {
        let operation = document.operation(id);
        for name in names {
            let mut parameters = operation["parameters"].as_array().unwrap().iter();
            let found = parameters.find(|it| it["name"] == name).unwrap();
            assert_eq!(found["schema"], named("DayOrInstant"), "{id}: {name}");
        }
    }
    // The field is shown as it was sent, so its forms are those in which it may be sent.
    for name in ["CreateWalletComprobanteDto", "Movimiento"] {
        let choices = schemas[name]["properties"]["fechaExterna"]["oneOf"].to_string();
        assert!(
            choices.contains("schemas/FechaExterna\""),
            "{name}: {choices}"
        );
    }
}

/// The document has one text, one pattern and one error for it.
#[test]
fn the_code_of_a_voucher_type_has_one_rule() {
    let document = Document::of_the_service();
    let schemas = &document.0["components"]["schemas"];
    let sent = [
        ("CreateVoucherTypeDto", "code"),
        ("CreateTipoComprobanteDto", "codigo"),
        ("CreateComprobanteDto", "voucherTypeCode"),
        ("CreateWalletComprobanteDto", "codigo"),
        ("BatchItemDto", "voucherTypeCode"),
    ];
    let fields = sent.map(|(schema, name)| schemas[schema]["properties"][name].clone());
    let operation = document.operation("previewFee");
    let mut parameters = operation["parameters"].as_array().unwrap().iter();
    let in_query = parameters
        .find(|it| it["name"] == "voucherTypeCode")
        .unwrap();
    for field in fields.iter().chain([&in_query["schema"]]) {
        assert_eq!(field["pattern"], "^[A-Za-z0-9_-]{2,40}$", "{field}");
    }
    for field in &fields[..2] {
        let said = field["description"].as_str().unwrap();
        assert!(said.contains("underscores or dashes"), "{said}");
    }
    let error = TypeCode::parse("x").unwrap_err().to_string();
    assert!(error.ends_with("digits, underscores or dashes"), "{error}");
    for (code, good) in [
        ("a-b_1", true),
        ("A", false),
        ("Ñandú", false),
        ("a.b", false),
    ] {
        assert_eq!(TypeCode::parse(code).is_ok(), good, "{code}");
    }
}

#[test]
fn what_is_always_sent_is_required_and_what_may_be_null_says_so() {
    let Document(document) = Document::of_the_service();
    let hold = &document["components"]["schemas"]["Hold"];
    let names = hold["properties"].as_object().unwrap().keys();
    let some = ["balance", "captureTolerance", "metadata", "voucherId"];
    let always: BTreeSet<_> = names
        .map(String::as_str)
        .filter(|it| !some.contains(it))
        .collect();
    assert_eq!(words(&hold["required"]), always);
    let expires = &hold["properties"]["expiresAt"];
    assert_eq!(words(&expires["type"]), BTreeSet::from(["null", "string"]));
    // The field is left out, and never null.
    let error = &document["components"]["schemas"]["Error"];
    assert!(!words(&error["required"]).contains("bankStatus"));
    assert_eq!(error["properties"]["bankStatus"]["type"], "integer");
}

#[test]
fn events_are_told_apart_by_their_type_and_each_is_a_webhook() {
    let Document(document) = Document::of_the_service();
    let event = &document["components"]["schemas"]["Event"];
    assert_eq!(event["discriminator"]["propertyName"], "type");
    let mapping = event["discriminator"]["mapping"].as_object().unwrap();
    let kinds: BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let with_test: BTreeSet<_> = kinds.iter().copied().chain(["webhook.test"]).collect();
    assert_eq!(
        mapping.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        with_test
    );
    // Generators write a file for each tag: of two of one name they keep the last.
    let tag = &document["webhooks"]["voucher.created"]["post"]["tags"][0];
    let tags = document["tags"].as_array().unwrap().iter();
    assert!(tags.map(|it| &it["name"]).any(|name| name == tag), "{tag}");
    for (path, method, operation) in Document::of_the_service().operations() {
        assert_ne!(operation["tags"][0], *tag, "{method} {path}");
    }
    for (word, place) in mapping {
        assert_eq!(
            document["webhooks"][word]["post"]["tags"][0], *tag,
            "{word}"
        );
        let schema = document.pointer(place.as_str().unwrap().trim_start_matches('#'));
        let schema = schema.unwrap();
        assert_eq!(
            words(&schema["allOf"][1]["properties"]["type"]["enum"]),
            BTreeSet::from([word.as_str()])
        );
        assert_eq!(schema["allOf"][0]["$ref"], "#/components/schemas/EventHead");
        let webhook = &document["webhooks"][word]["post"]["requestBody"];
        let body = &webhook["content"]["application/json"]["schema"];
        assert_eq!(body["$ref"], *place, "{word}");
    }
}

#[test]
fn the_page_of_errors_is_the_catalogue_of_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
    let page = std::fs::read_to_string(page).unwrap();
    let catalogue = Catalogue::Errors.markdown();
    assert!(
        page.ends_with(&catalogue),
        "put what `caudal openapi --catalogue errors` prints at the end of docs/errors.md"
    );
}

#[test]
fn every_body_has_an_example_that_is_what_its_schema_says() {
    let operators = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    for document in [Document::of_the_service(), Document(operators)] {
        for (path, method, operation) in document.operations() {
            let what = format!("{method} {path}");
            let sent = &operation["requestBody"]["content"]["application/json"];
            assert!(
                sent.is_null() || sent.get("example").is_some_and(|it| !it.is_null()),
                "{what} has no example"
            );
            let answers = operation["responses"].as_object().unwrap().values();
            let answered = answers.map(|answer| &answer["content"]["application/json"]);
            for content in answered.chain([sent]) {
                if let Some(example) = content.get("example") {
                    let fits = document.check(&content["schema"], example);
                    fits.unwrap_or_else(|why| panic!("{what}: {why}: document/examples.json"));
                }
            }
        }
    }
}

#[test]
fn every_list_that_is_csv_is_a_workbook_too() {
    let mut lists = 0;
    let operators = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    for document in [Document::of_the_service(), Document(operators)] {
        for (path, method, operation) in document.operations() {
            let forms = &operation["responses"]["200"]["content"];
            // A statement is a document with a form for ever, and no list.
            if forms["text/csv"].is_object() && forms["application/x-ndjson"].is_object() {
                let workbook = &forms[caudal_http::sheets::xlsx::MEDIA];
                assert!(workbook.is_object(), "{method} {path}");
                lists += 1;
            }
        }
    }
    assert!(lists > 10, "{lists}");
}
