//! HAProxy before the nodes of a demonstration cluster, where it is installed: with the configuration that is shipped.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use caudal_postgres::local::guard::{Guarded, Program};

use super::super::super::Exit;

/// The shipped configuration, and what stands in it for the addresses here.
const CONFIG: &str = include_str!("../../../../docs/haproxy/nodes.cfg");
const BIND: &str = "bind :8080";
const NODES: [&str; 3] = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"];
/// Where packages put the program; the last one is not in every user's path.
const PLACES: [&str; 3] = [
    "/usr/bin/haproxy",
    "/usr/local/sbin/haproxy",
    "/usr/sbin/haproxy",
];

/// A running HAProxy; it ends when dropped.
pub(super) struct Balancer {
    /// Where clients reach it.
    pub(super) url: String,
    _process: Guarded,
}

impl Balancer {
    /// Starts HAProxy at an address; `None` where it is not installed.
    pub(super) fn start(
        folder: &Path,
        listen: SocketAddr,
        nodes: [SocketAddr; NODES.len()],
    ) -> Result<Option<Self>, Exit> {
        let places = PLACES.into_iter().map(PathBuf::from);
        let Some(path) = places.into_iter().find(|path| path.is_file()) else {
            return Ok(None);
        };
        let failed = |why: std::io::Error| Exit::failed(format!("starting haproxy: {why}"));
        let config = CONFIG.replace(BIND, &format!("bind {listen}"));
        let config = NODES
            .iter()
            .zip(nodes)
            .fold(config, |config, (written, real)| {
                config.replace(written, &real.to_string())
            });
        let file = folder.join("haproxy.cfg");
        fs::write(&file, config).map_err(failed)?;
        let program = Program {
            path,
            arguments: vec!["-f".into(), file.into()],
            log: folder.join("haproxy.log"),
            user: None,
            at_the_end: "KILL",
        };
        Ok(Some(Self {
            url: format!("http://{listen}"),
            _process: Guarded::start(&program).map_err(failed)?,
        }))
    }
}
