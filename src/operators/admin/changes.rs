//! Changes: the fields that differ between two states of the same thing, as the admin API shows both, and those that the
//! request of an operation would change before anybody carries it out.
//!
//! **Shape.** The states are bodies of answers, so a field that is shown is compared, and none can be forgotten. The
//! handler of an operation attaches the difference to its answer ([`Changed`]); the entry of its end has it.

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::body::Body;
use caudal_ledger::people::audit::FieldChange;
use caudal_ledger::tenants::Tenant;
use caudal_ledger::tenants::orders::TenantChange;
use serde::Serialize;
use serde_json::Value;

use super::ok;
use super::requests::{ChangePlatform, ChangeTenant, rules};
use super::shapes::{PlatformBody, TenantBody};

/// The fields that an operation changed. It travels with the answer as an extension.
#[derive(Clone, Debug)]
pub(crate) struct Changed(pub Vec<FieldChange>);

body! {
    /// A field that was changed, or that a request would change.
    pub(crate) struct ChangeBody as FieldChange from change: FieldChange {
        => let FieldChange {
            field,
            before,
            after,
        } = change;
        /// Its name, with those of the objects around it.
        field: String = field;
        /// Its value before; null where it had none.
        before: Option<String> = before;
        /// Its value after; null where it has none.
        after: Option<String> = after;
    }
}

/// The fields that an operation changed, by its answer.
pub(crate) fn of<B>(answer: &HttpResponse<B>) -> Vec<FieldChange> {
    let changed = answer.extensions().get::<Changed>().cloned();
    changed.map_or_else(Vec::new, |Changed(changes)| changes)
}

/// Attaches the difference between two states to an answer.
pub(super) fn attach(mut answer: HttpResponse, before: &Value, after: &Value) -> HttpResponse {
    let changes = between(before, after);
    answer.extensions_mut().insert(Changed(changes));
    answer
}

/// The answer that shows something after a change, with the difference from its state before.
pub(super) fn answer(before: &Value, after: &impl Serialize) -> HttpResponse {
    attach(ok(after), before, &state(after))
}

/// The state of something as a value.
pub(super) fn state(body: &impl Serialize) -> Value {
    // A body that cannot be written would not have been shown either.
    serde_json::to_value(body).unwrap_or(Value::Null)
}

/// The fields that differ, in the order of their names.
pub(super) fn between(before: &Value, after: &Value) -> Vec<FieldChange> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    fields(String::new(), before, &mut old);
    fields(String::new(), after, &mut new);
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let names: Vec<_> = new.keys().chain(gone).cloned().collect();
    let change = |field: String| FieldChange {
        before: old.get(&field).cloned().flatten(),
        after: new.get(&field).cloned().flatten(),
        field,
    };
    let mut changes: Vec<_> = names.into_iter().map(change).collect();
    changes.retain(|change| change.before != change.after);
    changes.sort_unstable_by(|one, other| one.field.cmp(&other.field));
    changes
}

/// The fields of a value that is no object and no list, by their names.
fn fields(name: String, value: &Value, found: &mut BTreeMap<String, Option<String>>) {
    let below = |inner: &str| match name.as_str() {
        "" => inner.to_owned(),
        name => format!("{name}.{inner}"),
    };
    match value {
        Value::Object(all) => {
            for (inner, value) in all {
                fields(below(inner), value, found);
            }
        }
        Value::Array(all) => {
            for (nth, value) in all.iter().enumerate() {
                // An entry of a fee schedule is known by its type, wherever it is in the list.
                let code = value.get("voucherTypeCode").and_then(Value::as_str);
                let inner = code.map_or_else(|| nth.to_string(), str::to_owned);
                fields(below(&inner), value, found);
            }
        }
        Value::Null => drop(found.insert(name, None)),
        Value::String(text) => drop(found.insert(name, Some(text.clone()))),
        Value::Bool(_) | Value::Number(_) => drop(found.insert(name, Some(value.to_string()))),
    }
}

/// The fields that a request would change now; none of an operation that changes no fields.
pub(super) fn proposed(
    app: &AppState,
    action: &str,
    subject: &str,
    body: &str,
) -> Vec<FieldChange> {
    match action {
        "changeTenant" => tenant(app, subject, body),
        "changePlatform" => platform(app, body),
        _ => Vec::new(),
    }
}

/// The change of a tenant that a request asks for.
pub(super) fn change_of(old: &Tenant, sent: ChangeTenant) -> TenantChange {
    let banks = sent.banks.map(|sent| sent.over(&old.banks));
    let limits = sent.limits.as_ref();
    TenantChange {
        name: sent.name,
        policy: sent.policy.map(|sent| sent.over(old.policy)),
        limits: limits.map(|sent| old.limits.changed(sent.inherited)),
        total_limits: limits.map(|sent| old.total_limits.changed(sent.total)),
        fees: sent.fees.map(rules),
        provider: sent.provider.map(|sent| sent.over(old.provider.clone())),
        live_bank: banks.as_ref().map(|banks| banks.live.clone()),
        test_bank: banks.map(|banks| banks.test),
        live: sent.realms.as_ref().and_then(|realms| realms.live),
        test: sent.realms.as_ref().and_then(|realms| realms.test),
    }
}

/// The fields of a tenant that the body of a request would change now; none where either is gone or cannot be read.
fn tenant(app: &AppState, id: &str, body: &str) -> Vec<FieldChange> {
    let platform = app.engine.platform();
    let sent = Body::parse(body.as_bytes()).and_then(ChangeTenant::read);
    let (Some(old), Ok(sent)) = (platform.tenants.get(id), sent) else {
        return Vec::new();
    };
    let change = change_of(old, sent);
    let before = TenantBody::of(app, old);
    let after = TenantBody::after(app, old, change);
    between(&state(&before), &state(&after))
}

/// The fields of the platform's settings that the body of a request would change now.
fn platform(app: &AppState, body: &str) -> Vec<FieldChange> {
    let old = app.engine.platform();
    let Ok(sent) = Body::parse(body.as_bytes()).and_then(ChangePlatform::read) else {
        return Vec::new();
    };
    let mut new = old.as_ref().clone();
    if let Some(limits) = sent.limits {
        new.limits = old.limits.changed(limits.into());
    }
    if let Some(fees) = sent.fees {
        new.fees = rules(fees);
    }
    let [before, after] = [old.as_ref(), &new].map(|it| state(&PlatformBody::from(it)));
    between(&before, &after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_differ_are_named_with_both_values() {
        let before = json!({"name": "Uno", "limits": {"daily": null, "count": 3}, "fees": [
            {"voucherTypeCode": "OUT", "fixed": "1.00"}, {"voucherTypeCode": "IN", "fixed": "2.00"}]});
        let after = json!({"name": "Uno", "limits": {"daily": "5.00", "count": 4}, "on": true, "fees": [
            {"voucherTypeCode": "IN", "fixed": "2.50"}]});
        let found: Vec<_> = between(&before, &after)
            .into_iter()
            .map(|it| {
                let side = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                format!("{} {} {}", it.field, side(it.before), side(it.after))
            })
            .collect();
        assert_eq!(
            found,
            [
                "fees.IN.fixed 2.00 2.50",
                "fees.OUT.fixed 1.00 -",
                "fees.OUT.voucherTypeCode OUT -",
                "limits.count 3 4",
                "limits.daily - 5.00",
                "on - true",
            ]
        );
        assert_eq!(between(&after, &after), []);
    }
}
