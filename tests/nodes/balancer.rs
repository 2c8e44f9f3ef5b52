//! HAProxy before some nodes, with the configuration that `docs/haproxy` ships: only addresses are replaced.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

use super::port;
use crate::support::{SOON, wait_until};

/// The configurations that are shipped.
pub const NODES: &str = include_str!("../../docs/haproxy/nodes.cfg");
pub const SHARDS: &str = include_str!("../../docs/haproxy/shards.cfg");

/// Where Debian has the program, which is not in every user's path.
const PLACES: [&str; 2] = ["haproxy", "/usr/sbin/haproxy"];

/// The program; `None`, which is printed, where it is not installed and need not be.
pub fn program() -> Option<&'static str> {
    let runs = |place: &&str| {
        let asked = Command::new(place).arg("-v").stdout(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    let found = PLACES.into_iter().find(|place| runs(place));
    if found.is_none() {
        assert!(
            std::env::var_os("CAUDAL_REQUIRE_HAPROXY").is_none(),
            "haproxy is not installed"
        );
        println!("not run: haproxy is not installed");
    }
    found
}

/// A running HAProxy; it ends when dropped.
pub struct Balancer {
    child: Child,
    /// Where clients reach it.
    pub url: String,
    _dir: TempDir,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // If the test went well, the process still runs, and nothing of it is needed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Balancer {
    /// Starts HAProxy with a configuration in which each of these addresses stands for another one.
    pub async fn start(program: &str, config: &str, addresses: &[(&str, String)]) -> Self {
        let dir = TempDir::new().unwrap();
        let listen = format!("127.0.0.1:{}", port());
        let config = config.replace("bind :8080", &format!("bind {listen}"));
        let mut config = config.replace("127.0.0.1:8079", &format!("127.0.0.1:{}", port()));
        for (written, real) in addresses {
            assert!(config.contains(written), "{written} is not in it");
            config = config.replace(written, real);
        }
        let path = dir.path().join("haproxy.cfg");
        fs::write(&path, config).unwrap();
        checked(program, &path);
        let child = Command::new(program)
            .arg("-f")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let url = format!("http://{listen}");
        let balancer = Self {
            child: child.unwrap(),
            url,
            _dir: dir,
        };
        wait_until("it listens", SOON, async || {
            TcpStream::connect(&listen).await.ok()
        })
        .await;
        balancer
    }
}

/// Checks a configuration as an operator does.
pub fn checked(program: &str, config: &Path) {
    let said = Command::new(program)
        .args(["-c", "-q", "-f"])
        .arg(config)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && text.is_empty(), "{text}");
}
