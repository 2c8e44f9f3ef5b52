//! Every command that calls one operation of the admin API.

use caudal_ledger::accounts::SuspensionCode;
use caudal_ledger::cases::CaseKind;
use caudal_ledger::ids::Mode;
use caudal_ledger::limits::LimitKind;
use caudal_ledger::people::Role;
use caudal_ledger::tenants::Serving;
use caudal_ledger::tenants::scopes::SCOPES;
use serde_json::Value;

use super::super::remote::refusal;
use super::readable::cell;
use super::{Field, Kind, Operation, Part, Shown};

/// The groups of commands, and what each is about.
pub(super) const GROUPS: &[(&str, &str)] = &[
    (
        "accounts",
        "Show, suspend, reactivate, verify and unload accounts of any tenant",
    ),
    (
        "admin",
        "Manage the people who may run a service, and your own credential",
    ),
    (
        "admin me",
        "Show who you are, and replace your own credential",
    ),
    (
        "admin people",
        "Add people with a role and a credential of their own; replace and revoke credentials",
    ),
    (
        "approvals",
        "List, approve and reject what waits for a second person",
    ),
    ("cases", "List, show and decide what waits for a person"),
    (
        "clock",
        "Show whether the service trusts the clock of its machine, and confirm that it is right",
    ),
    (
        "collector-rules",
        "Show and set the rules that classify movements of a tenant's collector accounts",
    ),
    (
        "fees",
        "Show and set the fee schedules of the platform, of a tenant and of an account",
    ),
    (
        "key",
        "Issue, list, rotate and revoke API keys of a running service",
    ),
    (
        "limits",
        "Show and set the limits of the platform and of a tenant",
    ),
    (
        "log",
        "Show how much a running service logs, and change it for a while",
    ),
    (
        "node",
        "Show the nodes of a running service's log, and hand it from one to another",
    ),
    (
        "outgoing",
        "Show and release what has been held since a restore to the past",
    ),
    (
        "seal-keys",
        "Show and rotate the keys that sign the closed days of a tenant",
    ),
    (
        "tenant",
        "Create, list, show and change tenants of a running service",
    ),
    (
        "transfers",
        "Show a transfer, and decide one that the bank has lost",
    ),
    (
        "webhooks",
        "List the webhooks of all tenants, resume one that stopped, and deliver events again",
    ),
];

/// The columns of a fee schedule, and the fields of an entry.
const FEE: [&str; 7] = [
    "voucherTypeCode",
    "percentage",
    "fixed",
    "minimum",
    "maximum",
    "charge",
    "taxRate",
];
/// The columns of a collector rule, and its fields.
const RULE: [&str; 4] = ["direction", "textContains", "counterpartyCuit", "class"];
/// The fields of a relation to a bank.
const BANK: [&str; 7] = [
    "kind",
    "collectorCbu",
    "pspCode",
    "baseUrl",
    "username",
    "passwordFile",
    "noticeSecretFile",
];
/// The limits over the sum of a tenant's accounts.
const TOTALS: [&str; 3] = [
    "dailyOutgoingTotal",
    "monthlyOutgoingTotal",
    "perMinuteCount",
];
const TENANT: Field = id("id", "TENANT", "The tenant's id");
const CVU: Field = id("cvu", "CVU", "The account: 22 digits");
const CASE: Field = id(
    "id",
    "CASE",
    "The id of the case: trf_…, sus_…, unb_… or col_…",
);
const TRANSFER: Field = id("id", "TRANSFER", "The id of the transfer, trf_…");
const KEY: Field = id(
    "id",
    "KEY",
    "The id of the key: the letters between its second and third `_`",
);
const APPROVAL: Field = id("id", "NUMBER", "Its number");
const PERSON: Field = id("name", "NAME", "Their name");
const WEBHOOK: Field = id("id", "WEBHOOK", "The id of the webhook, whk_…");
const BY: Field = body(
    "by",
    "by",
    "Who decides, if you use the admin key; with a person's credential it is the person",
);
const BANK_REFERENCE: Field = body("bank-reference", "bankReference", "What the bank calls it");
const FORCE: Field = body(
    "force",
    "force",
    "Decide a transfer although the bank may still say something; the decision records it",
)
.of(Kind::Switch);
const SCHEDULE: Field = body("FEE", "feeSchedule", "The entries of the whole schedule, in place of the old one; `none` is an empty schedule. Fields")
    .of(Kind::Objects(|| FEE.into()))
    .placed();

/// The commands, by their words.
pub(super) const OPERATIONS: &[Operation] = &[
    get("accounts realms", "/admin/actors", "Show how the accounts of each realm are doing: how many are in memory, and what waits")
        .rows("items", &["tenantId", "mode", "realm", "resident as in memory", "mailboxDepth", "commitsInFlight", "waitingForBank", "starts", "restarts", "passivations as unloaded"]),
    get("accounts show", "/admin/actors/{cvu}", "Show an account in memory and as the disk says, with its last calls to the bank").with(&[CVU]),
    post("accounts suspend", "/admin/accounts/{cvu}/suspend", "Block outgoing movements of an account; --reason is for the tenant, too").with(&[
        CVU,
        body("code", "code", "Why, as a word; `other` unless set").of(Kind::Words(|| SuspensionCode::ALL.map(SuspensionCode::as_str).into())),
    ]),
    post("accounts reactivate", "/admin/accounts/{cvu}/reactivate", "Let money out of a suspended account again").with(&[CVU]),
    post("accounts verify", "/admin/accounts/{cvu}/verify", "Replay the history of an account and compare it with index and memory; exits with 1 if something differs")
        .with(&[CVU])
        .failed(differs),
    post("accounts unload", "/admin/actors/{cvu}/passivate", "Unload an idle account from memory; it is read again when it is needed").with(&[CVU]),
    get("admin me show", "/admin/me", "Show who you are, and your role"),
    post("admin me rotate", "/admin/me/rotate", "Issue another credential to yourself; the one that you use stops working").secret("credential"),
    get("admin people list", "/admin/people", "List the people, also those who were revoked")
        .rows("items", &["name", "role", "status", "prefix", "createdAt", "issuedAt", "revokedAt"]),
    post("admin people add", "/admin/people", "Add a person; the credential is shown only now").secret("credential").with(&[
        body("NAME", "name", "Their permanent name in the audit log: small letters, digits, . _ - @").placed(),
        body("role", "role", "Their role").of(Kind::Words(roles)).required(),
    ]),
    patch("admin people role", "/admin/people/{name}", "Give a person another role").with(&[
        PERSON,
        body("ROLE", "role", "Their new role").of(Kind::Words(roles)).placed(),
    ]),
    post("admin people rotate", "/admin/people/{name}/rotate", "Issue another credential to a person; the one before stops working")
        .secret("credential")
        .with(&[PERSON]),
    delete("admin people revoke", "/admin/people/{name}", "Revoke a person's credential at once", "The credential is revoked.").with(&[PERSON]),
    get("approvals list", "/admin/approvals", "List what waits, and the latest decisions")
        .rows("items", &["id", "state", "requestedBy", "action", "subject", "reason", "requestedAt", "decidedBy"]),
    get("approvals show", "/admin/approvals/{id}", "Show one: the request, what it would change, and the case and accounts that it is about").with(&[APPROVAL]),
    post("approvals approve", "/admin/approvals/{id}/approve", "Approve one: it is carried out at once; exits with 1 when that fails")
        .with(&[APPROVAL])
        .failed(not_carried_out),
    post("approvals reject", "/admin/approvals/{id}/reject", "Reject one: it is not carried out").with(&[APPROVAL]),
    get("cases list", "/admin/cases", "List what waits for a person, the longest waiting first")
        .rows("items", &["id", "kind", "tenantId", "mode", "state", "ageSeconds as waiting for", "cvu", "amount", "reason"])
        .with(&[
            query("kind", "kind", "Only cases of this kind").of(Kind::Words(|| CaseKind::ALL.map(CaseKind::as_str).into())),
            query("tenant", "tenant", "Only cases of the tenant with this id"),
            query("mode", "mode", "Only cases of this mode").of(Kind::Words(modes)),
            query("limit", "limit", "How many, 1 to 200; 50 unless set").of(Kind::Number),
            query("offset", "offset", "How many to skip").of(Kind::Number),
        ]),
    get("cases show", "/admin/cases/{id}", "Show a case, open or decided, with the calls to the bank").with(&[CASE]),
    post("cases decide", "/admin/cases/{id}/decide", "Decide a case; the reason is --reason").with(&[
        CASE,
        body("OUTCOME", "outcome", "A transfer: completed, rejected. Money in suspense: credit, return. What could not be booked: dismiss. A movement of the collector account: bank_fee, bank_tax, interest, funding, sweep").placed(),
        body("cvu", "cvu", "Which CVU is credited; for the outcome `credit`"),
        FORCE,
        BANK_REFERENCE,
        BY,
    ]),
    get("clock show", "/admin/clock", "Show whether the clock is trusted"),
    post("clock confirm", "/admin/clock/confirm", "Confirm that the clock is right as it is now").with(&[BY]),
    get("collector-rules show", "/admin/tenants/{id}/collector-rules", "Show the rules of a tenant, in the order in which they are tried")
        .rows("", &RULE)
        .with(&[TENANT]),
    put("collector-rules set", "/admin/tenants/{id}/collector-rules", "Set all rules of a tenant, in the order in which they are tried")
        .rows("", &RULE)
        .with(&[
            TENANT,
            body("RULE", "rules", "The rules; `none` removes all. A rule with a comma in its text is a JSON object. Fields").of(Kind::Objects(|| RULE.into())).placed(),
        ]),
    get("fees show", "/admin/tenants/{id}", "Show the fee schedule of a tenant; while it is empty, that of the platform counts")
        .rows("feeSchedule", &FEE)
        .with(&[TENANT]),
    patch("fees set", "/admin/tenants/{id}", "Set the fee schedule of a tenant").rows("feeSchedule", &FEE).with(&[TENANT, SCHEDULE]),
    get("fees show-platform", "/admin/platform", "Show the fee schedule of tenants that have none").rows("feeSchedule", &FEE),
    patch("fees set-platform", "/admin/platform", "Set the fee schedule of tenants that have none").rows("feeSchedule", &FEE).with(&[SCHEDULE]),
    get(
        "fees show-account",
        "/admin/accounts/{cvu}/fee-schedule",
        "Show the fee schedule of an account; what it does not have is as its tenant's schedule says",
    )
    .rows("feeSchedule", &FEE)
    .with(&[CVU]),
    put("fees set-account", "/admin/accounts/{cvu}/fee-schedule", "Set the fee schedule of an account").rows("feeSchedule", &FEE).with(&[CVU, SCHEDULE]),
    get("find", "/admin/find", "Find what an id names, among all tenants; exits with 1 if nothing has it")
        .rows("items", &["kind", "id", "status", "amount", "cvu", "at", "tenantId", "mode"])
        .with(&[query("ID", "id", "An id of COELSA or of the bank, our reference at the bank, or a tenant's own (idExterno)").placed()])
        .failed(nothing_found),
    get("journal", "/admin/journal", "Show the figures of the journal and the index, and of the check of what is kept"),
    get("key list", "/admin/tenants/{id}/keys", "List the keys of a tenant by prefix")
        .rows("items", &["id", "prefix", "mode", "label", "status", "scopes", "ipAllow", "createdAt", "expiresAt", "lastUsedAt", "olderPepper"])
        .with(&[TENANT]),
    post("key issue", "/admin/tenants/{id}/keys", "Issue a key; its text is shown only now").secret("key").with(&[
        TENANT,
        body("mode", "mode", "The realm that it opens").of(Kind::Words(modes)).required(),
        body("label", "label", "A name for people"),
        body("scope", "scopes", "What it may do; may be repeated. Everything unless set").of(Kind::Among(|| SCOPES.map(|(word, _)| word).into())),
        body("allow-ip", "ipAllow", "From which address or network it may be used, for instance 10.20.0.0/16; may be repeated. From everywhere unless set").of(Kind::Texts),
        body("expires-at", "expiresAt", "When it expires, for instance 2027-01-01T00:00:00Z; never unless set"),
        body("expires-in", "expiresIn", "After how many seconds it expires").of(Kind::Number),
    ]),
    post("key rotate", "/admin/keys/{id}/rotate", "Replace a key by a new one; the old one keeps working for a while").secret("key").with(&[
        KEY,
        body("overlap-seconds", "overlapSeconds", "How long the old key keeps working, in seconds, up to 7 days; a day unless set").of(Kind::Number),
    ]),
    delete("key revoke", "/admin/keys/{id}", "Revoke a key at once", "The key is revoked.").with(&[KEY]),
    get("limits show", "/admin/tenants/{id}", "Show the limits that a tenant sets; the others are those of the platform").page("limits").with(&[TENANT]),
    patch("limits set", "/admin/tenants/{id}", "Set limits of a tenant; the others stay").page("limits").with(&[
        TENANT,
        body("LIMIT", "limits", "The limits to change; `none` removes one. Names").of(Kind::Pairs(tenant_limits)).placed(),
    ]),
    get("limits show-platform", "/admin/platform", "Show the limits of tenants that set none").page("limits"),
    patch("limits set-platform", "/admin/platform", "Set limits of tenants that set none; the others stay").page("limits").with(&[
        body("LIMIT", "limits", "The limits to change; `none` removes one. Names").of(Kind::Pairs(|| LimitKind::NAMES.into())).placed(),
    ]),
    get("log show", "/admin/log", "Show how much is logged, and how long a change still lasts"),
    put("log set", "/admin/log", "Log more or less of some parts for a while; it ends by itself. If the service was started with a level for a more specific target, such as `caudal_bank=warn`, that one wins over `caudal=debug`: name the more specific target").with(&[
        body("DIRECTIVES", "directives", "Targets and levels, e.g. `caudal_bank=debug,caudal_actors=debug` (levels: warn, info, debug, trace)").placed(),
        body("for", "seconds", "For how many seconds, an hour at most; ten minutes unless set").of(Kind::Number),
    ]),
    put("log reset", "/admin/log", "End the change at once"),
    get("memory", "/admin/memory", "Show how the memory of the process is divided, and how much it uses"),
    get("node status", "/admin/node", "Show which node owns the log, and which follow it and how far they are; any node returns it"),
    post("node hand-over", "/admin/node/hand-over", "Hand the log from its owner to another node; clients repeat their requests for a moment. Ask that owner's admin API")
        .with(&[body("to", "to", "The node that is to own the log; the one that lacks least unless set")])
        .failed(says_error),
    get("outgoing show", "/admin/outgoing", "Show whether transfers and events are held"),
    post("outgoing release", "/admin/outgoing/release", "Release everything that is held; this cannot be undone").with(&[BY]).failed(says_error),
    get("seal-keys show", "/admin/tenants/{id}/seal-keys", "Show the public keys that sign a tenant's closed days, for the tenant to publish").with(&[TENANT]),
    post("seal-keys rotate", "/admin/tenants/{id}/seal-keys/rotate", "Let new keys sign a tenant's closed days; the next day is still signed with the old key and names the new one").with(&[TENANT]),
    get("tenant list", "/admin/tenants", "List all tenants").rows("items", &["id", "name", "realms.live", "realms.test", "createdAt"]),
    get("tenant show", "/admin/tenants/{id}", "Show a tenant: its policy, limits, fees, banks, and whether its realms are served").with(&[TENANT]),
    post("tenant create", "/admin/tenants", "Create a tenant; it gets a live and a test realm").with(&[
        body("NAME", "name", "Its name").placed(),
        CLOSE_REQUIRES_ZERO,
        RELAXED_TEST_CUIT,
        DECISIONS_ABOVE,
        LIMIT_RAISES,
        BANK_LIVE,
        BANK_TEST,
        PROVIDER_CUIT,
        PROVIDER_ADDRESS,
        body("limit", "limits", "A limit, NAME=VALUE; may be repeated. Names").of(Kind::Pairs(tenant_limits)),
        body("fee", "feeSchedule", "An entry of its fee schedule; may be repeated. Fields").of(Kind::Objects(|| FEE.into())),
    ]),
    patch("tenant set", "/admin/tenants/{id}", "Change the name, policy, banks or statements of a tenant, and whether its realms are served; what is not given stays").with(&[
        TENANT,
        body("name", "name", "Its name"),
        CLOSE_REQUIRES_ZERO,
        RELAXED_TEST_CUIT,
        DECISIONS_ABOVE,
        LIMIT_RAISES,
        BANK_LIVE,
        BANK_TEST,
        PROVIDER_CUIT,
        PROVIDER_ADDRESS,
        body("live", "realms.live", "Whether its live realm is served").of(Kind::Words(servings)),
        body("test", "realms.test", "Whether its test realm is served").of(Kind::Words(servings)),
    ]),
    get("transfers show", "/admin/cases/{id}", "Show a transfer, whatever its state, with the calls to the bank. `caudal find` finds its id").with(&[TRANSFER]),
    post("transfers decide", "/admin/transfers/{id}/decide", "Decide a transfer that the bank has lost; the reason is --reason").with(&[
        TRANSFER,
        body("OUTCOME", "outcome", "Whether the money has left").of(Kind::Words(|| vec!["completed", "rejected"])).placed(),
        FORCE,
        BANK_REFERENCE,
        BY,
    ]),
    get("treasury", "/admin/treasury", "Show each collector account: what the bank has, what belongs to clients, and whether they are covered").rows("items", &[
        "treasury.collector.cbu",
        "realms",
        "treasury.bankBalance as bank",
        "treasury.clientFunds.total as clients",
        "treasury.inTransit.incoming as in suspense",
        "treasury.freeBalance as free",
        "treasury.coverageRatio as coverage",
        "treasury.covered",
        "treasury.asOf as at",
        "treasury.bankError.code as bank error",
    ]),
    get("webhooks list", "/admin/webhooks", "List the webhooks of all tenants, with how far each has come").rows("items", &[
        "id",
        "tenantId",
        "mode",
        "host",
        "status",
        "progress.behind",
        "progress.waiting",
        "progress.retrying",
        "progress.parked",
        "progress.lastSuccessAt as last success",
        "progress.lastFailure.at as last failure",
        "progress.lastFailure.responseStatus as with",
        "progress.lastFailure.nextAttemptAt as next try",
    ]),
    post(
        "webhooks resume",
        "/admin/webhooks/{id}/resume",
        "Resume a webhook that stopped, or that its tenant paused",
    )
    .with(&[WEBHOOK]),
    post("webhooks redeliver", "/admin/webhooks/{id}/redeliver", "Send a range of events to a webhook again: those of its types").with(&[
        WEBHOOK,
        body("from", "from", "The id of the first event").required(),
        body("to", "to", "The id of the last event; the last one of now unless set"),
    ]),
    post("webhooks redeliver-one", "/admin/webhooks/deliveries/{id}/redeliver", "Send one event to its webhook again")
        .with(&[id("id", "DELIVERY", "The id of the delivery, dlv_…")]),
];

const CLOSE_REQUIRES_ZERO: Field = body(
    "close-requires-zero-balance",
    "policy.closeRequiresZeroBalance",
    "Whether only accounts without money may be closed",
)
.of(Kind::Boolean);
const RELAXED_TEST_CUIT: Field = body(
    "relaxed-test-cuit",
    "policy.relaxedTestCuit",
    "Whether CUITs of the test realm may have a wrong check digit",
)
.of(Kind::Boolean);
const DECISIONS_ABOVE: Field = body(
    "decisions-above",
    "policy.fourEyes.decisionsAbove",
    "Decisions about cases above this amount take a second person; 0.00 is every decision, `none` is none",
)
.of(Kind::Clearable);
const LIMIT_RAISES: Field = body(
    "limit-raises",
    "policy.fourEyes.limitRaises",
    "Whether limits that let more pass take a second person",
)
.of(Kind::Boolean);
const BANK_LIVE: Field = body(
    "bank-live",
    "bank.live",
    "The bank of its live realm; `none` for a field goes back to the platform's; may be repeated. Fields",
)
.of(Kind::Pairs(|| BANK.into()));
const BANK_TEST: Field = body(
    "bank-test",
    "bank.test",
    "The bank of its test realm, in the same way. Fields",
)
.of(Kind::Pairs(|| BANK.into()));

const PROVIDER_CUIT: Field = body(
    "provider-cuit",
    "provider.cuit",
    "Its CUIT, as its statements state it; `none` removes it",
)
.of(Kind::Clearable);
const PROVIDER_ADDRESS: Field = body(
    "provider-address",
    "provider.address",
    "Its registered address, as its statements state it; `none` removes it",
)
.of(Kind::Clearable);

const fn get(words: &'static str, path: &'static str, about: &'static str) -> Operation {
    call("GET", words, path, about)
}

const fn post(words: &'static str, path: &'static str, about: &'static str) -> Operation {
    call("POST", words, path, about)
}

const fn put(words: &'static str, path: &'static str, about: &'static str) -> Operation {
    call("PUT", words, path, about)
}

const fn patch(words: &'static str, path: &'static str, about: &'static str) -> Operation {
    call("PATCH", words, path, about)
}

/// A deletion: there is no answer, so `done` says that it was done.
const fn delete(
    words: &'static str,
    path: &'static str,
    about: &'static str,
    done: &'static str,
) -> Operation {
    Operation {
        shown: Shown::Sentence(done),
        ..call("DELETE", words, path, about)
    }
}

const fn call(
    method: &'static str,
    words: &'static str,
    path: &'static str,
    about: &'static str,
) -> Operation {
    Operation {
        words,
        about,
        method,
        path,
        fields: &[],
        shown: Shown::Page(""),
        failed: never,
    }
}

impl Operation {
    const fn with(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }

    const fn page(self, at: &'static str) -> Self {
        let shown = Shown::Page(at);
        Self { shown, ..self }
    }

    const fn rows(self, at: &'static str, columns: &'static [&'static str]) -> Self {
        let shown = Shown::Rows(at, columns);
        Self { shown, ..self }
    }

    const fn secret(self, name: &'static str) -> Self {
        let shown = Shown::Secret(name);
        Self { shown, ..self }
    }

    const fn failed(self, failed: fn(&Value) -> Option<String>) -> Self {
        Self { failed, ..self }
    }
}

/// What the path names: a place of the command.
const fn id(field: &'static str, name: &'static str, about: &'static str) -> Field {
    argument(Part::Path, name, field, about).placed()
}

const fn query(name: &'static str, field: &'static str, about: &'static str) -> Field {
    argument(Part::Query, name, field, about)
}

const fn body(name: &'static str, field: &'static str, about: &'static str) -> Field {
    argument(Part::Body, name, field, about)
}

const fn argument(
    part: Part,
    name: &'static str,
    field: &'static str,
    about: &'static str,
) -> Field {
    Field {
        name,
        field,
        part,
        kind: Kind::Text,
        placed: false,
        required: false,
        about,
    }
}

impl Field {
    const fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    const fn required(self) -> Self {
        let required = true;
        Self { required, ..self }
    }

    /// It has a place in the command, and no option.
    const fn placed(self) -> Self {
        Self {
            placed: true,
            ..self.required()
        }
    }
}

/// The limits of a tenant: those that its accounts inherit, and those over their sum.
fn tenant_limits() -> Vec<&'static str> {
    LimitKind::NAMES.into_iter().chain(TOTALS).collect()
}

fn modes() -> Vec<&'static str> {
    [Mode::Live, Mode::Test].map(Mode::as_str).into()
}

fn roles() -> Vec<&'static str> {
    Role::OF_PEOPLE.map(|(word, _)| word).into()
}

fn servings() -> Vec<&'static str> {
    Serving::ALL.map(Serving::as_str).into()
}

/// A success is a success.
fn never(_: &Value) -> Option<String> {
    None
}

/// `error` says why nothing came of an order.
fn says_error(answer: &Value) -> Option<String> {
    let error = answer.get("error").and_then(Value::as_str);
    error.map(str::to_owned)
}

fn differs(report: &Value) -> Option<String> {
    let ok = report.get("ok") == Some(&Value::Bool(true));
    (!ok).then(|| "what is kept differs from the journal".to_owned())
}

fn nothing_found(list: &Value) -> Option<String> {
    let items = list.get("items").and_then(Value::as_array);
    let none = items.is_none_or(Vec::is_empty);
    none.then(|| "nothing has this id".to_owned())
}

fn not_carried_out(approval: &Value) -> Option<String> {
    let id = cell(approval, "id");
    match approval.get("state").and_then(Value::as_str) {
        Some("failed") => {
            let why = approval.get("answer").map(refusal);
            let why = why.unwrap_or_else(|| format!("status {}", cell(approval, "status")));
            Some(format!("approval {id} could not be carried out: {why}"))
        }
        Some("approved") => Some(format!(
            "the outcome of approval {id} is not known yet: see `caudal audit`"
        )),
        Some(_) | None => None,
    }
}
