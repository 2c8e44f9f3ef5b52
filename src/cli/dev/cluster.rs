//! `caudal dev --cluster`: three nodes on one log in PostgreSQL, with a synchronous standby, on this machine, to look at.
//!
//! **Shape.** Each node is `caudal serve` as a process of its own, so that it can be killed; so are both servers. The
//! sandbox bank, which all nodes have, is in this process.
//!
//! **Order.** Servers, bank, nodes, the demo tenant; and back: followers, the owner, bank, servers.
//!
//! **Failure.** What ends is told in a line, and started again only with `--restart`. A standby is promoted where the
//! primary has ended. Everything ends with this process, however that ends; the folder stays where it was killed.

mod nodes;
mod tell;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caudal::calendar;
use caudal::log::LogFormat;
use caudal::notices;
use caudal_postgres::here::{NoServer, Programs, Server, USER};
use caudal_sandbox::{self as sandbox, Sandbox};
use secrecy::SecretString;
use tokio::time::{MissedTickBehavior, interval};

use super::super::Exit;
use super::super::process;
use super::super::terminal::{self, Hangup, Signals, say};
use nodes::{Node, Secrets};

/// How many nodes there are.
const NODES: usize = 3;
/// How many servers: one takes writes, the other is its standby.
const SERVERS: usize = 2;
/// How far the ports of two nodes lie apart, where they are not picked.
const PORTS_APART: u16 = 10;
/// How often is looked what ended, and who owns the cell.
const LOOK: Duration = Duration::from_secs(1);
/// The bank's folder.
const BANK: &str = "bank";
/// Any standby counts: there is one.
const ANY: &str = "ANY 1 (*)";

/// What is started, and where.
#[derive(Debug)]
pub struct Plan {
    /// The folder that is kept; a throw-away one without it.
    pub data: Option<PathBuf>,
    /// Where the first node listens; the others ten ports further each, or at free ports where it is 0.
    pub listen: SocketAddr,
    /// The same for the admin API.
    pub admin_listen: SocketAddr,
    /// Where the sandbox bank listens.
    pub bank_listen: SocketAddr,
    /// Whether what ends is started again.
    pub restart: bool,
}

/// All of it. What is first here ends first.
struct Cluster {
    nodes: Vec<Node>,
    servers: Vec<Server>,
    /// Which of the servers takes writes.
    primary: usize,
    /// Which servers have ended, and that was told.
    told: BTreeSet<usize>,
    bank: Option<sandbox::Running>,
    bank_url: String,
    /// Which node the bank tells.
    heard: Option<usize>,
    owner: Option<(String, u64)>,
    secrets: Secrets,
    tenant: Option<nodes::Tenant>,
    restart: bool,
    folder: Folder,
}

/// Runs it until a signal.
pub fn run(plan: Plan) -> Result<(), Exit> {
    terminal::log(LogFormat::Terminal, "warn")?;
    let programs = Programs::find().map_err(Exit::failed)?;
    terminal::wait(async {
        let mut signals = Signals::listen(Hangup::Ends)?;
        let started = Box::pin(Cluster::start(plan, &programs));
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
            // Dropped, it ends at once.
            () = signals.next() => watched,
        }
    })
}

impl Cluster {
    async fn start(plan: Plan, programs: &Programs) -> Result<Self, Exit> {
        let folder = Folder::new(plan.data, programs)?;
        process::keep_files_private();
        let line = terminal::progress("starting PostgreSQL and its standby");
        let dir = |n: usize| folder.path.join(format!("db-{n}"));
        let primary = programs.make(&dir(1), "").map_err(failed)?;
        primary.start(&[]).map_err(failed)?;
        let standby = primary.standby(&dir(2), &server(1)).map_err(failed)?;
        primary.waits_for(ANY, 1).map_err(failed)?;
        let secrets = Secrets::new(&folder.path)?;
        let bank = bank(&folder.path, plan.bank_listen, &secrets.notices)?;
        let mut cluster = Self {
            nodes: Vec::new(),
            servers: vec![primary, standby],
            primary: 0,
            told: BTreeSet::new(),
            bank_url: bank.url(),
            bank: Some(bank),
            heard: None,
            owner: None,
            secrets,
            tenant: None,
            restart: plan.restart,
            folder,
        };
        line.set_message("starting the nodes");
        for n in 0..NODES {
            let listen = apart(plan.listen, n)?;
            let admin_listen = apart(plan.admin_listen, n)?;
            let node = Node::new(&cluster.folder.path, n, listen, admin_listen);
            cluster.nodes.push(node);
            cluster.begin(n)?;
        }
        for node in &mut cluster.nodes {
            node.takes_requests().await?;
        }
        line.set_message("making the demo tenant");
        cluster.tenant = Some(nodes::introduce(&cluster.nodes, &cluster.secrets).await?);
        cluster.tell_bank()?;
        line.finish_and_clear();
        cluster.write()?;
        cluster.greet()?;
        Ok(cluster)
    }

    /// Starts a node; it takes requests some time later.
    fn begin(&mut self, n: usize) -> Result<(), Exit> {
        let servers: Vec<&Server> = self.servers.iter().collect();
        let log = Server::url(&servers, USER);
        let Some(node) = self.nodes.get_mut(n) else {
            return Ok(());
        };
        node.begin(&log, &self.bank_url, &self.secrets)
    }

    /// The bank tells the first node that runs: any passes it on.
    fn tell_bank(&mut self) -> Result<(), Exit> {
        let runs = self.nodes.iter().position(Node::runs);
        let node = runs.and_then(|n| self.nodes.get(n));
        if let (Some(node), Some(bank)) = (node, &self.bank)
            && (self.heard != runs || self.restart)
        {
            let url = format!("{}{}", node.url, notices::PATH);
            bank.notify(Some(&url), None).map_err(Exit::failed)?;
        }
        self.heard = runs;
        Ok(())
    }

    /// Looks after all of it for ever.
    async fn watch(&mut self) -> Result<(), Exit> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look_at_servers()?;
            for n in 0..NODES {
                self.look_at_node(n).await?;
            }
            let owner = nodes::owner(&self.nodes, &self.secrets).await;
            if let Some((name, epoch)) = &owner
                && owner != self.owner
            {
                say(&format!("{name} owns the cell, in epoch {epoch}"))?;
            }
            self.owner = owner.or(self.owner.take());
        }
    }

    async fn look_at_node(&mut self, n: usize) -> Result<(), Exit> {
        let Some(node) = self.nodes.get_mut(n) else {
            return Ok(());
        };
        let Some(ended) = node.ended()? else {
            return Ok(());
        };
        let name = node.name.clone();
        if !self.restart {
            say(&format!(
                "{name} ended {ended}; the others go on without it"
            ))?;
            self.tell_bank()?;
            return self.write();
        }
        say(&format!("{name} ended {ended}; it is started again"))?;
        self.begin(n)?;
        if let Some(node) = self.nodes.get_mut(n) {
            node.takes_requests().await?;
            let id = tell::id(node.id());
            say(&format!("{name} runs again: pid {id}, {}", node.url))?;
        }
        self.tell_bank()?;
        self.write()
    }

    fn look_at_servers(&mut self) -> Result<(), Exit> {
        for n in 0..SERVERS {
            let ended = self.servers.get(n).map(Server::ended);
            let ended = ended.transpose().map_err(Exit::failed)?.flatten();
            let Some(ended) = ended.filter(|_| self.told.insert(n)) else {
                continue;
            };
            let name = server(n);
            if n == self.primary {
                say(&format!("{name}, which took writes, ended {ended}"))?;
                self.promote()?;
            } else {
                say(&format!(
                    "{name}, the standby, ended {ended}: orders wait and get 503, because nothing is acknowledged \
                     that has one copy"
                ))?;
            }
            if self.restart {
                self.mend(n)?;
            }
            self.write()?;
        }
        Ok(())
    }

    /// The other server takes writes from now on.
    fn promote(&mut self) -> Result<(), Exit> {
        let next = (self.primary + 1) % SERVERS;
        let standby = self
            .servers
            .get(next)
            .filter(|_| !self.told.contains(&next));
        let standby = match standby.map(Server::ended).transpose() {
            Ok(Some(None)) => standby,
            Ok(Some(Some(_)) | None) => None,
            Err(why) => return Err(Exit::failed(why)),
        };
        let Some(standby) = standby else {
            return say("no server is left: orders wait and get 503");
        };
        standby.promote().map_err(failed)?;
        self.primary = next;
        say(&format!(
            "{} is promoted and takes writes: there is one copy from now on",
            server(next)
        ))
    }

    /// A server that ended comes back: as the standby, or as it was where nobody could be promoted.
    fn mend(&mut self, n: usize) -> Result<(), Exit> {
        let (one, primary) = (self.servers.get(n), self.servers.get(self.primary));
        let (Some(one), Some(primary)) = (one, primary) else {
            return Ok(());
        };
        self.told.remove(&n);
        if n == self.primary {
            one.start(&[]).map_err(failed)?;
            return say(&format!("{} runs again and takes writes", server(n)));
        }
        one.again(primary, &server(n)).map_err(failed)?;
        primary.waits_for(ANY, 1).map_err(failed)?;
        say(&format!(
            "{} is the standby now: there are two copies again",
            server(n)
        ))
    }

    /// Ends all of it in order.
    async fn stop(&mut self) -> Result<(), Exit> {
        let owner = self.owner.as_ref().map(|(name, _)| name.clone());
        // The owner last: it lets the cell go, and nobody has to take it.
        self.nodes
            .sort_by_key(|node| owner.as_ref() == Some(&node.name));
        for node in &mut self.nodes {
            node.stop().await?;
        }
        if let Some(bank) = self.bank.take() {
            bank.stop().await.map_err(Exit::failed)?;
        }
        for n in [(self.primary + 1) % SERVERS, self.primary] {
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

/// The address of the n-th node.
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

/// The folder of all of it.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Makes it; one that somebody names has to be empty, and stays.
    fn new(data: Option<PathBuf>, programs: &Programs) -> Result<Self, Exit> {
        let keep = data.is_some();
        let path = match data {
            Some(path) => std::path::absolute(path).map_err(Exit::failed)?,
            None => std::env::temp_dir().join(format!("caudal-cluster-{}", std::process::id())),
        };
        let wrong = |why: &dyn std::fmt::Display| Exit::usage(format!("{}: {why}", path.display()));
        match fs::create_dir(&path) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                let mut entries = fs::read_dir(&path).map_err(|why| wrong(&why))?;
                if entries.next().is_some() {
                    return Err(wrong(
                        &"is not empty. A cluster begins anew; choose an empty folder with --data",
                    ));
                }
            }
            made => made.map_err(|why| wrong(&why))?,
        }
        // Where another user runs PostgreSQL, that one has to get to the folders of the servers inside.
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
