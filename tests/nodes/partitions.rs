//! Three processes, each in a network of its own, whose owner is cut off from the database or from
//! clients. Nothing reports that the other side is gone: packets sent there are lost, as with a failed switch.
//!
//! The test needs root and `ip`, and prints `not run` without. `CAUDAL_NODE_PARTITIONS` sets how often it runs, once
//! by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use caudal_postgres::local::{Programs, Server, USER};
use caudal_postgres::server::installed;
use tempfile::TempDir;

use super::site::{EPOCHS_BACK, Host, NODES, Site, number, tell};
use crate::support::bank::Bank;

/// A hardware address that nobody in the network has.
const NOBODY: &str = "02:00:00:00:00:fe";

/// How many requests break off before clients reach the owner again.
const CUT_OFF: usize = 8;

/// Networks of the nodes, joined by one that also has the database, the bank and the clients, which run here.
struct Net {
    /// The first three numbers of its addresses.
    net: String,
    bridge: String,
    spaces: Vec<String>,
}

/// The side that an owner is cut off from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    Database,
    Clients,
}

impl Cut {
    fn name(self) -> &'static str {
        match self {
            Self::Database => "owner cut off from the database",
            Self::Clients => "owner cut off from clients",
        }
    }
}

/// Runs `ip`; returns its message if it refuses.
fn ip(words: &str) -> Result<(), String> {
    let done = Command::new("ip").args(words.split_whitespace()).output();
    let done = done.map_err(|why| format!("ip: {why}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&done.stderr)
        ))
    }
}

impl Net {
    /// Creates the networks; returns `None` and prints why where that is not allowed.
    fn new() -> Option<Self> {
        let id = std::process::id();
        let net = Self {
            net: format!("10.{}.{}", 64 + id % 128, id / 128 % 256),
            bridge: format!("caudal{id}"),
            spaces: (0..NODES).map(|n| format!("caudal{id}-{n}")).collect(),
        };
        match net.lay() {
            Ok(()) => Some(net),
            Err(why) => {
                println!(
                    "not run: networks of their own need root and iproute2: {}",
                    why.trim()
                );
                None
            }
        }
    }

    fn lay(&self) -> Result<(), String> {
        let Self {
            net,
            bridge,
            spaces,
        } = self;
        ip(&format!("link add {bridge} type bridge"))?;
        // The first address is the one that clients connect from.
        for host in [2, 1, 3] {
            ip(&format!("address add {net}.{host}/24 dev {bridge}"))?;
        }
        ip(&format!("link set {bridge} up"))?;
        for (n, space) in spaces.iter().enumerate() {
            ip(&format!("netns add {space}"))?;
            let end = format!("cdl{}-{n}", std::process::id());
            ip(&format!(
                "link add {end} type veth peer name eth0 netns {space}"
            ))?;
            ip(&format!("link set {end} master {bridge} up"))?;
            ip(&format!(
                "-n {space} address add {}/24 dev eth0",
                self.node(n)
            ))?;
            ip(&format!("-n {space} link set lo up"))?;
            ip(&format!("-n {space} link set eth0 up"))?;
        }
        Ok(())
    }

    fn database(&self) -> String {
        format!("{}.1", self.net)
    }

    fn clients(&self) -> String {
        format!("{}.2", self.net)
    }

    fn bank(&self) -> String {
        format!("{}.3", self.net)
    }

    fn node(&self, n: usize) -> String {
        format!("{}.{}", self.net, 11 + n)
    }

    fn hosts(&self) -> Vec<Host> {
        let host = |n: usize| Host {
            address: self.node(n),
            enter: ["ip", "netns", "exec", &self.spaces[n]]
                .map(str::to_owned)
                .to_vec(),
        };
        (0..NODES).map(host).collect()
    }

    /// The address that a cut separates a node from.
    fn parted(&self, cut: Cut) -> String {
        match cut {
            Cut::Database => self.database(),
            Cut::Clients => self.clients(),
        }
    }

    fn cut(&self, n: usize, cut: Cut) {
        let (to, space) = (self.parted(cut), &self.spaces[n]);
        ip(&format!(
            "-n {space} neighbour replace {to} lladdr {NOBODY} nud permanent dev eth0"
        ))
        .unwrap();
    }

    fn mend(&self, n: usize, cut: Cut) {
        let (to, space) = (self.parted(cut), &self.spaces[n]);
        ip(&format!("-n {space} neighbour del {to} dev eth0")).unwrap();
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // If the networks could not all be created, some of these do not exist.
        for space in &self.spaces {
            ip(&format!("netns del {space}")).ok();
        }
        ip(&format!("link del {}", self.bridge)).ok();
    }
}

/// A database server that the networks can reach.
fn database(net: &Net, dir: &TempDir) -> Server {
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    let programs = Programs::find().unwrap();
    let server = programs
        .make(&dir.path().join("db"), &net.database())
        .unwrap();
    let rules = File::options()
        .append(true)
        .open(server.data().join("pg_hba.conf"));
    writeln!(rules.unwrap(), "host all all {}.0/24 trust", net.net).unwrap();
    server.start(&[]).unwrap();
    server
}

/// Cuts the owner off for some time; returns how long nothing was acknowledged.
async fn event(site: &Site, net: &Net, cut: Cut) -> Duration {
    site.whole().await;
    site.more(64).await;
    let owner = site.owner_but(usize::MAX).await;
    let since = Instant::now();
    net.cut(owner, cut);
    match cut {
        Cut::Database => {
            site.owner_but(owner).await;
            site.more(64).await;
        }
        // Nobody takes over: clients wait until the owner is reached again.
        Cut::Clients => site.breaks(CUT_OFF).await,
    }
    net.mend(owner, cut);
    site.more(64).await;
    site.pause(since)
}

#[actix_web::test]
async fn whatever_an_owner_is_cut_off_from_nothing_acknowledged_is_lost_or_there_twice() {
    if !installed() {
        return;
    }
    let Some(net) = Net::new() else { return };
    let dir = TempDir::new().unwrap();
    let server = database(&net, &dir);
    let log = format!("{}?sslmode=disable", Server::url(&[&server], USER));
    let bank = Bank::at(format!("{}:0", net.bank()).parse().unwrap());
    let site = Site::start(log, bank, net.hosts()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..number("CAUDAL_NODE_PARTITIONS", 1) {
        let cut = [Cut::Database, Cut::Clients][round % 2];
        let pause = event(&site, &net, cut).await;
        pauses.entry(cut.name()).or_default().push(pause);
    }
    let counts = site.end().await;
    let back = server.sql(USER, EPOCHS_BACK).unwrap();
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
