//! The output of a demonstration cluster: a table for people, a file for programs.

use std::io::{self, IsTerminal as _};

use caudal_postgres::local::{Server, USER};
use caudal_service as service;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::super::super::Exit;
use super::super::super::table::aligned;
use super::super::super::terminal::say;
use super::{Cluster, server};

/// The file for programs, in the folder.
const FILE: &str = "cluster.json";

/// The id of a process, or `-` if it has ended.
pub(super) fn id(id: Option<i32>) -> String {
    id.map_or_else(|| "-".to_owned(), |id| id.to_string())
}

impl Cluster {
    /// Writes the file for programs.
    pub(super) fn write(&self) -> Result<(), Exit> {
        let nodes = self.nodes.iter().map(|node| {
            json!({
                "name": node.name, "url": node.url, "adminUrl": node.admin_url, "pid": node.id(),
                "data": node.data.to_string_lossy(),
            })
        });
        let servers = self.servers.iter().enumerate().map(|(n, one)| {
            json!({
                "name": server(n), "primary": n == self.primary, "pid": one.id(),
                "url": Server::url(&[one], USER),
            })
        });
        let tenant = self.tenant.as_ref();
        let file = json!({
            "nodes": nodes.collect::<Value>(),
            "servers": servers.collect::<Value>(),
            "balancerUrl": self.balancer.as_ref().map(|it| it.url.clone()),
            "bankUrl": self.bank_url,
            "tenantId": tenant.map(|tenant| tenant.id.clone()),
            "testKey": tenant.map(|tenant| tenant.test_key.clone()),
            "adminKey": self.secrets.admin_key.expose_secret(),
        });
        let text = serde_json::to_vec_pretty(&file).map_err(Exit::failed)?;
        Ok(service::write_file(&self.folder.path.join(FILE), &text)?)
    }

    /// The table of nodes and servers.
    fn table(&self) -> String {
        let nodes = self.nodes.iter().map(|node| {
            let data = node.data.display().to_string();
            let (url, admin_url) = (node.url.clone(), node.admin_url.clone());
            [node.name.clone(), id(node.id()), url, admin_url, data]
        });
        let servers = self.servers.iter().enumerate().map(|(n, one)| {
            let part = if n == self.primary {
                "takes writes"
            } else {
                "standby"
            };
            let data = one.data().display().to_string();
            [
                server(n),
                id(one.id()),
                part.to_owned(),
                String::new(),
                data,
            ]
        });
        let header = ["", "pid", "API", "admin API", "folder"];
        aligned(&header, nodes.chain(servers))
    }

    /// Prints the addresses and things to try.
    pub(super) fn greet(&self) -> Result<(), Exit> {
        let kept = self.folder.path.join(FILE);
        let kept = kept.display();
        let after = if self.folder.keep {
            "stays"
        } else {
            "is removed then"
        };
        let owner = self.owner.as_ref().map(|(name, _)| name);
        let owner = self.nodes.iter().find(|node| Some(&node.name) == owner);
        let first = owner.or(self.nodes.first());
        let (Some(first), Some(database)) = (first, self.servers.get(self.primary)) else {
            return Ok(());
        };
        let balancer = &self.balancer;
        let of = |name: &str| format!(r#"$(sed -n 's/.*"{name}": *"\([^"]*\)".*/\1/p' {kept})"#);
        let (mut key, mut admin_key) = (of("testKey"), of("adminKey"));
        // Output that does not go to a terminal is probably stored.
        if let Some(tenant) = self.tenant.as_ref().filter(|_| io::stdout().is_terminal()) {
            self.secrets
                .admin_key
                .expose_secret()
                .clone_into(&mut admin_key);
            key.clone_from(&tenant.test_key);
        }
        say(&format!(
            r#"Three nodes run on one log, in PostgreSQL with a synchronous standby. Press Ctrl-C to stop them; the folder
{folder} {after}.

{table}

  sandbox bank  {bank_url}     (page: {bank_url}/docs)
  keys          in {kept}
  the log       psql '{database}'

Open an account {whither}:

  KEY={key}
  curl -sS {url}/v1/accounts -H "x-api-key: $KEY" -H 'content-type: application/json' \
    -H 'idempotency-key: first' -d '{{"cuit": "20123456786", "holderName": "Ada Lovelace"}}'

Any other node is a standby: it returns 503 `not_owner`, with the owner's address in the header `Caudal-Owner`. See who owns
the log:

  CAUDAL_ADMIN_KEY={admin_key} \
    caudal node status --admin-url {admin_url}

Kill the owner (`kill -9` and its pid): another node goes on when the lease of 5 seconds is over.
Kill the server that takes writes: its standby is promoted, and the nodes go on there.
What happens is told below; each request has a line in the log of its node, next to the node's folder.
"#,
            folder = self.folder.path.display(),
            table = self.table(),
            bank_url = self.bank_url,
            url = balancer.as_ref().map_or(&first.url, |it| &it.url),
            whither = match balancer {
                Some(_) => "through HAProxy, which finds the node that owns the log",
                None => "at the node that owns the log",
            },
            admin_url = first.admin_url,
            database = Server::url(&[database], USER),
        ))
    }
}
