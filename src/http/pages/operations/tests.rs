//! A small document becomes a page.

use serde_json::json;

use super::*;

fn document() -> Value {
    json!({
        "info": {"description": "About *it*."},
        "security": [{"key": []}],
        "tags": [
            {"name": "Unused", "description": "Of nothing."},
            {"name": "Holds", "description": "Set money apart."},
        ],
        "paths": {
            "/v1/accounts/{cvu}/holds": {
                "get": {"tags": ["Other things"], "summary": "List <holds>", "responses": {}},
                "post": {
                    "operationId": "createHold", "tags": ["Holds"], "summary": "Set apart", "x-scope": "holds:write",
                    "parameters": [
                        {"$ref": "#/components/parameters/Cvu"},
                        {"name": "Idempotency-Key", "in": "header", "required": true, "schema": {"type": "string"}},
                        {"name": "dryRun", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "requestBody": {"required": true, "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Hold"}, "example": {"note": "it's"},
                    }}},
                    "responses": {
                        "201": {"description": "Made.", "headers": {"ETag": {}, "X-Request-Id": {}}, "content":
                            {"application/json": {"schema": {"type": "array", "items":
                                {"$ref": "#/components/schemas/Hold"}}, "example": {"id": "hld_1"}}}},
                        "404": {"$ref": "#/components/responses/Gone"},
                    },
                },
            },
        },
        "webhooks": {"hold.created": {"post": {"tags": ["Holds"], "operationId": "onHold", "summary": "hold.created",
            "description": "After a hold.", "responses": {}}}},
        "components": {
            "parameters": {"Cvu": {"name": "cvu", "in": "path", "required": true,
                "schema": {"type": "string", "pattern": "^[0-9]{22}$"}, "description": "The account's `CVU`."}},
            "responses": {"Gone": {"description": "There is none."}},
            "schemas": {"Hold": {"type": "object", "description": "A hold.", "required": ["note"], "properties": {
                "note": {"type": ["string", "null"], "maxLength": 9},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}}},
            }}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-api-key"}},
        },
    })
}

#[test]
fn a_page_has_every_operation_with_what_it_takes_and_returns() {
    let page = render(&document());
    let main = page.sections.iter().filter(|it| it.is_main);
    let main: Vec<_> = main.map(|it| it.heading.as_str()).collect();
    assert_eq!(main, ["Holds", "Other things", "Errors", "Types"]);
    let found = |heading: &str| page.sections.iter().find(|it| it.heading == heading);
    let made = found("POST /v1/accounts/{cvu}/holds").unwrap();
    assert_eq!(
        (&*made.anchor, made.text.trim()),
        ("createHold", "createHold Set apart")
    );
    for part in [
        "<p>About <em>it</em>.</p>",
        "<h2 id=\"tag-Holds\">Holds</h2>",
        "<li><a href=\"#createHold\"><b>POST</b> <code>/v1/accounts/{cvu}/holds</code></a> Set apart</li>",
        "<li><a href=\"#onHold\"><code>hold.created</code></a> hold.created</li>",
        "List &lt;holds&gt;",
        "<h3 id=\"get--v1-accounts--cvu--holds\">",
        "the scope <a href=\"/docs/scopes\"><code>holds:write</code></a>",
        "<td><code>cvu</code> <em>required</em></td><td>path</td><td>string, pattern <code>^[0-9]{22}$</code></td>\
         <td><p>The account's <code>CVU</code>.</p>\n</td>",
        "<td><code>dryRun</code></td><td>query</td><td>boolean</td>",
        "<a href=\"#type-Hold\">Hold</a> <code>application/json</code></p>",
        "<td>array of <a href=\"#type-Hold\">Hold</a> <code>application/json</code></td><td><code>ETag</code></td>",
        "<p>Errors: <a href=\"#error-Gone\">404</a></p>",
        "<h3 id=\"error-Gone\">Gone</h3>\n<p>There is none.</p>",
        "<details name=\"createHold\" open><summary>curl</summary>",
        "<details name=\"createHold\"><summary>Python</summary>",
        "&quot;id&quot;: &quot;hld_1&quot;",
        "<h3 id=\"type-Hold\">Hold</h3>",
        "<td><code>note</code> <em>required</em></td><td>string or null, characters at most <code>9</code></td>",
        "<td><code>parts[].kind</code></td><td><code>a</code>, <code>b</code></td>",
    ] {
        assert!(page.html.contains(part), "{part} is not in {}", page.html);
    }
    assert!(!page.html.contains("Unused") && !page.html.contains("X-Request-Id"));
}

#[test]
fn a_sample_is_a_command_for_a_shell() {
    let document = document();
    let page = Page {
        document: &document,
        body: Rendered::default(),
    };
    let all = page.operations();
    let [list, hold, sent] = all.as_slice() else {
        panic!("{}", all.len())
    };
    assert!(sent.is_sent);
    assert_eq!(
        page.curl(hold),
        r#"curl -sS "$API/v1/accounts/${CVU}/holds" \
  -H "x-api-key: $KEY" \
  -H "idempotency-key: $IDEMPOTENCY_KEY" \
  -H 'content-type: application/json' \
  -d '{"note":"it'\''s"}'"#
    );
    assert_eq!(
        page.curl(list),
        "curl -sS \"$API/v1/accounts/${CVU}/holds\" \\\n  -H \"x-api-key: $KEY\""
    );
}

#[test]
fn a_sample_of_a_client_is_a_call_of_its_method() {
    let mut document = document();
    let parts = json!([null, 1.5, "a".repeat(60)]);
    let long = json!({"dry": true, "note": "it's", "parts": parts, "to": {"cvu": "0001001800000212856644"}});
    let post = &mut document["paths"]["/v1/accounts/{cvu}/holds"]["post"];
    post["requestBody"]["content"]["application/json"]["example"] = long;
    let page = Page {
        document: &document,
        body: Rendered::default(),
    };
    let all = page.operations();
    let samples = page.all_samples(&all[1]);
    let (a, [_, python, typescript]) = ("a".repeat(60), samples.as_slice()) else {
        panic!("{samples:?}")
    };
    assert_eq!(
        python.1,
        format!(
            r#"api.create_hold(cvu, idempotency_key=idempotency_key, body=models.Hold.from_dict({{
  "dry": True,
  "note": "it's",
  "parts": [None, 1.5, "{a}"],
  "to": {{"cvu": "0001001800000212856644"}},
}}))"#
        )
    );
    assert_eq!(
        typescript.1,
        format!(
            r#"await api.createHold({{ cvu, idempotencyKey, body: {{
  dry: true,
  note: "it's",
  parts: [null, 1.5, "{a}"],
  to: {{ cvu: "0001001800000212856644" }},
}} }});"#
        )
    );
}
