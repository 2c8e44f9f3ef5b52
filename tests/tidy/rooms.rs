//! The order of rooms inside each crate, and the circles of files that remain in any crate.
//!
//! **Shape.** A room is a module at the top of its crate with the folder of the same name. An arrow goes
//! from a file to another file that it names, in a `use` or in its text; a name that `pub use` passes on
//! is followed to the file that declares it. Tests do not count. Between a file and the folder of its name
//! arrows may go both ways: the file is what others see of the folder. A file in a folder may have a place
//! of its own in the order: in `ledger` a noun's file has the types that facts are made of, and its folder
//! decides and folds them; in `storage` the journal is read below the engine and written inside it.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, none, rust};

/// The rooms of `ledger`, and files with a place of their own; each may use those before it.
const LEDGER: &[&str] = &[
    "words",
    "money",
    "text",
    "time",
    "chain",
    "cuit",
    "cvu",
    "alias",
    "balance",
    "bank",
    "ids",
    "numbers",
    "calendar",
    "clients",
    "counterparty",
    "kyc",
    "particulars",
    "collector",
    "cases",
    "remuneration",
    "book_accounts",
    "limits",
    "voucher_types",
    "vouchers",
    "limits/usage",
    "limits/levels",
    "limits/total",
    "fees",
    "holds",
    "history",
    "tenants",
    "transfers",
    "rejection",
    "cases/collector",
    "books",
    "seal",
    "accounts/shapes",
    "facts",
    "people",
    "treasury",
    "coverage",
    "statements",
    "voucher_types/of_realm",
    "tenants/platform",
    "tenants/clocks",
    "tenants/moves",
    "tenants/orders",
    "cases/suspense",
    "cases/unbooked",
    "accounts",
    "reconciliation",
    "days",
    "events",
    "webhooks",
    "deliveries",
];
/// The rooms of `storage`, and files with a place of their own; each may use those before it.
const STORAGE: &[&str] = &[
    "num",
    "tally",
    "sync",
    "background",
    "codec",
    "api",
    "folder",
    "files",
    "journal/format",
    "times",
    "rows",
    "health",
    "context",
    "log",
    "error",
    "durable/options",
    "journal",
    "index",
    "durable/witness",
    "durable/seals",
    "durable/held",
    "journal/writer",
    "log/disk",
    "durable",
    "filling",
    "faulty",
    "conformance",
];
/// The rooms of `actors`; each may use those before it.
const ACTORS: &[&str] = &[
    "ports",
    "records",
    "failure",
    "persist",
    "times",
    "writing",
    "loads",
    "in_flight",
    "reply",
    "mailbox",
    "lanes",
    "actor_status",
    "trail",
    "startup_gate",
    "realm_clock",
    "realm_tasks",
    "residency",
    "meter",
    "settings",
    "outgoing_pause",
    "banks",
    "commit_writer",
    "orders",
    "accounts",
    "courier",
    "realms",
    "people",
    "platform",
    "treasury",
    "engine",
    "verify",
];
/// The rooms of `src/http`; each may use those before it.
const HTTP: &[&str] = &[
    "units",
    "bodies",
    "clients",
    "clock",
    "document",
    "encoding",
    "gate",
    "secret_lines",
    "keys",
    "log",
    "measures",
    "memory",
    "nearest",
    "origin",
    "paths",
    "pool",
    "problems",
    "shapes",
    "sheets",
    "text",
    "traces",
    "unready",
    "shown",
    "key_reads",
    "current",
    "routes",
    "walletentidad",
    "cursors",
    "webhooks",
    "trace",
    "words",
    "catalogue",
    "choice",
    "errors",
    "bytes",
    "node",
    "rate",
    "scopes",
    "streams",
    "wire",
    "accept",
    "audit_rate",
    "body",
    "pieces",
    "wrong_keys",
    "borrowed",
    "frame",
    "query",
    "caller",
    "params",
    "request",
    "bodies/update_limits",
    "declared",
    "persons",
    "respond",
    "rows",
    "whole_list",
    "pages",
    "statements",
];
/// The rooms of `src/api`; each may use those before it.
const API: &[&str] = &["catalogue", "v1", "wallet", "document"];
/// The rooms of `src/operators`; each may use those before it.
const OPERATORS: &[&str] = &["admin", "console"];
/// The rooms of `src/bank`; each may use those before it.
const BANK: &[&str] = &[
    "names",
    "redact",
    "refusals",
    "text",
    "read",
    "wire",
    "rejections",
    "attempts",
    "lookups",
    "notices",
    "remuneration",
    "transfers",
    "statement",
];
/// The rooms of `src/backup`; each may use those before it.
const BACKUP: &[&str] = &[
    "backup_store",
    "object",
    "names",
    "end",
    "chain",
    "portable",
    "ship",
    "since",
    "outgoing",
    "restore",
    "run",
];
/// The rooms of `src/service`; each may use those before it.
const SERVICE: &[&str] = &[
    "calendar",
    "catch_up",
    "coverage",
    "days",
    "descriptors",
    "folder",
    "listening",
    "resealing",
    "seals",
    "secrets",
    "server",
    "banks",
    "cell",
    "config",
    "shipping",
    "timers",
    "nodes",
    "assembly",
];
/// The crates whose rooms have an order.
const ORDERS: &[(&str, &[&str])] = &[
    ("ledger/src/", LEDGER),
    ("storage/src/", STORAGE),
    ("actors/src/", ACTORS),
    ("src/http/", HTTP),
    ("src/api/", API),
    ("src/operators/", OPERATORS),
    ("src/bank/", BANK),
    ("src/backup/", BACKUP),
    ("src/service/", SERVICE),
];
/// Other places where no files may form a circle.
const OTHERS: &[&str] = &["src/", "src/bench/", "src/sandbox/", "tests/tools/"];
/// The circles of files that remain, each with its reason.
const CIRCLES: &[(&str, &[&str])] = &[];

/// A file's modules, from the top of its crate.
type Name = Vec<String>;

#[derive(Default)]
struct File {
    /// The imported paths, by the name that each has in this file.
    imports: BTreeMap<String, Name>,
    /// Names that the file only passes on, unless it uses them too.
    passed_on: BTreeSet<String>,
    /// The paths in the file's text.
    paths: Vec<Name>,
}

struct Rooms(BTreeMap<Name, File>);

fn names(path: &str) -> Name {
    path.split("::")
        .map(|name| name.trim().to_owned())
        .collect()
}

/// Expands an import into its paths, each with the name that it has in the file.
fn expand(before: &str, text: &str, found: &mut Vec<(String, String)>) {
    let (mut depth, mut item) = (0_usize, String::new());
    for c in text.chars().chain([',']) {
        match c {
            ',' if depth == 0 => {
                let it = std::mem::take(&mut item);
                match it.trim().split_once('{') {
                    Some((more, inner)) => {
                        let inner = inner.trim_end().trim_end_matches('}');
                        expand(&format!("{before}{}", more.trim()), inner, found);
                    }
                    None if it.trim().is_empty() => {}
                    None => {
                        let whole = format!("{before}{}", it.trim());
                        let (path, alias) = whole.split_once(" as ").unwrap_or((&whole, ""));
                        let path = path.trim_end_matches("::self").to_owned();
                        let last = path.rsplit("::").next().unwrap().to_owned();
                        let alias = if alias.is_empty() {
                            last
                        } else {
                            alias.to_owned()
                        };
                        found.push((alias, path));
                    }
                }
            }
            _ => {
                depth = depth + usize::from(c == '{') - usize::from(c == '}');
                item.push(c);
            }
        }
    }
}

/// The packages whose folders lie inside the folder of another.
fn inner_packages(root: &str) -> Vec<String> {
    let names = files().into_iter().map(|(name, _)| name);
    let rooms = names.filter_map(|name| Some(name.strip_suffix("Cargo.toml")?.to_owned()));
    rooms
        .filter(|room| room.starts_with(root) && room != root)
        .collect()
}

impl Rooms {
    fn of(root: &str) -> Self {
        let mut rooms = BTreeMap::new();
        let mut texts = Vec::new();
        let inner = inner_packages(root);
        for (path, text) in rust() {
            let name = path.strip_prefix(root);
            let name = name.filter(|_| !inner.iter().any(|room| path.starts_with(room)));
            let Some(name) = name else { continue };
            let name: Name = name
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            let first = name.first().unwrap();
            if name.iter().any(|part| part == "tests") || first == "lib" || first == "main" {
                continue;
            }
            rooms.insert(name.clone(), File::default());
            texts.push((name, text));
        }
        let mut rooms = Self(rooms);
        for (name, text) in texts {
            let file = rooms.read(&name, &text);
            rooms.0.insert(name, file);
        }
        rooms
    }

    fn read(&self, name: &Name, text: &str) -> File {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap());
        let (mut file, mut rest, mut open) = (File::default(), String::new(), String::new());
        for line in code {
            let start = line.trim_start();
            let begins = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "];
            if open.is_empty() && !begins.iter().any(|it| start.starts_with(it)) {
                rest.push_str(line);
                rest.push('\n');
                continue;
            }
            open.push_str(start);
            open.push(' ');
            let Some((import, _)) = open.split_once(';') else {
                continue;
            };
            let (before, import) = import.split_once("use ").unwrap();
            let mut found = Vec::new();
            expand("", import, &mut found);
            for (alias, path) in found {
                if let Some(path) = self.absolute(name, &file, &names(&path)) {
                    if before.starts_with("pub") {
                        file.passed_on.insert(alias.clone());
                    }
                    file.imports.insert(alias, path);
                }
            }
            open.clear();
        }
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let paths = rest.split(|c| !part(c)).map(|path| path.trim_matches(':'));
        file.paths = paths.filter(|path| !path.is_empty()).map(names).collect();
        file
    }

    /// A path from the top of the crate; `None` if it leads out of the crate.
    fn absolute(&self, name: &Name, file: &File, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => name.clone(),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let base = name[..name.len().checked_sub(ups)?].to_vec();
                return Some([base.as_slice(), &path[ups..]].concat());
            }
            other if file.imports.contains_key(other) => file.imports[other].clone(),
            other => {
                let child = [name.as_slice(), &[other.to_owned()]].concat();
                self.0.contains_key(&child).then_some(child)?
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that a path leads to, following names that other files pass on.
    fn file_of(&self, path: &[String], hops: usize) -> Option<Name> {
        let longest = (1..=path.len())
            .rev()
            .find(|n| self.0.contains_key(&path[..*n]))?;
        let (file, rest) = path.split_at(longest);
        let through = rest.first().and_then(|next| self.0[file].imports.get(next));
        let passed = through.filter(|_| hops > 0).and_then(|target| {
            let on = [target.as_slice(), &rest[1..]].concat();
            self.file_of(&on, hops - 1)
        });
        Some(passed.unwrap_or_else(|| file.to_vec()))
    }

    /// The files that each file leads to.
    fn arrows(&self) -> BTreeMap<&Name, BTreeSet<Name>> {
        let of = |(name, file): (_, &File)| {
            let used: BTreeSet<_> = file.paths.iter().flatten().collect();
            let imported = file.imports.iter().filter(|(alias, path)| {
                // The import of a module leads to whatever is used from it.
                let passed = file.passed_on.contains(*alias) && !used.contains(alias);
                !passed && !self.0.contains_key(*path)
            });
            let imported = imported.filter_map(|(_, path)| self.file_of(path, 8));
            let named = file.paths.iter().filter(|path| path.len() > 1);
            let named = named.filter_map(|path| self.file_of(&self.absolute(name, file, path)?, 8));
            let apart = |to: &Name| !to.starts_with(name) && !name.starts_with(to);
            (name, imported.chain(named).filter(apart).collect())
        };
        self.0.iter().map(of).collect()
    }

    /// The circles: sets of files each of which leads to every other.
    fn circles(&self) -> BTreeSet<BTreeSet<String>> {
        let arrows = self.arrows();
        let reach = |from: &Name| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(name) = next.pop() {
                for to in &arrows[&name] {
                    if seen.insert(to.clone()) {
                        next.push(to.clone());
                    }
                }
            }
            seen
        };
        let reach: BTreeMap<_, _> = self.0.keys().map(|name| (name, reach(name))).collect();
        let circle = |(name, to): (&&Name, &BTreeSet<Name>)| {
            let back = to.iter().filter(|other| reach[other].contains(*name));
            back.map(|name| name.join("/")).collect::<BTreeSet<_>>()
        };
        let circles = reach.iter().map(circle);
        circles.filter(|circle| !circle.is_empty()).collect()
    }
}

/// The place of a file in an order: that of the entry that names the most of its modules.
fn place(name: &Name, order: &[&str]) -> Option<usize> {
    let holds =
        |entry: &str| name.starts_with(&entry.split('/').map(str::to_owned).collect::<Name>());
    let places = order.iter().enumerate().filter(|(_, entry)| holds(entry));
    places
        .max_by_key(|(_, entry)| entry.split('/').count())
        .map(|(place, _)| place)
}

/// Arrows from a room to one that is not before it, and entries of the order that name no file.
fn upwards(root: &str, order: &[&str]) -> Vec<String> {
    let rooms = Rooms::of(root);
    let mut found = Vec::new();
    for (from, leads) in rooms.arrows() {
        let own = place(from, order);
        if own.is_none() {
            found.push(format!("{root}{}: give the room its place", from[0]));
        }
        let up = leads.iter().filter(|to| place(to, order) > own);
        found.extend(up.map(|to| format!("{root}{} -> {}", from.join("/"), to.join("/"))));
    }
    let is_file = |entry: &str| {
        rooms
            .0
            .contains_key(&entry.split('/').map(str::to_owned).collect::<Name>())
    };
    let gone = order.iter().filter(|entry| !is_file(entry));
    found.extend(gone.map(|entry| format!("{root}{entry}: there is no such file")));
    found
}

#[test]
fn rooms_know_only_those_before_them() {
    let found: Vec<_> = ORDERS
        .iter()
        .flat_map(|(root, order)| upwards(root, order))
        .collect();
    none(&found, "arrows point down");
}

#[test]
fn files_form_no_cycle_without_a_reason() {
    let listed = CIRCLES
        .iter()
        .map(|(_, files)| files.iter().map(|it| (*it).to_owned()).collect());
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for root in ORDERS.iter().map(|(root, _)| root).chain(OTHERS) {
        for circle in Rooms::of(root).circles() {
            found.push(circle.iter().map(|name| format!("{root}{name}")).collect());
        }
    }
    let (found, listed): (BTreeSet<_>, BTreeSet<BTreeSet<String>>) =
        (found.into_iter().collect(), listed.collect());
    assert_eq!(
        found, listed,
        "circles of files, found and listed: cut the new one, or say why it stays"
    );
}

#[test]
fn an_arrow_up_is_seen() {
    for (root, order) in ORDERS {
        let reversed: Vec<_> = order.iter().rev().copied().collect();
        assert!(!upwards(root, &reversed).is_empty(), "{root}");
    }
}
