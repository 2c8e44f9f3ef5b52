//! The written form of a table: rows, each a request with the checks on its answer. See the parent.

use super::checks::{Check, Place};
use caudal_ledger::time::Timestamp;

/// The caller of a request; see the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Tenant,
    Live,
    Other,
    Nobody,
    WrongKey,
    Bank,
    Admin,
}

const PEOPLE: &[(&str, Who)] = &[
    ("tenant", Who::Tenant),
    ("live", Who::Live),
    ("other", Who::Other),
    ("nobody", Who::Nobody),
    ("wrong_key", Who::WrongKey),
    ("bank", Who::Bank),
    ("admin", Who::Admin),
];
const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// The fewest bytes of a meaningful statement.
const STATEMENT_MIN: usize = 8;

/// A request and the expected answer.
pub struct Row {
    pub line: usize,
    pub who: Who,
    /// Whether the request is repeated until everything holds.
    pub soon: bool,
    pub method: String,
    pub path: String,
    pub body: String,
    pub headers: Vec<(String, String)>,
    pub status: u16,
    /// The code of a refusal; empty if the table does not give it.
    pub code: String,
    /// The fields that a refusal names.
    pub fields: Vec<String>,
    pub statement: String,
    pub checks: Vec<Line>,
    pub keeps: Vec<(usize, String, Place)>,
}

/// A check with the statement that it proves; the statement is empty if the check belongs to the one
/// before.
pub struct Line {
    pub line: usize,
    pub check: Check,
    pub text: String,
    pub statement: String,
}

pub enum Step {
    Heading(String),
    Clock(String),
    Ask(Box<Row>),
}

pub struct Table {
    pub name: String,
    pub steps: Vec<Step>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// Every line that cannot be understood.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<String>> {
        let (mut steps, mut wrong) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(why) = take(&mut steps, number, line) {
                wrong.push(format!(
                    "tests/interface/{name}.table:{number}: {why}: {line}"
                ));
            }
        }
        if wrong.is_empty() {
            let name = name.to_owned();
            Ok(Self { name, steps })
        } else {
            Err(wrong)
        }
    }

    /// The statements under each heading.
    pub fn statements(&self) -> Vec<(&str, Vec<&str>)> {
        let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
        for step in &self.steps {
            match step {
                Step::Heading(heading) => all.push((heading, Vec::new())),
                Step::Clock(_) => {}
                Step::Ask(row) => {
                    let said = row.checks.iter().map(|line| line.statement.as_str());
                    let said = std::iter::once(row.statement.as_str()).chain(said);
                    if let Some((_, statements)) = all.last_mut() {
                        statements.extend(said.filter(|statement| !statement.is_empty()));
                    }
                }
            }
        }
        all
    }

    /// The instant at which the clock stands when the service starts.
    pub fn start(&self) -> Option<&str> {
        let mut steps = self.steps.iter();
        steps.find_map(|step| match step {
            Step::Heading(_) => None,
            Step::Clock(at) => Some(Some(at.as_str())),
            Step::Ask(_) => Some(None),
        })?
    }
}

/// Adds a line to the steps.
fn take(steps: &mut Vec<Step>, number: usize, line: &str) -> Result<(), String> {
    if let Some(heading) = line.strip_prefix("== ") {
        steps.push(Step::Heading(heading.trim().to_owned()));
        return Ok(());
    }
    if let Some(at) = line.strip_prefix("clock ") {
        Timestamp::parse(at.trim()).ok_or("no instant")?;
        steps.push(Step::Clock(at.trim().to_owned()));
        return Ok(());
    }
    let (text, statement) = match line.rsplit_once(" | ") {
        Some((text, statement)) => (text.trim_end(), statement.trim()),
        None => (line.trim_end(), ""),
    };
    if !statement.is_empty() && statement.len() < STATEMENT_MIN {
        return Err("a statement of nothing".into());
    }
    if line.starts_with(' ') {
        let Some(Step::Ask(row)) = steps.last_mut() else {
            return Err("no request before it".into());
        };
        return belongs(row, number, text.trim_start(), statement);
    }
    let headed = steps.iter().any(|step| matches!(step, Step::Heading(_)));
    if !headed {
        return Err("no heading before it".into());
    }
    let row = request(number, text, statement)?;
    steps.push(Step::Ask(Box::new(row)));
    Ok(())
}

/// Adds a line below a request.
fn belongs(row: &mut Row, number: usize, text: &str, statement: &str) -> Result<(), String> {
    if let Some(header) = text.strip_prefix("with ") {
        let (name, value) = header.split_once(':').ok_or("no header")?;
        row.headers.push((name.to_owned(), value.trim().to_owned()));
        return Ok(());
    }
    if let Some(kept) = text.strip_prefix("keep ") {
        let (name, place) = kept.split_once(" = ").ok_or("no name or no place")?;
        let place = Place::parse(place)?;
        row.keeps.push((number, name.trim().to_owned(), place));
        return Ok(());
    }
    row.checks.push(Line {
        line: number,
        check: Check::parse(text)?,
        text: text.to_owned(),
        statement: statement.to_owned(),
    });
    Ok(())
}

/// Reads a request line.
fn request(line: usize, text: &str, statement: &str) -> Result<Row, String> {
    let (asked, expected) = text.rsplit_once(" => ").ok_or("no status")?;
    let (mut asked, mut who, mut soon) = (asked.trim(), Who::Tenant, false);
    loop {
        let (word, rest) = asked.split_once(' ').unwrap_or((asked, ""));
        match word {
            "soon" => (soon, asked) = (true, rest),
            "as" => {
                let (name, rest) = rest.split_once(' ').ok_or("nobody asks")?;
                let known = PEOPLE.iter().find(|(known, _)| *known == name);
                (who, asked) = (known.ok_or("nobody of that name")?.1, rest);
            }
            _ => break,
        }
    }
    let (method, rest) = asked.split_once(' ').ok_or("no path")?;
    if !METHODS.contains(&method) {
        return Err("no method".into());
    }
    // A variable in a path may contain a space.
    let mut inside = false;
    let end = rest.find(|c: char| {
        inside = (inside || c == '{') && c != '}';
        c == ' ' && !inside
    });
    let (path, body) = rest.split_at(end.unwrap_or(rest.len()));
    if !path.starts_with('/') {
        return Err("no path".into());
    }
    let mut expected = expected.split_whitespace();
    let status = expected.next().and_then(|status| status.parse().ok());
    Ok(Row {
        line,
        who,
        soon,
        method: method.to_owned(),
        path: path.to_owned(),
        body: body.trim().to_owned(),
        headers: Vec::new(),
        status: status.ok_or("no status")?,
        code: expected.next().unwrap_or_default().to_owned(),
        fields: expected.map(str::to_owned).collect(),
        statement: statement.to_owned(),
        checks: Vec::new(),
        keeps: Vec::new(),
    })
}
