//! `caudal verify-day`: verifies proofs and sealed days that a service has returned, without a service.
//!
//! **Shape.** Each file is read and verified by itself; then the checkpoints of each realm are compared in the order of their
//! days. What was verified, or why a file is refused, is printed below the name of the file.

mod sealed;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Exit;
use super::terminal::say;
use sealed::{FILE_BYTES_MAX, Found, Refusal, VerifierKey};

/// Verify proofs and sealed days, without a service
///
/// A file is the answer to `GET /v1/days/{date}/proof/{cvu}` or `GET /v1/days/{date}`. Files of consecutive days are also
/// verified to follow each other. Prints what was verified; the exit code is 1 if a file is refused.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyDayArgs {
    /// Files, each a proof or a day, as JSON
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The key of the realm as the PSP publishes it, NAME+ID+BASE64. A day that is verified with it may name the key of
    /// the days after it. Without this option, the key in the file is used, which anybody could have made
    #[arg(long, value_name = "VKEY")]
    key: Option<String>,
}

/// Verifies files.
pub(super) fn run(args: &VerifyDayArgs) -> Result<(), Exit> {
    let key = args.key.as_deref().map(|text| {
        let wrong = "--key is not a verifier key: NAME+ID+BASE64, with the id of this name and key";
        VerifierKey::parse(text).ok_or_else(|| Exit::usage(wrong))
    });
    let key = key.transpose()?;
    let mut files: Vec<Found> = Vec::with_capacity(args.files.len());
    for path in &args.files {
        let found = content(path).and_then(|bytes| sealed::verify(&bytes));
        files.push((path.display().to_string(), found));
    }
    let order = sealed::compare(&mut files, key.as_ref());
    for (name, found) in &files {
        match found {
            Ok(verified) => {
                say(&format!("{name}: {}", verified.lines().join("\n  ")))?;
            }
            Err(why) => say(&format!("{name}: {why}"))?,
        }
    }
    for line in order {
        say(&line)?;
    }
    match files.iter().filter(|(_, found)| found.is_err()).count() {
        0 => Ok(()),
        refused => Err(Exit::failed(format!(
            "{refused} of {} files refused",
            files.len()
        ))),
    }
}

/// The bytes of a file, at most one more than a file may have.
fn content(path: &Path) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let failed = |why: std::io::Error| Refusal::File(why.to_string());
    let file = File::open(path).map_err(failed)?;
    let most = u64::try_from(FILE_BYTES_MAX + 1).map_err(|why| Refusal::File(why.to_string()))?;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
