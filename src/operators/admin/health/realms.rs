//! Metrics of each realm: what it has in flight, how often its requests were refused, and when its next day is due.

use caudal_actors::engine::Engine;
use caudal_actors::in_flight::Flight;
use caudal_actors::platform::realms;

use super::{LabelledTenants, OTHER, Page, labels};

/// The limit of each realm, what the named ones have in flight, and how many of their requests were refused.
pub(super) fn in_flight(page: &mut Page, engine: &Engine, named: &LabelledTenants) {
    let in_flight = engine.in_flight();
    let help = "What each realm may have in flight: requests, and items of batches.";
    page.gauge("realm_in_flight_limit", help, in_flight.limit());
    let platform = engine.platform();
    let labelled = realms(&platform).filter(|(tenant, _)| named.label(&tenant.id) != OTHER);
    let known = labelled.map(|(tenant, mode)| {
        let flight = in_flight.of(tenant.realm(mode));
        (labels(&tenant.id, mode.as_str()), flight)
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

/// When the next day of each realm is due to be closed; of tenants without a label of their own the earliest.
pub(super) fn days(page: &mut Page, engine: &Engine, named: &LabelledTenants) {
    let (platform, due) = (engine.platform(), engine.operators().days_due());
    let values = realms(&platform).filter_map(|(tenant, mode)| {
        let of = tenant.realm(mode);
        let (_, at) = due.iter().find(|(realm, _)| *realm == of)?;
        let labels = labels(named.label(&tenant.id), mode.as_str());
        Some((labels, at.millis() / 1000))
    });
    let name = "day_due_timestamp_seconds";
    let help = "When the next day is due to be closed, in seconds since 1970: in the past while it is not closed.";
    page.gauges(name, help, values, u64::min);
}
