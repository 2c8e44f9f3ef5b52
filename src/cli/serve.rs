//! `caudal serve`: the service for production.

use std::path::PathBuf;

use caudal_http::traces::export;
use caudal_service::Service;
use caudal_service::config::{EXAMPLE, Settings};

use super::Exit;
use super::process;
use super::progress::ProgressLine;
use super::terminal::{self, Hangup, Signals, say};

/// Run the service
///
/// Settings come from the file; `CAUDAL_…` variables override it. SIGTERM and Ctrl-C stop the service: it reports at once
/// that it is not ready, finishes the requests in flight, and exits with code 0. It ignores SIGHUP, SIGUSR1 and
/// SIGUSR2, because it reads settings only at the start.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// The file with the settings (TOML)
    #[arg(long, value_name = "FILE", env = "CAUDAL_CONFIG")]
    config: Option<PathBuf>,
    /// Print all settings with their meanings and defaults, then exit
    #[arg(long)]
    example: bool,
}

/// Runs the service until a signal.
pub(super) fn run(args: &ServeArgs) -> Result<(), Exit> {
    if args.example {
        return say(EXAMPLE.trim_end());
    }
    let file = args.config.as_ref().ok_or_else(|| {
        Exit::usage(
            "which settings? Set --config FILE (or CAUDAL_CONFIG). `caudal serve --example > caudal.toml` \
             writes a file with every setting to begin with; `caudal dev` needs none.",
        )
    })?;
    process::keep_files_private();
    let settings = Settings::load(file).map_err(Exit::usage)?;
    let (format, log) = (settings.log_format, settings.log.clone());
    let traces = settings.traces.clone();
    let mut options = settings.options().map_err(Exit::usage)?;
    terminal::log(format, &log)?;
    if let Some(endpoint) = traces.endpoint() {
        let failed = |why| Exit::usage(format!("traces.endpoint: {why}"));
        export::begin(endpoint, traces.every).map_err(failed)?;
    }
    process::keep_memory_private();
    process::warn_if_shared(file);
    process::give_memory_back()?;
    terminal::wait(async {
        let signals = Signals::listen(Hangup::GoesOn)?;
        let line = ProgressLine::new("opening");
        options.storage.progress = Some(line.watch_opening());
        let service = Service::start(options);
        line.clear();
        let service = service?;
        tracing::info!(
            url = service.url,
            admin = service.admin_url,
            "takes requests"
        );
        terminal::serve(service, signals).await
    })
}
