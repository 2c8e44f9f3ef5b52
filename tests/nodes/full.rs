//! Three processes on a log whose server runs out of room, first on the disk of its own log, then on that of its
//! tables, and gets some again.
//!
//! Without room for its own log PostgreSQL ends by itself; the test starts it when there is room. Without room for
//! tables it keeps running, and refuses whatever needs more of it: an append, and perhaps the renewal of the lease.
//!
//! The test needs root, to mount disks in memory, and prints `not run` without. `CAUDAL_NODE_FULL` sets how often it
//! runs, once by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use caudal_postgres::local::{Programs, Server, USER};
use caudal_postgres::server::installed;
use tempfile::TempDir;

use super::site::{EPOCHS_BACK, LONG, Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::wait_until;

/// How a line about a full disk begins in the server's log: an error code, which is the same in every language.
const NO_ROOM: &str = "\n53100 ";
/// How many orders and renewals are refused before there is room again.
const REFUSED: usize = 16;

/// A disk in memory, unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// Mounts the disk; returns `None` and prints why where mounting is not allowed.
    fn at(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let how = ["-t", "tmpfs", "-o", "size=128m", "tmpfs"];
        let mounted = Command::new("mount").args(how).arg(&path).output();
        let why = match mounted {
            Ok(done) if done.status.success() => return Some(Self(path)),
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            Err(why) => why.to_string(),
        };
        println!("not run: a disk in memory needs root: {why}");
        None
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills the disk until nothing fits any more.
    fn fill(&self) {
        let mut filler = File::options();
        let filler = filler.create(true).append(true);
        let mut filler = filler.open(self.filler()).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: the name is gone at once, and files that are still open go with their process.
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// A server with its own log on one disk and its tables on another.
struct Database {
    /// First, so that the server ends before its disks go.
    server: Server,
    log: Disk,
    tables: Disk,
    dir: TempDir,
}

impl Database {
    fn start() -> Option<Self> {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let log = Disk::at(dir.path().join("log"))?;
        let tables = Disk::at(dir.path().join("tables"))?;
        let programs = Programs::find().unwrap();
        let server = programs.make(&Self::folder(dir.path()), "").unwrap();
        let (here, there) = (server.data().join("pg_wal"), log.0.join("pg_wal"));
        let moved = Command::new("cp").arg("-a").args([&here, &there]).status();
        assert!(moved.unwrap().success());
        fs::remove_dir_all(&here).unwrap();
        symlink(&there, &here).unwrap();
        for (name, value) in [
            ("wal_keep_size", "0"),
            ("min_wal_size", "32MB"),
            ("max_wal_size", "64MB"),
            // Every file of its log needs room of its own, and the process that started the server sees it end.
            ("wal_recycle", "off"),
            ("restart_after_crash", "off"),
            ("log_line_prefix", "%e "),
        ] {
            server.set(name, value).unwrap();
        }
        server.start(&[]).unwrap();
        let place = tables.0.join("place");
        fs::create_dir(&place).unwrap();
        programs.give(&place).unwrap();
        let place = format!("CREATE TABLESPACE place LOCATION '{}'", place.display());
        server.sql(USER, &place).unwrap();
        // For the nodes, which create their tables there.
        server.set("default_tablespace", "place").unwrap();
        server.stop().unwrap();
        server.start(&[]).unwrap();
        Some(Self {
            server,
            log,
            tables,
            dir,
        })
    }

    fn folder(dir: &Path) -> PathBuf {
        dir.join("db")
    }

    /// How often the server reported that there is no room.
    fn refusals(&self) -> usize {
        let said = fs::read(Self::folder(self.dir.path()).join("log")).unwrap();
        String::from_utf8_lossy(&said).matches(NO_ROOM).count()
    }

    /// Waits until the server ends for want of room on the disk of its log, and starts it when there is some.
    async fn ends_and_starts(&self) {
        wait_until("it needs more room, and ends", LONG, async || {
            // Fills what the server frees of its log.
            self.log.fill();
            // Asks for the next file of the log; the server ends at that, and may not answer any more.
            self.server.sql(USER, "SELECT pg_switch_wal()").ok();
            self.server.ended().unwrap()
        })
        .await;
        self.log.free();
        self.server.start(&[]).unwrap();
    }

    /// Waits until the server refuses what needs room on the disk of its tables, and then makes room.
    async fn refuses_and_goes_on(&self) {
        let until = self.refusals() + REFUSED;
        self.tables.fill();
        wait_until("it refuses for want of room", LONG, async || {
            (self.refusals() >= until).then_some(())
        })
        .await;
        assert_eq!(self.server.ended().unwrap(), None);
        self.tables.free();
    }
}

#[actix_web::test]
async fn a_full_disk_of_the_database_stops_orders_and_loses_nothing() {
    if !installed() {
        return;
    }
    let Some(database) = Database::start() else {
        return;
    };
    let url = Server::url(&[&database.server], USER);
    let site = Site::start(url, Bank::start(), loopback()).await;
    let lies =
        "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'caudal%' AND tablespace = 'place'";
    let tables = database.server.sql(USER, lies).unwrap();
    assert_ne!(tables, "0", "its tables are on the disk");
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for _ in 0..number("CAUDAL_NODE_FULL", 1) {
        for what in ["the database's log has no room", "its tables have no room"] {
            site.whole().await;
            site.more(64).await;
            let since = Instant::now();
            match what {
                "its tables have no room" => database.refuses_and_goes_on().await,
                _ => database.ends_and_starts().await,
            }
            site.more(64).await;
            pauses.entry(what).or_default().push(site.pause(since));
        }
    }
    let counts = site.end().await;
    let back = database.server.sql(USER, EPOCHS_BACK).unwrap();
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
