//! A service that is one node of several: what it does when it comes to own the cell, and when it does no more.
//!
//! **Order.** To own the cell: the actors wake, then requests are served, then the banks' lists are read. To end:
//! requests are passed on, what goes on for long is cut, the actors come to rest, and only then the node may take
//! the cell again.
//!
//! **Failure.** Actors that cannot wake are tried again with a pause, or the cell is given to another node. A node that
//! was deposed goes on as a follower in the same process.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::records::projection::Rows;
use caudal_postgres::Status;
use caudal_storage::{Member, Records, Store, StoreOptions, Turn};
use secrecy::ExposeSecret as _;
use tokio::sync::mpsc;

use super::listening::{listen as listen_at, stop};
use super::{CellLog, ServiceOptions, StartError, catch_up, cell, cells, folder};
use crate::http::node::hand_over::NotGiven;
use crate::http::node::{Membership, Node};
use crate::http::tls::{self, Tls};
use crate::http::wire::{Bounds, ConnectionLimits, Listening};
use crate::http::{Door, Entrance};
use crate::server;

/// Connections of the listener of the other nodes.
const CONNECTIONS: usize = 4096;
/// Threads of that listener.
const WORKERS: usize = 2;
/// The pause before actors that could not wake, or rest, are asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long requests of other nodes have to finish when the service ends: they are tried again elsewhere.
const GRACE: Duration = Duration::from_secs(2);
/// How often a follower looks for changes of tenants and keys.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The shortest secret, in characters.
const SECRET_CHARS_MIN: usize = 32;

/// A node that listens to the others and does not answer yet.
pub(super) struct Joined {
    membership: Membership,
    listener: TcpListener,
}

/// A node with others.
pub(super) struct Running {
    node: Arc<Node>,
    handle: ServerHandle,
    task: JoinHandle<()>,
    /// Looks at certificates, where there are any.
    looks: Option<JoinHandle<()>>,
}

/// What the store says of this node's turns.
pub(super) type Turns = mpsc::UnboundedReceiver<Turn>;

/// A store that was opened, with this node where there may be others.
pub(super) struct Ground {
    pub(super) store: Arc<dyn Store>,
    pub(super) records: Records,
    pub(super) log: Option<Arc<Status>>,
    pub(super) node: Option<Arc<Node>>,
}

/// Opens the store, and listens to the other nodes first where there may be any.
///
/// # Errors
/// As [`cell::open`]; when it cannot listen, or nobody could reach it there.
pub(super) fn open(
    options: &ServiceOptions,
    pepper: &[u8],
) -> Result<(Ground, Option<(Joined, Turns)>), StartError> {
    let joined = options.cell.as_ref().map(|cell| listen(cell, pepper));
    let joined = joined.transpose()?.flatten();
    let membership = joined.as_ref().map(|it| &it.membership);
    let mut storage = cells::share(&options.storage, options.cells);
    let turns = membership.map(|_| turns(&mut storage));
    let rows = Arc::new(Rows);
    let opened = cell::open(
        &options.data,
        storage,
        rows,
        options.cell.clone(),
        membership,
    )?;
    let ground = Ground {
        node: node(membership, opened.member)?,
        store: opened.store,
        records: opened.records,
        log: opened.log,
    };
    Ok((ground, joined.zip(turns)))
}

/// Listens to the other nodes, where there may be any.
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

/// Hears of this node's turns from the store that is opened with these options.
fn turns(options: &mut StoreOptions) -> Turns {
    let (tell, turns) = mpsc::unbounded_channel();
    // Nobody listens any more when the service has ended.
    options.turned = Some(Arc::new(move |turn| {
        tell.send(turn).ok();
    }));
    options.deposed = None;
    turns
}

/// The node, once its store is open.
fn node(
    membership: Option<&Membership>,
    member: Option<Member>,
) -> Result<Option<Arc<Node>>, StartError> {
    let Some((membership, member)) = membership.zip(member) else {
        return Ok(None);
    };
    let node = Node::new(membership.clone(), member);
    let failed =
        |why: reqwest::Error| StartError::Setting(format!("the client of the other nodes: {why}"));
    node.map(|node| Some(Arc::new(node))).map_err(failed)
}

impl Joined {
    /// Answers the other nodes, and takes the cell when it is free.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub(super) fn begin(
        self,
        door: &Door,
        turns: Turns,
        (every, how): (Option<Duration>, &Listening),
    ) -> Result<Running, StartError> {
        let failed = |why| StartError::io("starting the listener of other nodes", why);
        let node = door.node.clone();
        let node = node.ok_or_else(|| failed(std::io::Error::other("there is no node")))?;
        let limits = ConnectionLimits {
            connections: CONNECTIONS,
            per_peer: 0,
            ..ConnectionLimits::default()
        };
        let how = Listening {
            workers: WORKERS,
            bounds: Arc::new(Bounds::new(limits, Arc::clone(&door.gate))),
            grace: GRACE,
            tls: node.tls().cloned(),
            ..how.clone()
        };
        let entrance = Door {
            entrance: Entrance::Nodes,
            ..door.clone()
        };
        let server = server::start(entrance, self.listener, &how, None).map_err(failed)?;
        let address: SocketAddr = server.addr;
        let encrypted = node.tls().is_some();
        tracing::info!(node = node.name(), %address, encrypted, "listens to the other nodes");
        let task = rt::spawn(take_turns(door.clone(), Arc::clone(&node), turns, every));
        let looks = node.tls().map(|_| rt::spawn(look(Arc::clone(&node))));
        node.member().willing(true);
        Ok(Running {
            looks,
            node,
            handle: server.handle,
            task,
        })
    }
}

impl Running {
    /// Gives the cell away, if it is here and there is somebody to take it.
    pub(super) async fn leave(&self, door: &Door) {
        self.node.member().willing(false);
        self.task.abort();
        match self.node.hand_over(door, None).await {
            Ok(_) | Err(NotGiven::NotOwner) => {}
            Err(why) => tracing::warn!(%why, "the service ends without handing the cell over"),
        }
    }

    /// Answers the other nodes no more.
    pub(super) async fn end(self) {
        self.task.abort();
        if let Some(looks) = &self.looks {
            looks.abort();
        }
        stop(&self.handle, true, GRACE).await;
    }
}

/// Takes up new certificates for ever.
async fn look(node: Arc<Node>) {
    let mut said = None;
    loop {
        tokio::time::sleep(tls::LOOK_EVERY).await;
        let looks = Arc::clone(&node);
        // A look that panicked is followed by the next one.
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
            // What is missing is missing at each look.
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

/// Does what each turn asks for, until the store is gone.
async fn take_turns(door: Door, node: Arc<Node>, mut turns: Turns, every: Option<Duration>) {
    let mut lists: Option<JoinHandle<()>> = None;
    loop {
        let turn = tokio::select! {
            turn = turns.recv() => turn,
            () = tokio::time::sleep(LOOK_EVERY), if !node.serves() => {
                if door.engine.is_at_rest() && let Err(why) = door.engine.look_again() {
                    tracing::warn!(%why, "tenants and keys cannot be read");
                }
                continue;
            }
        };
        match turn {
            Some(Turn::Owns(epoch)) => {
                own(&door, &node).await;
                let every = every.filter(|_| node.serves());
                lists = every.map(|every| catch_up::start(Arc::clone(&door.engine), every));
                tracing::info!(
                    epoch = epoch.0,
                    serves = node.serves(),
                    "this node has a turn"
                );
            }
            Some(Turn::Follows) => {
                if let Some(lists) = lists.take() {
                    lists.abort();
                }
                follow(&door, &node).await;
                tracing::info!("this node follows");
            }
            None => return,
        }
    }
}

/// Has the actors wake, and serves.
async fn own(door: &Door, node: &Arc<Node>) {
    while let Err(why) = door.engine.wake() {
        tracing::error!(%why, "this node owns the cell, and its actors cannot wake");
        if node.give(door, None).await.is_ok() || !node.member().owns() {
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
    node.serve(true);
}

/// Serves no more, and has the actors come to rest.
async fn follow(door: &Door, node: &Node) {
    node.serve(false);
    door.gate.interrupt();
    while let Err(why) = door.engine.rest().await {
        tracing::error!(%why, "the actors do not come to rest");
        tokio::time::sleep(AGAIN).await;
    }
    node.member().willing(true);
}
