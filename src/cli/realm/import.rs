//! `caudal realm import`: a realm's file goes into the data folder of a stopped service.

use std::path::{Path, PathBuf};

use caudal_actors::verify;
use caudal_backup::BackupError;
use caudal_backup::portable::file::CheckedFile;
use caudal_backup::portable::import;
use caudal_http::clock;
use caudal_storage::Store;

use super::super::Exit;
use super::super::progress::ProgressLine;
use super::super::stopped::Stopped;
use super::super::terminal::say;
use super::{check, print, set, told};

/// Where a file is tried before it is imported.
const REHEARSAL: &str = "rehearsal";

/// Put a realm's file into the data folder of a stopped service, and verify all of it
///
/// If there is no tenant of that id, it is created from the file. The realm keeps its number, which no other tenant may
/// have here. It is served only after it is complete and opened. An interrupted import continues where it was when the
/// command runs again; until the realm is opened, a later file of the same realm can be imported over an earlier one.
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// The data folder of a stopped service
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Serve it from the next start on. No other installation may serve it then
    #[arg(long)]
    open: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Imports.
pub(super) fn put(args: &Import) -> Result<(), Exit> {
    let (file, checked) = (&args.file, check(&args.file)?);
    let stopped = Stopped::to_write(&args.data, "an import")?;
    let store = stopped.store.as_ref();
    let rehearsal = args.data.join(REHEARSAL);
    let bar = ProgressLine::bytes("trying it", checked.bytes);
    let mut done = |bytes| bar.set_position(bytes);
    import::rehearse(file, &checked, &rehearsal, &mut done)?;
    import::begin(store, file, &checked, clock::now())?;
    bar.set_what("importing");
    import::fill(store, file, &checked, &mut |bytes| bar.set_position(bytes))?;
    bar.clear();
    import::compare(store, file, &checked)?;
    let report = verified(store)?;
    if let Some(first) = report.differences.first() {
        return Err(Exit::failed(format!(
            "{} differences in the store, the first: {first}. The realm stays closed; look at `caudal verify --data {}`",
            report.count,
            args.data.display()
        )));
    }
    import::end(store, &checked, clock::now())?;
    let (tenant, mode) = (&checked.head.tenant, checked.head.mode);
    if args.open {
        set(store, tenant, mode, true)?;
    }
    stopped.store.close().map_err(Exit::failed)?;
    let mut all = told(&checked);
    if let Some(all) = all.as_object_mut() {
        all.insert("opened".to_owned(), args.open.into());
        all.insert("differences".to_owned(), report.count.into());
    }
    print(&all, args.json, "imported, nothing differs")?;
    if args.json || args.open {
        Ok(())
    } else {
        next(&checked, &args.data)
    }
}

/// Verifies the store.
fn verified(store: &dyn Store) -> Result<verify::Report, Exit> {
    let line = ProgressLine::new("entries replayed:");
    let mut seen = |entries| line.set_position(entries);
    let found = verify::store(store, &mut seen);
    line.clear();
    Ok(found.map_err(BackupError::from)?.0)
}

/// What is to be done before a realm is served.
fn next(checked: &CheckedFile, data: &Path) -> Result<(), Exit> {
    let head = &checked.head;
    if !checked.ending.closed {
        say("It was not closed where it came from: see to it that nobody serves it there.")?;
    }
    say(&format!(
        "It is closed here. Issue its keys, look at its bank and at the secrets of its webhooks, then: \
         caudal realm open --data {} --tenant {} --mode {}",
        data.display(),
        head.tenant,
        head.mode.as_str()
    ))
}
