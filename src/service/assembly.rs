//! The parts of a service, put together and taken apart again on the service's own thread.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Weak, mpsc};
use std::time::{Duration, Instant};

use actix_web::rt::System;
use actix_web::rt::task::JoinHandle;
use actix_web::web::ServiceConfig;
use caudal_actors::engine::{Banks, Engine, Outside};
use caudal_actors::failure::Failure;
use caudal_actors::ports::webhooks::WebhookSink;
use caudal_api::v1::webhooks::{TEST_BURST, TEST_EVERY};
use caudal_backup::outgoing::Outgoing;
use caudal_backup::run;
use caudal_bank::notices::route;
use caudal_bank::{self as bank, HttpGateway, MayCall};
use caudal_http::audit_rate::AuditRate;
use caudal_http::gate::Gate;
use caudal_http::keys::{Keyring, RootKey};
use caudal_http::measures::banks::counted;
use caudal_http::measures::{Measures, hooks};
use caudal_http::memory;
use caudal_http::pool::Pool;
use caudal_http::rate::{KeyRate, Rate};
use caudal_http::streams::Streams;
use caudal_http::webhooks::resolve::SystemLookup;
use caudal_http::webhooks::{HttpSink, Sealer};
use caudal_http::wire::{Bounds, Listening};
use caudal_http::wrong_keys::WrongKeys;
use caudal_http::{AppState, Hooks, key_reads};
use caudal_ledger::people::{Person, Power};
use caudal_operators::admin;
use caudal_operators::admin::AdminState;
use caudal_operators::console::Console;
use caudal_sandbox::{self as sandbox, Sandbox};
use caudal_storage::Store;
use secrecy::SecretString;
use tokio::sync::oneshot;

use super::banks::{Usual, maker};
use super::listening::{listen, stop};
use super::seals::PepperSigner;
use super::secrets::SecretFiles;
use super::shipping::ship;
use super::timers::Timers;
use super::{Banking, ServiceOptions, StartError, Started, descriptors, folder, nodes};
use crate::server;

/// How long the threads of the actors may take to release the store.
const RELEASE: Duration = Duration::from_secs(10);

/// The running parts, in the order in which they are stopped.
struct Parts {
    app: AppState,
    public: server::RunningServer,
    admin: admin::AdminListener,
    console: Arc<Console>,
    sandbox: Option<sandbox::Running>,
    timed: Vec<JoinHandle<()>>,
    nodes: Option<nodes::RunningNode>,
    watch: Option<JoinHandle<()>>,
    reads: JoinHandle<()>,
    backup: Option<run::ShippingThread>,
    grace: Duration,
    store: Weak<dyn Store>,
    /// The lock of the data folder.
    _held: File,
}

/// Runs a service on this thread until it is told to stop, or until the other end of the channel is dropped (a crash).
pub(super) fn live(
    options: ServiceOptions,
    tell: &mpsc::Sender<Result<Started, StartError>>,
    stop: oneshot::Receiver<()>,
) -> Result<(), Failure> {
    let system = System::new();
    let (outcome, store) = system.block_on(async {
        let parts = match Parts::start(options) {
            Ok(parts) => parts,
            Err(why) => {
                tell.send(Err(why)).ok();
                return (Ok(()), None);
            }
        };
        tell.send(Ok(parts.started())).ok();
        let gracefully = stop.await.is_ok();
        let (ended, store) = parts.end(gracefully).await;
        (ended, Some(store))
    });
    System::current().stop();
    if let Err(why) = system.run() {
        tracing::error!(%why, "the actor system did not stop cleanly");
    }
    store.iter().for_each(released);
    outcome
}

/// The configured admin key, unless it is switched off.
fn root(
    key: &SecretString,
    enabled: bool,
    engine: &Engine,
) -> Result<Option<Arc<RootKey>>, StartError> {
    let acts = |person: &Person| person.role.may(Power::Act);
    if enabled {
        return Ok(Some(Arc::new(RootKey::new(key))));
    }
    if engine.operators().staff().people.working().any(acts) {
        Ok(None)
    } else {
        Err(StartError::Setting(
            "admin_key_enabled is false, and nobody has a credential with which to act: start with it, add an \
             operator or approver (`caudal admin people add`), and switch it off then"
                .to_owned(),
        ))
    }
}

/// Waits until the actors' threads have released the store and its lock.
fn released(store: &Weak<dyn Store>) {
    let since = Instant::now();
    while store.strong_count() > 0 {
        if since.elapsed() > RELEASE {
            tracing::warn!("the store is still in use; its folder stays locked");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Makes the data folder, if it is missing, and locks it. No store is created unless both listeners can be bound; they are
/// released until there is one.
fn hold(options: &ServiceOptions) -> Result<File, StartError> {
    drop(listen(options.admin_listen, "admin_listen")?);
    drop(listen(options.listen, "listen")?);
    folder::prepare(&options.data)?;
    folder::hold(&options.data)
}

/// Starts the admin listener, with the console on it.
fn operate(
    app: &AppState,
    options: &ServiceOptions,
    backup: Option<&run::ShippingThread>,
    outgoing: Arc<Outgoing>,
) -> Result<(admin::AdminListener, Arc<Console>), StartError> {
    let listener = listen(options.admin_listen, "admin_listen")?;
    let app = AppState {
        wrong_keys: Arc::new(WrongKeys::new(options.wrong_keys, admin::CONNECTIONS)),
        ..app.clone()
    };
    let backup = backup.map(|it| Arc::clone(&it.backup));
    let admin_state = AdminState::new(app, backup, outgoing);
    let console = Console::start(&admin_state.app);
    let shared = Arc::clone(&console);
    let beside = move |config: &mut ServiceConfig| Arc::clone(&shared).routes(config);
    let admin = admin::start(&admin_state, listener, beside);
    let failed = |why| StartError::io("starting the admin listener", why);
    Ok((admin.map_err(failed)?, console))
}

/// Starts the public listener, within the descriptors that are left for its connections.
fn serve(
    app: &AppState,
    options: &ServiceOptions,
    room: usize,
) -> Result<server::RunningServer, StartError> {
    let mut limits = options.limits.clone();
    if limits.connections > room {
        tracing::warn!(
            wanted = limits.connections,
            connections = room,
            "the limit of descriptors leaves fewer connections than are set"
        );
        limits.connections = room;
    }
    let bounds = Bounds::new(limits, Arc::clone(&app.gate), Arc::clone(&app.unread));
    let how = Listening {
        workers: match options.workers {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            some => some,
        },
        bounds: Arc::new(bounds),
        head: options.deadlines.head,
        answer: options.answer,
        grace: options.grace,
    };
    let listener = listen(options.listen, "listen")?;
    let failed = |why| StartError::io("starting the public listener", why);
    server::start(app.clone(), listener, &how, options.extra).map_err(failed)
}

impl Parts {
    fn start(mut options: ServiceOptions) -> Result<Self, StartError> {
        let room = descriptors::raise()?;
        let measures = Arc::new(Measures::default());
        options.storage.times = measures.store();
        let held = hold(&options)?;
        let peppers = folder::peppers(&options.data, options.pepper.as_ref())?;
        let (opened, ahead) = nodes::open(&options)?;
        let node = ahead.as_ref().map(|ahead| Arc::clone(&ahead.node));
        let store = Arc::downgrade(&opened.store);
        folder::remember(&options.data, &peppers)?;
        let (banks, sandbox) = banks(&options, &peppers, nodes::may_call(opened.member))?;
        let (sink, hooks) = webhooks(&options, &peppers)?;
        let outgoing = leaving(&options.data)?;
        let outside = Outside {
            banks: counted(&measures, banks),
            sink: hooks::counted(&measures, sink),
            held: outgoing.watch(),
            seals: Arc::new(PepperSigner::new(&peppers)),
        };
        let clock = Arc::clone(&options.clock);
        let actors = options.engine.resting(ahead.is_some());
        let engine = Engine::timed(opened.store, clock, outside, actors, measures.actors())?;
        let backup = ship(options.backup.take(), opened.records, &options.data, &node)?;
        let connections = options.limits.connections.min(room);
        let no_pool = |why| StartError::io("starting the threads for long JSON", why);
        let app = AppState {
            root: root(&options.admin_key, options.admin_key_enabled, &engine)?,
            engine: Arc::new(engine),
            keyring: Arc::new(Keyring::new(&peppers, options.shard)),
            gate: Arc::new(Gate::default()),
            pool: Arc::new(Pool::start().map_err(no_pool)?),
            hooks: Arc::new(hooks),
            calendar: Arc::clone(&options.calendar),
            deadlines: options.deadlines,
            log_every: options.log_every,
            audit_rate: Arc::new(AuditRate::new(options.audit_burst)),
            key_reads: Arc::default(),
            wrong_keys: Arc::new(WrongKeys::new(options.wrong_keys, connections)),
            rate: options.rate.map(|rate| Arc::new(KeyRate::new(rate))),
            memory: options.memory,
            unread: Arc::default(),
            measures,
            log: opened.log,
            proxies: options.limits.proxies.as_slice().into(),
            node,
        };
        let (admin, console) = operate(&app, &options, backup.as_ref(), outgoing)?;
        let public = serve(&app, &options, room)?;
        notify(sandbox.as_ref(), public.addr)?;
        let (nodes, timed) = match ahead {
            // The timers start when the node has taken the log.
            Some(ahead) => (Some(ahead.begin(&app, Timers::of(&options))), Vec::new()),
            None => (None, Timers::of(&options).start(&app)),
        };
        let watched = |plan| memory::watch(&app.engine, plan, &app.unread);
        let watch = options.memory.map(watched);
        Ok(Self {
            reads: key_reads::keep_writing(app.clone()),
            timed,
            nodes,
            watch,
            backup,
            app,
            public,
            admin,
            console,
            sandbox,
            grace: options.grace,
            store,
            _held: held,
        })
    }

    fn started(&self) -> Started {
        Started {
            addr: self.public.addr,
            admin_addr: self.admin.addr,
            bank_url: self.sandbox.as_ref().map(sandbox::Running::url),
            console: Arc::clone(&self.console),
            app: self.app.clone(),
        }
    }

    async fn end(self, gracefully: bool) -> (Result<(), Failure>, Weak<dyn Store>) {
        if gracefully && let Some(nodes) = &self.nodes {
            nodes.leave(&self.app).await;
        }
        self.app.gate.close();
        for task in self.timed.iter().chain(&self.watch).chain([&self.reads]) {
            task.abort();
        }
        stop(&self.public.handle, gracefully, self.grace).await;
        if gracefully
            && self.app.is_owners()
            && let Err(why) = self.app.key_reads.write(&self.app.engine).await
        {
            tracing::warn!(%why, "the latest reads of keys are not in the audit log");
        }
        if let Some(nodes) = self.nodes {
            nodes.end();
        }
        let closed = if gracefully {
            self.app.engine.lifecycle().close()
        } else {
            Ok(())
        };
        stop(&self.admin.handle, gracefully, self.grace).await;
        if let Some(backup) = self.backup {
            backup.stop(gracefully).await;
        }
        drop(self.app);
        if let Some(sandbox) = self.sandbox
            && let Err(why) = sandbox.stop().await
        {
            tracing::warn!(%why, "the sandbox bank did not end well");
        }
        (closed, self.store)
    }
}

/// Whether outgoing calls are held, as the folder says; if so, warns in the log.
fn leaving(data: &Path) -> Result<Arc<Outgoing>, StartError> {
    let outgoing = folder::outgoing(data)?;
    if outgoing.is_held() {
        tracing::warn!("transfers and webhooks are held until POST /admin/outgoing/release");
    }
    Ok(Arc::new(outgoing))
}

/// Tells the embedded sandbox bank where to send notices.
fn notify(sandbox: Option<&sandbox::Running>, addr: SocketAddr) -> Result<(), StartError> {
    let Some(sandbox) = sandbox else {
        return Ok(());
    };
    let failed = |why| StartError::io("telling the sandbox bank where notices go", why);
    let url = format!("http://{}{}", reachable(addr), route::PATH);
    sandbox.notify(Some(&url), None).map_err(failed)
}

/// The address at which this machine reaches a listener that may be bound to all interfaces.
pub fn reachable(mut addr: SocketAddr) -> SocketAddr {
    match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => addr.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => addr.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    addr
}

/// The banks of all realms. The embedded sandbox signs its notices with a secret of this folder; without a secret the
/// service rejects every notice.
fn banks(
    options: &ServiceOptions,
    peppers: &SecretString,
    may_call: MayCall,
) -> Result<(Banks, Option<sandbox::Running>), StartError> {
    let secrets = SecretFiles::in_folder(options.secrets.clone());
    match &options.banking {
        Banking::Given(banks) => Ok((Arc::clone(banks), None)),
        Banking::Remote { live, test } => {
            let live = live.as_deref().cloned();
            let test = test.as_ref().clone();
            for (mode, usual) in [("live", live.as_ref()), ("test", Some(&test))] {
                let made = usual.map(|usual| HttpGateway::new(usual.config.clone()));
                made.transpose()
                    .map_err(|why| StartError::Setting(format!("bank.{mode}: {why}")))?;
            }
            Ok((maker(live, Some(test), secrets, may_call), None))
        }
        Banking::Sandbox {
            listen,
            data,
            endowment,
        } => {
            let notices = folder::notice_secret(peppers);
            let options = sandbox::SandboxOptions {
                listen: *listen,
                data_dir: data.clone(),
                calendar: Arc::clone(&options.calendar),
                notice_secret: notices.clone(),
                endowment: *endowment,
                ..sandbox::SandboxOptions::default()
            };
            let failed = |why| {
                StartError::Setting(format!(
                    "bank_listen: the sandbox bank cannot start at {listen}: {why}; choose \
                     another address (port 0 picks a free port)"
                ))
            };
            let running = Sandbox::start(options).map_err(failed)?;
            let config = bank::Config {
                notice_secret: Some(notices),
                ..bank::Config::new(
                    running.url(),
                    sandbox::USERNAME,
                    sandbox::PASSWORD,
                    sandbox::COLLECTOR,
                )
            };
            let worlds = true;
            let usual = Some(Usual { config, worlds });
            let banks = maker(usual.clone(), usual, secrets, may_call);
            Ok((banks, Some(running)))
        }
    }
}

/// The sink that sends webhooks, and the parts that handlers need for them.
fn webhooks(
    options: &ServiceOptions,
    peppers: &SecretString,
) -> Result<(Arc<dyn WebhookSink>, Hooks), StartError> {
    let failed = |why: &dyn std::fmt::Display| StartError::Setting(format!("webhooks: {why}"));
    let sealer = || Sealer::new(peppers).map_err(|why| failed(&why));
    let lookup = Arc::new(SystemLookup::default());
    let sink = HttpSink::with(options.reach.clone(), sealer()?, options.attempt, lookup);
    let hooks = Hooks {
        reach: options.reach.clone(),
        sealer: sealer()?,
        streams: Streams::new(options.streams),
        tests: Rate::new(TEST_BURST, TEST_EVERY),
    };
    Ok((Arc::new(sink.map_err(|why| failed(&why))?), hooks))
}
