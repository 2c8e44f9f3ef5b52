//! `caudal find`: what an id names, among all tenants.

use reqwest::Method;

use super::Exit;
use super::admin::{Asking, table};
use super::remote::items;

/// Find what an id names, among all tenants: 1 if nothing has it
///
/// The id is one of COELSA or of the bank, our reference at the bank, or a tenant's own (idExterno).
#[derive(Debug, clap::Args)]
pub(super) struct FindArgs {
    /// The id
    id: String,
    #[command(flatten)]
    asking: Asking,
}

/// Runs the command.
pub(super) fn run(args: FindArgs) -> Result<(), Exit> {
    const COLUMNS: [&str; 8] = [
        "kind", "id", "status", "amount", "cvu", "at", "tenantId", "mode",
    ];
    let FindArgs { id, asking } = args;
    let sent: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let path = format!("/admin/find?id={sent}");
    let found = asking.answered(Method::GET, &path, None, |list| {
        table(&COLUMNS, items(list))
    })?;
    if items(&found).is_empty() {
        return Err(Exit::failed(format!("nothing has the id {id}")));
    }
    Ok(())
}
