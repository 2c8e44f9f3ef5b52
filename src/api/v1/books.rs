//! The books of the realm: the other side of every voucher.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, get};
use caudal_actors::engine::Queries;
use caudal_actors::engine::books::{BookEntry, EntryFilter};
use caudal_http::bodies::books::{BookAccountBody, BookEntryBody, TrialBalanceBody};
use caudal_http::caller::Caller;
use caudal_http::errors::HandlerResult;
use caudal_http::params::{PageParams, PeriodParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_http::rows;
use caudal_http::rows::ListCall;
use caudal_http::sheets::columns::{BOOK_ENTRIES, TRIAL_BALANCE};
use caudal_http::words::Mistake;
use caudal_ledger::books::{BookAccount, BookRef};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::pages::{PageOf, page};

/// The accounts of the books.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BookAccounts {
    /// Every account, in the order of a trial balance.
    pub items: Vec<BookAccountBody>,
}

/// Lists the accounts of the books: the clients' money, the collector account, and the PSP's own side of what moved.
///
/// Every voucher and every movement of the collector account credits one account and debits another. Vouchers of your
/// own types go to an account for adjustments, of income kind: `adjustments:` and the code of the type in lower case,
/// unless the type has another `counterAccount`. Confirmed holds go to `adjustments:confirm_hold`. `in_transit` is a memo:
/// transfers that were sent and are not final, shown beside the books and in no total.
#[utoipa::path(
    operation_id = "listBookAccounts",
    tag = "Treasury",
    responses((status = 200, body = BookAccounts), Problems)
)]
#[get("/v1/books/accounts")]
pub(crate) async fn accounts(caller: Caller) -> HandlerResult {
    let (queries, realm) = (caller.queries(), caller.realm());
    let mut adjustments = queries.book_accounts(realm).await?;
    let mut items = Vec::new();
    for account in BookAccount::ALL {
        if account == BookAccount::Adjustments {
            let named = std::mem::take(&mut adjustments).into_iter();
            items.extend(named.map(|name| (&BookRef::Adjustments(name)).into()));
        } else {
            items.push((&BookRef::Fixed(account)).into());
        }
    }
    items.push(BookAccountBody::in_transit());
    Ok(json(StatusCode::OK, &BookAccounts { items }))
}

params! {
    /// The day or the instant of a trial balance.
    struct TrialBalanceParams(now: Timestamp) {
        /// a business day, YYYY-MM-DD, not in the future; now when absent
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        /// an instant, RFC 3339, not in the future, instead of a day
        at: Option<Timestamp> = instant("at") as Option<String> { format = DateTime };
        => |query| {
            query.not_after("date", date, now.business_day());
            query.not_after("at", at, now);
            if date.is_some() && at.is_some() {
                query.mistake("at", Mistake::Together { other: "date" });
            }
        };
    }
}

/// Reads the trial balance: the balance of every account of the books, now, at the end of a day, or at an instant. Debits
/// and credits are equal.
///
/// `clients` is the sum of all positions. The accounts for adjustments that have moved are lines of their own. `bank` is
/// what the collector account has by the books: the bank's own balance less it is what nobody has explained yet, such as
/// money on its way into an account. An instant has what the days before it and the entries of its day up to it moved.
#[utoipa::path(
    operation_id = "readTrialBalance",
    tag = "Treasury",
    params(TrialBalanceParams),
    responses((status = 200, content((TrialBalanceBody = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/books/trial-balance")]
pub(crate) async fn trial_balance(
    request: HttpRequest,
    caller: Caller,
    query: Query,
) -> HandlerResult {
    let (queries, realm) = (caller.queries(), caller.realm());
    let sent = TrialBalanceParams::read(query, caller.now())?;
    let at = sent.at.or(sent.date.map(BusinessDay::end));
    let found = queries.trial_balance(realm, at).await?;
    let body = TrialBalanceBody::of(&found, sent.date);
    Ok(match rows::style(&request) {
        Some(style) => {
            let items = body.items.iter().map(|item| serde_json::json!(item));
            rows::table(style, TRIAL_BALANCE, items)
        }
        None => json(StatusCode::OK, &body),
    })
}

page! {
    /// A page of entries of the books.
    pub(crate) BookEntriesPage as BookEntriesPage {
        /// The entries.
        BookEntryBody
    }
}

params! {
    /// Which entries.
    part struct EntryParams {
        /// Only of this account; `adjustments` is all accounts for adjustments.
        account: Option<BookRef> = read("account", BookRef::parse) as Option<String>;
    }
}

/// Lists the entries of the books, the newest first: each fact that moved them has an entry in the account that it debits
/// and one in the account that it credits.
///
/// The entries of a day add up to the difference between its trial balance and that of the day before, account by account.
/// A hold, its release, and a transfer within the realm move nothing in the books. Go on with `X-Next-Cursor` as `cursor`
/// until it is absent: a page may be short, and `looked` then says how far it has looked.
#[utoipa::path(
    operation_id = "listBookEntries",
    tag = "Treasury",
    params(EntryParams, PageParams, PeriodParams),
    responses((status = 200, content((BookEntriesPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/books/entries")]
pub(crate) async fn entries(mut call: ListCall) -> HandlerResult {
    let EntryParams { account } = EntryParams::take(&mut call.query);
    let PeriodParams { from, to } = PeriodParams::take(&mut call.query);
    let realm = call.caller.realm();
    let filter = EntryFilter { account, from, to };
    let fetch = async move |queries: Queries<'_>, page| {
        queries.book_entries(realm, filter.clone(), page).await
    };
    let show = |entry: &BookEntry| BookEntryBody::from(entry);
    call.answer(BOOK_ENTRIES, fetch, |_| None, show, PageOf::answer)
        .await
}
