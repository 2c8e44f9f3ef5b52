//! `caudal cell`: the cells, through the admin API.

use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;

use super::Exit;
use super::remote::{Remote, Which, shown};
use super::terminal::{say, wait};

/// An errand about cells.
#[derive(Debug, Subcommand)]
pub enum Cell {
    /// Show the cells
    Status {
        #[command(flatten)]
        which: Which,
        /// Print the answer as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(errand: Cell) -> Result<(), Exit> {
    match errand {
        Cell::Status { which, json } => status(&which.find()?, json),
    }
}

fn status(remote: &Remote, as_json: bool) -> Result<(), Exit> {
    let cells = wait(remote.ask(Method::GET, "/admin/cells", None))?;
    if as_json {
        return say(&serde_json::to_string_pretty(&cells).map_err(Exit::failed)?);
    }
    let cells = cells.as_array().map(Vec::as_slice);
    for cell in cells.unwrap_or(&[]) {
        say(&page(cell))?;
    }
    Ok(())
}

fn page(cell: &Value) -> String {
    let figure = |name| shown(cell, name);
    format!(
        "cell {}   commit {}   realms {}",
        figure("cell"),
        figure("commit"),
        figure("realms")
    )
}
