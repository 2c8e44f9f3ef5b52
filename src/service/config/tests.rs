//! Settings as operators write them, correct and wrong.

use std::collections::BTreeSet;

use secrecy::ExposeSecret as _;

use super::*;

const KEY: &str = "q3Jx9vT0bWz5LrM2cHn8YdKs7PfGa1Eu";

const NOTICES: &str = "Zk4u8QmB1xYtV6rNc0LsHj3WgEaP9dFo";

fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Settings::parse(text, variables.collect())
}

fn options(text: &str, variables: &[(&str, &str)]) -> Result<ServiceOptions, String> {
    let options = parse(text, variables).and_then(Settings::options);
    options.map_err(|why| why.to_string())
}

/// The required settings, followed by more.
fn enough(more: &str) -> String {
    format!(
        "data = \"/d\"\nadmin_key = \"{KEY}\"\n{more}\n[bank.live]\nbase_url = \"https://b.ar\"\n\
         username = \"u\"\npassword = \"p\"\ncollector = \"3220001805007351350083\"\n\
         notice_secret = \"{NOTICES}\"\n"
    )
}

#[test]
fn the_example_is_complete_and_names_what_must_be_set() {
    let bare = options(EXAMPLE, &[]).err().unwrap();
    let named = [
        "admin_key",
        "base_url",
        "username",
        "password",
        "collector",
        "notice_secret",
    ];
    assert!(named.iter().all(|name| bare.contains(name)), "{bare}");
    assert_eq!(bare.lines().count(), 7, "{bare}");
    // The example shows the actual defaults.
    let shown: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '[') => rest,
            Some(_) | None => line,
        })
        .fold(String::new(), |text, line| text + line + "\n");
    let with = |text: &str| {
        let mut settings = parse(text, &[("CAUDAL_ADMIN_KEY", KEY)]).unwrap();
        settings.rate_limit = None;
        settings.pepper = None;
        settings.calendar = None;
        settings.secrets_folder = None;
        settings.backup.to = None;
        settings.traces.endpoint = None;
        // The defaults of these depend on the machine.
        settings.memory_bytes = None;
        settings.actors.resident = None;
        settings.storage.index_cache_mib = None;
        settings.storage.block_cache_mib = None;
        // These have no default.
        settings.cell = cell::LogSection {
            lease_seconds: settings.cell.lease_seconds,
            ..cell::LogSection::default()
        };
        settings.bank.live = Some(Bank::default());
        settings.bank.test = Bank::default();
        format!("{settings:?}")
    };
    assert_eq!(with(&shown), with(EXAMPLE));
}

/// The settings of a section, as the error about an unknown one names them; empty if it is not a section.
fn settings_of(section: &str) -> Vec<String> {
    let head = match section {
        "" => String::new(),
        section => format!("[{section}]\n"),
    };
    let why = parse(&format!("{head}no_such = 1\n"), &[]).unwrap_err();
    let why = why.to_string();
    let known = why.split_once("unknown field `no_such`, expected ");
    let known = known.map_or("", |(_, known)| known.split(" for key ").next().unwrap());
    let names = known.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// All settings of a section and of its subsections, with full names.
fn all_settings(section: &str) -> Vec<String> {
    let within = |name: &String| match section {
        "" => name.clone(),
        section => format!("{section}.{name}"),
    };
    let own = settings_of(section);
    let own = own.iter().map(within);
    let found = own.flat_map(|name| match all_settings(&name) {
        inner if inner.is_empty() => vec![name],
        inner => inner,
    });
    found.collect()
}

#[test]
fn the_example_has_every_setting() {
    let is_name = |text: &str| text.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let mut section = String::new();
    let mut shown = BTreeSet::new();
    for line in EXAMPLE.lines() {
        let line = line.trim_start_matches('#');
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            section = format!("{name}.");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|(name, _)| is_name(name)) {
            shown.insert(format!("{section}{name}"));
        }
    }
    let all = all_settings("");
    assert!(all.len() > 40, "{all:?}");
    // The bank of test keys has the same settings as that of live keys; the example shows only some of them.
    let live = |name: &String| name.replace("bank.test.", "bank.live.");
    let missing = all.iter().filter(|name| !shown.contains(&live(name)));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
    let unknown = shown.iter().filter(|name| !all.contains(name));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_variable_wins_over_the_file() {
    let found = options(
        &enough("listen = \"127.0.0.1:1\"\n[actors]\nthreads = 3\n"),
        &[
            ("CAUDAL_LISTEN", "127.0.0.1:2"),
            ("CAUDAL_ACTORS__RESIDENT", "1000"),
            ("CAUDAL_MEMORY_BYTES", "1073741824"),
            ("CAUDAL_STORAGE__INDEX_CACHE_MIB", "7"),
            ("CAUDAL_BANK__LIVE__PASSWORD", "00123"),
            (
                "CAUDAL_BANK__LIVE__NOTICE_SECRET",
                "Zk4u8QmB1xYtV6rNc0LsHj3WgEaP9dFo-of-this-week",
            ),
            ("CAUDAL_STORAGE__SEGMENT_MIB", "8"),
            ("CAUDAL_RATE_LIMIT__PER_SECOND", "5"),
            ("CAUDAL_RATE_LIMIT__BURST", "10"),
            ("CAUDAL_ADMIN_URL", "http://elsewhere"),
            ("CAUDAL_CONFIG", "file"),
            ("CAUDAL_WORKERS", ""),
            ("HOME", "/"),
        ],
    )
    .unwrap();
    assert_eq!(found.listen.port(), 2);
    assert_eq!(found.memory.map(|plan| plan.limit), Some(1 << 30));
    assert_eq!(found.storage.block_cache_bytes, 128 << 20);
    assert_eq!(found.storage.index_cache_bytes, 7 << 20);
    assert_eq!((found.engine.arbiters, found.engine.resident), (3, 1000));
    assert_eq!(found.storage.segment_bytes, 8 << 20);
    assert!(found.storage.abort_on_poison);
    assert_eq!(
        found.rate.map(|(rate, burst)| (rate.get(), burst.get())),
        Some((5, 10))
    );
    let Banking::Remote { live, test } = &found.banking else {
        panic!("no banks over HTTP");
    };
    let (live, test) = (&live.as_ref().unwrap().config, &test.config);
    assert_eq!(live.password.expose_secret(), "00123");
    let secret = live.notice_secret.as_ref().unwrap();
    assert_eq!(secret.expose_secret(), format!("{NOTICES}-of-this-week"));
    assert!(test.notice_secret.is_none());
    assert_eq!(test.base_url, SANDBOX_URL);
}

/// A file, variables over it, and a part of the expected error.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

fn all_refused(rows: &[Row<'_>]) {
    for (text, variables, expected) in rows {
        let why = options(text, variables).err().unwrap();
        assert!(why.contains(expected), "{variables:?}: {why}");
        assert!(!why.contains("a-secret"), "a secret leaks: {why}");
    }
}

#[test]
fn the_secret_of_notices_is_one() {
    let good = enough("");
    let silent = good.replace(NOTICES, "");
    let public = caudal_sandbox::NOTICE_SECRET;
    let both = format!("{KEY}\n{NOTICES}");
    let rows: [Row<'_>; 8] = [
        (
            &good,
            &[("CAUDAL_BANK__TEST__NOTICE_SECRET", public)],
            "bank.test.notice_secret looks like a placeholder",
        ),
        (&silent, &[], "bank.live.notice_secret is not set"),
        (
            &good,
            &[("CAUDAL_BANK__LIVE__NOTICE_SECRET", "a-secret-too-short")],
            "bank.live.notice_secret is too short",
        ),
        (
            &good,
            &[(
                "CAUDAL_BANK__LIVE__NOTICE_SECRET",
                "an-example-0123456789-abcdefghijkl",
            )],
            "bank.live.notice_secret looks like a placeholder",
        ),
        (
            &good,
            &[("CAUDAL_BANK__TEST__NOTICE_SECRET", "a-secret-too-short")],
            "bank.test.notice_secret is too short",
        ),
        (
            &good,
            &[("CAUDAL_BANK__LIVE__NOTICE_SECRETS", "a-secret")],
            "unknown field `notice_secrets`",
        ),
        (
            &good,
            &[("CAUDAL_BANK__TEST__NOTICE_SECRET", NOTICES)],
            "bank.live.notice_secret must not be",
        ),
        (
            &good,
            &[("CAUDAL_BANK__TEST__NOTICE_SECRET", &both)],
            "bank.live.notice_secret must not be",
        ),
    ];
    all_refused(&rows);
}

#[test]
fn each_line_of_a_secret_is_judged() {
    let good = enough("");
    let twice = format!("{KEY}\n\n  {NOTICES}\n");
    assert!(options(&good, &[("CAUDAL_ADMIN_KEY", &twice)]).is_ok());
    let short = format!("{KEY}\nshort");
    all_refused(&[
        (
            &good,
            &[("CAUDAL_ADMIN_KEY", &short)],
            "admin_key is too short",
        ),
        (
            &good,
            &[("CAUDAL_ADMIN_KEY", "1\n2\n3\n4\n5")],
            "admin_key has more than 4 lines",
        ),
    ]);
}

#[test]
fn connections_have_their_bounds() {
    let set = "[connections]\nmost = 500\nper_peer = 0\nanswer_ms = 2000\n\
               trusted_proxies = [\"10.0.0.0/8\"]\n";
    let found = options(&enough(set), &[("CAUDAL_CONNECTIONS__HEAD_MS", "900")]).unwrap();
    assert_eq!((found.limits.connections, found.limits.per_peer), (500, 0));
    assert_eq!(found.limits.proxies, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(found.deadlines.head.as_millis(), 900);
    assert_eq!(found.answer.as_millis(), 2000);
    let (few, none) = (
        enough("[connections]\nmost = 3\n"),
        enough("[connections]\ntrusted_proxies = [\"x\"]\n"),
    );
    all_refused(&[
        (&few, &[], "connections.most is 3"),
        (&none, &[], "connections.trusted_proxies `x` is no network"),
    ]);
}

#[test]
fn what_is_wrong_is_named() {
    let good = enough("");
    let rows: [Row<'_>; 18] = [
        (&good, &[("CAUDAL_LISTN", "1")], "unknown field `listn`"),
        (&good, &[("CAUDAL_ACTORS__THREAD", "1")], "for key `actors`"),
        (
            &good,
            &[("CAUDAL_ACTORS__THREADS", "two")],
            "actors.threads",
        ),
        (
            &good,
            &[("CAUDAL_ACTORS__THREADS", "0")],
            "actors.threads is 0",
        ),
        (&good, &[("CAUDAL_WORKERS", "-1")], "workers"),
        (&good, &[("CAUDAL_LISTEN", "localhost")], "listen"),
        (&good, &[("CAUDAL_LOG_FORMAT", "xml")], "log_format"),
        (
            &good,
            &[("CAUDAL_STORAGE__SEGMENT_MIB", "4096")],
            "storage.segment_mib is 4096",
        ),
        (&good, &[("CAUDAL_RATE_LIMIT__BURST", "1")], "per_second"),
        (
            &good,
            &[("CAUDAL_ADMIN_LISTEN", "0.0.0.0:8080")],
            "admin_listen must not be",
        ),
        (
            &good,
            &[("CAUDAL_ADMIN_KEY", "short")],
            "admin_key is too short",
        ),
        (
            &good,
            &[("CAUDAL_ADMIN_KEY", "00000000000000000000000000000000000")],
            "admin_key looks like a placeholder",
        ),
        (
            &good,
            &[("CAUDAL_PEPPER", "change-me-please-1234567890-abcdefgh")],
            "pepper looks like a placeholder",
        ),
        (
            &good,
            &[("CAUDAL_BANK__TEST__BASE_URL", "https://b.ar")],
            "bank.test.base_url must not",
        ),
        (
            &good,
            &[("CAUDAL_BANK__LIVE__PASSWORD", "sandbox")],
            "bank.live.password is the sandbox's",
        ),
        (
            &good,
            &[("CAUDAL_BANK__LIVE__DEADLINE_MS", "0")],
            "bank.live.deadline_ms is 0",
        ),
        ("", &[], "data is not set"),
        ("admin_key = \"a-secret-half", &[], "line 1"),
    ];
    all_refused(&rows);
    assert!(options(&good, &[]).is_ok());
    let shown = format!("{:?}", parse(&good, &[]).unwrap());
    assert!(!shown.contains(KEY) && !shown.contains(NOTICES), "{shown}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let why = Settings::load(Path::new("/nowhere/caudal.toml")).unwrap_err();
    assert!(why.to_string().contains("/nowhere/caudal.toml"), "{why}");
}

#[test]
fn a_folder_of_secrets_that_is_not_there_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let set = |path: &std::path::Path| enough(&format!("secrets_folder = \"{}\"", path.display()));
    let why = options(&set(&folder.path().join("gone")), &[])
        .err()
        .unwrap();
    assert!(
        why.contains("secrets_folder ") && why.contains("gone"),
        "{why}"
    );
    let there = options(&set(folder.path()), &[]).unwrap();
    assert_eq!(there.secrets.as_deref(), Some(folder.path()));
    assert_eq!(options(&enough(""), &[]).unwrap().secrets, None);
}

#[test]
fn a_calendar_of_ones_own_is_read_or_named() {
    let missing = enough("calendar = \"/no/such/file.toml\"");
    let why = options(&missing, &[]).err().unwrap();
    assert!(why.contains("calendar /no/such/file.toml: "), "{why}");
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("days.toml");
    std::fs::write(&file, "2030 = [\"01-01\"]").unwrap();
    let file = file.display().to_string();
    let own = options(&enough(""), &[("CAUDAL_CALENDAR", &file)]).unwrap();
    assert_eq!(own.calendar.years().collect::<Vec<_>>(), [2030]);
    let usual = options(&enough(""), &[]).unwrap();
    assert_eq!(usual.calendar.years().collect::<Vec<_>>(), [2026, 2027]);
}

#[test]
fn how_long_webhooks_are_waited_for_may_be_set() {
    let usual = options(&enough(""), &[]).unwrap();
    assert_eq!(usual.attempt, AttemptLimits::default());
    assert_eq!(usual.engine.webhooks, Schedule::default());
    let set = "webhook_timeout_ms = 300\nwebhook_retry_ms = [10, 20]\nwebhook_brake_ms = [40]";
    let own = options(&enough(set), &[]).unwrap();
    assert_eq!(own.attempt.total, Duration::from_millis(300));
    assert_eq!(own.attempt.connect, Duration::from_millis(300));
    let Schedule { pauses, brake } = own.engine.webhooks;
    assert_eq!(pauses, [10, 20, 20, 20, 20, 20, 20, 20, 20]);
    assert_eq!(brake, [40; 5]);
    for (set, why) in [
        ("webhook_timeout_ms = 99", "webhook_timeout_ms is 99"),
        ("webhook_timeout_ms = 20001", "it must be from 100 to 20000"),
        ("webhook_retry_ms = []", "webhook_retry_ms is empty"),
        ("webhook_retry_ms = [9]", "webhook_retry_ms is 9"),
        ("webhook_retry_ms = [86400001]", "from 10 to 86400000"),
        (
            "webhook_retry_ms = [10, 10, 10, 10, 10, 10, 10, 10, 10, 10]",
            "webhook_retry_ms has 10 entries; it may have 9",
        ),
        (
            "webhook_brake_ms = [10, 10, 10, 10, 10, 10]",
            "webhook_brake_ms has 6 entries; it may have 5",
        ),
        (
            "webhook_networks = [\"10.0.0.0\"]",
            "`10.0.0.0` is no network",
        ),
    ] {
        let refused = options(&enough(set), &[]).err().unwrap();
        assert!(refused.contains(why), "{set}: {refused}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text = "[bank.live]\nbase_url = \"http://127.0.0.1:8082\"\npassword = \"sandbox\"\n\
                [connections]\nmost = 1\n";
    let why = options(text, &[]).err().unwrap();
    for expected in [
        "data is not set",
        "admin_key is not set",
        "bank.live.username is not set",
        "bank.live.collector is not set",
        "bank.live.notice_secret is not set",
        "bank.live.password is the sandbox's",
        "bank.test.base_url must not be",
        "connections.most is 1",
    ] {
        assert!(why.contains(expected), "{expected}: {why}");
    }
}

#[test]
fn a_log_elsewhere_is_named_by_its_url_and_needs_the_pepper() {
    let url = "log = \"postgres://u:s3cr3t@db1:1,db2:2/books\"";
    let pepper = format!("pepper = \"{NOTICES}\"\n[cell]\n");
    let found = options(&enough(&format!("{pepper}{url}\nnode = \"one\"")), &[]).unwrap();
    let cell = found.cell.unwrap();
    assert_eq!(cell.log.place(), "db1:1,db2:2/books");
    assert!(cell.log.encrypts());
    assert_eq!((cell.node.as_str(), cell.lease.as_secs()), ("one", 5));
    assert!(!format!("{cell:?}").contains("s3cr3t"));
    let none = options(&enough("[cell]\nlog = \"\""), &[]).unwrap();
    assert!(none.cell.is_none());
    let wrong = [
        (format!("[cell]\n{url}"), "pepper is not set"),
        (
            format!("{pepper}log = \"postgres://u:s3cr3t@h\""),
            "cell.log it names no database",
        ),
        (
            format!("{pepper}log = \"mysql://u:s3cr3t@h/d\""),
            "cell.log it is not of the form",
        ),
        (
            format!("{pepper}{url}\nlease_seconds = 1"),
            "cell.lease_seconds is 1",
        ),
        (
            format!("{pepper}{url}\nnode = \"{}\"", "n".repeat(65)),
            "cell.node has to be",
        ),
    ];
    for (text, expected) in wrong {
        let why = options(&enough(&text), &[]).err().unwrap();
        assert!(why.contains(expected) && !why.contains("s3cr3t"), "{why}");
    }
}

#[test]
fn traces_go_to_a_whole_address_in_a_program_that_can_send_them() {
    let with = |place: &str| options(&enough(&format!("[traces]\nendpoint = \"{place}\"")), &[]);
    assert!(with("").is_ok());
    for bad in ["collector", "collector:4318", "ftp://collector/v1/traces"] {
        let why = with(bad).err().unwrap();
        assert!(
            why.contains("traces.endpoint is the whole address"),
            "{why}"
        );
    }
    let why = with("http://127.0.0.1:4318/v1/traces").err();
    let refused = why.is_some_and(|why| why.contains("--features otlp"));
    assert_eq!(refused, cfg!(not(feature = "otlp")));
}

#[test]
fn nodes_need_a_log_and_say_where_clients_reach_them() {
    let log = "log = \"postgres://u@db/books\"";
    let node = |log: &str, url: &str| {
        let text = format!("pepper = \"{NOTICES}\"\n[cell]\n{log}\npublic_url = \"{url}\"");
        options(&enough(&text), &[])
    };
    for (url, read) in [
        ("http://10.0.0.1:8080", Some("http://10.0.0.1:8080")),
        ("https://node1.internal/", Some("https://node1.internal")),
        ("", None),
    ] {
        let cell = node(log, url).unwrap().cell.unwrap();
        assert_eq!(cell.url.as_deref(), read);
    }
    let long = format!("http://{}", "n".repeat(256));
    for bad in [
        "10.0.0.1:8080",
        "ftp://node1",
        "http://node1/v1",
        "http://u:p@node1",
        "http://node1/?a=b",
        &long,
    ] {
        let why = node(log, bad).err().unwrap();
        assert!(why.contains("cell.public_url has to be"), "{bad}: {why}");
    }
    let why = node("", "http://node1").err().unwrap();
    assert!(why.contains("is set without cell.log"), "{why}");
}
