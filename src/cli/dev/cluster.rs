//! `caudal dev --cluster`: a demonstration on this machine with three nodes on one log in PostgreSQL, with a
//! synchronous standby.
//!
//! **Shape.** Each node is a `caudal serve` process of its own, so that it can be killed; each server is a process,
//! too, and so is HAProxy before the nodes, where it is installed. The sandbox bank, which all nodes share, is in this process.
//!
//! **Order.** Start: servers, bank, nodes, the demo tenant. Stop: followers, the owner, bank, servers.
//!
//! **Failure.** A line reports each process that ends; it is started again only with `--restart`. If the primary ends,
//! its standby is promoted. A failed restart is reported, and retried at the next look; no look waits for a node,
//! because the node may be waiting for a server. Everything ends with this process, however it ends; if it is killed,
//! the folder stays.

mod balancer;
mod nodes;
mod output;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caudal_bank::notices::route::PATH;
use caudal_http::log::LogFormat;
use caudal_postgres::local::{NoServer, Programs, Server, USER};
use caudal_sandbox::{self as sandbox, Sandbox};
use caudal_service::calendar;
use caudal_service::new_secret;
use secrecy::SecretString;
use tokio::time::{MissedTickBehavior, interval};

use super::super::Exit;
use super::super::process;
use super::super::progress::ProgressLine;
use super::super::terminal::{self, Hangup, Signals, say};
use super::DevArgs;
use balancer::Balancer;
use nodes::{ClusterSecrets, NodeChange, NodeProcess};

/// The number of nodes.
const NODES: usize = 3;
/// The number of servers: one takes writes, the other is its standby.
const SERVERS: usize = 2;
/// The distance between the ports of two nodes, unless free ports are picked.
const PORTS_APART: u16 = 10;
/// The pause between two looks at the processes and at the log's owner.
const LOOK: Duration = Duration::from_secs(1);
/// The folder of the bank.
const BANK: &str = "bank";
/// The standbys that have to confirm a write: any one, since there is only one.
const ANY: &str = "ANY 1 (*)";
/// The random characters in the name of a throw-away folder, 6 bits each: the paths of sockets in it have to be short.
const DRAWN: usize = 12;

/// All processes of the cluster. Fields are dropped in order, so the first ones end first.
struct Cluster {
    balancer: Option<Balancer>,
    nodes: Vec<NodeProcess>,
    servers: Vec<Server>,
    /// The index of the server that takes writes.
    primary: usize,
    /// Servers whose end was reported and that are not restored yet.
    told: BTreeSet<usize>,
    /// The failure of the last look, which was reported.
    trouble: Option<String>,
    bank: Option<sandbox::Running>,
    bank_url: String,
    owner: Option<(String, u64)>,
    secrets: ClusterSecrets,
    tenant: Option<nodes::DemoTenant>,
    restart: bool,
    folder: Folder,
}

/// Runs the cluster until a signal.
pub(super) fn run(args: DevArgs) -> Result<(), Exit> {
    terminal::log(LogFormat::Terminal, "warn")?;
    let programs = Programs::find().map_err(Exit::failed)?;
    terminal::wait(async {
        let mut signals = Signals::listen(Hangup::Ends)?;
        let started = Box::pin(Cluster::start(args, &programs));
        let mut cluster = tokio::select! {
            started = started => started?,
            () = signals.next() => return Ok(()),
        };
        let watched = tokio::select! {
            watched = Box::pin(cluster.watch()) => watched,
            () = signals.next() => Ok(()),
        };
        say("Stopping all of it.")?;
        tokio::select! {
            stopped = Box::pin(cluster.stop()) => stopped.and(watched),
            // Dropping the rest ends it at once.
            () = signals.next() => watched,
        }
    })
}

impl Cluster {
    async fn start(args: DevArgs, programs: &Programs) -> Result<Self, Exit> {
        let folder = Folder::new(args.data, programs)?;
        process::keep_files_private();
        let line = ProgressLine::new("starting PostgreSQL and its standby");
        let dir = |n: usize| folder.path.join(format!("db-{n}"));
        let primary = programs.make(&dir(1), "").map_err(failed)?;
        primary.start(&[]).map_err(failed)?;
        let standby = primary.standby(&dir(2), &server(1)).map_err(failed)?;
        primary.waits_for(ANY, 1).map_err(failed)?;
        let secrets = ClusterSecrets::new()?;
        let bank = bank(&folder.path, args.bank_listen, &secrets.notices)?;
        let mut cluster = Self {
            balancer: None,
            nodes: Vec::new(),
            servers: vec![primary, standby],
            primary: 0,
            told: BTreeSet::new(),
            trouble: None,
            bank_url: bank.url(),
            bank: Some(bank),
            owner: None,
            secrets,
            tenant: None,
            restart: args.restart,
            folder,
        };
        line.set_what("starting the nodes");
        let log = Server::url(&cluster.servers.iter().collect::<Vec<_>>(), USER);
        let mut places = [args.listen; NODES];
        for (n, place) in places.iter_mut().enumerate() {
            let listen = fixed(apart(args.listen, n)?)?;
            *place = listen;
            let admin_listen = fixed(apart(args.admin_listen, n)?)?;
            let (folder, bank) = (&cluster.folder.path, &cluster.bank_url);
            let secrets = &cluster.secrets;
            let mut node = NodeProcess::new(folder, n, listen, admin_listen, &log, bank, secrets)?;
            node.begin()?;
            cluster.nodes.push(node);
        }
        for node in &mut cluster.nodes {
            node.takes_requests().await?;
        }
        let free = SocketAddr::new(args.listen.ip(), 0);
        cluster.balancer = Balancer::start(&cluster.folder.path, fixed(free)?, places)?;
        line.set_what("making the demo tenant");
        cluster.tenant = Some(nodes::introduce(&cluster.nodes, &cluster.secrets).await?);
        cluster.follow_owner().await?;
        line.clear();
        cluster.write()?;
        cluster.greet()?;
        Ok(cluster)
    }

    /// Finds the owner, and points the bank's notices at it; returns the owner if it is another one, or in a new epoch.
    async fn follow_owner(&mut self) -> Result<Option<(String, u64)>, Exit> {
        let Some(owner) = nodes::owner(&self.nodes, &self.secrets).await else {
            return Ok(None);
        };
        if self.owner.as_ref() == Some(&owner) {
            return Ok(None);
        }
        let node = self.nodes.iter().find(|node| node.name == owner.0);
        if let (Some(node), Some(bank)) = (node, &self.bank) {
            let url = format!("{}{}", node.url, PATH);
            bank.notify(Some(&url), None).map_err(Exit::failed)?;
        }
        self.owner = Some(owner.clone());
        Ok(Some(owner))
    }

    /// Watches all processes until a failure.
    async fn watch(&mut self) -> Result<(), Exit> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look_at_servers()?;
            for n in 0..NODES {
                self.look_at_node(n)?;
            }
            if let Some((name, epoch)) = self.follow_owner().await? {
                say(&format!("{name} owns the log, in epoch {epoch}"))?;
            }
        }
    }

    /// Reports a failure, unless it is the same as at the last look: the next look tries again.
    fn complain(&mut self, why: Exit) -> Result<(), Exit> {
        if self.trouble.as_ref() == Some(&why.message) {
            return Ok(());
        }
        say(&format!("{}. It is tried again", why.message.trim_end()))?;
        self.trouble = Some(why.message);
        Ok(())
    }

    fn look_at_node(&mut self, n: usize) -> Result<(), Exit> {
        let Some(node) = self.nodes.get_mut(n) else {
            return Ok(());
        };
        let news = node.look()?;
        let name = node.name.clone();
        match &news {
            Some(NodeChange::Runs) => {
                let id = output::id(node.id());
                say(&format!("{name} runs again: pid {id}, {}", node.url))?;
                self.trouble = None;
            }
            Some(NodeChange::Ended(how)) if self.restart => {
                say(&format!("{name} ended {how}; it is started again"))?;
            }
            Some(NodeChange::Ended(how)) => {
                say(&format!("{name} ended {how}; the others go on without it"))?;
            }
            None => {}
        }
        if self.restart
            && !node.lives()
            && let Err(why) = node.begin()
        {
            self.complain(why)?;
        }
        if news.is_some() {
            self.write()?;
        }
        Ok(())
    }

    fn look_at_servers(&mut self) -> Result<(), Exit> {
        let before = self.told.clone();
        for n in 0..SERVERS {
            let ended = self.servers.get(n).map(Server::ended);
            let ended = ended.transpose().map_err(Exit::failed)?.flatten();
            let Some(ended) = ended.filter(|_| self.told.insert(n)) else {
                continue;
            };
            let name = server(n);
            if n == self.primary {
                say(&format!("{name}, which took writes, ended {ended}"))?;
            } else {
                say(&format!(
                    "{name}, the standby, ended {ended}: orders get 503, because nothing is acknowledged \
                     that has one copy"
                ))?;
            }
        }
        if self.told.is_empty() {
            return Ok(());
        }
        let (primary, news) = (self.primary, self.told != before);
        if let Err(why) = self.restore(news) {
            self.complain(why)?;
        }
        if news || self.primary != primary || self.told != before {
            self.write()?;
        }
        Ok(())
    }

    /// Makes a server take writes if none does, and restarts processes that ended, if that is wanted.
    fn restore(&mut self, news: bool) -> Result<(), Exit> {
        if self.told.contains(&self.primary) {
            if !self.told.contains(&self.other()) {
                self.promote()?;
            } else if news {
                say("no server is left: orders get 503")?;
            }
        }
        if self.restart { self.mend() } else { Ok(()) }
    }

    /// The server that does not take writes.
    const fn other(&self) -> usize {
        (self.primary + 1) % SERVERS
    }

    /// Promotes the other server, which takes writes from now on.
    fn promote(&mut self) -> Result<(), Exit> {
        let next = self.other();
        let Some(standby) = self.servers.get(next) else {
            return Ok(());
        };
        standby.promote().map_err(failed)?;
        self.primary = next;
        self.trouble = None;
        say(&format!(
            "{} is promoted and takes writes: there is one copy from now on",
            server(next)
        ))
    }

    /// Restarts servers that ended: first the one that takes writes, if no standby could be promoted, then its standby.
    /// The standby counts as restored once it keeps up, and is not promoted before that.
    fn mend(&mut self) -> Result<(), Exit> {
        let (n, other) = (self.primary, self.other());
        let (Some(primary), Some(standby)) = (self.servers.get(n), self.servers.get(other)) else {
            return Ok(());
        };
        if self.told.contains(&n) {
            primary.start(&[]).map_err(failed)?;
            self.told.remove(&n);
            say(&format!("{} runs again and takes writes", server(n)))?;
        }
        if self.told.contains(&other) {
            standby.again(primary, &server(other)).map_err(failed)?;
            primary.waits_for(ANY, 1).map_err(failed)?;
            self.told.remove(&other);
            say(&format!(
                "{} is the standby now: there are two copies again",
                server(other)
            ))?;
        }
        self.trouble = None;
        Ok(())
    }

    /// Ends all processes in order.
    async fn stop(&mut self) -> Result<(), Exit> {
        let owner = self.owner.as_ref().map(|(name, _)| name.clone());
        // The owner last: it releases the log, and no other node has to take it.
        self.nodes
            .sort_by_key(|node| owner.as_ref() == Some(&node.name));
        for node in &mut self.nodes {
            node.stop().await?;
        }
        if let Some(bank) = self.bank.take() {
            bank.stop().await.map_err(Exit::failed)?;
        }
        for n in [self.other(), self.primary] {
            if let Some(server) = self.servers.get(n) {
                server.stop().map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// The name of a server, from 0.
fn server(n: usize) -> String {
    format!("db-{}", n + 1)
}

fn failed(why: NoServer) -> Exit {
    Exit::failed(why)
}

/// The address of the n-th node, counted from the first one's.
fn apart(mut first: SocketAddr, n: usize) -> Result<SocketAddr, Exit> {
    if first.port() != 0 {
        let further = u16::try_from(n)
            .ok()
            .and_then(|n| n.checked_mul(PORTS_APART));
        let port = further.and_then(|further| first.port().checked_add(further));
        let none = || {
            Exit::usage(format!(
                "{first}: the other nodes listen at ports above it, and there are none"
            ))
        };
        first.set_port(port.ok_or_else(none)?);
    }
    Ok(first)
}

/// An address with a port that is free now, where any port will do: a node tells clients its address before it listens.
fn fixed(address: SocketAddr) -> Result<SocketAddr, Exit> {
    let free = || TcpListener::bind(address)?.local_addr();
    match address.port() {
        0 => free().map_err(|why| Exit::failed(format!("{address}: {why}"))),
        _ => Ok(address),
    }
}

fn bank(
    folder: &Path,
    listen: SocketAddr,
    secret: &SecretString,
) -> Result<sandbox::Running, Exit> {
    let options = sandbox::SandboxOptions {
        listen,
        data_dir: Some(folder.join(BANK)),
        calendar: Arc::new(calendar::load(None).map_err(Exit::failed)?),
        notice_secret: secret.clone(),
        endowment: super::ENDOWMENT,
        ..sandbox::SandboxOptions::default()
    };
    let failed = |why| {
        Exit::usage(format!(
            "--bank-listen: the sandbox bank at {listen}: {why}"
        ))
    };
    Sandbox::start(options).map_err(failed)
}

/// The folder of the cluster.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Creates it; a folder that the user names has to be empty, and is kept.
    fn new(data: Option<PathBuf>, programs: &Programs) -> Result<Self, Exit> {
        let keep = data.is_some();
        let path = match data {
            Some(path) => std::path::absolute(path).map_err(Exit::failed)?,
            // Other users may write to the temporary folder: one who guesses the name could create it first.
            None => {
                let drawn: String = new_secret()?.chars().take(DRAWN).collect();
                std::env::temp_dir().join(format!("caudal-cluster-{drawn}"))
            }
        };
        let wrong = |why: &dyn std::fmt::Display| Exit::usage(format!("{}: {why}", path.display()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(why) if keep && why.kind() == io::ErrorKind::AlreadyExists => {
                let mut entries = fs::read_dir(&path).map_err(|why| wrong(&why))?;
                if entries.next().is_some() {
                    return Err(wrong(
                        &"is not empty. A cluster begins anew; choose an empty folder with --data",
                    ));
                }
            }
            made => made.map_err(|why| wrong(&why))?,
        }
        // If PostgreSQL runs as another user, that user has to reach the servers' folders inside.
        let mode = if programs.are_anothers() {
            0o711
        } else {
            0o700
        };
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(|why| wrong(&why))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep
            && let Err(why) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%why, "{} stays", self.path.display());
        }
    }
}
