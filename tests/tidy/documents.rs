//! Checks of the documents: the files, folders and names that they mention exist.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

use super::{files, none, root, rust};

/// The most bytes of ARCHITECTURE.md.
const MAP_BYTES: usize = 12 << 10;
/// The README has fewer lines than this.
const README_LINES: usize = 150;
/// The keywords that precede a declared name.
const DECLARES: &[&str] = &[
    "const",
    "enum",
    "fn",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
];

/// A path in a document is a whole path, or the end of one.
#[test]
fn documents_name_files_that_are_there() {
    let files = files();
    let path = |word: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        [".rs", ".txt", ".sh"].iter().any(|end| word.ends_with(end)) && word.chars().all(part)
    };
    let there = |word: &str| {
        let end = format!("/{word}");
        files
            .iter()
            .any(|(name, _)| name == word || name.ends_with(&end))
    };
    let (mut named, mut found) = (0, Vec::new());
    for (document, text) in files.iter().filter(|(name, _)| name.ends_with(".md")) {
        for word in text.split('`').filter(|word| path(word)) {
            named += 1;
            if !there(word) {
                found.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(named > 100, "only {named} files are named");
    none(&found, "documents name files that are there");
}

/// The README links to the rest, and does not contain it.
#[test]
fn the_readme_is_short_and_links_lead_somewhere() {
    let files = files();
    let documents = files.iter().filter(|(name, _)| name.ends_with(".md"));
    let (mut links, mut found) = (0, Vec::new());
    for (document, text) in documents {
        if document == "README.md" && text.lines().count() >= README_LINES {
            found.push(format!("{document} has {README_LINES} lines or more"));
        }
        let room = Path::new(document).parent().unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            // A link that begins with a slash is an address of the service, whose pages have a test of
            // their own.
            if link.starts_with("https://") || link.starts_with('/') {
                continue;
            }
            links += 1;
            let target = match path {
                "" => Path::new(document).to_path_buf(),
                path => room.join(path),
            };
            if path.ends_with(".png") && root().join(&target).is_file() {
                continue;
            }
            let known = files.iter().find(|(name, _)| Path::new(name) == target);
            let headed = |text: &str| {
                let heads = text.lines().filter_map(|line| line.strip_prefix('#'));
                heads.map(slug).any(|head| head == anchor)
            };
            if !known.is_some_and(|(_, text)| anchor.is_empty() || headed(text)) {
                found.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(links > 10, "only {links} links");
    none(&found, "the README stays short, and links lead somewhere");
}

/// Readers paste blocks into the shell that they have. In an interactive zsh `#` begins no comment: its words are
/// arguments, and an apostrophe in it opens a quote that nothing closes.
#[test]
fn blocks_for_a_shell_have_no_comments() {
    let (mut blocks, mut found) = (0, Vec::new());
    for (document, text) in files().iter().filter(|(name, _)| name.ends_with(".md")) {
        let (mut is_shell, mut until) = (false, None);
        for (number, line) in text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                is_shell = ["sh", "bash", "zsh", "console"].contains(&language);
                blocks += usize::from(is_shell);
            } else if let Some(end) = until {
                // A file that is written out, in a language of its own.
                until = (line != end).then_some(end);
            } else if is_shell {
                until = line
                    .split_once("<<'")
                    .and_then(|(_, end)| end.split('\'').next());
                if line.starts_with('#') || line.contains(" #") {
                    found.push(format!("{document}:{}: {line}", number + 1));
                }
            }
        }
    }
    assert!(blocks > 20, "only {blocks} blocks");
    none(&found, "blocks for a shell have no comments");
}

/// The anchor of a heading, as hosts of repositories form it.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    heading
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

/// The files that the Debian package takes from here, and those that the build of the image may see.
#[test]
fn packaged_files_exist() {
    let files = files();
    let text = |path: &str| {
        let (_, text) = files.iter().find(|(name, _)| name == path).unwrap();
        text.as_str()
    };
    let (_, assets) = text("Cargo.toml").split_once("\nassets = [").unwrap();
    let assets = assets.lines().filter_map(|line| {
        let source = line.trim().strip_prefix("[\"")?.split('"').next()?;
        (!source.starts_with("target/")).then_some(source)
    });
    let image = text("src/packaging/Dockerfile.dockerignore").lines();
    let image: Vec<_> = image.filter_map(|line| line.strip_prefix('!')).collect();
    let assets: Vec<_> = assets.collect();
    assert!(assets.len() > 3 && image.len() > 5, "{assets:?} {image:?}");
    let is_there = |path: &&str| {
        let (begin, end) = path.split_once('*').unwrap_or((path, ""));
        files.iter().any(|(name, _)| {
            let rest = name.strip_prefix(begin);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || !end.is_empty() && rest.ends_with(end)
            })
        })
    };
    let missing = assets.iter().chain(&image).filter(|path| !is_there(path));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new());
    // The build of the image compiles every room of the workspace.
    let (_, rooms) = text("Cargo.toml").split_once("\nmembers = [").unwrap();
    let rooms = rooms
        .split(']')
        .next()
        .unwrap()
        .split('"')
        .skip(1)
        .step_by(2);
    let tops = rooms
        .filter_map(|room| room.split('/').next())
        .filter(|top| *top != ".");
    let unseen = tops.filter(|top| !image.contains(top));
    assert_eq!(unseen.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// The texts between backticks in a document, outside its code blocks.
fn code(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    let words = prose.flat_map(|text| text.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

/// The names that the Rust files declare: items but not fields, and capitalised words that begin a line, as
/// variants do.
pub(super) fn declared() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in rust() {
        for line in text.lines() {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            let begins = words
                .first()
                .filter(|word| word.starts_with(char::is_uppercase));
            names.extend(begins.map(|word| (*word).to_owned()));
            let pairs = words.windows(2).filter(|pair| DECLARES.contains(&pair[0]));
            names.extend(pairs.map(|pair| pair[1].to_owned()));
        }
    }
    names
}

/// Splits a name of code into its parts: a path of names, a type or a macro. Returns `None` for words of
/// the wire and of the command line.
fn parts(word: &str) -> Option<Vec<&str>> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let bare = word.trim_end_matches(['!', '*']);
    let names: Vec<_> = bare.split("::").collect();
    let whole = names
        .iter()
        .all(|name| !name.is_empty() && name.chars().all(part));
    let is_type = bare.starts_with(|c: char| c.is_ascii_uppercase())
        && bare.contains(|c: char| c.is_ascii_lowercase());
    (whole && (names.len() > 1 || is_type || word.ends_with('!'))).then_some(names)
}

/// Codes, settings and columns: a word with an underscore that a document mentions is used in some other
/// file.
#[test]
fn documents_name_words_that_are_used() {
    let (documents, others): (Vec<_>, Vec<_>) = files()
        .into_iter()
        .partition(|(name, _)| name.ends_with(".md"));
    let used: BTreeSet<_> = others
        .iter()
        .flat_map(|(_, text)| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    let is_word = |word: &str| {
        let part = |part: &str| {
            let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            !part.is_empty() && part.chars().all(small)
        };
        // The exporter composes the names of metrics, and PostgreSQL has tools and views of its own.
        let elsewhere = word.starts_with("caudal_") || word.starts_with("pg_");
        word.contains('_') && word.split('_').all(part) && !elsewhere
    };
    let (mut named, mut found) = (0, Vec::new());
    for (document, text) in &documents {
        for word in code(text).iter().filter(|word| is_word(word)) {
            named += 1;
            if !used.contains(word.as_str()) {
                found.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(named > 100, "only {named} words are named");
    none(&found, "documents name words that are used");
}

/// Containers start in any order, and one without an address of its own must not get that of another.
#[test]
fn compose_gives_addresses_that_no_other_container_has() {
    let text = files().into_iter();
    let text = text.filter(|(name, _)| name == "src/packaging/compose.yaml");
    let text: String = text.map(|(_, text)| text).collect();
    let after = |name: &str| -> Vec<String> {
        let values = text.split(name).skip(1).map(str::trim_start);
        let end = |c: char| !c.is_ascii_digit() && c != '.' && c != '/';
        values
            .filter_map(|it| it.split(end).next().map(str::to_owned))
            .collect()
    };
    let bits = |address: &str| address.parse::<Ipv4Addr>().expect("an address").to_bits();
    let ranges = after("ip_range:");
    let (range, length) = ranges[0].split_once('/').expect("a range");
    let mask = u32::MAX << (32 - length.parse::<u32>().expect("a length"));
    let own = [after("ipv4_address:"), after("gateway:")].concat();
    assert!(own.len() > 3, "{own:?}");
    for address in own {
        assert_ne!(bits(&address) & mask, bits(range) & mask, "{address}");
    }
}

#[test]
fn the_map_and_the_internals_name_what_is_there() {
    let files = files();
    let (maps, internals): (Vec<_>, Vec<_>) = files
        .iter()
        .filter(|(name, _)| name == "ARCHITECTURE.md" || name.starts_with("docs/internals/"))
        .partition(|(name, _)| name == "ARCHITECTURE.md");
    let sizes: Vec<_> = maps.iter().map(|(_, text)| text.len()).collect();
    assert!(
        sizes.len() == 1 && sizes.iter().all(|size| *size <= MAP_BYTES),
        "the map is read in one sitting: {sizes:?}"
    );
    let both = maps.into_iter().chain(internals);
    let map: String = both.map(|(_, text)| text.as_str()).collect();
    let map = map.as_str();
    let declared = declared();
    let is_declared = |word: &str, name: &str| {
        if word.ends_with('*') {
            declared.iter().any(|known| known.starts_with(name))
        } else {
            declared.contains(name)
        }
    };
    let is_place = |word: &str| {
        let inside = format!("{}/", word.trim_end_matches('/'));
        let within = format!("/{inside}");
        let end = format!("/{word}");
        files.iter().any(|(name, _)| {
            name == word
                || name.ends_with(&end)
                || name.starts_with(&inside)
                || name.contains(&within)
        })
    };
    let (mut places, mut names, mut found) = (0, 0, Vec::new());
    for word in code(map) {
        // Paths in an operator's folder, and those of requests, are no files of the repository.
        let elsewhere =
            word.starts_with(['/', '$']) || word.starts_with("DATA") || word.contains(' ');
        if !elsewhere && word.contains('/') {
            places += 1;
            // A placeholder stands for any name: only the folder before it has to exist.
            let place = word.split('<').next().unwrap();
            if !is_place(place) {
                found.push(format!("no such place: {word}"));
            }
        } else if let Some(parts) = parts(&word) {
            names += 1;
            let last = parts.len() - 1;
            let missing = parts.iter().enumerate().find(|(n, part)| {
                if *n == last {
                    !is_declared(&word, part)
                } else {
                    !declared.contains(**part)
                }
            });
            found.extend(missing.map(|(_, part)| format!("nothing is called {part}: {word}")));
        }
    }
    assert!(
        places > 150 && names > 30,
        "only {places} places and {names} names"
    );
    none(&found, "the map and the internals name what is there");
}
