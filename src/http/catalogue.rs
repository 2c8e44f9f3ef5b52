//! Every error code: when it occurs and what to do, for the document and for pages.
//!
//! The codes and their statuses come from the failures and refusals themselves; the sentences are here. A test checks
//! that both lists have the same codes.

use std::collections::{BTreeMap, BTreeSet};

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use super::words::Refusal;
use super::words::codes::{FAILURES, INVALID};
use super::words::ledger::rules;
use crate::bodies::schema;

/// Who gets an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Callers of both families.
    Tenants,
    /// Operators, at the admin listener.
    Operators,
    /// The bank, whose notices come in.
    Banks,
}

/// An error code, as the catalogue has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorEntry {
    /// The stable word of the error.
    pub code: &'static str,
    /// The HTTP statuses that it comes with.
    pub statuses: BTreeSet<u16>,
    /// Who may get it: tenants, operators or banks.
    pub audience: Audience,
    /// In which cases it occurs.
    pub when: &'static str,
    /// What the client should do.
    pub then: &'static str,
}

impl ErrorEntry {
    /// Its row in a table: code, statuses, when, what to do.
    pub fn row(&self) -> String {
        let Self {
            code, when, then, ..
        } = self;
        let statuses: Vec<_> = self.statuses.iter().map(u16::to_string).collect();
        format!("| `{code}` | {} | {when} | {then} |\n", statuses.join(", "))
    }
}

/// The statuses of every code that the service can answer.
fn known() -> BTreeMap<&'static str, BTreeSet<u16>> {
    let mut known: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let all = FAILURES.iter().chain([&INVALID]).copied();
    let all = all.chain(Refusal::codes()).chain(rules());
    for (status, code) in all {
        known.entry(code).or_default().insert(status.as_u16());
    }
    known
}

/// Every error code, in the order of the table below.
pub fn errors() -> Vec<ErrorEntry> {
    let known = known();
    let entry = |&(code, audience, when, then): &ErrorRow| {
        Some(ErrorEntry {
            code,
            statuses: known.get(code)?.clone(),
            audience,
            when,
            then,
        })
    };
    ROWS.iter().filter_map(entry).collect()
}

/// The code of an error, as the document shows it.
#[derive(Debug)]
pub struct ErrorCode;

schema!(ErrorCode, "ErrorCode", codes_for(&[Audience::Tenants]));

/// The description of codes in a document; the page of errors alone says when each occurs.
const ABOUT: &str = "A stable word to switch on; `/docs/errors` says when each occurs and what to do about it. \
More may be added.";

/// The codes that these audiences get, as a document shows them.
pub fn codes_for(audiences: &[Audience]) -> RefOr<Schema> {
    let all = errors().into_iter();
    let shown: Vec<_> = all
        .filter(|entry| audiences.contains(&entry.audience))
        .collect();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(ABOUT))
        .enum_values(Some(shown.iter().map(|entry| entry.code)))
        .into()
}

type ErrorRow = (&'static str, Audience, &'static str, &'static str);

/// The table of codes: who gets each, when it occurs, and what to do.
macro_rules! rows {
    ($($code:ident $audience:ident: $when:literal, $then:literal;)+) => {
        const ROWS: &[ErrorRow] = &[$((stringify!($code), Audience::$audience, $when, $then)),+];
    };
}

rows! {
    // How the request comes.
    unauthorized Tenants: "The API key is absent, wrong, expired or revoked.", "Send a valid key in `x-api-key`.";
    scope_missing Tenants: "The key lacks the scope that the operation needs; `message` names it.", "Use a key that has the scope: scopes are set when a key is issued.";
    key_address Tenants: "The key may not be used from this address.", "Use it from one of its addresses, or have a key issued for this one.";
    rate_limited Tenants: "The key sent too many requests in a short time (`[rate_limit]`), the realm too many test calls to webhooks, or a person opened too many pages about clients.", "Wait for `Retry-After` seconds and send fewer at once.";
    too_many_in_flight Tenants: "The realm has as many requests in flight as it may have (`realm_in_flight`); a batch counts its items, at most half of the limit. Nothing was done. `details` has `limit` and `inFlight`.", "Wait for some of them, or for `Retry-After` seconds, and send it again.";
    malformed_request Tenants: "The request is not valid HTTP.", "Use an HTTP library.";
    head_too_large Tenants: "The headers are too large, or too many.", "Send fewer or shorter headers.";
    head_too_slow Tenants: "The headers did not arrive in time.", "Send the request again.";
    method_not_allowed Tenants: "The path exists, but not with this method.", "Use a method of the `Allow` header.";
    route_not_found Tenants: "The path is unknown.", "Compare the path with this document.";
    unsupported_media_type Tenants: "The body came without `Content-Type: application/json`, or with `Content-Encoding`.", "Send it as JSON with that header, not compressed.";
    not_acceptable Tenants: "`Accept` names no form of the answer; `message` names those that are offered.", "Send one of them, or `*/*`.";
    body_too_large Tenants: "The body is larger than 64 KiB (1 MiB for a batch).", "Send less, or split the batch.";
    malformed_body Tenants: "The body is not one JSON object in UTF-8, or has a field twice; `message` says where.", "Correct the JSON.";
    invalid_request Tenants: "Fields or parameters are missing, wrong or unknown; `errors` names each.", "Correct every field in `errors`.";
    // Repeats.
    idempotency_key_required Tenants: "The operation needs an `Idempotency-Key`.", "Send one that is new for this order, and the same one when you repeat it.";
    idempotency_key_reused Tenants: "The key was used with another body; `errors` names the fields that differ.", "Use a new key for a new order.";
    idempotency_in_flight Tenants: "The first request with this key is not finished.", "Repeat the same request after `Retry-After` seconds.";
    idempotency_key_not_found Tenants: "No request with this key is known.", "Check the key, and that it was used with the same API realm.";
    id_externo_reused Tenants: "The `idExterno` was used with other data; `errors` names the fields that differ, `details` what holds it.", "Use a new `idExterno` for a new order.";
    id_externo_in_flight Tenants: "Another request with this `idExterno` is not finished.", "Repeat the request after `Retry-After` seconds.";
    version_mismatch Tenants: "`If-Match` names another version than the present one.", "Read the account again, then decide whether the change still applies.";
    // Lists.
    page_too_far Tenants: "The page was asked for by its number or offset, and more rows precede it than one request may scan.", "Go on with `X-Next-Cursor` of an earlier page as `cursor`, or narrow the dates.";
    too_many_to_sort Tenants: "An order by amount was asked for over more rows than one request sorts.", "Narrow the dates, or leave out `sort`.";
    too_many_entries Tenants: "The trial balance of an instant was asked for, and its day has more entries up to it than one request counts.", "Ask for the end of a day with `date`.";
    // Accounts.
    account_not_found Tenants: "The account does not exist, or belongs to another tenant.", "Check the CVU or the number, and that the key is of the right realm.";
    account_without_cvu Tenants: "The wallet account has no CVU yet.", "Create its CVU first.";
    account_closed Tenants: "The account is closed.", "Use another account; only what is left of it can still be settled.";
    account_suspended Tenants: "The account is suspended: no money may leave it.", "Reactivate it first.";
    account_not_suspended Tenants: "The account is to be reactivated and is not suspended.", "Nothing: it is in the state that you want, or closed.";
    account_disabled Tenants: "The wallet account is disabled.", "Enable it first.";
    account_not_empty Tenants: "Your tenant's policy closes only empty accounts.", "Move the balance out first.";
    account_code_taken Tenants: "Another account has this external id (`codigo`); `details` names it.", "Use another code, or read the account that has it.";
    too_many_accounts Tenants: "The realm has as many accounts as it may have.", "Ask the operator for more.";
    operation_in_flight Tenants: "Another operation of the same account waits for the bank.", "Repeat the request after `Retry-After` seconds.";
    name_required Tenants: "The change would leave the holder without a name.", "Send a name: given and family name, or that of a firm.";
    alias_taken Tenants: "The alias belongs to another account; `details` names it if it is yours.", "Choose another alias.";
    cuit_immutable Tenants: "The CUIT of an account with a CVU cannot change.", "Open another account for the other CUIT.";
    first_holder_differs Tenants: "The first of `titulares` does not have the CUIT of the CVU.", "Put the account's own holder first.";
    holder_twice Tenants: "A CUIT is in `titulares` twice.", "Name each holder once.";
    person_type_contradicts Tenants: "The type of person does not fit the CUIT.", "Leave `personType` out: it follows from the CUIT.";
    // Money.
    insufficient_funds Tenants: "The account has less available than was asked for; `details` has both amounts.", "Ask for less, or wait until money has come in.";
    limit_exceeded Tenants: "A limit of the account would be passed; `details` has limit, level, use and when it resets.", "Ask for at most `details.remaining`, or wait until `details.resetsAt`.";
    amount_overflow Tenants: "The balance would exceed what an account can hold.", "Use a smaller amount.";
    voucher_type_unknown Tenants: "There is no voucher type with this code or number.", "List the types, or create this one.";
    voucher_type_not_found Tenants: "There is no voucher type with this code.", "List the types.";
    voucher_type_inactive Tenants: "The voucher type is switched off.", "Switch it on, or use another.";
    voucher_type_is_system Tenants: "System types can neither be changed nor used for adjustments.", "Create a type of your own.";
    voucher_type_taken Tenants: "A voucher type with this code exists.", "Use it, or choose another code.";
    voucher_type_sense Tenants: "A custom type is `credit` or `debit`.", "Use one of these.";
    too_many_voucher_types Tenants: "The realm has as many custom types as it may have.", "Remove types that you no longer use.";
    too_many_book_accounts Tenants: "The books have as many accounts for adjustments as they may have.", "Name an account that exists as `counterAccount`.";
    voucher_not_found Tenants: "The voucher does not exist, or belongs to another tenant.", "Check the id.";
    batch_rejected Tenants: "An item of an atomic batch was rejected, so nothing was posted; `details` has the result of each item.", "Correct or remove the rejected items.";
    voucher_not_reversible Tenants: "The voucher is neither an adjustment nor a confirmed hold, or it reverses another one itself.", "Post an adjustment, with `relatesTo` if it belongs to the voucher.";
    reversal_exceeds Tenants: "The reversals of the voucher would exceed it; `details` has its amount, what is reversed and what remains.", "Reverse at most `details.remaining`.";
    hold_not_found Tenants: "The hold does not exist, or belongs to another tenant.", "Check the id.";
    hold_not_open Tenants: "Nothing of the hold is left to confirm or release; `details` says how and when it ended.", "Read the hold to see how it ended.";
    hold_remaining Tenants: "More was asked for than remains of the hold; `details` has both amounts.", "Ask for at most `details.remaining`.";
    expiry_in_the_past Tenants: "`expiresAt` is not in the future.", "Send a later instant.";
    too_many_open_holds Tenants: "The account has as many open holds as it may have.", "Confirm or release some first.";
    transfer_not_found Tenants: "The transfer does not exist, or belongs to another tenant.", "Check the id.";
    transfer_not_open Tenants: "The transfer is final.", "Read it to see how it ended.";
    nothing_to_reverse Tenants: "Nothing of the transfer is left that could come back.", "Read it to see what has come back.";
    same_account Tenants: "A transfer goes to the account that sends it.", "Send it to another account.";
    destination_closed Tenants: "The account that would receive is closed.", "Ask for another destination.";
    destination_not_found Tenants: "Nobody has the CBU, CVU or alias: 404 where it is looked up, with the bank's words, and 400 where a transfer names it.", "Look the CBU, CVU or alias up first, and ask the receiver for it again.";
    too_many_open_transfers Tenants: "The account has as many transfers waiting for the bank as it may have.", "Wait until some are final.";
    remuneration_enrolled Tenants: "The account is enrolled with another brokerage account or fund.", "Wait until that enrolment was rejected or has ended.";
    // Events and webhooks.
    webhook_not_found Tenants: "The webhook does not exist, or belongs to another tenant.", "Check the id.";
    delivery_not_found Tenants: "No delivery with this id was ever tried.", "Check the id.";
    too_many_webhooks Tenants: "The realm has as many webhooks as it may have.", "Delete one first.";
    too_many_redeliveries Tenants: "The webhook has as many redeliveries under way as it may have.", "Try again when one has ended.";
    too_many_streams Tenants: "The realm has as many open streams as it may have.", "Close one, or try again after `Retry-After` seconds.";
    // The bank.
    bank_refused Tenants: "The bank refused; `bankStatus` and `bankBody` have its answer. Nothing has changed.", "Correct what the bank names.";
    bank_failed Tenants: "The bank failed; `bankStatus` and `bankBody` have its answer.", "Repeat the request with the same `Idempotency-Key`: a change that goes on is settled by itself.";
    bank_timeout Tenants: "The bank did not answer in time.", "Repeat the request with the same `Idempotency-Key`: a change that goes on is settled by itself.";
    bank_reads_limited Tenants: "The realm asks the bank too much: at most 8 lookups, lists and positions at the same time, 40 in a burst, then 10 a second.", "Repeat the request after `Retry-After` seconds.";
    // The service.
    overloaded Tenants: "Too much is waiting; nothing was done.", "Repeat the request after `Retry-After` seconds.";
    shutting_down Tenants: "The service is stopping; nothing was done.", "Repeat the request after `Retry-After` seconds.";
    not_owner Tenants: "This node is a standby; nothing was done. `Caudal-Owner` has the URL of the node that serves, unless none does yet.", "Repeat the same request at that URL, or at any other node; pause briefly between two tries.";
    read_only Tenants: "The service cannot write; nothing was done. Reads go on.", "Repeat the request after `Retry-After` seconds.";
    realm_closed Tenants: "The realm is being moved; nothing was done.", "Repeat the request after `Retry-After` seconds.";
    clock_in_doubt Tenants: "The clock of the machine contradicts the journal; nothing was done. Reads go on.", "Repeat the request after `Retry-After` seconds.";
    storage_damaged Tenants: "What was asked for cannot be read from disk.", "Tell the operator, with `requestId`.";
    outcome_unknown Tenants: "Nobody can say yet whether it was done.", "Repeat the same request with the same `Idempotency-Key` or `idExterno`: it is done once.";
    internal_error Tenants: "A mistake of the service; it is in its log.", "Tell the operator, with `requestId`; a repeat with the same key is safe.";
    collector_shared Tenants: "Another realm has the same collector account: nobody can say whose its balances are.", "Ask the operator, who sees the whole account.";
    day_not_closed Tenants: "The day is not closed yet, or it was before the first day of the realm.", "List the closed days; a day is closed some minutes after its end.";
    // Operators and banks.
    transfer_not_in_audit Operators: "The bank may still end the transfer.", "Wait, or decide with `force: true` if you know better.";
    case_not_found Operators: "There is no such case.", "List the cases.";
    case_decided Operators: "The case is decided.", "Read it to see by whom and why.";
    return_in_flight Operators: "The return is under way at the bank.", "Wait for the bank's word.";
    sender_unknown Operators: "Nobody knows the CBU of the sender.", "Credit the money to a CVU.";
    tenant_not_found Operators: "There is no such tenant.", "List the tenants.";
    tenant_taken Operators: "A tenant with this id exists.", "Choose another id.";
    too_many_tenants Operators: "No number is left in this shard for the realms of another tenant.", "Make it in another shard.";
    realm_importing Operators: "The realm is being filled from a file.", "Import that file to its end first.";
    key_not_found Operators: "There is no such key.", "List the keys of the tenant.";
    key_not_active Operators: "The key is revoked or has expired.", "Issue another.";
    too_many_keys Operators: "The tenant has as many active keys as it may have.", "Revoke one first.";
    role_missing Operators: "The credential is of a role that may not do this; `message` names the least one that may.", "Ask somebody of that role.";
    reason_required Operators: "Whoever acts has to say why.", "Send the header `X-Reason`, or the field `reason` where the body has it.";
    person_not_found Operators: "Nobody of this name has a credential that works.", "List the people.";
    person_taken Operators: "The person already has a credential.", "Rotate it, or revoke it first.";
    too_many_people Operators: "As many people have a credential as may have one.", "Revoke one first.";
    approval_not_found Operators: "There is no such approval, or it ended long ago.", "List the approvals, or read the audit log.";
    approval_ended Operators: "The approval was decided before, or its time is over.", "Ask again for what you need.";
    approval_own Operators: "Whoever asked for something cannot approve it, nor a credential that is newer than that.", "Have another person decide.";
    too_many_approvals Operators: "As many approvals wait as may wait.", "Have some of them decided.";
    verification_running Operators: "A verification is running.", "Try again when it is over.";
    log_not_changed Operators: "How much is logged could not be changed; `message` says why.", "Change `CAUDAL_LOG` where the service is started.";
    bank_in_use Operators: "The realm has accounts: their CVUs are on its present collector account.", "Keep `collectorCbu` and `baseUrl`, or use another tenant.";
    bank_not_set Operators: "The realm has no bank that can be used.", "Set it in the settings or for the tenant.";
    notice_not_understood Banks: "A signed notice is not of a known form.", "Send it in a form that the contract with the bank has.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code_once_and_no_other() {
        let shown: Vec<_> = ROWS.iter().map(|row| row.0).collect();
        let distinct: BTreeSet<_> = shown.iter().copied().collect();
        let known: BTreeSet<_> = known().into_keys().collect();
        assert_eq!(shown.len(), distinct.len(), "a code is in the table twice");
        assert_eq!(distinct, known);
    }
}
