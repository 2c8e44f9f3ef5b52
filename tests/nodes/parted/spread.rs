//! Cells that one node owns alone are spread over the nodes by one command.

use std::process::Output;

use super::{MANY, Parted, ROOT};
use crate::cli::{caudal, said};
use crate::support::{SOON, wait_until};

impl Parted {
    /// Runs the command at a node; `also` are further nodes that it may ask.
    async fn spreads(
        &self,
        node: usize,
        also: &[usize],
        more: &[&str],
    ) -> (Option<i32>, String, String) {
        let url = |node: usize| self.nodes.operator(node).url;
        let mut command = caudal(&["cell", "spread", "--admin-url", &url(node)]);
        for node in also {
            command.args(["--also", &url(*node)]);
        }
        command.args(more).env("CAUDAL_ADMIN_KEY", ROOT);
        // The nodes run in this process, perhaps on this very thread, so the command runs on
        // another one.
        let ended: Output = actix_web::web::block(move || command.output().unwrap())
            .await
            .unwrap();
        said(&ended)
    }

    /// Repeats the command until it succeeds: it gives nothing to a node that was not heard from
    /// for a moment.
    async fn is_spread(&self, node: usize, also: &[usize]) -> Vec<String> {
        wait_until("each node owns one cell", SOON, async || {
            let (code, out, why) = self.spreads(node, also, &["--yes"]).await;
            println!("{out}\n{why}");
            if code != Some(0) {
                return None;
            }
            let mut owners = Vec::new();
            for cell in 0..MANY {
                owners.push(self.owner(node, cell).await?);
            }
            let mut all = owners.clone();
            all.sort_unstable();
            all.dedup();
            (all.len() == owners.len()).then_some(owners)
        })
        .await
    }

    /// The owner of a cell, as a node knows it.
    async fn owner(&self, node: usize, cell: u32) -> Option<String> {
        let cells = self.nodes.admin(node, "GET", "/admin/cells", None).await.1;
        let cell = usize::try_from(cell).unwrap();
        cells[cell]["owner"].as_str().map(str::to_owned)
    }

    /// Waits until a node knows that another node owns a cell.
    async fn knows(&self, node: usize, cell: u32, owner: usize) {
        let name = self.nodes.name(owner);
        wait_until("the node knows the owner", SOON, async || {
            (self.owner(node, cell).await.as_ref() == Some(&name)).then_some(())
        })
        .await;
    }
}

#[actix_web::test]
async fn cells_of_one_node_are_spread_over_all_by_one_command() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    // As after a fail-over: one node owns all cells.
    for cell in 0..MANY {
        parted.nodes.owns(cell, 0).await;
        parted.knows(0, cell, 0).await;
        parted.knows(1, cell, 0).await;
    }
    // Nobody is at the terminal, and nobody has confirmed.
    wait_until("it asks", SOON, async || {
        let (code, out, why) = parted.spreads(0, &[], &[]).await;
        println!("{out}\n{why}");
        (code == Some(1) && why.contains("--yes") && out.contains("cell 2 goes from")).then_some(())
    })
    .await;
    for cell in 0..MANY {
        parted.knows(0, cell, 0).await;
    }
    let owners = parted.is_spread(0, &[]).await;
    assert_eq!(owners[0], parted.nodes.name(0), "the first cell stays");
    for node in 0..3 {
        for tenant in 0..3 {
            let client = parted.client(node, tenant);
            let id = format!("spread-{node}");
            let cvu = &parted.tenants[tenant].cvu;
            client.voucher(cvu, "IN", "1.00", &id).await.is(201);
        }
    }
    // The second time nothing is left to do.
    wait_until("nothing is to do", SOON, async || {
        let (code, out, _) = parted.spreads(1, &[], &[]).await;
        (code == Some(0) && out.contains("nothing to do")).then_some(())
    })
    .await;
    // Only the owner itself can hand a cell over, so the command has to be able to ask it.
    for (cell, owner) in [(0, 0), (1, 1), (2, 1)] {
        parted.nodes.owns(cell, owner).await;
        parted.knows(0, cell, owner).await;
    }
    wait_until("it says who is to be asked", SOON, async || {
        let (code, _, why) = parted.spreads(0, &[], &["--yes"]).await;
        (code == Some(2) && why.contains(&parted.nodes.name(1)) && why.contains("--also"))
            .then_some(())
    })
    .await;
    parted.knows(0, 2, 1).await;
    let owners = parted.is_spread(0, &[1]).await;
    assert_eq!(owners, [0, 1, 2].map(|node| parted.nodes.name(node)));
    parted.level().await;
    parted.nodes.stop().await;
}
