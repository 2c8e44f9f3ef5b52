//! Plays a table: sends its requests in order, and reports every line that does not hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use caudal_actors::ports::Clock;

use super::table::{Row, Step, Table, Who};
use crate::support::client::fresh;
use crate::support::{
    Answer, Client, SOON, Setup, TestClock, TestService, Value, cuit, wait_until,
};

/// How much of an answer is shown, in characters.
const SHOWN: usize = 3_000;

/// The service that a table is played with.
struct Stage {
    service: TestService,
    clock: Arc<dyn Clock>,
    /// The clock that the table moves, if it has one.
    hand: Option<Arc<TestClock>>,
    kept: BTreeMap<String, String>,
}

/// Plays a table with a fresh service.
pub async fn play(table: &Table) {
    let hand = table.start().map(TestClock::at);
    let clock: Arc<dyn Clock> = match &hand {
        Some(hand) => Arc::<TestClock>::clone(hand),
        None => Arc::new(caudal_http::clock::GuardedClock::of_machine()),
    };
    let setup = Setup {
        clock: Arc::clone(&clock),
        ..Setup::default()
    };
    let service = TestService::with(setup).await;
    service.hear().await;
    let mut stage = Stage {
        service,
        clock,
        hand,
        kept: BTreeMap::new(),
    };
    let (mut report, mut failed) = (String::new(), 0);
    for step in &table.steps {
        match step {
            Step::Heading(_) => {}
            Step::Clock(at) => {
                if let Some(hand) = &stage.hand {
                    hand.set(at);
                }
            }
            Step::Ask(row) => {
                let wrong = stage.ask(row).await;
                failed += wrong.lines.len();
                if !wrong.lines.is_empty() {
                    let place = format!("tests/interface/{}.table:{}", table.name, row.line);
                    let lines = wrong.lines.join("\n  ");
                    let (asked, answered) = (wrong.asked, wrong.answered);
                    report += &format!("\n{place}: {asked}\n  answer: {answered}\n  {lines}\n");
                }
            }
        }
    }
    assert!(failed == 0, "{failed} lines do not hold:\n{report}");
}

/// The failures of a row.
#[derive(Default)]
struct Wrong {
    asked: String,
    answered: String,
    lines: Vec<String>,
}

impl Stage {
    async fn ask(&mut self, row: &Row) -> Wrong {
        let since = Instant::now();
        let asked = async || {
            let (wrong, answer) = self.once(row).await;
            let done = !row.soon || wrong.lines.is_empty() || since.elapsed() > SOON / 2;
            done.then_some((wrong, answer))
        };
        let (mut wrong, answer) = wait_until("an answer", SOON, asked).await;
        let Some(answer) = answer else { return wrong };
        for (line, name, place) in &row.keeps {
            let found = place.of(&answer, &|text| self.write(text));
            match found.map(|found| found.into_iter().next()) {
                Ok(Some(Value::String(text))) => {
                    self.kept.insert(name.clone(), text);
                }
                Ok(Some(value)) => {
                    self.kept.insert(name.clone(), value.to_string());
                }
                Ok(None) => wrong
                    .lines
                    .push(format!("{line}: nothing to keep as {name}")),
                Err(why) => wrong.lines.push(format!("{line}: {why}")),
            }
        }
        wrong
    }

    /// Sends the request once and checks the answer.
    async fn once(&self, row: &Row) -> (Wrong, Option<Answer>) {
        let mut wrong = Wrong::default();
        let answer = match self.sent(row, &mut wrong.asked).await {
            Ok(answer) => answer,
            Err(why) => {
                wrong.lines.push(format!("not asked: {why}"));
                return (wrong, None);
            }
        };
        let shown: String = answer.text.chars().take(SHOWN).collect();
        wrong.answered = format!("{} {shown}", answer.status);
        let lines = &mut wrong.lines;
        if answer.status != row.status {
            lines.push(format!("{}: {} | {}", row.line, row.status, row.statement));
        }
        let ours = !matches!(row.who, Who::Bank);
        if answer.status >= 400 && ours && row.method != "HEAD" {
            lines.extend(refusal(row, &answer));
        }
        for line in &row.checks {
            if let Err(why) = line.check.hold(&answer, &|text| self.write(text)) {
                let (number, text, statement) = (line.line, &line.text, &line.statement);
                let why: String = why.chars().take(SHOWN / 4).collect();
                lines.push(format!("{number}: {text} | {statement}: {why}"));
            }
        }
        (wrong, Some(answer))
    }

    async fn sent(&self, row: &Row, asked: &mut String) -> Result<Answer, String> {
        let (path, body) = (self.write(&row.path)?, self.write(&row.body)?);
        *asked = format!("{} {path} {body}", row.method);
        let mut call = self.client(row.who).call(&row.method, &path);
        if row.who == Who::Admin {
            call = call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY);
        }
        let typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if !body.is_empty() && !row.headers.iter().any(typed) {
            call = call.header("content-type", "application/json");
        }
        for (name, value) in &row.headers {
            call = call.header(name, &self.write(value)?);
        }
        if !body.is_empty() {
            call = call.body(body);
        }
        call.answer().await.ok_or_else(|| "no answer".to_owned())
    }

    fn client(&self, who: Who) -> Client {
        let tenant = &self.service.a;
        match who {
            Who::Tenant => tenant.clone(),
            Who::Live => self.service.live.clone(),
            Who::Other => self.service.b.clone(),
            Who::Nobody => tenant.with_key(None),
            Who::WrongKey => tenant.with_key(Some("cdl_test_nobody_has_this_key_of_the_service")),
            Who::Bank => self.service.bank.client(),
            Who::Admin => self.service.admin_client(),
        }
    }

    /// A text with its variables replaced by their values.
    fn write(&self, text: &str) -> Result<String, String> {
        written(text, &|name| self.value(name))
    }

    /// The value of a variable.
    fn value(&self, name: &str) -> Result<String, String> {
        let (word, rest) = name.split_once(' ').unwrap_or((name, ""));
        let number = || {
            rest.parse::<u32>()
                .map_err(|_| format!("no number: {name}"))
        };
        match word {
            "cuit" => Ok(cuit(number()?)),
            "company" => Ok(company(number()?)),
            "text" => Ok("x".repeat(usize::try_from(number()?).unwrap())),
            "day" => {
                let days: i32 = rest.parse().map_err(|_| format!("no number: {name}"))?;
                let mut day = self.clock.now().business_day();
                for _ in 0..days.unsigned_abs() {
                    day = if days < 0 { day.before() } else { day.next() };
                }
                Ok(day.to_string())
            }
            "fresh" => Ok(format!("fresh-{}", fresh())),
            "url" => Ok(self.service.a.url.clone()),
            "key" => Ok(self.service.a.key.clone().unwrap_or_default()),
            _ => self
                .kept
                .get(name)
                .cloned()
                .ok_or_else(|| format!("nothing is kept as {name}")),
        }
    }
}

/// Replaces each variable in a text, `{name}` or `{name number}`, by its value.
pub fn written(
    text: &str,
    value: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let inner = from.trim_start_matches('{');
        let inner = from.strip_prefix('{').unwrap_or(inner);
        let name = inner.split('}').next().unwrap_or_default();
        let part = |c: char| c.is_ascii_alphanumeric() || " -_".contains(c);
        let is = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(part);
        if is && inner.len() > name.len() {
            out.push_str(&value(name)?);
            rest = inner.strip_prefix(name).unwrap_or_default();
            rest = rest.strip_prefix('}').unwrap_or_default();
        } else {
            out.push('{');
            rest = inner;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// A company's CUIT with a valid check digit, a different one for each number.
fn company(number: u32) -> String {
    let right = |digit: &u8| {
        let text = format!("30{number:08}{digit}");
        caudal_ledger::cuit::Cuit::parse(&text).is_ok()
    };
    let digit = (0..10).find(right);
    // A number for which no check digit is valid is replaced by another.
    digit.map_or_else(
        || company(number + 50_000_000),
        |it| format!("30{number:08}{it}"),
    )
}

/// The errors in the body of a refusal, apart from the row's own checks.
fn refusal(row: &Row, answer: &Answer) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{}: the body of a refusal: {what}", row.line));
        }
    };
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    must(answer["statusCode"] == answer.status, "statusCode");
    must(!text("message").is_empty(), "message");
    must(text("timestamp").len() == 24, "timestamp");
    // A replayed answer has the request id of the first one.
    must(
        answer.replayed() || text("requestId") == answer.header("x-request-id"),
        "requestId",
    );
    must(row.code.is_empty() || text("code") == row.code, &row.code);
    let named = crate::support::named(&answer.json);
    for field in &row.fields {
        must(
            named.contains(&field.as_str()),
            &format!("errors name {field}"),
        );
    }
    wrong
}
