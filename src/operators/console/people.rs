//! The people who run the service: their roles and credentials.

use caudal_http::errors::ApiError;
use serde_json::{Value, json};

use super::operations::{OperationForm, form, of_subjects};
use super::page_context::PageContext;
use super::view::{Block, Cell, Page, Part, table};
use super::words::Word;

/// Shows the people.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, staff) = (context.locale(), context.operators().staff());
    let table = table! {
        locale, Word::People, Word::NoPeople; person in staff.people.all();
        => let state = if person.works() { "active" } else { "revoked" };
        Name: Cell::text(person.name.as_str());
        Role: locale.state(person.role.as_str());
        State: locale.state(state);
        CreatedAt: locale.time(person.created_at);
        IssuedAt: locale.time(person.issued_at);
    };
    let working = staff.people.all().filter(|person| person.works());
    let names: Vec<String> = working.map(|person| person.name.to_string()).collect();
    let mut blocks = vec![Block::Table(table)];
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
