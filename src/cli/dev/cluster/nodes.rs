//! The nodes of a demonstration cluster: their settings, start and stop, and requests to them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use caudal_postgres::local::guard::{Guarded, Program};
use caudal_sandbox as sandbox;
use caudal_service::new_secret;
use reqwest::Method;
use rustix::process::Signal;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::super::super::Exit;
use super::super::super::remote::Remote;
use super::super::TENANT;

/// The longest wait for a node to start.
const START_MAX: Duration = Duration::from_secs(120);
/// The longest wait for a node to end by itself.
const STOP_MAX: Duration = Duration::from_secs(15);
/// The longest wait for a node's answer about the owner.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// The log message of a node that has started.
const THERE: &str = "takes requests";
/// The part of a node's log that is shown when it does not start, in characters.
const SHOWN: usize = 600;

/// The secrets that all nodes share.
pub(super) struct ClusterSecrets {
    /// The credential of their admin API.
    pub(super) admin_key: SecretString,
    pepper: SecretString,
    /// The secret with which the bank signs its notices.
    pub(super) notices: SecretString,
}

impl ClusterSecrets {
    /// Draws the secrets.
    pub(super) fn new() -> Result<Self, Exit> {
        Ok(Self {
            admin_key: format!("cdl_admin_{}", new_secret()?).into(),
            pepper: new_secret()?.into(),
            notices: new_secret()?.into(),
        })
    }
}

/// The demo tenant.
pub(super) struct DemoTenant {
    pub(super) id: String,
    pub(super) test_key: String,
}

/// A node, running or not.
pub(super) struct NodeProcess {
    pub(super) name: String,
    /// Its API.
    pub(super) url: String,
    pub(super) admin_url: String,
    pub(super) data: PathBuf,
    folder: PathBuf,
    process: Option<Guarded>,
    /// When it was started; `None` once it takes requests.
    starting: Option<Instant>,
    /// The place in its log file where this run begins.
    from: usize,
}

/// A change of a node since the last look.
pub(super) enum NodeChange {
    /// It takes requests now.
    Runs,
    /// It has ended, with this status.
    Ended(String),
}

impl NodeProcess {
    /// The n-th node, from 0, with its settings in a file; it does not run yet.
    pub(super) fn new(
        folder: &Path,
        n: usize,
        listen: SocketAddr,
        admin_listen: SocketAddr,
        log: &str,
        bank: &str,
        secrets: &ClusterSecrets,
    ) -> Result<Self, Exit> {
        let name = format!("node-{}", n + 1);
        let node = Self {
            url: format!("http://{listen}"),
            admin_url: format!("http://{admin_listen}"),
            data: folder.join(&name),
            folder: folder.to_owned(),
            process: None,
            starting: None,
            from: 0,
            name,
        };
        let text = |text: &str| Value::from(text).to_string();
        let hidden = |secret: &SecretString| text(secret.expose_secret());
        let settings = format!(
            "data = {data}\nlisten = \"{listen}\"\nadmin_listen = \"{admin_listen}\"\nadmin_key = {admin_key}\n\
             pepper = {pepper}\nbank_catch_up_seconds = 30\n\n\
             [cell]\nlog = {log}\nnode = {name}\npublic_url = \"{url}\"\n\n\
             [bank.test]\nbase_url = {bank}\nusername = \"{user}\"\npassword = \"{password}\"\n\
             notice_secret = {notices}\n",
            data = text(&node.data.to_string_lossy()),
            admin_key = hidden(&secrets.admin_key),
            pepper = hidden(&secrets.pepper),
            log = text(log),
            name = text(&node.name),
            url = node.url,
            bank = text(bank),
            user = sandbox::USERNAME,
            password = sandbox::PASSWORD,
            notices = hidden(&secrets.notices),
        );
        fs::write(node.file("toml"), settings).map_err(|why| node.unstarted(&why))?;
        Ok(node)
    }

    /// The node's file with this ending.
    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    fn unstarted(&self, why: &std::io::Error) -> Exit {
        Exit::failed(format!("starting {}: {why}", self.name))
    }

    /// Starts the node; it takes requests some time later.
    pub(super) fn begin(&mut self) -> Result<(), Exit> {
        self.from = self.log().len();
        let path = std::env::current_exe().map_err(|why| self.unstarted(&why))?;
        let program = Program {
            path,
            arguments: vec!["serve".into(), "--config".into(), self.file("toml").into()],
            log: self.file("log"),
            user: None,
            // The node loses nothing by being killed.
            at_the_end: "KILL",
        };
        let process = Guarded::start(&program).map_err(|why| self.unstarted(&why))?;
        self.process = Some(process);
        self.starting = Some(Instant::now());
        Ok(())
    }

    fn log(&self) -> String {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        // Without a file the node has logged nothing yet.
        fs::read(self.file("log")).map_or_else(|_| String::new(), text)
    }

    /// Waits until the node takes requests.
    pub(super) async fn takes_requests(&mut self) -> Result<(), Exit> {
        while self.starting.is_some() {
            if let Some(NodeChange::Ended(why)) = self.look()? {
                return Err(Exit::failed(format!("{} ended {why}", self.name)));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// The change since the last look; each is returned once.
    pub(super) fn look(&mut self) -> Result<Option<NodeChange>, Exit> {
        let Some(process) = &mut self.process else {
            return Ok(None);
        };
        let ended = process.ended().map_err(Exit::failed)?;
        let ended = ended.map(|ended| ended.to_string());
        let Some(began) = self.starting else {
            return Ok(ended.map(|ended| self.gone(ended)));
        };
        let text = self.log();
        if text
            .get(self.from..)
            .is_some_and(|said| said.contains(THERE))
        {
            self.starting = None;
            let gone = ended.map(|ended| self.gone(ended));
            return Ok(gone.or(Some(NodeChange::Runs)));
        }
        let late = began.elapsed() > START_MAX;
        let late = late.then(|| format!("after {} seconds", START_MAX.as_secs()));
        Ok(ended.or(late).map(|ended| {
            let end: Vec<char> = text.chars().rev().take(SHOWN).collect();
            let end: String = end.into_iter().rev().collect();
            self.gone(format!(
                "{ended}, before it took requests. Its log ends: {end}\n"
            ))
        }))
    }

    /// Drops the node's process, which ends it if it still runs.
    fn gone(&mut self, how: String) -> NodeChange {
        self.process = None;
        self.starting = None;
        NodeChange::Ended(how)
    }

    /// Whether it was started and is not known to have ended.
    pub(super) const fn lives(&self) -> bool {
        self.process.is_some()
    }

    /// Whether it takes requests, as far as is known.
    pub(super) const fn runs(&self) -> bool {
        self.process.is_some() && self.starting.is_none()
    }

    /// The id of its process, while it runs.
    pub(super) fn id(&self) -> Option<i32> {
        self.process.as_ref().map(Guarded::id)
    }

    /// Ends it in order, or by force if that takes too long.
    pub(super) async fn stop(&mut self) -> Result<(), Exit> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        process.signal(Signal::TERM).map_err(Exit::failed)?;
        let began = Instant::now();
        while process.ended().map_err(Exit::failed)?.is_none() && began.elapsed() < STOP_MAX {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

/// The owner of the log and its epoch, according to a running node.
pub(super) async fn owner(
    nodes: &[NodeProcess],
    secrets: &ClusterSecrets,
) -> Option<(String, u64)> {
    for node in nodes.iter().filter(|node| node.runs()) {
        let remote = Remote::to(&node.admin_url, secrets.admin_key.clone()).ok()?;
        let asked = remote.send(Method::GET, "/admin/node", None, Some(ANSWER_MAX));
        let Ok(known) = asked.await else { continue };
        let owner = known.json.get("owner").and_then(Value::as_str);
        let epoch = known.json.get("epoch").and_then(Value::as_u64);
        if let Some((name, epoch)) = owner.zip(epoch) {
            return Some((name.to_owned(), epoch));
        }
    }
    None
}

/// Sends an order to the owner, waiting until there is one.
async fn order(
    nodes: &[NodeProcess],
    secrets: &ClusterSecrets,
    path: &str,
    body: Value,
) -> Result<Value, Exit> {
    let began = Instant::now();
    loop {
        let owner = owner(nodes, secrets).await;
        let node = owner.and_then(|(name, _)| nodes.iter().find(|node| node.name == name));
        let why = match node {
            Some(node) => {
                let remote = Remote::to(&node.admin_url, secrets.admin_key.clone())?;
                match remote.ask(Method::POST, path, Some(body.clone())).await {
                    Ok(answer) => return Ok(answer),
                    Err(why) => why,
                }
            }
            None => Exit::failed("no node owns the log"),
        };
        if began.elapsed() > START_MAX {
            return Err(why);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Creates the demo tenant and its key.
pub(super) async fn introduce(
    nodes: &[NodeProcess],
    secrets: &ClusterSecrets,
) -> Result<DemoTenant, Exit> {
    // Published examples have CUITs with wrong check digits.
    let body = json!({"name": TENANT, "policy": {"relaxedTestCuit": true}});
    let tenant = order(nodes, secrets, "/admin/tenants", body).await?;
    let text = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| Exit::failed(format!("a node answered without {name}")))
    };
    let id = text(&tenant, "id")?;
    let path = format!("/admin/tenants/{id}/keys");
    let key = order(nodes, secrets, &path, json!({"mode": "test"})).await?;
    Ok(DemoTenant {
        id,
        test_key: text(&key, "key")?,
    })
}
