//! `caudal statement`: the statement of an account as a file.
//!
//! **Order.** The file has a temporary name until all of its bytes are on disk and match the number that the service
//! announced, and it never replaces another file. After a failure neither name remains. Only the file's owner can read
//! it.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{Client, Response, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};

use super::Exit;
use super::dev::{DATA, DevFile};
use super::process;
use super::progress::ProgressLine;
use super::remote::refused;
use super::terminal::{say, wait};

/// How long the command waits for the next bytes.
const SILENCE: Duration = Duration::from_secs(60);
/// The header with the key.
const API_KEY: &str = "x-api-key";

/// What the statement is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum FormatArg {
    /// JSON
    Json,
    /// Rows for spreadsheets
    Csv,
    /// ISO 20022 camt.053
    Camt,
    /// Pages to read
    Pdf,
}

impl FormatArg {
    const fn media(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv",
            Self::Camt => "application/xml",
            Self::Pdf => "application/pdf",
        }
    }
}

/// Write the statement of an account for some days into a new file.
#[derive(Debug, clap::Args)]
pub(super) struct StatementArgs {
    /// The CVU of the account
    #[arg(long)]
    cvu: String,
    /// The first day, YYYY-MM-DD
    #[arg(long, value_name = "DAY")]
    first: String,
    /// The last day, whole
    #[arg(long, value_name = "DAY")]
    last: String,
    /// The format
    #[arg(long, value_enum, default_value = "pdf")]
    format: FormatArg,
    /// The file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The address of the API; that of the running `caudal dev` unless set
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// A key of the realm; prefer the variable to the command line
    #[arg(
        long,
        value_name = "KEY",
        env = "CAUDAL_API_KEY",
        hide_env_values = true
    )]
    key: Option<SecretString>,
}

/// Requests the statement and writes it.
pub(super) fn run(args: &StatementArgs) -> Result<(), Exit> {
    process::keep_files_private();
    let dev = DevFile::read(&PathBuf::from(DATA))?;
    let (base, key) = match (&args.url, &args.key, dev) {
        (Some(url), Some(key), _) => (url.clone(), key.clone()),
        (None, key, Some(dev)) => {
            let url = dev.url.parse().map_err(Exit::failed)?;
            let usual = || dev.test_key.clone().into();
            (url, key.clone().unwrap_or_else(usual))
        }
        (Some(_), None, _) => return Err(Exit::usage("--url needs --key or CAUDAL_API_KEY")),
        (None, _, None) => return Err(Exit::usage("no `caudal dev` runs here: --url is needed")),
    };
    let path = format!("/v1/accounts/{}/statements", args.cvu);
    let mut url = base.join(&path).map_err(Exit::usage)?;
    url.query_pairs_mut()
        .append_pair("from", &args.first)
        .append_pair("to", &args.last);
    let client = Client::builder().redirect(redirect::Policy::none());
    let client = client.read_timeout(SILENCE).build().map_err(Exit::failed)?;
    let asked = client.get(url).header(ACCEPT, args.format.media());
    let asked = asked.header(API_KEY, key.expose_secret());
    wait(async {
        let away = |why: reqwest::Error| Exit::failed(format!("{base} does not answer: {why}"));
        let answer = asked.send().await.map_err(away)?;
        if !answer.status().is_success() {
            return Err(refused(answer).await);
        }
        let length = written(answer, &args.to).await?;
        say(&format!("{}: {length} bytes", args.to.display()))
    })
}

/// Writes an answer to a new file; returns its number of bytes.
async fn written(answer: Response, to: &Path) -> Result<u64, Exit> {
    let failed = |why: std::io::Error| Exit::failed(format!("{}: {why}", to.display()));
    if to.try_exists().map_err(failed)? {
        return Err(Exit::usage(format!("{} is there already", to.display())));
    }
    let unsaid = "the answer does not say how long it is, so it cannot be told whole from cut off: ask the service itself, \
                  or let the proxy before it leave Content-Length";
    let promised = answer
        .content_length()
        .ok_or_else(|| Exit::failed(unsaid))?;
    let mut half = to.as_os_str().to_owned();
    half.push(".half");
    let half = PathBuf::from(half);
    let file = File::create_new(&half).map_err(|why| {
        let name = half.display();
        Exit::failed(match why.kind() {
            ErrorKind::AlreadyExists => {
                format!("{name} is there already: remove it if nobody writes it any more")
            }
            _ => format!("{name}: {why}"),
        })
    })?;
    // A link fails if the target exists; a rename would replace it.
    let done = match filled(answer, file, promised).await {
        Ok(()) => std::fs::hard_link(&half, to).map_err(failed),
        Err(why) => Err(why),
    };
    let removed = std::fs::remove_file(&half).map_err(failed);
    done.and(removed).map(|()| promised)
}

/// Writes all bytes of an answer durably.
async fn filled(mut answer: Response, mut file: File, promised: u64) -> Result<(), Exit> {
    let failed = |why: std::io::Error| Exit::failed(format!("the file cannot be written: {why}"));
    let cut = |why: reqwest::Error| Exit::failed(format!("the answer was cut off: {why}"));
    let bar = ProgressLine::bytes("statement", promised);
    let mut length = 0;
    while let Some(part) = answer.chunk().await.map_err(cut)? {
        file.write_all(&part).map_err(failed)?;
        length += u64::try_from(part.len()).map_err(Exit::failed)?;
        bar.set_position(length);
    }
    bar.clear();
    if length != promised {
        let short = "the answer was cut off: it is shorter than it was to be";
        return Err(Exit::failed(short));
    }
    file.sync_all().map_err(failed)
}
