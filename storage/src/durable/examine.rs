//! Examines a store's folder: checkpoint, journal, witness, index.
//!
//! **Order.** The checkpoint says what need not be read; then the journal is checked, the witness is compared with it,
//! and the index is opened and compared with both.
//!
//! **Failure.** A contradiction with bytes that were read whole refuses the store. A contradiction only with what the
//! checkpoint attests leads to reading those bytes first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::api::Projection;
use crate::context::StoreContext;
use crate::durable::checkpoint;
use crate::durable::options::StoreOptions;
use crate::durable::space;
use crate::durable::witness::{self, WITNESS};
use crate::error::OpenError;
use crate::folder::Birth;
use crate::health::MARKER;
use crate::index::blocks::{INDEX, probe};
use crate::index::error::IndexError;
use crate::index::manifest::JournalMark;
use crate::index::open::Wanted;
use crate::index::scope::Scopes;
use crate::index::scrub::AttestedRuns;
use crate::index::{SortedRows, Tuning};
use crate::journal::check::{Checked, Trust, check, segment_numbers};
use crate::journal::format::{SEGMENT_HEADER, genesis, segment_path};
use crate::journal::{Journal, position, split};

/// The findings in a folder; nothing in it has been changed except what sled does when it opens.
pub(super) struct Examined {
    pub(super) found: checkpoint::TrustedCheckpoint,
    pub(super) checked: Checked,
    pub(super) journal: Arc<Journal>,
    pub(super) testimony: Option<(u64, JournalMark)>,
    pub(super) index: Result<SortedRows, Wanted>,
}

/// The checkpoint, as far as it can be trusted before anything is read.
fn found(
    context: &StoreContext,
    options: &StoreOptions,
) -> Result<checkpoint::TrustedCheckpoint, OpenError> {
    if options.check_all {
        return Ok(checkpoint::TrustedCheckpoint::default());
    }
    let numbers = segment_numbers(&context.journal);
    let numbers = numbers.map_err(|e| OpenError::io("listing", context.journal.path(), e))?;
    let last = numbers.last().map_or(0, |number| *number);
    Ok(checkpoint::read(&context.folder, &context.id, last))
}

/// Examines the store: checks the journal as far as the checkpoint does not attest it, then opens the index. The
/// journal is not changed.
///
/// # Errors
/// `Corrupt` when the journal is damaged, or lacks a commit that the witness or the index names, or has another one in
/// its place. `Io` when the system refuses to read, including the index. An index that is damaged or of another version
/// is no error: `index` then has the parts for making a new one.
pub(super) fn examine(
    context: &Arc<StoreContext>,
    options: &StoreOptions,
    projection: &dyn Projection,
) -> Result<Examined, OpenError> {
    let mut found = found(context, options)?;
    let trust = Trust {
        attested: &found.attested,
        before: found.tail(),
    };
    let testimony = witness::read(&context.folder, &context.id)?;
    let read = |trust: &Trust<'_>| -> Result<(Checked, Arc<Journal>), OpenError> {
        let checked = check(&context.journal, &context.id, trust, &|p| options.report(p))?;
        let journal = Arc::new(Journal::new(context, &checked));
        testify(&context.path, options, &checked, &journal, testimony)?;
        Ok((checked, journal))
    };
    let (mut checked, mut journal) = match read(&trust) {
        Ok((checked, journal)) if !found.is_ahead_of(&checked) => (checked, journal),
        Err(e) if found.slot.is_none() || !matches!(e, OpenError::Corrupt(_)) => return Err(e),
        // a contradiction with the checkpoint alone is no reason to refuse the store
        _ => {
            tracing::warn!("the checkpoint does not agree with the journal: everything is checked");
            found = checkpoint::TrustedCheckpoint::default();
            read(&Trust::default())?
        }
    };
    let index = open_index(context, options, projection, found.known())?;
    let dir = context.journal.path();
    let good = match &index {
        // rows may only be derived from records that were read in this start
        Ok(index) => {
            split(index.mark().end).0 >= found.tail()
                && agree(dir, &checked, &journal, index.mark()).is_ok()
        }
        Err(_) => false,
    };
    if !good && checked.read.len() < checked.segments.len() {
        tracing::warn!("the index is not as the checkpoint says: the whole journal is checked");
        let before = checked.bytes;
        (checked, journal) = read(&Trust::default())?;
        checked.bytes += before;
    }
    if let Ok(index) = &index {
        agree(dir, &checked, &journal, index.mark())?;
    }
    Ok(Examined {
        found,
        checked,
        journal,
        testimony,
        index,
    })
}

/// Refuses a journal that lacks a record which its witness names.
fn testify(
    path: &Path,
    options: &StoreOptions,
    checked: &Checked,
    journal: &Journal,
    testimony: Option<(u64, JournalMark)>,
) -> Result<(), OpenError> {
    let file = path.join(WITNESS);
    let Some((_, mark)) = testimony else {
        if !options.witnessed {
            return Ok(());
        }
        let why = "it is missing, and with it the proof of how far the journal went";
        return Err(witness::refused(&file, why));
    };
    if mark.commit > checked.last_commit {
        let why = format!(
            "it says that commit {} was written, but the journal ends with commit {}: {} commits \
             are missing at its end (the newest segments or records were taken away, or an older \
             journal was put in place)",
            mark.commit,
            checked.last_commit,
            mark.commit - checked.last_commit
        );
        return Err(witness::refused(&file, &why));
    }
    if bears_out(checked, journal, &mark)? {
        return Ok(());
    }
    let why = format!(
        "it says that commit {} was written, and the journal, which ends with commit {}, holds \
         another commit of that number: one of the two was replaced",
        mark.commit, checked.last_commit
    );
    Err(witness::refused(&file, &why))
}

/// Whether the journal holds the record that a mark names.
fn bears_out(checked: &Checked, journal: &Journal, mark: &JournalMark) -> Result<bool, OpenError> {
    if mark.commit == checked.last_commit {
        return Ok(mark.chain == checked.chain);
    }
    let follows = journal.follows(mark.end, mark.commit, &mark.chain);
    follows.map_err(|e| OpenError::Io {
        what: "checking the journal".to_owned(),
        source: Arc::new(std::io::Error::other(e.to_string())),
    })
}

/// Refuses a journal that lacks a record which the index proves to have existed.
fn agree(
    dir: &Path,
    checked: &Checked,
    journal: &Journal,
    mark: JournalMark,
) -> Result<(), OpenError> {
    let place = segment_path(dir, checked.segment);
    let refuse = |why: &str| Err(OpenError::damaged(&place, u64::from(checked.offset), why));
    if mark.commit > checked.last_commit {
        let why = format!(
            "the journal ends with commit {} here, but the index proves that commit {} was \
             written",
            checked.last_commit, mark.commit
        );
        return refuse(&why);
    }
    if bears_out(checked, journal, &mark)? {
        Ok(())
    } else {
        refuse("the index was made from another journal: one of the two was replaced")
    }
}

/// Opens the index, or returns the parts for making a new one.
fn open_index(
    context: &Arc<StoreContext>,
    options: &StoreOptions,
    projection: &dyn Projection,
    known: Option<(Birth, AttestedRuns)>,
) -> Result<Result<SortedRows, Wanted>, OpenError> {
    let folder = &context.folder;
    let start = position(1, SEGMENT_HEADER);
    let same = known.filter(|(file, _)| folder.birth("index/db") == Some(*file));
    let wanted = Wanted {
        context: Arc::clone(context),
        known: same.map(|(_, known)| known),
        projection: projection.version(),
        tuning: Tuning {
            table_bytes: options.table_bytes,
            frozen_max: options.frozen_max.max(1),
            fan_in: options.merge_fan_in.max(2),
            sled_cache: options.index_cache_bytes,
            block_cache: options.block_cache_bytes,
            file_keys: options.file_keys,
            scopes: Scopes::of(projection.scoped()),
            single: Scopes::of(projection.single()),
        },
        nothing: JournalMark {
            commit: 0,
            chain: genesis(&context.id),
            end: start,
        },
    };
    let exists = |name: &str| {
        let found = folder.id(name);
        found.map_err(|e| OpenError::io("looking into", folder.path(), e))
    };
    let marked = exists(MARKER)?.is_some();
    let opened = if marked {
        Err(IndexError::from("it was found damaged before"))
    } else {
        let mut opened = try_index(&wanted, false);
        let full = matches!(&opened, Err(why) if why.no_room());
        if full && space::give_up(folder).unwrap_or(false) {
            tracing::warn!("the disk is full: the room that was kept back is given up");
            opened = try_index(&wanted, false);
        }
        opened
    };
    // if the system cannot read, that proves nothing about the content
    let opened = opened.map_err(|why| match why {
        IndexError::Damaged(_) if exists(INDEX).is_ok_and(|i| i.is_some()) => probe(folder)
            .err()
            .filter(|e| !matches!(e, IndexError::Damaged(_)))
            .unwrap_or(why),
        why => why,
    });
    match opened {
        Ok(index) => Ok(Ok(index)),
        Err(IndexError::Read(why) | IndexError::Write(why)) => Err(OpenError::Io {
            what: format!("opening the index in {}", folder.path().display()),
            source: Arc::new(std::io::Error::other(format!(
                "{why}. The index was kept as it is; nothing is rebuilt for an error that may pass"
            ))),
        }),
        Err(IndexError::Damaged(why)) => {
            if marked || exists(INDEX)?.is_some() {
                tracing::warn!(
                    why,
                    "the index cannot be used and is rebuilt from the journal"
                );
            }
            Ok(Err(wanted))
        }
    }
}

/// Opens the index; `fresh` when its folder is new. A panic of sled becomes an error.
///
/// # Errors
/// `Damaged` when the index has to be rebuilt, `Read` or `Write` when the system refused an operation, which says
/// nothing about the bytes on disk.
pub(super) fn try_index(wanted: &Wanted, fresh: bool) -> Result<SortedRows, IndexError> {
    let open = AssertUnwindSafe(|| SortedRows::open(wanted, fresh));
    catch_unwind(open).unwrap_or_else(|panic| Err(IndexError::panicked(panic.as_ref())))
}
