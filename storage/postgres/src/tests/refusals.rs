//! Servers that are unfit to keep a log, and wrong settings to reach one.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use caudal_storage::CommitNo;
use caudal_storage::log::Log as _;
use secrecy::SecretString;

use crate::local::{self, Programs, USER};
use crate::server::{Server, cell, installed, limits, own, shared};
use crate::{Begin, PostgresLog, Settings};

/// The error of opening a log that is refused.
fn refused(mut settings: Settings) -> String {
    settings.limits.patience = Duration::from_millis(200);
    match PostgresLog::open(settings) {
        Err(why) => why.to_string(),
        Ok(log) => panic!("{log:?} was taken"),
    }
}

fn of(url: &str) -> Settings {
    Settings::new(&SecretString::from(url), None).unwrap()
}

#[test]
fn a_server_that_may_lose_what_it_acknowledged_is_refused_by_the_setting() {
    let Some(server) = own() else { return };
    let settings = || server.settings(server.port, 0);
    drop(PostgresLog::open(settings()).unwrap());
    let unsafe_settings = [
        "fsync=off",
        "synchronous_commit=off",
        "synchronous_commit=local",
        "synchronous_commit=remote_write",
        "default_transaction_read_only=on",
    ];
    for setting in unsafe_settings {
        server.stop();
        server.start(&[setting]);
        let why = refused(settings());
        let name = match setting.split_once('=').unwrap() {
            ("default_transaction_read_only", _) => "transaction_read_only",
            (name, _) => name,
        };
        assert!(why.contains(name), "{setting}: {why}");
    }
    // A standby that was never promoted.
    server.stop();
    let signal = server.data().join("standby.signal");
    fs::write(&signal, "").unwrap();
    server.give(&signal);
    server.start(&[]);
    let why = refused(settings());
    assert!(why.contains("standby"), "{why}");
}

#[test]
fn a_handle_does_not_go_on_with_a_server_that_became_unsafe() {
    let Some(server) = own() else { return };
    let mut settings = server.settings(server.port, cell());
    settings.limits.patience = Duration::from_secs(2);
    let mut log = PostgresLog::open(settings).unwrap();
    let lease = Duration::from_secs(3600);
    let epoch = log.acquire("one", lease).unwrap();
    log.renew(epoch, lease, CommitNo(0)).unwrap();
    let file = server.data().join("postgresql.auto.conf");
    fs::write(&file, "fsync = off\n").unwrap();
    server.give(&file);
    server.sql("postgres", "SELECT pg_reload_conf()");
    while server.sql("postgres", "SHOW fsync") == "on" {}
    let why = loop {
        // The connection notices with some delay.
        if let Err(why) = log.renew(epoch, lease, CommitNo(0)) {
            break why.to_string();
        }
    };
    assert!(why.contains("fsync"), "{why}");
}

#[test]
fn other_tables_and_other_logs_are_refused() {
    let Some(server) = shared() else { return };
    server.sql("postgres", "CREATE DATABASE newer");
    let url = format!("postgres://postgres@127.0.0.1:{}/newer", server.port);
    drop(PostgresLog::open(of(&url)).unwrap());
    server.sql("newer", "UPDATE caudal_schema SET version = 5");
    let why = refused(of(&url));
    assert!(why.contains("version 5"), "{why}");
    server.sql("newer", "UPDATE caudal_schema SET version = 4");
    // The same place, but with another log in it.
    let log = PostgresLog::open(of(&url)).unwrap();
    server.sql(
        "newer",
        "UPDATE caudal_cell SET log = hash; SELECT pg_terminate_backend(pid) \
         FROM pg_stat_activity WHERE datname = 'newer' AND application_name = 'caudal'",
    );
    let mut settings = of(&url);
    settings.limits.patience = Duration::from_millis(200);
    assert!(PostgresLog::open(settings).is_err());
    drop(log);
}

#[test]
fn a_handle_does_not_take_a_cell_on_which_another_log_was_begun() {
    let Some(server) = shared() else { return };
    let settings = server.settings(server.port, cell());
    let mut early = PostgresLog::open(settings.clone()).unwrap();
    // The cell was never used, so another folder begins its own log there.
    let mut late = PostgresLog::connect(settings, Begin::As([7; 16])).unwrap();
    let lease = Duration::from_secs(3600);
    let taken = early.acquire("one", lease).unwrap_err().to_string();
    assert!(taken.contains("another log"), "{taken}");
    let taken = early.reserve("one").unwrap_err().to_string();
    assert!(taken.contains("another log"), "{taken}");
    late.acquire("two", lease).unwrap();
}

#[test]
fn passwords_are_asked_for_and_never_shown() {
    let Some(server) = shared() else { return };
    let secret = "s3cr3t-word";
    server.sql(
        "postgres",
        &format!("CREATE ROLE keeper LOGIN PASSWORD '{secret}'"),
    );
    server.sql("postgres", "CREATE DATABASE kept OWNER keeper");
    let rules = server.data().join("pg_hba.conf");
    let before = fs::read_to_string(&rules).unwrap();
    let rule = "host all keeper 127.0.0.1/32 scram-sha-256\n";
    fs::write(&rules, format!("{rule}{before}")).unwrap();
    server.sql("postgres", "SELECT pg_reload_conf()");
    let at = |password: &str| {
        of(&format!(
            "postgres://keeper{password}@127.0.0.1:{}/kept",
            server.port
        ))
    };
    // The server reloads its rules with some delay.
    while PostgresLog::open(at("")).is_ok() {}
    let right = at(&format!(":{secret}"));
    let shown = format!("{right:?} {:?}", PostgresLog::open(right.clone()).unwrap());
    assert!(!shown.contains(secret), "{shown}");
    let given = SecretString::from(secret);
    let url = SecretString::from(format!("postgres://keeper@127.0.0.1:{}/kept", server.port));
    drop(PostgresLog::open(Settings::new(&url, Some(&given)).unwrap()).unwrap());
    let why = refused(at(":another-word"));
    assert!(why.contains("password authentication failed"), "{why}");
    assert!(!why.contains("another-word"), "{why}");
    for (lines, opens) in [
        (format!("another-word\n{secret}\n"), true),
        (format!("{secret}\nanother-word"), true),
        ("another-word\nyet-another".to_owned(), false),
    ] {
        let settings = Settings::new(&url, Some(&lines.as_str().into())).unwrap();
        assert_eq!(PostgresLog::open(settings).is_ok(), opens, "{lines:?}");
    }
    a_password_is_changed_while_the_log_is_open(&server, &url, secret);
}

/// Both sides are changed one after the other, in either order, and the log is the same one.
fn a_password_is_changed_while_the_log_is_open(server: &Server, url: &SecretString, old: &str) {
    let file = server.data().join("keeper.password");
    fs::write(&file, old).unwrap();
    let mut settings = Settings::new(url, None).unwrap();
    settings.password_file = Some(file.clone());
    settings.limits.patience = Duration::from_millis(200);
    let log = PostgresLog::open(settings.clone()).unwrap();
    let end = || {
        server.sql(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'keeper'",
        );
    };
    let change = |new: &str| server.sql("postgres", &format!("ALTER ROLE keeper PASSWORD '{new}'"));
    // Ours first: the file has both while the database changes.
    fs::write(&file, format!("s3cond-word\n{old}")).unwrap();
    for step in [None, Some("s3cond-word")] {
        if let Some(new) = step {
            change(new);
        }
        end();
        log.cluster_view().unwrap();
    }
    // The database's first: nobody can connect until the file has it, and then without a restart.
    change("th1rd-word");
    end();
    assert!(log.cluster_view().is_err());
    fs::write(&file, "th1rd-word\n").unwrap();
    log.cluster_view().unwrap();
    fs::remove_file(&file).unwrap();
    let why = refused(settings);
    assert!(why.contains("keeper.password"), "{why}");
}

#[test]
fn an_unreachable_service_is_reported_with_its_address() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let why = refused(of(&format!("postgres://u:s3cr3t@127.0.0.1:{port}/db")));
    assert!(
        why.contains("no server takes writes") && !why.contains("s3cr3t"),
        "{why}"
    );
}

#[test]
fn the_server_that_accepts_writes_is_used() {
    let Some(server) = shared() else { return };
    let Some(other) = own() else { return };
    other.stop();
    let nobody = other.port;
    other.start(&["default_transaction_read_only=on"]);
    let url = format!(
        "postgres://postgres@127.0.0.1:{nobody},127.0.0.1:{}/postgres",
        server.port
    );
    let log = PostgresLog::open(of(&url)).unwrap();
    assert_eq!(log.id(), server.open(0).id());
}

/// Creates the certificate of an authority and one of a server, in the server's folder.
fn certificates(server: &Server) -> bool {
    let dir = server.data();
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.crt \
        -addext basicConstraints=critical,CA:TRUE && \
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr && \
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\nbasicConstraints=CA:FALSE' > ext && \
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.crt && \
        chmod 600 server.key";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(&dir)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("not run: openssl makes no certificates here");
        return false;
    }
    ["server.key", "server.crt"]
        .iter()
        .for_each(|name| server.give(&dir.join(name)));
    true
}

#[test]
fn encrypted_connections_know_their_server() {
    let Some(server) = own() else { return };
    server.stop();
    if !certificates(&server) {
        return;
    }
    server.start(&["ssl=on"]);
    let url = format!(
        "postgres://postgres@localhost:{}/postgres?sslmode=require",
        server.port
    );
    let known = || {
        let mut settings = of(&url);
        settings.authorities = Some(server.data().join("ca.crt"));
        settings
    };
    let log = PostgresLog::open(known()).unwrap();
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE application_name = 'caudal'";
    assert_eq!(server.sql("postgres", encrypted), "t");
    drop(log);
    // The system's authorities do not know it.
    let why = refused(of(&url));
    assert!(why.contains("ertificate"), "{why}");
    // A server that does not encrypt is not used.
    server.stop();
    server.start(&["ssl=off"]);
    let why = refused(known());
    assert!(why.contains("TLS") || why.contains("tls"), "{why}");
}

#[test]
fn a_server_that_stands_still_keeps_nobody_from_the_one_that_takes_writes() {
    let Some(server) = shared() else { return };
    // The system accepts connections for it, but nobody answers.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let still = nobody.local_addr().unwrap();
    let right = format!("127.0.0.1:{}", server.port);
    for hosts in [format!("{still},{right}"), format!("{right},{still}")] {
        let mut settings = of(&format!("postgres://postgres@{hosts}/postgres"));
        settings.limits = limits();
        drop(PostgresLog::open(settings).unwrap());
    }
    let mut settings = of(&format!("postgres://postgres@{still}/postgres"));
    settings.limits.connect = Duration::from_millis(100);
    let why = refused(settings);
    assert!(why.contains("does not answer in 100 ms"), "{why}");
}

#[test]
fn the_server_promoted_last_is_used() {
    if !installed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    let programs = Programs::find().unwrap();
    let before = programs.make(&dir.path().join("one"), "").unwrap();
    before.start(&[]).unwrap();
    let after = before.standby(&dir.path().join("two"), "two").unwrap();
    after.promote().unwrap();
    for servers in [[&before, &after], [&after, &before]] {
        let url = SecretString::from(local::Server::url(&servers, USER));
        let mut settings = Settings::new(&url, None).unwrap();
        // However slow the machine is, both servers answer.
        settings.limits.connect = Duration::from_secs(120);
        drop(PostgresLog::open(settings).unwrap());
    }
    let tables = "SELECT count(*) FROM pg_class WHERE relname = 'caudal_cell'";
    assert_eq!(before.sql(USER, tables).unwrap(), "0");
    assert_eq!(after.sql(USER, tables).unwrap(), "1");
}
