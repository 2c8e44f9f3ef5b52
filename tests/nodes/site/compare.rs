//! Compares what clients know with what each node has.

use std::collections::BTreeSet;

use super::{Counts, LONG, Site};
use crate::support::{Client, wait_until};

/// The vouchers of an account: the external id of each, and its own id.
async fn movements(client: &Client, cvu: &str) -> Vec<(String, String)> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200&cursor={cursor}");
        let page = wait_until("a page", LONG, async || client.get(&path).answer().await).await;
        let page = page.is(200);
        for row in page.json.as_array().unwrap() {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            found.push((text("idExterno"), text("id")));
        }
        match page.headers.get("x-next-cursor") {
            Some(next) => next.to_str().unwrap().clone_into(&mut cursor),
            None => return found,
        }
    }
}

/// Counts vouchers that clients know and the owner lacks, and those that it has twice; checks that all nodes have the
/// same bytes.
pub(super) async fn agree(site: &Site) -> Counts {
    let done = site.known.done.lock().unwrap().clone();
    let (mut seen, mut twice) = (BTreeSet::new(), 0);
    let owner = site.owner_but(usize::MAX).await;
    let url = site.known.urls.lock().unwrap()[owner].clone();
    let client = Client::new(&url, Some(&site.tenant.key));
    for cvu in &site.tenant.cvus {
        for (external, id) in movements(&client, cvu).await {
            if !seen.insert(external.clone()) {
                twice += 1;
            }
            let right = done
                .get(&external)
                .is_none_or(|known| *known == (cvu.clone(), id));
            assert!(right, "{external} is another voucher than was acknowledged");
        }
    }
    let lost = done.keys().filter(|id| !seen.contains(*id)).count();
    let mut reports = BTreeSet::new();
    for n in site.there() {
        let report = wait_until("it is verified", LONG, async || {
            site.ask(n, "POST", "/admin/verify", None).await
        })
        .await;
        assert_eq!(report["count"], 0, "{report}");
        // Each check adds an entry to the audit log of the owner, so that is left out; the chains below cover
        // every byte.
        let fields = ["accounts", "vouchers"];
        reports.insert(fields.map(|name| report[name].to_string()));
    }
    assert_eq!(reports.len(), 1, "{reports:?}");
    wait_until(
        "all have written the same end of their journals",
        LONG,
        async || {
            let mut chains = BTreeSet::new();
            for n in site.there() {
                let journal = site.journal(n).await?;
                if journal["witnessCommit"] != journal["lastCommit"] {
                    return None;
                }
                chains.insert(journal["witnessChain"].to_string());
            }
            // A node that is asked before the last entry of the audit log has reached it shows an older end.
            (chains.len() == 1).then_some(())
        },
    )
    .await;
    Counts {
        acknowledged: done.len(),
        lost,
        twice,
        nodes: site.there().count(),
    }
}
