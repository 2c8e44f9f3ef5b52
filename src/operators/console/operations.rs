//! Operations of the admin API as forms: keys, limits, fees, policies, people, webhooks, nodes and what is held.
//!
//! **Shape.** An [`OperationForm`] names its operation and its fields; a field is called as in the body of the operation,
//! and its kind says how its text becomes a value there. So the page, the request and its checks follow from one table,
//! and the operation itself runs as at the API ([`crate::admin::forms::run`]).
//!
//! **Order.** As for any act of the console ([`super::acts`]). What needs a second person leads to the approvals.
//!
//! **Secrets.** A key or a credential that was made is on the page that follows, once.

use std::borrow::Cow;

use actix_web::{HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_http::words::Refusal;
use caudal_ledger::limits::{LimitKind, Quantity};
use caudal_ledger::people::Role;
use serde_json::{Map, Value};

use super::acts::ActOutcome;
use super::page_context::{PageContext, SubmittedForm, back, query};
use super::show::seen;
use super::view::{Block, Field, Part, Takes, Tone};
use super::words::Word;
use crate::admin::access::AdminOperation;

/// The longest text of a field, in characters.
const TEXT_MAX: usize = 500;
/// The longest list of fees, in characters.
const FEES_MAX: usize = 8_000;
/// The field with the name of whoever acts with the admin key.
const BY: &str = "by";

/// How the text of a field becomes a value.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// A text; an empty one is not sent.
    Text,
    /// A text or an amount; an empty one is sent as null.
    Clearable,
    /// A whole number; an empty one is not sent.
    Number,
    /// A whole number; an empty one is sent as null.
    Count,
    /// Yes or no.
    YesNo,
    /// One of these words.
    Words(Vec<String>),
    /// Words with commas between them; an empty list is not sent.
    List,
    /// A day; sent as its first instant in Buenos Aires, and not sent if it is empty.
    Day,
    /// An object in each line: `name=value, name=value`.
    Objects,
    /// The subject of the operation, one of these; it is no field of the body.
    Subject(Vec<String>),
}

/// A field of an operation: its name in the body, with dots between the names of objects; its label; its kind.
type OperationField = (Cow<'static, str>, Word, Kind);

macro_rules! forms {
    ($($form:ident $name:literal $operation:literal $title:ident;)+) => {
        /// An operation that has a form.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum OperationForm {$(
            #[doc = $name]
            $form,
        )+}

        impl OperationForm {
            /// Every form.
            const ALL: &[Self] = &[$(Self::$form),+];

            /// Its name in addresses, the id of its operation, and its title.
            const fn row(self) -> (&'static str, &'static str, Word) {
                match self {$(
                    Self::$form => ($name, $operation, Word::$title),
                )+}
            }
        }
    };
}

forms! {
    IssueKey "issue-key" "issueKey" IssueKey;
    RotateKey "rotate-key" "rotateKey" RotateKey;
    RevokeKey "revoke-key" "revokeKey" RevokeKey;
    TenantLimits "tenant-limits" "changeTenant" ChangeLimits;
    TenantPolicy "tenant-policy" "changeTenant" ChangePolicy;
    TenantFees "tenant-fees" "changeTenant" ChangeFees;
    PlatformLimits "platform-limits" "changePlatform" ChangeLimits;
    PlatformFees "platform-fees" "changePlatform" ChangeFees;
    AccountFees "account-fees" "setFeeSchedule" ChangeFees;
    AddPerson "add-person" "addPerson" AddPerson;
    ChangeRole "change-role" "changePerson" ChangeRole;
    RotatePerson "rotate-person" "rotatePerson" RotatePerson;
    RevokePerson "revoke-person" "revokePerson" RevokePerson;
    ResumeWebhook "resume-webhook" "resumeWebhook" ResumeWebhook;
    ReleaseOutgoing "release-outgoing" "releaseOutgoing" ReleaseOutgoing;
    ConfirmClock "confirm-clock" "confirmClock" ConfirmClock;
    HandOver "hand-over" "handOver" HandOver;
}

impl OperationForm {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.row().0 == name)
    }

    fn operation(self) -> Result<&'static AdminOperation, ApiError> {
        Ok(AdminOperation::named(self.row().1).ok_or(Refusal::NoPage)?)
    }

    /// Whether it stops somebody, or lets money or messages out.
    const fn is_grave(self) -> bool {
        matches!(
            self,
            Self::RevokeKey | Self::RevokePerson | Self::ReleaseOutgoing | Self::HandOver
        )
    }

    /// Whether it needs a reason. A hand-over has none: it waits for all that is under way, and must not be among it.
    const fn has_reason(self) -> bool {
        !matches!(self, Self::HandOver)
    }

    /// Its fields; `subjects` are those that can be chosen.
    fn fields(self, subjects: Vec<String>) -> Vec<OperationField> {
        let words = |all: &[&str]| Kind::Words(all.iter().map(|word| (*word).to_owned()).collect());
        let fee = ("feeSchedule".into(), Word::FeesAsLines, Kind::Objects);
        let policy = |name: &str, word, kind| (format!("policy.{name}").into(), word, kind);
        match self {
            Self::IssueKey => vec![
                ("mode".into(), Word::Mode, words(&["live", "test"])),
                ("label".into(), Word::Label, Kind::Text),
                ("scopes".into(), Word::ScopesOrAll, Kind::List),
                ("ipAllow".into(), Word::NetworksOrAll, Kind::List),
                ("expiresAt".into(), Word::ExpiresOn, Kind::Day),
            ],
            Self::RotateKey => vec![
                ("".into(), Word::Keys, Kind::Subject(subjects)),
                ("overlapSeconds".into(), Word::OverlapSeconds, Kind::Number),
            ],
            Self::RevokeKey => vec![("".into(), Word::Keys, Kind::Subject(subjects))],
            Self::TenantLimits | Self::PlatformLimits => LimitKind::ALL.map(limit).into(),
            Self::TenantPolicy => vec![
                policy(
                    "closeRequiresZeroBalance",
                    Word::CloseNeedsZero,
                    Kind::YesNo,
                ),
                policy("relaxedTestCuit", Word::RelaxedCuit, Kind::YesNo),
                policy(
                    "fourEyes.decisionsAbove",
                    Word::FourEyesAbove,
                    Kind::Clearable,
                ),
                policy("fourEyes.limitRaises", Word::FourEyesRaises, Kind::YesNo),
            ],
            Self::TenantFees | Self::PlatformFees | Self::AccountFees => vec![fee],
            Self::AddPerson => vec![
                ("name".into(), Word::NameInAudit, Kind::Text),
                ("role".into(), Word::Role, words(&roles())),
            ],
            Self::ChangeRole => vec![
                ("".into(), Word::Person, Kind::Subject(subjects)),
                ("role".into(), Word::Role, words(&roles())),
            ],
            Self::RotatePerson | Self::RevokePerson => {
                vec![("".into(), Word::Person, Kind::Subject(subjects))]
            }
            Self::HandOver => vec![("to".into(), Word::Node, Kind::Words(subjects))],
            Self::ReleaseOutgoing | Self::ConfirmClock => vec![(BY.into(), Word::By, Kind::Text)],
            Self::ResumeWebhook => Vec::new(),
        }
    }
}

/// The field of a limit.
fn limit(kind: LimitKind) -> OperationField {
    let takes = match kind.quantity(0) {
        Some(Quantity::Count(_)) => Kind::Count,
        Some(Quantity::Money(_)) | None => Kind::Clearable,
    };
    let name = format!("limits.{}", kind.name());
    (name.into(), Word::limit(kind), takes)
}

fn roles() -> Vec<&'static str> {
    Role::OF_PEOPLE.map(|(word, _)| word).into()
}

/// A form for an operation about a subject, which leads back to its page; `None` for a visitor who may not do it.
/// `current` is what the operation changes, as the admin API shows it; the fields begin with its values.
pub(super) fn form(
    context: &PageContext,
    which: OperationForm,
    subject: &str,
    current: &Value,
) -> Option<Block> {
    of_subjects(context, which, subject, current, Vec::new())
}

/// The same form, with the subjects that can be chosen.
pub(super) fn of_subjects(
    context: &PageContext,
    which: OperationForm,
    subject: &str,
    current: &Value,
    subjects: Vec<String>,
) -> Option<Block> {
    let power = which.operation().ok()?.power;
    if !context.session.who.role.may(power) {
        return None;
    }
    let locale = context.locale();
    let (name, _, title) = which.row();
    let fields = which.fields(subjects).into_iter();
    // A person acts under their own name.
    let named = context.session.who.is_person();
    let fields = fields.filter(|(name, ..)| !(named && name == BY));
    let mut fields: Vec<Field> = fields.map(|it| shown(context, it, current)).collect();
    if which.has_reason() {
        fields.push(Field::reason(locale));
    }
    let place = query([("subject", subject), ("back", &context.path)]);
    let action = format!("/console/operations/{name}?{place}");
    let form = context.form(title, action, fields);
    Some(Block::Folded(form.grave(which.is_grave())))
}

/// A field with its present value.
fn shown(context: &PageContext, (name, label, kind): OperationField, current: &Value) -> Field {
    let locale = context.locale();
    let choices = |words: Vec<String>| {
        let all = words.into_iter();
        let all = all.map(|word| (word.clone(), locale.state(&word).text));
        Takes::Choice(all.collect())
    };
    let yes_no = || {
        let both = [("true", Word::Yes), ("false", Word::No)];
        let both = both.map(|(value, word)| (value.to_owned(), context.say(word).to_owned()));
        Takes::Choice(both.into())
    };
    let value = name
        .split('.')
        .try_fold(current, |value, part| value.get(part));
    let value = value.map_or_else(String::new, readable);
    let (takes, most, needed) = match kind {
        Kind::Text | Kind::Clearable | Kind::Number | Kind::Count | Kind::List => {
            (Takes::Line, TEXT_MAX, false)
        }
        Kind::YesNo => (yes_no(), TEXT_MAX, true),
        Kind::Words(words) | Kind::Subject(words) => (choices(words), TEXT_MAX, true),
        Kind::Day => (Takes::Day, TEXT_MAX, false),
        Kind::Objects => (Takes::Lines, FEES_MAX, false),
    };
    let name = if name.is_empty() {
        "subject".into()
    } else {
        name
    };
    Field {
        required: needed,
        ..Field::new(locale, name, label, takes, most).maybe(value)
    }
}

/// A value as the text of its field.
fn readable(value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(all) => {
            let lines = all.iter().filter_map(Value::as_object).map(|object| {
                let known = object.iter().filter(|(_, value)| !value.is_null());
                let pairs = known.map(|(name, value)| format!("{name}={}", readable(value)));
                pairs.collect::<Vec<_>>().join(", ")
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The body of the operation, from the fields that were sent.
fn body(sent: &SubmittedForm, fields: &[OperationField]) -> Value {
    let mut body = Map::new();
    for (name, _, kind) in fields {
        let text = sent
            .fields
            .get(name.as_ref())
            .map_or("", |text| text.trim());
        if let Some(value) = value(kind, text) {
            put(&mut body, name, value);
        }
    }
    Value::Object(body)
}

/// The value of a text; `None` if it is not sent. A text that is wrong is sent as it is, and refused.
fn value(kind: &Kind, text: &str) -> Option<Value> {
    let number = |text: &str| {
        text.parse::<u64>()
            .map_or_else(|_| text.into(), Value::from)
    };
    match kind {
        Kind::Subject(_) => None,
        Kind::Clearable | Kind::Count if text.is_empty() => Some(Value::Null),
        Kind::Objects => Some(text.lines().map(object).collect()),
        _ if text.is_empty() => None,
        Kind::Text | Kind::Clearable | Kind::Words(_) => Some(text.into()),
        Kind::Number | Kind::Count => Some(number(text)),
        Kind::YesNo => Some((text == "true").into()),
        Kind::List => Some(text.split(',').map(str::trim).collect()),
        Kind::Day => Some(format!("{text}T00:00:00-03:00").into()),
    }
}

/// An object from a line: `name=value, name=value`.
fn object(line: &str) -> Value {
    let pairs = line.split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| {
        let value = match value.trim() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => text.into(),
        };
        (name.trim().to_owned(), value)
    });
    Value::Object(pairs.collect())
}

/// Puts a value where the dots of its name lead.
fn put(into: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((first, rest)) = name.split_once('.') else {
        into.insert(name.to_owned(), value);
        return;
    };
    let inner = into.entry(first).or_insert_with(|| Map::new().into());
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

/// Carries out an operation that was sent with its form.
pub(super) async fn act(sent: SubmittedForm, path: web::Path<String>) -> HttpResponse {
    let place = back(sent.context.asked.get("back"));
    match done(&sent, &path).await {
        Ok((ActOutcome::Asked, _)) => seen("/console/approvals"),
        Ok((_, Some((title, block)))) => {
            let context = &sent.context;
            let page = context.page(Part::Overview, context.say(title), vec![block]);
            context.show(Ok(page.under(context.say(Word::GoBack), place)))
        }
        Ok((_, None)) => sent.context.done(&place),
        Err(why) => sent.context.show(Err(why)),
    }
}

/// What the page that follows shows, with its title: a secret that was made, or why nothing came of the operation.
type Shown = Option<(Word, Block)>;

fn answered(answer: &Value, title: &'static str) -> Shown {
    let text = |name: &str| answer.get(name)?.as_str().map(str::to_owned);
    let secret = text("key").or_else(|| text("credential"));
    let secret = secret.map(|it| (Word::NewKey, Block::Text(title.to_owned(), it)));
    let failed = text("error").map(|why| (Word::NotDone, Block::Note(Tone::Bad, why)));
    failed.or(secret)
}

async fn done(sent: &SubmittedForm, name: &str) -> Result<(ActOutcome, Shown), ApiError> {
    let which = OperationForm::named(name).ok_or(Refusal::NoPage)?;
    let operation = which.operation()?;
    let fields = which.fields(Vec::new());
    let chosen = fields
        .iter()
        .any(|(_, _, kind)| matches!(kind, Kind::Subject(_)));
    let subject = if chosen {
        sent.required("subject", TEXT_MAX)?
    } else {
        let about = sent.context.asks("subject");
        about.map_or_else(
            || operation.path.trim_start_matches('/').to_owned(),
            str::to_owned,
        )
    };
    let body = body(sent, &fields).to_string();
    let (outcome, answer) = sent.runs(operation.id, &subject, &body).await?;
    let title = sent.context.say(Word::NewKey);
    let shown = answer.and_then(|it| answered(&it, title));
    Ok((outcome, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::access::{AuditWeight, OPERATIONS};

    /// Operations with a form of their own elsewhere in the console.
    const ELSEWHERE: [&str; 8] = [
        "suspendAccountByOperator",
        "reactivateAccountByOperator",
        "passivateActor",
        "decideCase",
        "decideTransfer",
        "redeliverByOperator",
        "approveRequest",
        "rejectRequest",
    ];
    /// Operations without a form, each with its reason.
    const WITHOUT: [(&str, &str); 6] = [
        (
            "createTenant",
            "a tenant begins with its banks: caudal tenant create",
        ),
        (
            "setCollectorRules",
            "a whole list in its order: caudal collector-rules set",
        ),
        (
            "rotateSealKeys",
            "the new key has to be published: caudal seal-keys rotate",
        ),
        (
            "redeliverRangeByOperator",
            "a range of events: caudal webhooks redeliver",
        ),
        ("changeLog", "for whoever reads the log: caudal log set"),
        ("rotateMe", "ends the session: caudal admin me rotate"),
    ];

    #[test]
    fn whatever_operators_do_has_a_form_or_a_reason_for_none() {
        let acts = OPERATIONS
            .iter()
            .filter(|it| it.weight == AuditWeight::Acts);
        for operation in acts {
            let formed = OperationForm::ALL
                .iter()
                .any(|form| form.row().1 == operation.id);
            let elsewhere = ELSEWHERE.contains(&operation.id);
            let without = WITHOUT.iter().any(|(id, _)| *id == operation.id);
            let count = [formed, elsewhere, without]
                .iter()
                .filter(|it| **it)
                .count();
            assert_eq!(count, 1, "{}", operation.id);
        }
        for form in OperationForm::ALL {
            assert!(form.operation().is_ok(), "{form:?}");
            assert_eq!(OperationForm::named(form.row().0), Some(*form));
        }
    }

    #[test]
    fn texts_become_the_values_of_the_body() {
        let line = "voucherTypeCode=CARD, percentage=0.6, charge=true";
        let fee =
            serde_json::json!({"voucherTypeCode": "CARD", "percentage": "0.6", "charge": true});
        for (kind, text, right) in [
            (Kind::Text, "", None),
            (Kind::Text, "till", Some("till".into())),
            (Kind::Text, "3600", Some("3600".into())),
            (Kind::Number, "", None),
            (Kind::Number, "3600", Some(3600.into())),
            (Kind::Clearable, "", Some(Value::Null)),
            (Kind::Clearable, "10.00", Some("10.00".into())),
            (Kind::Count, "7", Some(7.into())),
            (Kind::Count, "many", Some("many".into())),
            (Kind::YesNo, "false", Some(false.into())),
            (
                Kind::List,
                "read, write",
                Some(serde_json::json!(["read", "write"])),
            ),
            (
                Kind::Day,
                "2027-01-31",
                Some("2027-01-31T00:00:00-03:00".into()),
            ),
            (Kind::Objects, "", Some(Value::Array(Vec::new()))),
            (Kind::Objects, line, Some(Value::Array(vec![fee.clone()]))),
        ] {
            assert_eq!(value(&kind, text), right, "{kind:?} {text:?}");
        }
        let fees = Value::Array(vec![fee]);
        let again = readable(&fees);
        assert_eq!(value(&Kind::Objects, &again), Some(fees));
        let mut body = Map::new();
        put(&mut body, "policy.fourEyes.limitRaises", true.into());
        put(&mut body, "policy.relaxedTestCuit", false.into());
        let right = serde_json::json!({"policy": {"fourEyes": {"limitRaises": true}, "relaxedTestCuit": false}});
        assert_eq!(Value::Object(body), right);
    }
}
