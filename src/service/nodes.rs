//! A service that is one node of several: how it becomes the owner of a cell, and how it gives a cell up.
//!
//! **Shape.** Each cell has its own turns and a task that acts on them, so no cell waits for another. One more task
//! follows the changes that another node writes to the platform.
//!
//! **Order.** To own a cell, the node follows the first cell up to the point that its log had reached when this cell
//! was taken, wakes the realms of the cell, serves their requests, and then reads the banks' lists. For the first cell
//! it also wakes the platform and the people, once all cells are known to exist. To give a cell up, the node passes
//! requests on, interrupts long-running ones and lets the realms of the cell come to rest; only then may it take the
//! cell again.
//!
//! **Failure.** If realms cannot wake, the node retries after a pause or gives the cell to another node. A node that
//! was deposed goes on as a follower in the same process. While the first cell cannot be followed, this node does not
//! serve the cells that it owns ([`crate::http::node`]). A task that panics is begun again: a cell whose turn panicked is
//! given away first, if another node can take it.

mod here;

use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::cells::Cells;
use caudal_postgres::Status;
use caudal_storage::{Member, Records};
use secrecy::ExposeSecret as _;

use self::here::{Here, Lists, Others, follow_platform, willing};

use super::cells::All;
use super::listening::{listen as listen_at, stop};
use super::turning::{Turns, turns};
use super::{CellLog, ServiceOptions, StartError, cell, cells, folder};
use crate::admin::OperatorDesk;
use crate::bank::MayCall;
use crate::http::node::hand_over::NotGiven;
use crate::http::node::{Membership, Node};
use crate::http::tls::{self, Tls};
use crate::http::wire::{Bounds, ConnectionLimits, Listening};
use crate::http::{Door, Entrance};
use crate::{admin, notices, server};

/// The most connections of the listener for other nodes.
const CONNECTIONS: usize = 4096;
/// Threads of the listener for other nodes.
const WORKERS: usize = 2;
/// How long requests of other nodes have to finish when the service ends; their nodes retry them elsewhere.
const GRACE: Duration = Duration::from_secs(2);
/// The shortest shared secret of the nodes, in characters.
const SECRET_CHARS_MIN: usize = 32;

/// A node whose listener for other nodes is bound but does not answer yet.
pub(super) struct Joined {
    membership: Membership,
    listener: TcpListener,
}

/// A node that answers other nodes.
pub(super) struct Running {
    node: Arc<Node>,
    handle: ServerHandle,
    /// One task per cell acts on its turns, and one follows the platform.
    tasks: Vec<JoinHandle<()>>,
    /// Looks for new certificates, if the nodes use TLS.
    looks: Option<JoinHandle<()>>,
}

/// The opened stores, with this node if there may be others.
pub(super) struct Ground {
    pub(super) cells: Cells,
    /// The records of all cells, the first cell's first.
    pub(super) records: Vec<Records>,
    /// The figures of the logs of all cells, the first cell's first; empty where the logs are on this machine's disk.
    pub(super) logs: Arc<[Arc<Status>]>,
    pub(super) node: Option<Arc<Node>>,
    /// Whether banks may be called now.
    pub(super) may_call: MayCall,
}

/// The parts with which a node begins: its listener, its turns in each cell, and the ids of the other cells' stores.
pub(super) struct Ahead {
    joined: Joined,
    turns: Vec<Turns>,
    others: Others,
}

/// Opens the stores; if there may be other nodes, it first binds the listener for them.
///
/// # Errors
/// As [`cell::open`] and [`cells::open`]; when it cannot listen, or no other node could reach the address.
pub(super) fn open(
    options: &ServiceOptions,
    pepper: &[u8],
) -> Result<(Ground, Option<Ahead>), StartError> {
    let joined = options.cell.as_ref().map(|cell| listen(cell, pepper));
    let joined = joined.transpose()?.flatten();
    let membership = joined.as_ref().map(|it| &it.membership);
    let mut storage = cells::share(&options.storage, options.cells);
    let first = membership.map(|_| turns(&mut storage));
    let log = options.cell.clone();
    let opened = cell::open(&options.data, storage, log, (membership, None))?;
    let own = opened.member.clone();
    let All {
        cells,
        records,
        members,
        logs,
        others,
    } = cells::open(options, opened.store, membership)?;
    let (further, turns): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    let members = opened.member.into_iter().chain(further);
    let node = membership.map(|it| node(it, members)).transpose()?;
    let ground = Ground {
        may_call: may_call(node.clone(), own),
        node,
        cells,
        records: std::iter::once(opened.records).chain(records).collect(),
        logs: opened.log.into_iter().chain(logs).collect(),
    };
    let turns = first.into_iter().chain(turns).collect();
    let ahead = joined.map(|joined| Ahead {
        joined,
        turns,
        others,
    });
    Ok((ground, ahead))
}

/// Binds the listener for other nodes, if there may be any.
fn listen(cell: &CellLog, pepper: &[u8]) -> Result<Option<Joined>, StartError> {
    let Some(peers) = &cell.peers else {
        return Ok(None);
    };
    let wrong = |why: &str| Err(StartError::Setting(why.to_owned()));
    if peers.secret.expose_secret().chars().count() < SECRET_CHARS_MIN {
        return wrong(
            "cell.secret_file: the secret of the nodes has to have at least 32 characters",
        );
    }
    let listener = listen_at(peers.listen, "cell.listen")?;
    let failed = |why| StartError::io("listening to other nodes", why);
    let bound = listener.local_addr().map_err(failed)?;
    let address = match &peers.address {
        Some(address) => address.clone(),
        None if bound.ip().is_unspecified() => {
            return wrong(
                "cell.address is not set: the other nodes have to reach this one at some HOST:PORT",
            );
        }
        None => bound.to_string(),
    };
    let files = peers.tls.clone();
    let tls = files.map(|files| Tls::read(files, host(&address)).map(Arc::new));
    Ok(Some(Joined {
        membership: Membership {
            name: Arc::from(cell.node.as_str()),
            address: Arc::from(address),
            lease: cell.lease,
            secret: folder::nodes_secret(pepper, &peers.secret),
            tls: tls.transpose().map_err(StartError::Setting)?,
        },
        listener,
    }))
}

/// The host of an address of the form HOST:PORT.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host)
}

/// Banks are called while this process certainly owns a log. A log on this machine's disk has no other owner.
fn may_call(node: Option<Arc<Node>>, own: Option<Member>) -> MayCall {
    match (node, own) {
        (Some(node), _) => Arc::new(move || {
            let mut cells = node.cells().filter_map(|cell| node.seat(cell));
            cells.any(|seat| seat.member().is_sure())
        }),
        (None, Some(own)) => Arc::new(move || own.is_sure()),
        (None, None) => Arc::new(|| true),
    }
}

/// The node, once its stores are open.
fn node(
    membership: &Membership,
    members: impl Iterator<Item = Member>,
) -> Result<Arc<Node>, StartError> {
    let node = Node::new(membership.clone(), members, notices::whose);
    let failed =
        |why: reqwest::Error| StartError::Setting(format!("the client of the other nodes: {why}"));
    node.map(Arc::new).map_err(failed)
}

impl Ahead {
    /// Answers the other nodes, and takes each cell when it is free.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub(super) fn begin(
        self,
        desk: &Arc<OperatorDesk>,
        (every, how): (Option<Duration>, &Listening),
    ) -> Result<Running, StartError> {
        let failed = |why| StartError::io("starting the listener of other nodes", why);
        let (door, node) = (&desk.door, desk.door.node.clone());
        let node = node.ok_or_else(|| failed(std::io::Error::other("there is no node")))?;
        let limits = ConnectionLimits {
            connections: CONNECTIONS,
            per_peer: 0,
            ..ConnectionLimits::default()
        };
        let how = Listening {
            workers: WORKERS,
            bounds: Arc::new(Bounds::new(
                limits,
                Arc::clone(&door.gate),
                Arc::clone(&door.unread),
            )),
            grace: GRACE,
            tls: node.tls().cloned(),
            ..how.clone()
        };
        let entrance = Door {
            entrance: Entrance::Nodes,
            ..door.clone()
        };
        let routes = admin::for_nodes(desk);
        let server = server::start(entrance, self.joined.listener, &how, routes).map_err(failed)?;
        let address: SocketAddr = server.addr;
        let encrypted = node.tls().is_some();
        tracing::info!(node = node.name(), %address, encrypted, "listens to the other nodes");
        let lists = Rc::new(Lists::new(door, every));
        let turns = node.cells().zip(self.turns).map(|(cell, turns)| {
            let here = Here {
                door: door.clone(),
                node: Arc::clone(&node),
                others: Arc::clone(&self.others),
                cell,
            };
            rt::spawn(here.take_turns(turns, Rc::clone(&lists)))
        });
        let mut tasks: Vec<_> = turns.collect();
        tasks.push(rt::spawn(follow_platform(door.clone(), Arc::clone(&node))));
        let looks = node.tls().map(|_| rt::spawn(look(Arc::clone(&node))));
        for cell in node.cells() {
            willing(&node, cell, true);
        }
        Ok(Running {
            looks,
            node,
            handle: server.handle,
            tasks,
        })
    }
}

impl Running {
    /// Hands over the cells that this node owns, if another node can take them. All are handed over at once, so that no
    /// cell waits for another's requests.
    pub(super) async fn leave(&self, door: &Door) {
        for cell in self.node.cells() {
            willing(&self.node, cell, false);
        }
        self.tasks.iter().for_each(JoinHandle::abort);
        let leaves = self.node.cells().map(|cell| {
            let (node, door) = (Arc::clone(&self.node), door.clone());
            let leave = async move { node.hand_over(&door, (cell, None)).await };
            (cell, rt::spawn(leave))
        });
        for (cell, left) in leaves.collect::<Vec<_>>() {
            match left.await {
                Ok(Ok(_) | Err(NotGiven::NotOwner)) => {}
                Ok(Err(why)) => {
                    tracing::warn!(%why, cell, "the service ends without handing the cell over");
                }
                Err(why) => tracing::error!(%why, cell, "the cell was not handed over"),
            }
        }
    }

    /// Stops answering the other nodes.
    pub(super) async fn end(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(looks) = &self.looks {
            looks.abort();
        }
        stop(&self.handle, true, GRACE).await;
    }
}

/// Loads replaced certificates, until the task is aborted.
async fn look(node: Arc<Node>) {
    let mut said = None;
    loop {
        tokio::time::sleep(tls::LOOK_EVERY).await;
        let looks = Arc::clone(&node);
        // A check that panicked is followed by the next one.
        let Ok(looked) = tokio::task::spawn_blocking(move || looks.look_at_certificates()).await
        else {
            continue;
        };
        match looked {
            Ok(true) => {
                let until = node.tls().and_then(|tls| tls.until());
                let until = until.map(|until| until.to_string());
                tracing::info!(until, "the certificates were replaced");
                said = None;
            }
            // A missing file is missing at every check: report it once.
            Err(why) if said.as_ref() != Some(&why) => {
                tracing::error!(
                    why,
                    "new certificates cannot be used; those of before stay in force"
                );
                said = Some(why);
            }
            Ok(false) | Err(_) => {}
        }
    }
}
