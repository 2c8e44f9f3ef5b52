//! `caudal log`: the log level of a running service, with temporary changes.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::admin::Asking;
use super::remote::shown;

/// A command about what a service logs.
#[derive(Debug, Subcommand)]
pub(super) enum LogCommand {
    /// Show how much is logged, and how long a change still lasts
    Show {
        #[command(flatten)]
        asking: Asking,
    },
    /// Log more or less of some parts for a while; it ends by itself
    ///
    /// If the service was started with a level for a more specific target, such as `caudal_bank=warn`, that
    /// one wins over `caudal=debug`: name the more specific target.
    Set {
        /// Targets and levels, e.g. `caudal_bank=debug,caudal_actors=debug` (levels: warn, info, debug, trace)
        directives: String,
        /// For how many seconds, an hour at most; ten minutes unless set
        #[arg(long = "for", value_name = "SECONDS")]
        seconds: Option<u64>,
        #[command(flatten)]
        asking: Asking,
    },
    /// End the change at once
    Reset {
        #[command(flatten)]
        asking: Asking,
    },
}

/// Runs the command.
pub(super) fn run(command: LogCommand) -> Result<(), Exit> {
    const PATH: &str = "/admin/log";
    match command {
        LogCommand::Show { asking } => asking.run(Method::GET, PATH, None, page),
        LogCommand::Set {
            directives,
            seconds,
            asking,
        } => {
            let mut body = json!({"directives": directives});
            if let (Some(seconds), Some(fields)) = (seconds, body.as_object_mut()) {
                fields.insert("seconds".to_owned(), json!(seconds));
            }
            asking.run(Method::PUT, PATH, Some(body), page)
        }
        LogCommand::Reset { asking } => asking.run(Method::PUT, PATH, Some(json!({})), page),
    }
}

fn page(log: &Value) -> String {
    let mut lines = vec![format!("default           {}", shown(log, "usual"))];
    if log.get("directives").is_some_and(Value::is_string) {
        let left = shown(log, "endsInSeconds");
        lines.push(format!("override          {}", shown(log, "directives")));
        lines.push(format!("override ends in  {left} s"));
    }
    lines.push(format!("lines dropped     {}", shown(log, "droppedLines")));
    lines.join("\n")
}
