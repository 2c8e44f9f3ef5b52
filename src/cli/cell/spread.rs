//! `caudal cell spread`: hands cells to nodes that own few, after a fail-over or when a node was added.
//!
//! **Shape.** One request to any node gives the current state ([`Fleet`]); a pure function computes the hand-overs that
//! make the distribution even ([`plan`]); then the command runs one hand-over after the other, each at the node that
//! owns the cell.
//!
//! **Bounds.** A node gets a cell only if it is present and lacks at most [`BEHIND_MAX`] commits of every cell. Each
//! hand-over has [`ANSWER`] to be answered, and the new owner has as long to take the cell.
//!
//! **Order.** The cells with the highest numbers move first, so that the first cell, whose owner writes the platform,
//! stays in place as long as possible.
//!
//! **Failure.** A failure ends the command with a report of the hand-overs done; running it again makes a new plan.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, IsTerminal as _};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::cli::remote::{Remote, shown};
use crate::cli::terminal::say;

/// The most commits that a new owner may lack: it has to read them while the requests of the cell wait.
const BEHIND_MAX: u64 = 10_000;
/// How long a hand-over may take, and how long the other node may take to own the cell: requests in flight have 30 s to
/// finish.
const ANSWER: Duration = Duration::from_secs(60);
/// The pause between two questions whether the cell is owned.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The hand-over of a cell to another node.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    cell: u32,
    from: String,
    to: String,
}

/// The fewest hand-overs after which no node owns two cells more than another. Every owner has to be one of `nodes`.
fn plan(owners: &BTreeMap<u32, String>, nodes: &BTreeSet<String>) -> Vec<Step> {
    let mut held: Vec<(&String, Vec<u32>)> = nodes
        .iter()
        .map(|node| {
            let own = owners.iter().filter(|(_, owner)| *owner == node);
            (node, own.map(|(cell, _)| *cell).collect())
        })
        .collect();
    // If the cells cannot be divided evenly, the nodes that own most keep one more.
    held.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.len()));
    let Some(each) = owners.len().checked_div(held.len()) else {
        return Vec::new();
    };
    let more = owners.len() % held.len();
    let share = |n: usize| each + usize::from(n < more);
    let mut over = Vec::new();
    for (n, (from, cells)) in held.iter().enumerate() {
        over.extend(cells.iter().skip(share(n)).map(|cell| (*cell, *from)));
    }
    over.sort_unstable_by(|a, b| b.cmp(a));
    let room = held.iter().enumerate().flat_map(|(n, (to, cells))| {
        let lacks = share(n).checked_sub(cells.len());
        std::iter::repeat_n(*to, lacks.map_or(0, |lacks| lacks))
    });
    let steps = over.into_iter().zip(room).map(|((cell, from), to)| Step {
        cell,
        from: from.clone(),
        to: to.clone(),
    });
    steps.collect()
}

/// The owners of the cells according to one node, and the nodes that may get one.
struct Fleet {
    owners: BTreeMap<u32, String>,
    nodes: BTreeSet<String>,
}

impl Fleet {
    /// Reads the answer of `GET /admin/cells`.
    fn of(cells: &Value) -> Result<Self, Exit> {
        let (mut owners, mut nodes) = (BTreeMap::new(), None::<BTreeSet<String>>);
        for cell in cells.as_array().map(Vec::as_slice).unwrap_or(&[]) {
            let number = cell.get("cell").and_then(Value::as_u64);
            let number = number.and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or_else(|| Exit::failed("a cell without a number"))?;
            let Some(owner) = cell.get("owner").and_then(Value::as_str) else {
                let why = "has no owner now; wait until `caudal cell status` shows one";
                return Err(Exit::failed(format!("cell {number} {why}")));
            };
            owners.insert(number, owner.to_owned());
            let ready = ready(cell);
            nodes = Some(match nodes {
                None => ready,
                Some(known) => known.intersection(&ready).cloned().collect(),
            });
        }
        let nodes = nodes.ok_or_else(|| Exit::failed("there is no cell"))?;
        let not_ready = owners.iter().find(|(_, owner)| !nodes.contains(*owner));
        if let Some((cell, owner)) = not_ready {
            return Err(Exit::failed(format!(
                "{owner} owns cell {cell} and is not ready to be given others: it was not seen lately, or lacks more than \
                 {BEHIND_MAX} commits of a cell. Wait until `caudal cell status` shows that it has caught up"
            )));
        }
        Ok(Self { owners, nodes })
    }

    /// The number of cells of each node, for people.
    fn told(&self) -> String {
        let of = |node: &String| {
            let own = self.owners.iter().filter(|(_, owner)| *owner == node);
            let cells: Vec<_> = own.map(|(cell, _)| cell.to_string()).collect();
            match cells.is_empty() {
                true => format!("{node}: none"),
                false => format!("{node}: {}", cells.join(", ")),
            }
        };
        let nodes: Vec<_> = self.nodes.iter().map(of).collect();
        format!("cells of {}", nodes.join("; of "))
    }
}

/// The nodes that could take over a cell without a long wait.
fn ready(cell: &Value) -> BTreeSet<String> {
    let nodes = cell.get("nodes").and_then(Value::as_array);
    let nodes = nodes.map(Vec::as_slice).unwrap_or(&[]).iter();
    let ready = nodes.filter(|node| {
        let behind = node.get("behind").and_then(Value::as_u64);
        let near = behind.is_some_and(|behind| behind <= BEHIND_MAX);
        near && node.get("present") == Some(&Value::Bool(true))
    });
    let names = ready.filter_map(|node| node.get("name").and_then(Value::as_str));
    names.map(str::to_owned).collect()
}

/// Makes the distribution even. `also` are the URLs of further nodes, for the hand-over of cells that they own.
pub(super) async fn spread(remote: &Remote, also: &[String], yes: bool) -> Result<(), Exit> {
    let cells = cells(remote).await?;
    let mut doors = BTreeMap::from([(name(&cells)?, remote.clone())]);
    for url in also {
        let other = remote.also(url)?;
        doors.insert(name(&self::cells(&other).await?)?, other);
    }
    let fleet = Fleet::of(&cells)?;
    say(&fleet.told())?;
    let steps = plan(&fleet.owners, &fleet.nodes);
    if steps.is_empty() {
        return say("nothing to do: it cannot be more even");
    }
    for Step { cell, from, to } in &steps {
        say(&format!("cell {cell} goes from {from} to {to}"))?;
        if !doors.contains_key(from) {
            return Err(Exit::usage(format!(
                "cell {cell} is handed over by its owner: name the admin API of {from} with --also URL. Nothing was done"
            )));
        }
    }
    if !yes && !agreed()? {
        return Err(Exit::failed("nothing was done: answer y, or say --yes"));
    }
    for (done, step) in steps.iter().enumerate() {
        let from = doors.get(&step.from);
        let moved = match from {
            Some(from) => hand_over(remote, from, step).await,
            None => Err(Exit::failed("nobody to ask")),
        };
        moved.map_err(|why| {
            Exit::failed(format!(
                "cell {} to {}: {}. {done} of {} hand-overs were done; the same command plans the rest anew",
                step.cell,
                step.to,
                why.message,
                steps.len()
            ))
        })?;
        say(&format!("cell {} is owned by {}", step.cell, step.to))?;
    }
    Ok(())
}

async fn cells(remote: &Remote) -> Result<Value, Exit> {
    remote.ask(Method::GET, "/admin/cells", None).await
}

/// The name of the node that answered.
fn name(cells: &Value) -> Result<String, Exit> {
    let node = cells.get(0).and_then(|cell| cell.get("node"));
    let node = node.and_then(Value::as_str).map(str::to_owned);
    node.ok_or_else(|| Exit::failed("there are no other nodes: cell.listen is not set"))
}

/// Asks the person at the terminal for confirmation.
fn agreed() -> Result<bool, Exit> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    say("Requests of a cell wait while it goes to another node. Go on? [y/N]")?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(Exit::failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Makes the owner hand a cell over, and waits until the other node owns it.
async fn hand_over(remote: &Remote, from: &Remote, step: &Step) -> Result<(), Exit> {
    let path = format!("/admin/cells/{}/hand-over", step.cell);
    let body = json!({"to": step.to});
    let given = from.ask_within(Method::POST, &path, Some(body), Some(ANSWER));
    let given = given.await?;
    if given.get("to").and_then(Value::as_str) != Some(&step.to) {
        return Err(Exit::failed(shown(&given, "error")));
    }
    let began = Instant::now();
    loop {
        let cells = cells(remote).await?;
        let mut all = cells.as_array().into_iter().flatten();
        let cell = all.find(|it| it.get("cell").and_then(Value::as_u64) == Some(step.cell.into()));
        let owner = cell.and_then(|cell| cell.get("owner")?.as_str());
        if owner == Some(&step.to) {
            return Ok(());
        }
        if began.elapsed() > ANSWER {
            let owner = owner.map_or("nobody", |owner| owner);
            return Err(Exit::failed(format!(
                "it was handed over, and {owner} owns it after {ANSWER:?}"
            )));
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The number of cells of each node.
    fn counts(owners: &[usize], nodes: usize) -> Vec<usize> {
        (0..nodes)
            .map(|node| owners.iter().filter(|owner| **owner == node).count())
            .collect()
    }

    fn is_even(owners: &[usize], nodes: usize) -> bool {
        let counts = counts(owners, nodes);
        counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1
    }

    /// The fewest changes that make the distribution even, found by trying all.
    fn fewest(owners: &[usize], nodes: usize) -> usize {
        let ways = nodes.pow(owners.len().try_into().unwrap());
        let all = (0..ways).map(|mut way| {
            let digit = |_| {
                let node = way % nodes;
                way /= nodes;
                node
            };
            owners.iter().map(digit).collect::<Vec<_>>()
        });
        let even = all.filter(|way| is_even(way, nodes));
        let changes = even.map(|way| way.iter().zip(owners).filter(|(a, b)| a != b).count());
        changes.min().unwrap()
    }

    fn names(owners: &[usize]) -> BTreeMap<u32, String> {
        let named = owners.iter().map(|node| format!("n{node}"));
        (0..).zip(named).collect()
    }

    fn nodes(count: usize) -> BTreeSet<String> {
        (0..count).map(|node| format!("n{node}")).collect()
    }

    proptest! {
        #[test]
        fn a_plan_makes_it_even_with_the_fewest_hand_overs(
            (count, owners) in (1..5_usize).prop_flat_map(|n| (Just(n), vec(0..n, 1..7)))
        ) {
            let mut now = owners.clone();
            let steps = plan(&names(&owners), &nodes(count));
            let mut moved = BTreeSet::new();
            for Step { cell, from, to } in &steps {
                let at = usize::try_from(*cell).unwrap();
                prop_assert_eq!(from, &format!("n{}", now[at]));
                prop_assert!(from != to && moved.insert(*cell), "each goes once, and elsewhere");
                now[at] = to.trim_start_matches('n').parse().unwrap();
            }
            prop_assert!(is_even(&now, count), "{:?}", now);
            prop_assert_eq!(steps.len(), fewest(&owners, count));
            prop_assert_eq!(plan(&names(&now), &nodes(count)), Vec::new());
            if owners.len() >= count {
                prop_assert!(!moved.contains(&0), "the first cell stays");
            }
        }
    }

    #[test]
    fn without_nodes_or_cells_nothing_is_planned() {
        assert_eq!(plan(&BTreeMap::new(), &nodes(3)), Vec::new());
        assert_eq!(plan(&BTreeMap::new(), &BTreeSet::new()), Vec::new());
        assert_eq!(plan(&names(&[0]), &BTreeSet::new()), Vec::new());
    }

    #[test]
    fn a_node_that_is_away_or_far_behind_gets_nothing_and_one_that_owns_stops_it() {
        let cells = |behind: u64, present: bool, owner: &str| {
            let node = |name: &str, behind: u64, present: bool| json!({"name": name, "behind": behind, "present": present});
            let near = json!([node("a", 0, true), node("b", 0, true)]);
            let far = json!([node("a", 0, true), node("b", behind, present)]);
            json!([{"cell": 0, "owner": "a", "nodes": near}, {"cell": 1, "owner": owner, "nodes": far}])
        };
        let nodes = |cells: &Value| Fleet::of(cells).ok().map(|fleet| fleet.nodes.len());
        assert_eq!(nodes(&cells(BEHIND_MAX, true, "a")), Some(2));
        assert_eq!(nodes(&cells(BEHIND_MAX + 1, true, "a")), Some(1));
        assert_eq!(nodes(&cells(0, false, "a")), Some(1));
        assert_eq!(nodes(&cells(0, false, "b")), None);
        let mut lost = cells(0, true, "a");
        lost[1]["owner"] = Value::Null;
        assert_eq!(nodes(&lost), None);
    }
}
