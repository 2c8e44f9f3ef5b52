//! `caudal dev`: the whole service on one machine, for a first look.

mod cluster;

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use caudal_actors::platform::NewTenant;
use caudal_backup::backup_store;
use caudal_backup::run::BackupPlan;
use caudal_backup::ship::ObjectLimits;
use caudal_http::log::LogFormat;
use caudal_http::memory;
use caudal_ledger::tenants::{Mode, Policy};
use caudal_service::{
    self as service, Banking, CellLog, LEASE, Service, ServiceOptions, StartError,
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::Exit;
use super::process;
use super::progress::ProgressLine;
use super::terminal::{self, Hangup, Signals, say};

/// The name and id of the demo tenant.
pub(super) const TENANT: &str = "demo";
/// The file that a running `caudal dev` writes into its folder.
pub(super) const DEV_FILE: &str = "dev.json";
/// The previous run's file, while a start is under way.
const DEV_FILE_LAST: &str = "dev.json.last";
/// The opening balance of each collector account, in centavos: it covers the adjustments of a first look.
const ENDOWMENT: u64 = 100_000_000;
/// How often the journal is shipped, if a backup is requested.
const SHIP_EVERY: Duration = Duration::from_secs(1);
/// The default data folder.
pub(super) const DATA: &str = "./caudal-data";

/// Run the whole service on this machine for a first look: embedded store, embedded sandbox bank,
/// a demo tenant with keys. Starting again on the same folder keeps everything.
#[derive(Debug, clap::Args)]
pub(super) struct DevArgs {
    /// The folder that keeps everything [default: ./caudal-data; with --cluster, one that is removed at the end]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the API listens; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where the admin API listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    admin_listen: SocketAddr,
    /// Where the sandbox bank listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8082")]
    bank_listen: SocketAddr,
    /// Ship the journal to this folder, which is made if it is missing, every second: for trying out backups
    #[arg(long, value_name = "PLACE")]
    backup_to: Option<String>,
    /// Keep the log in this database (`postgres://…`) instead of the folder, which has a copy then: `cell.log` of
    /// `caudal serve` says more
    #[arg(long, value_name = "URL")]
    log: Option<SecretString>,
    /// Start over: remove what an earlier `caudal dev` kept in the folder
    #[arg(long)]
    reset: bool,
    /// Run three nodes on one log in PostgreSQL with a synchronous standby, all on this machine, for a first look;
    /// PostgreSQL's server has to be installed. The addresses are those of the first node; each further node uses
    /// ports ten higher
    #[arg(long, conflicts_with_all = ["log", "backup_to", "reset"])]
    cluster: bool,
    /// Restart nodes and servers of a cluster when they end; without it, their end is only printed
    #[arg(long, requires = "cluster")]
    restart: bool,
}

impl DevArgs {
    /// The data folder of the service.
    fn data(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| DATA.into())
    }
}

/// The addresses and keys of a running `caudal dev`, for programs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DevFile {
    /// The API.
    pub url: String,
    /// The admin API.
    pub admin_url: String,
    /// The sandbox bank.
    pub bank_url: String,
    /// The demo tenant.
    pub tenant_id: String,
    /// A key of its test realm.
    pub test_key: String,
    /// A key of its live realm.
    pub live_key: String,
    /// The credential of the admin API.
    pub admin_key: String,
}

impl DevFile {
    /// The file of a folder, if there is a complete one.
    pub(super) fn read(data: &Path) -> Result<Option<Self>, StartError> {
        for name in [DEV_FILE, DEV_FILE_LAST] {
            let bytes = service::read_file(&data.join(name))?;
            let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if read.is_some() {
                return Ok(read);
            }
        }
        Ok(None)
    }
}

/// Runs the service until a signal.
pub(super) fn run(args: DevArgs) -> Result<(), Exit> {
    if args.cluster {
        return cluster::run(args);
    }
    process::keep_files_private();
    terminal::log(LogFormat::Terminal, "warn,caudal::request=info")?;
    process::give_memory_back()?;
    if args.reset {
        reset(&args.data())?;
    }
    terminal::wait(async {
        let signals = Signals::listen(Hangup::Ends)?;
        let kept = args.data().join(DEV_FILE);
        let (service, file) = start(args).await?;
        // Output that does not go to a terminal is probably stored, by a log or by the system's journal.
        let link = service.console_link();
        greet(&file, &kept, link.as_deref(), io::stdout().is_terminal())?;
        terminal::serve(service, signals).await
    })
}

/// Removes the data of an earlier run from the folder; a folder with other contents is left alone.
fn reset(data: &Path) -> Result<(), Exit> {
    let first = std::fs::read_dir(data).map(|mut entries| entries.next());
    match first {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(None) => return Ok(()),
        Ok(Some(_)) | Err(_) => {}
    }
    if DevFile::read(data)?.is_none() {
        return Err(Exit::usage(format!(
            "{} is no folder of `caudal dev`: it has no {DEV_FILE}. Nothing was removed; choose \
             another folder with --data",
            data.display()
        )));
    }
    service::clear(data)?;
    // Removed last, so that an interrupted removal can be repeated.
    for name in [DEV_FILE_LAST, DEV_FILE] {
        if let Err(why) = std::fs::remove_file(data.join(name))
            && why.kind() != io::ErrorKind::NotFound
        {
            return Err(Exit::failed(format!("removing {name}: {why}")));
        }
    }
    Ok(())
}

/// The cell's log for `--log`.
fn cell(url: SecretString) -> Result<CellLog, Exit> {
    let log = caudal_postgres::Settings::new(&url, None);
    Ok(CellLog {
        log: log.map_err(|why| Exit::usage(format!("--log: {why}")))?,
        node: "dev".to_owned(),
        lease: LEASE,
        url: None,
    })
}

/// Starts the service; when this returns it takes requests and `dev.json` exists.
async fn start(args: DevArgs) -> Result<(Service, DevFile), Exit> {
    let data = args.data();
    let last = DevFile::read(&data)?;
    let admin_key = match &last {
        Some(last) => last.admin_key.clone(),
        None => format!("cdl_admin_{}", service::new_secret()?),
    };
    let cell = args.log.map(cell).transpose()?;
    let line = ProgressLine::new("opening");
    let backup = args.backup_to.as_deref().map(plan).transpose()?;
    let options = ServiceOptions {
        backup,
        cell,
        listen: args.listen,
        admin_listen: args.admin_listen,
        banking: Banking::Sandbox {
            listen: args.bank_listen,
            data: Some(data.join(service::BANK)),
            endowment: ENDOWMENT,
        },
        storage: caudal_storage::StoreOptions {
            abort_on_poison: true,
            progress: Some(line.watch_opening()),
            ..caudal_storage::StoreOptions::default()
        },
        ..ServiceOptions::local(&data, admin_key.clone().into())
    }
    .within(memory::MemoryPlan::of(memory::usual()));
    // A program that waits for the file must not find that of the previous run.
    let (now, before) = (data.join(DEV_FILE), data.join(DEV_FILE_LAST));
    let moved = now.exists() && std::fs::rename(&now, &before).is_ok();
    let started = Service::start(options);
    line.clear();
    let service = match started {
        Ok(service) => service,
        Err(why) => {
            // Another `caudal dev` may be running in this folder: its file has to stay.
            if moved && let Err(why) = std::fs::rename(&before, &now) {
                tracing::warn!(%why, "{DEV_FILE} is now {DEV_FILE_LAST}");
            }
            return Err(why.into());
        }
    };
    let file = introduce(&service, last, admin_key).await?;
    let text = serde_json::to_vec_pretty(&file).map_err(Exit::failed)?;
    service::write_file(&now, &text)?;
    if let Err(why) = std::fs::remove_file(&before)
        && why.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%why, "{} cannot be removed", before.display());
    }
    Ok((service, file))
}

/// The plan for shipping the journal to a place.
fn plan(place: &str) -> Result<BackupPlan, Exit> {
    Ok(BackupPlan {
        backup_store: backup_store::open(place, true)?,
        every: SHIP_EVERY,
        cut: ObjectLimits::default(),
    })
}

/// Creates the demo tenant and its keys, unless they exist.
async fn introduce(
    service: &Service,
    last: Option<DevFile>,
    admin_key: String,
) -> Result<DevFile, Exit> {
    if service.engine.platform().tenant(TENANT).is_err() {
        let demo = NewTenant {
            // Published examples have CUITs with wrong check digits.
            policy: Policy {
                relaxed_test_cuit: true,
                ..Policy::default()
            },
            ..NewTenant::plain(TENANT)
        };
        service.add_tenant(demo).await.map_err(Exit::failed)?;
    }
    let (test, live) = last.map(|last| (last.test_key, last.live_key)).unzip();
    Ok(DevFile {
        url: service.url.clone(),
        admin_url: service.admin_url.clone(),
        bank_url: service.bank_url.clone().unwrap_or_default(),
        tenant_id: TENANT.to_owned(),
        test_key: key(service, test, Mode::Test).await?,
        live_key: key(service, live, Mode::Live).await?,
        admin_key,
    })
}

/// The previous key of a mode if it still works, or else a new one.
async fn key(service: &Service, last: Option<String>, mode: Mode) -> Result<String, Exit> {
    let works = |key: &String| {
        let known = service.keyring.identify(key, &service.engine);
        known.is_some_and(|known| known.tenant == TENANT && known.mode == mode)
    };
    match last.filter(works) {
        Some(key) => Ok(key),
        None => service.issue_key(TENANT, mode).await.map_err(Exit::failed),
    }
}

/// Prints the addresses and the first steps; `keys` tells whether keys may be shown, and `link` counts as one.
fn greet(file: &DevFile, kept: &Path, link: Option<&str>, keys: bool) -> Result<(), Exit> {
    let DevFile {
        url,
        admin_url,
        bank_url,
        test_key,
        live_key,
        admin_key,
        ..
    } = file;
    let kept = kept.display();
    let console = match link.filter(|_| keys) {
        Some(link) => format!("{link}     (logs in once, within ten minutes)"),
        None => format!("{admin_url}/console/     (log in with the admin key)"),
    };
    let (shown, key) = if keys {
        (
            format!(
                "  test key      {test_key}\n  live key      {live_key}\n  admin key     {admin_key}"
            ),
            test_key.clone(),
        )
    } else {
        (
            format!("  keys          in {kept}"),
            format!(r#"$(sed -n 's/.*"testKey": *"\([^"]*\)".*/\1/p' {kept})"#),
        )
    };
    say(&format!(
        r#"Caudal runs. Press Ctrl-C to stop it; the folder keeps everything.

  API           {url}     (pages: {url}/docs/)
  admin API     {admin_url}
  console       {console}
  sandbox bank  {bank_url}     (page: {bank_url}/docs)
{shown}

Open an account, send it money from another bank, and read its balance:

  KEY={key}
  CVU=$(curl -sS {url}/v1/accounts -H "x-api-key: $KEY" \
    -H 'content-type: application/json' -H 'idempotency-key: first' \
    -d '{{"cuit": "20123456786", "holderName": "Ada Lovelace"}}' | sed 's/^{{"cvu":"\([0-9]*\).*/\1/')
  curl -sS {url}/v1/simulations/cash-in -H "x-api-key: $KEY" -H 'content-type: application/json' \
    -d "{{\"cvu\": \"$CVU\", \"amount\": \"5000\"}}"
  curl -sS {url}/v1/accounts/$CVU/balance -H "x-api-key: $KEY"

Every request has a line below.
"#
    ))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn args(dir: &TempDir) -> DevArgs {
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        DevArgs {
            data: Some(dir.path().join("data")),
            log: None,
            listen: free,
            admin_listen: free,
            bank_listen: free,
            backup_to: None,
            reset: false,
            cluster: false,
            restart: false,
        }
    }

    fn kept(dir: &TempDir) -> DevFile {
        DevFile::read(&dir.path().join("data")).unwrap().unwrap()
    }

    #[actix_web::test]
    async fn starting_again_keeps_the_keys_that_still_work() {
        let dir = TempDir::new().unwrap();
        let (service, first) = start(args(&dir)).await.unwrap();
        assert_eq!(kept(&dir), first);
        let mode = std::fs::metadata(dir.path().join("data").join(DEV_FILE)).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
        assert_eq!(mode & 0o777, 0o600);
        // A second run leaves the first one's file alone.
        assert_eq!(start(args(&dir)).await.unwrap_err().code, 3);
        assert_eq!(kept(&dir), first);
        service.kill().await;

        let (service, second) = start(args(&dir)).await.unwrap();
        let keys = |file: &DevFile| {
            let DevFile {
                test_key,
                live_key,
                admin_key,
                ..
            } = file.clone();
            (test_key, live_key, admin_key)
        };
        assert_eq!(keys(&second), keys(&first));
        assert_eq!(service.engine.platform().tenants.len(), 1);
        let test = service
            .keyring
            .identify(&second.test_key, &service.engine)
            .unwrap();
        let order = caudal_actors::platform::PlatformOrder::RevokeKey(test.key);
        service.engine.operators().administer(order).await.unwrap();
        service.stop().await.unwrap();

        let (service, third) = start(args(&dir)).await.unwrap();
        assert_ne!(third.test_key, first.test_key);
        assert_eq!(third.live_key, first.live_key);
        assert!(
            service
                .keyring
                .identify(&third.test_key, &service.engine)
                .is_some()
        );
        assert_eq!(kept(&dir), third);
        service.stop().await.unwrap();
    }

    #[actix_web::test]
    async fn a_reset_begins_anew_and_leaves_folders_of_others_alone() {
        let dir = TempDir::new().unwrap();
        let data = dir.path().join("data");
        reset(&data).unwrap();
        let (service, first) = start(args(&dir)).await.unwrap();
        // The folder is in use.
        assert_eq!(reset(&data).unwrap_err().code, 3);
        service.stop().await.unwrap();
        std::fs::write(data.join("note.txt"), "mine").unwrap();
        reset(&data).unwrap();
        let left: Vec<_> = std::fs::read_dir(&data).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        let (service, second) = start(args(&dir)).await.unwrap();
        assert_ne!(second.test_key, first.test_key);
        service.stop().await.unwrap();
        for name in [DEV_FILE, "note.txt"] {
            std::fs::remove_file(data.join(name)).unwrap();
        }
        assert_eq!(reset(&data).unwrap_err().code, 2);
        assert!(service::knows_a_store(&data).unwrap());
    }
}
