//! `caudal evidence`: what an auditor asks for about an account, a person, a case or a day, as a folder.
//!
//! **Order.** The folder has a temporary name until every file is on disk and has the hash that the index says, and it
//! never replaces another folder. Only its owner can read it. The command prints the hash of the index: with it an
//! auditor checks all other files.
//!
//! **Bounds.** [`ARCHIVE_BYTES_MAX`] bytes of the archive, and of each file, are read.

use std::fs::{DirBuilder, File};
use std::io::{Cursor, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use caudal_backup::names::hex;
use clap::ArgGroup;
use serde_json::Value;
use url::form_urlencoded::Serializer;
use zip::ZipArchive;

use super::Exit;
use super::process;
use super::realm::RealmMode;
use super::remote::WhichService;
use super::terminal::{say, wait};

/// The most bytes of an archive, and of a file in it: somewhat more than a service gives.
const ARCHIVE_BYTES_MAX: u64 = 80 << 20;
/// The index of an archive.
const INDEX: &str = "index.json";

/// Write a new folder with the evidence about an account, a person, a case or a day
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["cvu", "person", "case", "day"])))]
pub(super) struct EvidenceArgs {
    /// The account with this CVU
    #[arg(long)]
    cvu: Option<String>,
    /// All accounts of the person with this CUIT or CUIL
    #[arg(long, value_name = "CUIT")]
    person: Option<String>,
    /// The case with this id, and the account that it is about
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// The whole realm on this day, YYYY-MM-DD
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// Not before this day
    #[arg(long, value_name = "DAY", conflicts_with = "day")]
    from: Option<String>,
    /// Not after this day
    #[arg(long, value_name = "DAY", conflicts_with = "day")]
    to: Option<String>,
    /// The tenant's id
    #[arg(long, value_name = "ID")]
    tenant: String,
    /// The realm of the tenant
    #[arg(long, default_value = "live")]
    mode: RealmMode,
    /// The folder, which must not exist yet
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    service: WhichService,
}

/// Requests the evidence, and writes the folder.
pub(super) fn run(args: EvidenceArgs) -> Result<(), Exit> {
    process::keep_files_private();
    let out = args.out.clone();
    let failed = |why: std::io::Error| Exit::failed(format!("{}: {why}", out.display()));
    if out.try_exists().map_err(failed)? {
        return Err(Exit::usage(format!("{} is there already", out.display())));
    }
    let path = address(&args);
    let remote = args.service.find()?;
    let bytes = wait(async { remote.bytes(&path, ARCHIVE_BYTES_MAX).await })?;
    let mut half = out.as_os_str().to_owned();
    half.push(".half");
    let half = PathBuf::from(half);
    folder(&half).map_err(|why| Exit::failed(format!("{}: {why}", half.display())))?;
    let written = unpacked(&bytes, &half).and_then(|index| {
        std::fs::rename(&half, &out).map_err(failed)?;
        Ok(index)
    });
    if written.is_err() {
        std::fs::remove_dir_all(&half).map_err(failed)?;
    }
    let (files, hash) = written?;
    say(&format!("{}: {files} files", out.display()))?;
    say(&format!("SHA-256 of {INDEX}: {hash}"))
}

/// The path of the request.
fn address(args: &EvidenceArgs) -> String {
    let given = [
        ("cvu", &args.cvu),
        ("cuit", &args.person),
        ("case", &args.case),
        ("date", &args.day),
        ("from", &args.from),
        ("to", &args.to),
    ];
    let given = given.into_iter();
    let given = given.filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let query = Serializer::new(String::new())
        .append_pair("mode", caudal_ledger::ids::Mode::from(args.mode).as_str())
        .extend_pairs(given)
        .finish();
    let tenant: String = url::form_urlencoded::byte_serialize(args.tenant.as_bytes()).collect();
    format!("/admin/tenants/{tenant}/evidence?{query}")
}

fn folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// A file of an archive.
fn read(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>, Exit> {
    let broken = |why: String| Exit::failed(format!("the archive is broken at {name}: {why}"));
    let file = archive
        .by_name(name)
        .map_err(|why| broken(why.to_string()))?;
    let mut bytes = Vec::new();
    let mut file = file.take(ARCHIVE_BYTES_MAX);
    file.read_to_end(&mut bytes)
        .map_err(|why| broken(why.to_string()))?;
    Ok(bytes)
}

/// Writes the files that the index names, each with the hash that it has there. Returns their number, and the hash of
/// the index.
fn unpacked(bytes: &[u8], half: &Path) -> Result<(usize, String), Exit> {
    let broken = |why: &str| Exit::failed(format!("the archive is broken: {why}"));
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|why| broken(&why.to_string()))?;
    let index = read(&mut archive, INDEX)?;
    let parsed: Value = serde_json::from_slice(&index).map_err(|why| broken(&why.to_string()))?;
    let files = parsed.get("files").and_then(Value::as_array);
    let files = files.ok_or_else(|| broken("its index names no files"))?;
    for file in files {
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        let (name, sha256) = text("name")
            .zip(text("sha256"))
            .ok_or_else(|| broken("its index is cut"))?;
        let content = read(&mut archive, name)?;
        if hash(&content) != sha256 {
            return Err(broken(&format!(
                "{name} has another hash than the index says"
            )));
        }
        written(half, name, &content)?;
    }
    written(half, INDEX, &index)?;
    Ok((files.len() + 1, hash(&index)))
}

fn hash(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Writes a file below a folder.
fn written(half: &Path, name: &str, content: &[u8]) -> Result<(), Exit> {
    let path = Path::new(name);
    if !path
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return Err(Exit::failed(format!(
            "the archive is broken: {name} leads out of its folder"
        )));
    }
    let failed = |why: std::io::Error| Exit::failed(format!("{name} cannot be written: {why}"));
    let to = half.join(path);
    if let Some(above) = to.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(above)
            .map_err(failed)?;
    }
    let mut file = File::create_new(&to).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.sync_all().map_err(failed)
}
