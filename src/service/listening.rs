//! Listeners: opening and closing them.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;

use super::StartError;

/// Connections that wait to be taken by a listener.
const BACKLOG: u32 = 1024;
/// Listens with a backlog, so that a burst of connections waits instead of being refused.
pub(super) fn listen(addr: SocketAddr, setting: &str) -> Result<TcpListener, StartError> {
    let listen = || {
        let socket = match addr {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
        };
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        socket.listen(BACKLOG)?.into_std()
    };
    listen().map_err(|why: std::io::Error| {
        StartError::Setting(format!(
            "{setting}: cannot listen at {addr}: {why}; choose another address (for `dev` and \
             `sandbox-bank` with --{}; port 0 picks a free port)",
            setting.replace('_', "-")
        ))
    })
}

/// Ends a listener: requests in flight finish first, within `grace`, if it ends gracefully.
pub(super) async fn stop(handle: &ServerHandle, gracefully: bool, grace: Duration) {
    if gracefully && tokio::time::timeout(grace, handle.stop(true)).await.is_ok() {
        return;
    }
    if gracefully {
        tracing::warn!("requests were still running at the shutdown deadline");
    }
    let at_once = tokio::time::timeout(grace, handle.stop(false)).await;
    if at_once.is_err() {
        tracing::error!("listener did not stop in time");
    }
}
