//! `caudal completions` and `caudal man`: the commands described for shells and for `man`.
//!
//! Both are generated from the command line's definition, so they cannot differ from it.

use std::fs;
use std::path::Path;

use caudal_http::pages::documents;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::terminal::say;
use super::{Cli, Exit, manual};

/// The documents that are pages of the manual.
const MANUAL: [&str; 3] = ["operations", "operating", "alerts"];

/// Prints the script with which a shell completes the command line.
pub(super) fn completions(shell: Shell) -> Result<(), Exit> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    say(String::from_utf8_lossy(&script).trim_end())
}

/// Writes the manual into a folder, which is created if it is missing: a page for each command (`caudal.1`,
/// `caudal-serve.1`, …), and the documents for operators (`caudal-operations.7`, …).
pub(super) fn write_manual(folder: &Path) -> Result<(), Exit> {
    let failed = |why| Exit::failed(format!("{}: {why}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    for document in documents().filter(|it| MANUAL.contains(&it.path)) {
        let file = folder.join(format!("caudal-{}.7", document.path));
        fs::write(file, manual::page(document)).map_err(failed)?;
    }
    Ok(())
}
