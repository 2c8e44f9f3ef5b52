//! Metrics of realms with a pace: every realm where a pace is set, none where it is not.

use caudal_actors::pace::{Held, Waits};
use caudal_actors::platform::realms;

use super::{Named, OTHER, OperatorDesk, Page};

/// How often realms waited for their turn, for how long, and how often they were refused.
pub(super) fn figures(page: &mut Page, desk: &OperatorDesk, named: &Named) {
    let engine = &desk.door.engine;
    let (set, held) = (engine.pace().is_set(), engine.pace().held());
    let platform = engine.platform();
    let labelled = realms(&platform).filter(|(tenant, _)| named.label(&tenant.id) != OTHER);
    let known = labelled.filter(|_| set).map(|(tenant, mode)| {
        let held = held.get(&tenant.realm(mode));
        // The service generates tenant ids: letters, digits and `_`.
        let labels = format!("tenant=\"{}\",mode=\"{}\"", tenant.id, mode.as_str());
        (labels, held.map_or_else(Held::default, |held| *held))
    });
    let known: Vec<(String, Held)> = known.collect();
    let kinds = || {
        known.iter().flat_map(|(labels, held)| {
            let of = |kind, waits: Waits| (format!("{{{labels},kind=\"{kind}\"}}"), waits);
            [of("request", held.requests), of("batch", held.parts)]
        })
    };
    let name = "realm_paced_total";
    let help = "Requests, and parts of batches, that waited for the pace of their realm.";
    page.family(name, "counter", help);
    for (labels, waits) in kinds() {
        page.sample(name, &labels, waits.count);
    }
    let name = "realm_paced_seconds_total";
    page.family(name, "counter", "How long they waited, all together.");
    for (labels, Waits { time, .. }) in kinds() {
        let seconds = format_args!("{}.{:06}", time.as_secs(), time.subsec_micros());
        page.sample(name, &labels, seconds);
    }
    let name = "realm_paced_refused_total";
    let help = "Requests that were refused, since they would have waited too long.";
    page.family(name, "counter", help);
    for (labels, held) in &known {
        page.sample(name, &format!("{{{labels}}}"), held.refused);
    }
}
