//! The statement of an account as a file: the one that its holder would get, for an operator who is asked about it.
//!
//! **Shape.** The page of an account has a form with the days and the format; it leads to the file itself, made by
//! the code that answers `/v1/accounts/{cvu}/statements`.
//!
//! **Bounds.** Those of any statement, and a permit among the operators' long answers: it takes none of the tenant's.

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_http::query::Query;
use caudal_http::statements::response::{Source, StatementParams};
use caudal_http::statements::{StatementFormat, file_name};
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::Period;
use caudal_ledger::time::BusinessDay;

use super::super::page_context::PageContext;
use super::super::places::found;
use super::super::view::{Block, Field, Form, Takes};
use super::super::words::Word;

/// The characters of a day in a field.
const DAY: usize = 10;
/// The formats: the word of each in addresses, and its name.
const FORMATS: [(&str, StatementFormat, &str); 4] = [
    ("pdf", StatementFormat::Pdf, "PDF"),
    ("csv", StatementFormat::Csv, "CSV"),
    ("camt053", StatementFormat::Camt, "camt.053"),
    ("json", StatementFormat::Json, "JSON"),
];

/// The form that asks for a statement: this month so far, unless other days are chosen.
pub(super) fn form(context: &PageContext, realm: RealmId, key: &str) -> Block {
    let (locale, today) = (
        context.locale(),
        context.queries().now(realm).business_day(),
    );
    let day = |name, word, value| Field {
        value,
        ..Field::new(locale, name, word, Takes::Day, DAY)
    };
    let formats = FORMATS.map(|(word, _, name)| (word.to_owned(), name.to_owned()));
    let choice = Takes::Choice(formats.into());
    Block::Form(Form {
        title: context.say(Word::Statement).to_owned(),
        action: format!("/console/accounts/{key}/statement"),
        asks: true,
        fields: vec![
            day("from", Word::From, format!("{}-01", today.month())),
            day("to", Word::To, today.to_string()),
            Field::new(locale, "format", Word::Format, choice, DAY),
        ],
        submit: context.say(Word::Download),
        grave: false,
    })
}

/// Answers with the statement as a file.
pub(crate) async fn file(
    context: PageContext,
    request: HttpRequest,
    path: web::Path<String>,
    query: Query,
) -> HttpResponse {
    let made = given(&context, &request, &path, query).await;
    made.unwrap_or_else(|why| context.show(Err(why)))
}

fn asked(mut query: Query, today: BusinessDay) -> Result<(Period, StatementFormat), ApiError> {
    let formats = FORMATS.map(|(word, format, _)| (word, format));
    // The form's first format, if none is chosen.
    let [(_, first), ..] = formats;
    let format = query.choice("format", &formats).unwrap_or(first);
    let sent = StatementParams::read(query, today)?;
    Ok((sent.into(), format))
}

async fn given(
    context: &PageContext,
    request: &HttpRequest,
    key: &str,
    query: Query,
) -> Result<HttpResponse, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let (period, format) = asked(query, context.queries().now(place.realm).business_day())?;
    let source = Source::new(&context.admin_state.app, place.realm).for_operators();
    let mut answer = source.give(request, target, (period, format)).await?;
    let name = file_name(key, period, format);
    let file = format!("attachment; filename=\"{name}\"");
    let headers = answer.headers_mut();
    if let Ok(file) = HeaderValue::try_from(file) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
