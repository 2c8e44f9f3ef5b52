//! The commands as shells and `man` know them.

use std::fs;

use tempfile::TempDir;

use super::{caudal, said};

/// The commands, as the help lists them.
fn commands() -> Vec<String> {
    let (_, help, _) = said(&caudal(&["--help"]).output().unwrap());
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let list = list.lines().take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = TempDir::new().unwrap();
    let pages = folder.path().join("man1");
    let (code, _, why) = said(&caudal(&["man", pages.to_str().unwrap()]).output().unwrap());
    assert_eq!(code, Some(0), "{why}");
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for name in &commands {
        let page = fs::read_to_string(pages.join(format!("caudal-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH caudal-{name} 1")), "{page}");
    }
    for name in ["operations", "operating", "alerts"] {
        let page = fs::read_to_string(pages.join(format!("caudal-{name}.7"))).unwrap();
        assert!(page.contains(&format!(".TH caudal-{name} 7")), "{page}");
    }
    let serve = fs::read_to_string(pages.join("caudal-serve.1")).unwrap();
    assert!(serve.contains("CAUDAL_CONFIG"), "{serve}");
}

#[test]
fn the_help_explains_the_exit_codes() {
    for arguments in [&["help", "exit-codes"][..], &["exit-codes"]] {
        let (code, text, why) = said(&caudal(arguments).output().unwrap());
        assert_eq!(code, Some(0), "{why}");
        for known in [
            "1  The command failed",
            "3  The store refuses",
            "4  Another node",
        ] {
            assert!(text.contains(known), "{text}");
        }
    }
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, why) = said(&caudal(&["completions", shell]).output().unwrap());
        assert_eq!(code, Some(0), "{why}");
        for name in commands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
    }
    let (code, _, why) = said(&caudal(&["completions", "cmd"]).output().unwrap());
    assert_eq!(code, Some(2));
    assert!(why.contains("bash"), "{why}");
}
