//! House rules that a program can check, over the files that git tracks.

mod documents;
mod recipes;
mod rooms;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The other rooms that each room may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("ledger", &[]),
    ("storage", &[]),
    ("storage/postgres", &["caudal-storage"]),
    ("actors", &["caudal-ledger", "caudal-storage"]),
    (
        "proptests",
        &["caudal-actors", "caudal-ledger", "caudal-storage"],
    ),
    ("src/signing", &[]),
    ("src/sandbox", &["caudal-ledger", "caudal-signing"]),
    (
        "src/http",
        &[
            "caudal-actors",
            "caudal-ledger",
            "caudal-postgres",
            "caudal-signing",
            "caudal-storage",
        ],
    ),
    (
        "src/api",
        &["caudal-actors", "caudal-http", "caudal-ledger"],
    ),
    (
        "src/operators",
        &[
            "caudal-actors",
            "caudal-backup",
            "caudal-http",
            "caudal-ledger",
            "caudal-postgres",
            "caudal-storage",
        ],
    ),
    (
        "src/bank",
        &[
            "caudal-actors",
            "caudal-http",
            "caudal-ledger",
            "caudal-sandbox",
            "caudal-signing",
        ],
    ),
    (
        "src/backup",
        &["caudal-actors", "caudal-ledger", "caudal-storage"],
    ),
    (
        "src/service",
        &[
            "caudal-actors",
            "caudal-api",
            "caudal-backup",
            "caudal-bank",
            "caudal-http",
            "caudal-ledger",
            "caudal-operators",
            "caudal-postgres",
            "caudal-sandbox",
            "caudal-storage",
        ],
    ),
    (
        "src/bench",
        &[
            "caudal-actors",
            "caudal-http",
            "caudal-ledger",
            "caudal-service",
            "caudal-storage",
        ],
    ),
    (
        "tests/tools",
        &[
            "caudal-actors",
            "caudal-bench",
            "caudal-http",
            "caudal-ledger",
            "caudal-service",
            "caudal-storage",
        ],
    ),
    (
        ".",
        &[
            "caudal-actors",
            "caudal-api",
            "caudal-backup",
            "caudal-bank",
            "caudal-bench",
            "caudal-http",
            "caudal-ledger",
            "caudal-operators",
            "caudal-postgres",
            "caudal-sandbox",
            "caudal-service",
            "caudal-storage",
        ],
    ),
];
/// Words that hide an impossible state, and how often the product may use each at most. No number may
/// grow; when a count falls, lower the number here.
const HIDING: &[(&str, usize)] = &[
    ("saturating_", 255),
    ("unwrap_or_default", 110),
    ("unwrap_or(0", 20),
    ("unwrap_or(MAX", 59),
];
/// How many assertions the product has at least. When the count rises, raise the number here.
const ASSERTIONS: usize = 170;
/// Spanish field names: they belong to the wallet family, which speaks Spanish to its clients.
const SPANISH: &[&str] = &[
    "cuitCuil",
    "razonSocial",
    "habilitado",
    "domicilio",
    "datosDomicilio",
    "nombreCVU",
    "nombreCvu",
    "idCuenta",
    "idTipoComprobante",
    "fechaNacimiento",
    "estadoCivil",
    "saldo",
    "saldos",
    "fechaExterna",
    "referencia",
    "sentido",
    "signo",
    "actividadAfip",
    "esPep",
    "esUif",
    "esFatca",
    "esFacta",
    "idComprobante",
    "nacionalidad",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files that git tracks, with their texts; those that are not text are left out.
fn files() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let names = String::from_utf8(listed.stdout).unwrap();
    let read = |name: &str| {
        Some((
            name.to_owned(),
            std::fs::read_to_string(root().join(name)).ok()?,
        ))
    };
    let files: Vec<_> = names.split_terminator('\0').filter_map(read).collect();
    assert!(files.len() > 100, "git knows only {} files", files.len());
    files
}

fn rust() -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .collect()
}

/// Every line of these files that breaks a rule, with its place.
fn where_lines(files: &[(String, String)], wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let of = |(name, text): &(String, String)| {
        let lines = text.lines().enumerate();
        let found = lines.filter(|(_, line)| wrong(name, line));
        found
            .map(|(n, line)| format!("{name}:{}: {}", n + 1, line.trim()))
            .collect::<Vec<_>>()
    };
    files.iter().flat_map(of).collect()
}

/// The files of the product, without the tests in them: a file that has both ends with its tests.
fn product() -> Vec<(String, String)> {
    let tests = |name: &str| {
        name.starts_with("tests/")
            || name.starts_with("proptests/")
            || name.contains("/tests/")
            || name.ends_with("/tests.rs")
    };
    let own = |text: String| match text.split_once("\n#[cfg(test)]\nmod tests {") {
        Some((own, _)) => own.to_owned(),
        None => text,
    };
    let rust = rust().into_iter().filter(|(name, _)| !tests(name));
    rust.map(|(name, text)| (name, own(text))).collect()
}

#[track_caller]
fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// Joins a word from two parts, so that this file may name it without breaking the rule about it.
fn word(parts: [&str; 2]) -> String {
    parts.concat()
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = rust()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(name, _)| name)
        .collect();
    none(&silent, "every file begins with //!");
}

#[test]
fn arrows_point_to_the_ledger() {
    for (room, allowed) in ARROWS {
        let manifest = std::fs::read_to_string(root().join(room).join("Cargo.toml")).unwrap();
        // Of the root's manifest only the part about the service itself.
        let own = manifest.split_once("[package]").unwrap().1;
        let names = own
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        let found: BTreeSet<_> = names.filter(|name| name.starts_with("caudal-")).collect();
        assert_eq!(
            found,
            allowed.iter().copied().collect(),
            "{room}/Cargo.toml"
        );
    }
}

#[test]
fn nothing_is_left_undone_or_switched_off() {
    let words = [
        word(["to", "do!("]),
        word(["unimple", "mented!("]),
        word(["FIX", "ME"]),
        word(["XX", "X:"]),
        word(["#[ign", "ore"]),
    ];
    let found = where_lines(&rust(), |_, line| {
        words.iter().any(|word| line.contains(word))
    });
    none(&found, "finish it, or write an issue");
}

#[test]
fn no_message_or_fact_is_dropped_by_an_arm_for_all_others() {
    let arms = ["_ => {}", "_ => ()", "_ => Ok(())"];
    let found = where_lines(&product(), |_, line| {
        arms.iter().any(|arm| line.trim_start().starts_with(arm))
    });
    none(
        &found,
        "name what nothing is done about, so that a new one has to be looked at",
    );
}

#[test]
fn what_cannot_be_is_asserted_and_not_hidden() {
    let aside = ["src/bench/", "src/sandbox/"];
    let code: String = product()
        .iter()
        .filter(|(name, _)| !aside.iter().any(|room| name.starts_with(room)))
        .flat_map(|(_, text)| text.lines())
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    // The maximum of any type counts as the same word.
    let types = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "i128",
    ];
    let code = types.iter().fold(code, |code, of| {
        code.replace(&format!("unwrap_or({of}::MAX"), "unwrap_or(MAX")
    });
    let times = |word: &str| code.matches(word).count();
    let found: Vec<_> = HIDING
        .iter()
        .filter(|(word, most)| times(word) > *most)
        .map(|(word, most)| format!("{word}: {} times, at most {most}", times(word)))
        .collect();
    none(
        &found,
        "say with expect or an assertion why it cannot be, or return an error",
    );
    let asserted = ["assert!(", "assert_eq!(", "assert_ne!(", ".expect("];
    let asserted: usize = asserted.iter().map(|word| times(word)).sum();
    assert!(
        asserted >= ASSERTIONS,
        "{asserted} assertions in the product, and there were {ASSERTIONS}"
    );
}

#[test]
fn tests_wait_for_conditions_and_not_for_time() {
    let sleep = word(["sle", "ep("]);
    let tests: Vec<_> = rust()
        .into_iter()
        .filter(|(name, _)| {
            // What measures sends at a rate of its own.
            !name.starts_with("tests/tools/")
                && (name.starts_with("tests/")
                    || name.contains("/tests/")
                    || name.ends_with("/tests.rs"))
        })
        .collect();
    // The one place that waits, and rooms that have no such place of their own yet.
    let allowed = [
        "tests/support.rs",
        // Their clocks are paused: time passes without anybody waiting for it.
        "actors/src/tests/harness.rs",
        "src/service/tests/timers.rs",
        "storage/src/tests/kill.rs",
        "storage/src/tests/opening.rs",
    ];
    let found = where_lines(&tests, |name, line| {
        line.contains(&sleep) && !allowed.contains(&name)
    });
    none(&found, "use wait_until");
}

#[test]
fn modules_have_the_name_of_their_file() {
    let found: Vec<_> = rust()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.ends_with("mod.rs"))
        .collect();
    none(&found, "noun.rs next to noun/, not noun/mod.rs");
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    let paths = [
        word(["/wo", "rk/"]),
        word(["/ro", "ot/"]),
        word(["/ho", "me/"]),
    ];
    let found = where_lines(&files(), |name, line| {
        name != "Cargo.lock" && paths.iter().any(|path| line.contains(path))
    });
    none(&found, "no paths of a machine");
}

#[test]
fn handlers_parse_ask_and_render() {
    // What handlers share with each other and with events is in the bodies.
    let of = ["src/api/v1", "src/api/wallet", "src/http/bodies"];
    let v1: Vec<_> = rust()
        .into_iter()
        .filter(|(name, _)| of.iter().any(|room| name.starts_with(room)))
        .collect();
    assert!(!v1.is_empty());
    let storage = ["sled", "DurableStore", "caudal_storage"];
    let found = where_lines(&v1, |_, line| {
        storage.iter().any(|word| line.contains(word))
    });
    none(&found, "handlers know nothing of storage");
    let arithmetic = [
        "checked_add",
        "checked_sub",
        "checked_mul",
        "saturating_mul",
        "Decimal",
        ".plus(",
        "f64",
        "f32",
    ];
    let found = where_lines(&v1, |_, line| {
        !line.trim_start().starts_with("//") && arithmetic.iter().any(|word| line.contains(word))
    });
    none(&found, "handlers do no arithmetic on money");
}

#[test]
fn spanish_field_names_live_in_the_wallet_family() {
    let elsewhere: Vec<_> = rust()
        .into_iter()
        .filter(|(name, _)| {
            name.starts_with("src/") || name.starts_with("ledger/") || name.starts_with("actors/")
        })
        .collect();
    let elsewhere: Vec<_> = elsewhere
        .into_iter()
        .filter(|(name, _)| !name.starts_with("src/api/wallet"))
        .collect();
    let quoted = |line: &str| {
        SPANISH
            .iter()
            .any(|word| line.contains(&format!("\"{word}\"")))
    };
    none(
        &where_lines(&elsewhere, |_, line| quoted(line)),
        "Spanish belongs to src/api/wallet",
    );
}

#[test]
fn money_never_goes_through_binary_floating_point() {
    // Figures of monitoring, and places on a page.
    let aside = ["src/http/measures.rs", "src/http/statements/pdf/"];
    let rooms: Vec<_> = rust()
        .into_iter()
        .filter(|(name, _)| {
            name.starts_with("ledger/")
                || name.starts_with("actors/src")
                || name.starts_with("src/http")
        })
        .filter(|(name, _)| !aside.iter().any(|place| name.starts_with(place)))
        .collect();
    let float = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "f64" || word == "f32")
    };
    none(&where_lines(&rooms, |_, line| float(line)), "no floats");
}
