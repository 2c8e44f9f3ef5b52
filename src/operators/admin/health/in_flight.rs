//! Metrics of what each realm has in flight, and of how often its requests were refused.

use caudal_actors::in_flight::Flight;
use caudal_actors::platform::realms;

use super::{AdminState, LabelledTenants, OTHER, Page};

/// The limit of each realm, what the named ones have in flight, and how many of their requests were refused.
pub(super) fn figures(page: &mut Page, admin_state: &AdminState, named: &LabelledTenants) {
    let engine = &admin_state.app.engine;
    let in_flight = engine.in_flight();
    let help = "What each realm may have in flight: requests, and items of batches.";
    page.gauge("realm_in_flight_limit", help, in_flight.limit());
    let platform = engine.platform();
    let labelled = realms(&platform).filter(|(tenant, _)| named.label(&tenant.id) != OTHER);
    let known = labelled.map(|(tenant, mode)| {
        // The service generates tenant ids: letters, digits and `_`.
        let labels = format!("{{tenant=\"{}\",mode=\"{}\"}}", tenant.id, mode.as_str());
        (labels, in_flight.of(tenant.realm(mode)))
    });
    let known: Vec<(String, Flight)> = known.collect();
    let name = "realm_in_flight";
    page.family(name, "gauge", "Requests and items of batches in flight.");
    for (labels, flight) in &known {
        page.sample(name, labels, flight.now);
    }
    let name = "realm_refused_total";
    let help = "Requests that were refused because the realm had too much in flight.";
    page.family(name, "counter", help);
    for (labels, flight) in &known {
        page.sample(name, labels, flight.refused);
    }
}
