//! The people who run the service: their roles and credentials.

use actix_web::HttpResponse;
use caudal_http::errors::ApiError;
use serde_json::{Value, json};

use super::operations::{OperationForm, form, of_subjects};
use super::page_context::PageContext;
use super::view::{Block, Cell, Page, Part, Table};
use super::words::Word;

/// Shows the people.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| made(context))
        .await
}

fn made(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, staff) = (context.locale(), context.engine().operators().staff());
    let columns = [
        (Word::Name, false),
        (Word::Role, false),
        (Word::State, false),
        (Word::CreatedAt, false),
        (Word::IssuedAt, false),
    ];
    let rows = staff.people.all().map(|person| {
        let state = if person.works() { "active" } else { "revoked" };
        vec![
            Cell::text(person.name.as_str()),
            locale.state(person.role.as_str()),
            locale.state(state),
            locale.time(person.created_at),
            locale.time(person.issued_at),
        ]
    });
    let table = Table::new(locale, Word::People, Word::NoPeople, &columns).with(rows);
    let working = staff.people.all().filter(|person| person.works());
    let names: Vec<String> = working.map(|person| person.name.to_string()).collect();
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.push(Block::Table(table));
    blocks.extend(form(
        context,
        OperationForm::AddPerson,
        "",
        &json!({"role": "operator"}),
    ));
    if !names.is_empty() {
        let forms = [
            OperationForm::ChangeRole,
            OperationForm::RotatePerson,
            OperationForm::RevokePerson,
        ];
        let forms = forms.map(|which| of_subjects(context, which, "", &Value::Null, names.clone()));
        blocks.extend(forms.into_iter().flatten());
    }
    Ok(context.page(Part::People, context.say(Word::People), blocks))
}
