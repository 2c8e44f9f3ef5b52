//! The metric of closed days.

use caudal_actors::engine::Engine;
use caudal_actors::platform::realms;

use super::{LabelledTenants, Page, combined};

/// When the next day of each realm is due to be closed; of tenants without a label of their own the earliest.
pub(super) fn figures(page: &mut Page, engine: &Engine, named: &LabelledTenants) {
    let (platform, due) = (engine.platform(), engine.operators().days_due());
    let values = realms(&platform).filter_map(|(tenant, mode)| {
        let of = tenant.realm(mode);
        let (_, at) = due.iter().find(|(realm, _)| *realm == of)?;
        let (tenant, mode) = (named.label(&tenant.id), mode.as_str());
        let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\"}}");
        Some((labels, at.millis() / 1000))
    });
    let name = "day_due_timestamp_seconds";
    let help = "When the next day is due to be closed, in seconds since 1970: in the past while it is not closed.";
    page.family(name, "gauge", help);
    for (labels, value) in combined(values, u64::min) {
        page.sample(name, &labels, value);
    }
}
