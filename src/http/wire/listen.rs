//! Serves an application over wires: like `HttpServer`, but with the stream in our hands.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol, Request, Response};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Server};
use tokio::net::TcpStream;

use super::connections::Bounds;
use super::{ClientTimeouts, Wire};

/// How long an idle connection is kept.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How many bytes wait for the kernel when the library takes a further piece of an answer: more than the head of an
/// answer, so that its first piece goes with it, and less than a piece.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;

/// The settings of a listener.
#[derive(Clone, Debug)]
pub struct Listening {
    /// How many threads it has.
    pub workers: usize,
    /// How many connections there may be.
    pub bounds: Arc<Bounds>,
    /// How long a client may take to send a head.
    pub head: Duration,
    /// How long a client may leave an answer unread.
    pub answer: Duration,
    /// How long requests in flight have to finish when it stops, in whole seconds.
    pub grace: Duration,
}

/// Serves the application that the factory makes, once for each thread. The caller handles signals.
///
/// # Errors
/// When the listener cannot be used.
pub fn listen<F, I, S, B>(factory: F, listener: TcpListener, how: &Listening) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let addr = listener.local_addr()?;
    let bounds = Arc::clone(&how.bounds);
    let patience = ClientTimeouts {
        head: how.head,
        answer: how.answer,
    };
    let builder = Server::build();
    let stop = builder.graceful_shutdown_signal();
    let builder = builder
        .workers(how.workers)
        .max_concurrent_connections(bounds.most(how.workers))
        .shutdown_timeout(how.grace.as_secs())
        .disable_signals();
    let serve = move || {
        let (factory, stop) = (factory.clone(), stop.clone());
        let bounds = Arc::clone(&bounds);
        let app = factory().into_factory();
        let app = app.map_err(|why| why.into().error_response());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stop = stop.clone();
                async move { stop.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            // The wire has its own clock for every head; the library's covers only the first.
            .client_request_timeout(Duration::ZERO)
            // A client that closes its side has left: its handler is dropped, and so is its order, if its turn has
            // not come.
            .h1_allow_half_closed(false)
            // A further piece of an answer is taken only when the one before has left.
            .h1_write_buffer_size(WRITE_BUFFER_BYTES)
            .local_addr(addr)
            .on_connect_ext(|wire: &Wire, data| {
                data.insert(wire.permit.pass());
            })
            .finish(map_config(app, |()| AppConfig::default()));
        fn_service(move |io: TcpStream| {
            let from = io.peer_addr().ok();
            let permit = bounds.take(from);
            async move {
                let permit = permit
                    .ok_or_else(|| DispatchError::Io(io::Error::other("too many connections")))?;
                Ok((Wire::new(io, permit, patience), Protocol::Http1, from))
            }
        })
        .and_then(http)
    };
    Ok(builder.listen(addr.to_string(), listener, serve)?.run())
}
