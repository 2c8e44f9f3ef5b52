//! The statement of the collector account: every movement of a business day, also those of no CVU, between the bank's
//! own balances.
//!
//! **Shape.** `GET …/owner/transactions` lists the movements oldest first, each with its signed `value` and the balance
//! after it, `new_balance`. The opening is the balance after the last movement before the day, which is asked for
//! first: what the bank posts meanwhile belongs to the day. A day that is not over closes with the account's present
//! balance. So a movement that the bank leaves out of its list shows as a difference between the balances and the sums.
//!
//! **Order.** The present balance belongs to the list only if nothing moved while the list was read: it is asked for before
//! and after, up to [`TRIES`] times. On an account that never rests, the day closes with the last line's balance.
//!
//! **Lists** are judged line by line, like those of transfers: a line that cannot be read in a field that decides is
//! reported as such, and every other line counts.

use caudal_actors::ports::{BankError, BankReply, CollectorStatement};
use caudal_ledger::cases::UnreadableLine;
use caudal_ledger::chain::Digest;
use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::json;
use tokio::time::Instant;

use super::read::{self, JsonMembers, UnreadableMember, Worth};
use super::transfers::{DayLines, LinePage, ListLine, Reading, page};
use super::wire::{self, BankRequest, BankResponse, Judge, owner};
use super::{HttpGateway, LIST_DEADLINE, PAGE, PAGE_BODY_MAX};

/// The operation, in the journal.
const STATEMENT: &str = "statement";
/// The longest text of a movement, in characters.
const TEXT_MAX: usize = 200;
/// The bank's word for a transfer that came back.
const REVERSAL: &str = "REVERSAL";
/// The bank's word for money that arrived.
const ARRIVAL: &str = "TRANSFERENCIA";
/// How often the list is read for one that no movement interrupted.
const TRIES: usize = 3;

/// A line of the statement: the movement, and the balance after it.
type BalancedLine = (CollectorMovement, Money);

/// A page of the statement.
type StatementPage = LinePage<BalancedLine>;

impl BankRequest<StatementPage> {
    /// One page of a day's movements, oldest first.
    fn of_day(collector: &str, day: BusinessDay, offset: usize) -> Self {
        let judge = wire::of_question(move |answer| statement_page(answer, day, Some(day)));
        let headers = vec![
            ("obp_limit", PAGE.to_string()),
            ("obp_offset", offset.to_string()),
            ("obp_from_date", day.to_string()),
            ("obp_to_date", day.to_string()),
            ("obp_sort_direction", "ASC".to_owned()),
        ];
        Self::transactions(collector, headers, judge)
            .about(day.to_string())
            .recorded(&json!({"offset": offset}))
    }

    /// The last movement before a day.
    fn before(collector: &str, day: BusinessDay) -> Self {
        let judge = wire::of_question(move |answer| {
            // Without the balance before the day nothing can be said about it.
            statement_page(answer, day, None).filter(|page| page.unreadable.is_empty())
        });
        let headers = vec![
            ("obp_limit", "1".to_owned()),
            ("obp_offset", "0".to_owned()),
            ("obp_to_date", day.before().to_string()),
            ("obp_sort_direction", "DESC".to_owned()),
        ];
        Self::transactions(collector, headers, judge)
            .about(day.to_string())
            .recorded(&json!({"before": day.to_string()}))
    }

    fn transactions(
        collector: &str,
        headers: Vec<(&'static str, String)>,
        judge: Judge<StatementPage>,
    ) -> Self {
        Self {
            headers,
            body_max: PAGE_BODY_MAX,
            ..Self::get(STATEMENT, &owner(collector, &["transactions"]), judge)
        }
    }
}

/// Reads a page that was asked for a day; its movements are of the day `of`, if there is one.
fn statement_page(
    answer: &BankResponse,
    day: BusinessDay,
    of: Option<BusinessDay>,
) -> Option<StatementPage> {
    page(
        answer,
        |record| movement(record, of),
        |record, field, text| unreadable(record, day, field, text),
    )
}

/// The signed value of a movement: whether it came in, and how much.
fn value(details: &JsonMembers<'_>) -> Result<(bool, Amount), UnreadableMember> {
    let worth: Option<Worth<'_>> = details.deciding("value")?;
    let money = worth.and_then(|worth| worth.money()).ok_or("value")?;
    let amount = i64::try_from(money.centavos().unsigned_abs()).ok();
    let amount = amount.and_then(|centavos| Amount::from_centavos(centavos).ok());
    Ok((money > Money::ZERO, amount.ok_or("value")?))
}

/// Reads a line.
///
/// # Errors
/// The field that decides and cannot be read.
fn movement(
    record: &JsonMembers<'_>,
    day: Option<BusinessDay>,
) -> Result<BalancedLine, UnreadableMember> {
    let details = record.object("details")?;
    let posted = details.text("posted")?;
    let at = posted.as_deref().and_then(Timestamp::parse);
    // The movement is of another day: the bank did not understand the request.
    let at = at.filter(|at| day.is_none_or(|day| at.business_day() == day));
    let balance: Option<Worth<'_>> = details.deciding("new_balance")?;
    let balance = balance.and_then(|worth| worth.money());
    let (incoming, amount) = value(&details)?;
    let kind: Option<String> = details.shown("type");
    let reversal = kind.as_deref() == Some(REVERSAL);
    let coelsa_id = details.text("coelsa_id")?;
    let text: Option<String> = details.shown("description");
    let movement = CollectorMovement {
        bank_id: record
            .text("id")?
            .as_deref()
            .and_then(read::id)
            .ok_or("id")?,
        coelsa_id: read::rail_id(coelsa_id.as_deref()).ok_or("coelsa_id")?,
        origin: details.origin(if reversal { "reverses" } else { "origin_id" })?,
        reversal,
        incoming,
        amount,
        text: text.map_or_else(String::new, |text| read::line(&text, TEXT_MAX)),
        counterparty: record.party("counterparty"),
        at: at.ok_or("posted")?,
    };
    Ok((movement, balance.ok_or("new_balance")?))
}

/// A line that cannot be read, with what can be read of it.
fn unreadable(
    record: &JsonMembers<'_>,
    day: BusinessDay,
    field: UnreadableMember,
    text: String,
) -> UnreadableLine {
    let details = record.object("details").unwrap_or(JsonMembers::none());
    let id = |text: Option<String>| text.as_deref().and_then(read::id);
    let value = value(&details).ok();
    // A line whose value cannot be read still says what it is; so it is the same line as on the list of transfers.
    let kind: Option<String> = details.shown("type");
    let arrives = matches!(kind.as_deref(), Some(ARRIVAL | REVERSAL));
    let reference = if kind.as_deref() == Some(REVERSAL) {
        "reverses"
    } else {
        "origin_id"
    };
    UnreadableLine {
        day,
        incoming: value.map_or(arrives, |(incoming, _)| incoming),
        field: field.to_owned(),
        bank_id: id(record.text("id").ok().flatten()),
        coelsa_id: id(details.text("coelsa_id").ok().flatten()),
        origin: details.origin(reference).ok().flatten(),
        cvu: None,
        amount: value.map(|(_, amount)| amount),
        text,
    }
}

impl ListLine for BalancedLine {
    fn bank_id(&self) -> &str {
        &self.0.bank_id
    }
}

/// The statement of a day with these lines; `before` has the last movement before the day, if the bank has an earlier
/// one, and `now` is the present balance, if the day is not over.
fn statement(
    lines: DayLines<BalancedLine>,
    before: &StatementPage,
    now: Option<Money>,
) -> CollectorStatement {
    let first = lines.listed.first().and_then(|(line, after)| {
        let amount = line.amount.money();
        if line.incoming {
            after.minus(amount)
        } else {
            after.plus(amount)
        }
    });
    let earlier = before.movements.first().map(|(_, after)| *after);
    let opening = earlier.or(first);
    let last = lines.listed.last().map(|(_, after)| *after);
    let digest = Digest::of(&[before.digest.0.as_slice(), &lines.answers].concat());
    let (listed, unreadable) = lines.both();
    CollectorStatement {
        opening: opening.or(now),
        closing: now.or(last).or(opening),
        movements: listed.into_iter().map(|(line, _)| line).collect(),
        unreadable,
        digest,
    }
}

impl HttpGateway {
    /// Reads the statement of a day.
    pub(super) async fn read_statement(
        &self,
        day: BusinessDay,
        ongoing: bool,
        request_id: &str,
    ) -> BankReply<CollectorStatement> {
        let mut reading = Reading::of(self, request_id);
        let result = reading.statement(day, ongoing).await;
        let calls = reading.calls;
        BankReply { result, calls }
    }
}

impl Reading<'_> {
    async fn statement(
        &mut self,
        day: BusinessDay,
        ongoing: bool,
    ) -> Result<CollectorStatement, BankError> {
        let ask = BankRequest::before(&self.gateway.config.collector, day);
        let before = self.ask(ask, None).await?;
        if !ongoing {
            let lines = self.statement_lines(day).await?;
            return Ok(statement(lines, &before, None));
        }
        let mut now = self.balance_now().await?;
        let mut lines = DayLines::of(day);
        for _ in 0..TRIES {
            lines = self.statement_lines(day).await?;
            let after = self.balance_now().await?;
            if after == now {
                return Ok(statement(lines, &before, Some(now)));
            }
            now = after;
        }
        Ok(statement(lines, &before, None))
    }

    async fn balance_now(&mut self) -> Result<Money, BankError> {
        let ask = BankRequest::balance(&self.gateway.config.collector);
        Ok(self.ask(ask, None).await?.0)
    }

    async fn statement_lines(
        &mut self,
        day: BusinessDay,
    ) -> Result<DayLines<BalancedLine>, BankError> {
        let until = Instant::now() + LIST_DEADLINE;
        let collector = &self.gateway.config.collector;
        let page = |offset| BankRequest::of_day(collector, day, offset);
        self.pages("the statement", day, until, page).await
    }
}
