//! The command line in the documents: the commands that they print exist, with the flags used there, and something
//! reads the variables that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use caudal_service::config::EXAMPLE;

use super::{caudal, said};

/// The kinds of files that may read a variable: the program, the tests, the rigs and the packages.
const READ_BY: &[&str] = &["rs", "sh", "py", "js", "toml", "service"];
/// The documents give commands more flags than this.
const FLAGS_MIN: usize = 68;

/// The help of each command, asked for once.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, String>);

impl Helps {
    fn of(&mut self, command: &[String]) -> &str {
        self.0.entry(command.to_vec()).or_insert_with(|| {
            let words = command.iter().map(String::as_str);
            let words: Vec<_> = words.chain(["--help"]).collect();
            let (code, help, why) = said(&caudal(&words).output().unwrap());
            assert_eq!(code, Some(0), "{words:?}: {why}");
            help
        })
    }

    /// The subcommands of a command.
    fn below(&mut self, command: &[String]) -> Vec<String> {
        let Some((_, list)) = self.of(command).split_once("Commands:\n") else {
            return Vec::new();
        };
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn has(&mut self, command: &[String], flag: &str) -> bool {
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let mut places = self.of(command).split(flag).skip(1);
        places.any(|rest| !rest.starts_with(goes_on))
    }
}

/// The documents with their names.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<_> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .to_vec();
    let pages = fs::read_dir(root.join("docs")).unwrap();
    found.extend(pages.map(|page| page.unwrap().path()));
    found.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    found.into_iter().map(named).collect()
}

/// The lines of a document's code blocks, and the texts between its backticks.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, part) in text.split("```").enumerate() {
        if n % 2 == 1 {
            let whole = part.replace("\\\n", " ");
            found.extend(whole.lines().skip(1).map(str::to_owned));
        } else {
            let spans = part.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| span.replace('\n', " ")));
        }
    }
    found
}

/// The words of each `caudal` command in a line: up to the next command, or a comment.
fn commands(line: &str) -> Vec<Vec<String>> {
    let ends = |word: &&str| !matches!(*word, "|" | "&&" | ">" | "#" | "&");
    let mut found = Vec::new();
    let words: Vec<_> = line.split_whitespace().collect();
    for (n, word) in words.iter().enumerate() {
        if matches!(*word, "caudal" | "(caudal" | "$(caudal") {
            let rest = words.iter().skip(n + 1).copied().take_while(ends);
            found.push(rest.map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn commands_in_the_documents_are_there_with_their_flags() {
    let (mut helps, mut flags, mut wrong) = (Helps::default(), 0, Vec::new());
    for (document, text) in documents() {
        for line in code(&text) {
            for words in commands(&line) {
                let (mut command, mut rest) = (Vec::new(), words.as_slice());
                while let [word, more @ ..] = rest
                    && helps.below(&command).contains(word)
                {
                    command.push(word.clone());
                    rest = more;
                }
                for word in rest {
                    let word = word.trim_start_matches('[');
                    if !word.starts_with("--") || command.is_empty() {
                        continue;
                    }
                    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '-';
                    let flag = word.split(|c| !goes_on(c)).next().unwrap();
                    flags += 1;
                    if !helps.has(&command, flag) {
                        wrong.push(format!(
                            "{document}: `caudal {}` has no {flag}: {line}",
                            command.join(" ")
                        ));
                    }
                }
                // Within the command line of another program, a word after ours need not be a command.
                let first = rest.first().filter(|_| command.is_empty());
                let named =
                    |word: &&String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if let Some(word) = first.filter(named)
                    && line.starts_with("caudal ")
                {
                    wrong.push(format!("{document}: there is no `caudal {word}`: {line}"));
                }
            }
        }
    }
    assert!(flags > FLAGS_MIN, "only {flags} flags were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everything that may read a variable, in one text.
fn readers(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "node_modules") {
                readers(&path, into);
            }
        } else if path
            .extension()
            .is_some_and(|end| READ_BY.iter().any(|it| end == *it))
        {
            into.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
}

/// The variables that override settings: `CAUDAL_SECTION__KEY` for `section.key`.
fn of_settings() -> BTreeSet<String> {
    let (mut section, mut found) = (String::new(), BTreeSet::new());
    for line in EXAMPLE.lines() {
        let line = line.trim_start_matches(['#', ' ']);
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            section = format!("{name}.");
        } else if let Some((key, _)) = line.split_once('=') {
            let name = format!("{section}{}", key.trim()).replace('.', "__");
            found.insert(format!("CAUDAL_{}", name.to_uppercase()));
        }
    }
    found
}

#[test]
fn variables_in_the_documents_are_read_by_something() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for room in ["src", "storage", "actors", "proptests", "tests"] {
        readers(&root.join(room), &mut text);
    }
    let settings = of_settings();
    let (mut named, mut wrong) = (0, Vec::new());
    for (document, page) in documents() {
        let words = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words {
            // `CAUDAL_…` stands for any of them.
            if word.starts_with("CAUDAL_") && word != "CAUDAL_" {
                named += 1;
                if !settings.contains(word) && !text.contains(word) {
                    wrong.push(format!("{document}: nothing reads {word}"));
                }
            }
        }
    }
    assert!(named > 20, "only {named} variables are named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
