//! A tenant's rules for the movements of its collector accounts.

use caudal_http::bodies::body;
use caudal_http::body::read::{line, text};
use caudal_http::body::{BODY_BYTES_MAX, Body};
use caudal_http::bytes::Bytes;
use caudal_http::errors::HandlerResult;
use caudal_http::request::request;
use caudal_http::words::Mistake;
use caudal_ledger::collector::{CollectorClass, CollectorRule, RULE_TEXT_MAX, RULES_MAX};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::tenants::orders::PlatformOrder;
use serde_json::Value;

use super::tenants::TenantInPath;
use super::{PathPart, State, changes, ok};

fn incoming(word: &str) -> Result<bool, Mistake> {
    match word {
        "in" => Ok(true),
        "out" => Ok(false),
        _ => Err(Mistake::NotADirectionOfMoney),
    }
}

/// Reads the word of a class that a rule or a person may name.
pub(super) fn class(word: &str) -> Result<CollectorClass, Mistake> {
    CollectorClass::parse(word).ok_or(Mistake::NotACollectorClass)
}

request! {
    /// A rule; all of its conditions must hold.
    strict_part pub struct RuleRequest as CollectorRule {
        /// `in` or `out`.
        incoming: bool = required("direction", text(incoming)) as String { pattern = "^(in|out)$" };
        /// A text that the bank's text contains, whatever the case and accents.
        text_contains: Option<String> = optional("textContains", line(RULE_TEXT_MAX))
            as Option<String> { max_length = 100 };
        /// The CUIT of the other side.
        counterparty_cuit: Option<Cuit> = optional("counterpartyCuit", text(Cuit::parse)) as Option<String>;
        /// The class of what the rule takes.
        class: CollectorClass = required("class", text(class))
            as String { pattern = "^(bank_fee|bank_tax|interest|funding|sweep)$" };
    }
}

request! {
    /// All rules of a tenant, in place of the old ones.
    strict pub struct SetRules as NewCollectorRules {
        /// The rules, in the order in which they are tried.
        rules: Vec<RuleRequest> = required_objects("rules", RULES_MAX, RuleRequest::take)
            as Vec<RuleRequest> { max_items = 100 };
    }
}

body! {
    /// A rule.
    pub(super) struct RuleBody as CollectorRuleBody from rule: &CollectorRule {
        /// `in` or `out`.
        direction: &'static str = if rule.incoming { "in" } else { "out" };
        text_contains: Option<String> = rule.text_contains.clone();
        counterparty_cuit: Option<String> = rule.counterparty_cuit.map(|cuit| cuit.to_string());
        class: &'static str = rule.class.as_str();
    }
}

fn shown(rules: &[CollectorRule]) -> Vec<RuleBody> {
    rules.iter().map(RuleBody::from).collect()
}

/// Reads the rules that say what movements of a tenant's collector accounts are.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}/collector-rules",
    params(TenantInPath),
    responses((status = 200, body = Vec<RuleBody>))
)]
pub(super) async fn read(admin_state: State, path: PathPart) -> HandlerResult {
    let platform = admin_state.app.engine.platform();
    let tenant = platform.tenant(&path)?;
    Ok(ok(&shown(&tenant.collector_rules)))
}

/// Sets the rules that say what movements of a tenant's collector accounts are: the first rule that takes a movement
/// counts, and what none takes waits as a case.
///
/// The body is the list of rules, or an object with `rules`. Movements that wait already are classified at the next
/// reading of the bank's statement.
#[utoipa::path(
    put,
    path = "/admin/tenants/{id}/collector-rules",
    params(TenantInPath),
    request_body(content = Vec<RuleRequest>),
    responses((status = 200, body = Vec<RuleBody>))
)]
pub(super) async fn set(
    admin_state: State,
    path: PathPart,
    Bytes(sent): Bytes<BODY_BYTES_MAX>,
) -> HandlerResult {
    let list = sent.trim_ascii_start().first() == Some(&b'[');
    let sent = if list {
        Body::parse(&[br#"{"rules":"#.as_slice(), &sent, b"}"].concat())?
    } else {
        Body::parse(&sent)?
    };
    let rules = SetRules::read(sent)?.rules.into_iter();
    let rules = rules.map(|rule| CollectorRule {
        incoming: rule.incoming,
        text_contains: rule.text_contains,
        counterparty_cuit: rule.counterparty_cuit,
        class: rule.class,
    });
    let _alone = admin_state.changes.lock().await;
    let operators = admin_state.operators();
    let id = path.into_inner();
    let platform = admin_state.app.engine.platform();
    let before = state_of(&platform.tenant(&id)?.collector_rules);
    let order = PlatformOrder::SetCollectorRules(id.clone(), rules.collect());
    let platform = operators.administer(order).await?;
    let rules = &platform.tenant(&id)?.collector_rules;
    tracing::info!(tenant = id, "rules for the collector account changed");
    let answer = ok(&shown(rules));
    Ok(changes::attach(answer, &before, &state_of(rules)))
}

/// The rules as the audit log compares them before and after a change.
fn state_of(rules: &[CollectorRule]) -> Value {
    changes::state(&serde_json::json!({"collectorRules": shown(rules)}))
}
