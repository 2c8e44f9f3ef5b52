//! `caudal health`: whether a service takes requests, for containers that have no other program to check that.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use caudal_service::reachable;
use reqwest::Url;
use serde_json::Value;

use super::Exit;
use super::remote::{client, shown};
use super::terminal::{say, wait};

/// The default time to wait for an answer, in seconds.
const TIMEOUT: &str = "5";
/// The default address of a service.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Ask a service on this machine whether it takes requests: exit code 0 when it does, else 1.
#[derive(Debug, clap::Args)]
pub(super) struct HealthArgs {
    /// The address of either listener, for instance http://127.0.0.1:8080; unless set, the one in CAUDAL_LISTEN, or
    /// http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// How long to wait
    #[arg(long, value_name = "SECONDS", default_value = TIMEOUT)]
    timeout: u64,
}

/// Checks the service.
pub(super) fn run(args: &HealthArgs) -> Result<(), Exit> {
    let base = match &args.url {
        Some(url) => url.clone(),
        None => usual(std::env::var("CAUDAL_LISTEN").ok().as_deref())?,
    };
    let url = base.join("/readyz").map_err(Exit::usage)?;
    let client = client(&[&base]).timeout(Duration::from_secs(args.timeout));
    let client = client.build().map_err(Exit::failed)?;
    wait(async {
        let away = |why: reqwest::Error| Exit::failed(format!("{base} does not answer: {why}"));
        let answer = client.get(url).send().await.map_err(away)?;
        let status = answer.status();
        let body: Value = answer.json().await.unwrap_or(Value::Null);
        if status.is_success() {
            say("ready")
        } else {
            Err(Exit::failed(format!(
                "not ready: {status} {}",
                shown(&body, "message")
            )))
        }
    })
}

/// The URL of a service that listens at an address; an unspecified address is reached through the loopback.
fn usual(listen: Option<&str>) -> Result<Url, Exit> {
    let listen = match listen.filter(|text| !text.is_empty()) {
        None => LISTEN,
        Some(text) => text
            .parse()
            .map_err(|why| Exit::usage(format!("CAUDAL_LISTEN: {why}")))?,
    };
    let here = reachable(listen);
    format!("http://{here}").parse().map_err(Exit::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_listens_everywhere_is_asked_here() {
        for (listen, url) in [
            (None, "http://127.0.0.1:8080/"),
            (Some(""), "http://127.0.0.1:8080/"),
            (Some("0.0.0.0:9000"), "http://127.0.0.1:9000/"),
            (Some("[::]:9000"), "http://[::1]:9000/"),
            (Some("10.0.0.7:80"), "http://10.0.0.7/"),
        ] {
            assert_eq!(usual(listen).unwrap().as_str(), url);
        }
        assert_eq!(usual(Some("8080")).unwrap_err().code, 2);
    }
}
