//! The data folder: its permissions and lock, the store that it holds, and the pepper of API keys.
//!
//! **Shape.** The rest of the service does not name the storage engine: it uses a [`Store`].
//!
//! **Order.** In a new folder: the pepper, the store, `store.id`, and last `pepper.check`. So a
//! folder with either of the last two had a store.
//!
//! A restore first writes `restore.unfinished` and removes it when what it restored is verified. Until then nothing else
//! uses the folder, and the next restore removes what the last one has left.
//!
//! **Failure.** A pepper other than the one under which keys were made would silently invalidate every key, so a digest
//! of it is next to the store, and the service refuses to start with another pepper. It also refuses a store that is
//! missing or has been replaced (a volume that is not mounted): an empty ledger in its place would answer, and would
//! give out every reference a second time. One process locks the folder, so no process opens a store that was put in
//! place of one in use.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_backup::BackupError;
use caudal_backup::end::{BackupChoices, BackupId, CHOSEN};
use caudal_backup::names::{hex, unhex};
use caudal_backup::outgoing::Outgoing;
use caudal_backup::since::Since;
use caudal_http::secret_lines::{lines, newest};
use caudal_storage::log::LogId;
use caudal_storage::{DurableStore, OpenError, Projection, Records, Store};
use secrecy::SecretString;

use super::StartError;

/// The store's folder, inside the data folder.
pub(super) const STORE: &str = "store";
/// The folder of the embedded sandbox bank.
pub const BANK: &str = "bank";
/// The pepper, when no setting gives it.
const PEPPER: &str = "pepper";
/// The digest by which a pepper is recognised.
const PEPPER_CHECK: &str = "pepper.check";
/// The id of the folder's store.
const STORE_ID: &str = "store.id";
/// Present while outgoing calls are held.
const OUTGOING_HELD: &str = "outgoing.held";
/// The file that names the log of which the store is a copy, or by which it was superseded.
pub(super) const PLACE: &str = "log.place";
/// The ending of a file that is being written.
const HALF: &str = "half";
/// Present while a store is being restored into the folder.
const RESTORING: &str = "restore.unfinished";
/// The largest file that is read whole, in bytes.
const FILE_MAX: u64 = 4096;

/// 256 random bits as text, for secrets of every kind.
pub fn new_secret() -> Result<String, StartError> {
    let mut random = [0_u8; 32];
    let none = |_| StartError::io("making a secret", io::Error::other("no randomness"));
    rand::fill(&mut random).map_err(none)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// Creates the folder, readable by its owner alone, with its name durable on disk. An existing folder gets those
/// permissions if it is empty or holds a store.
pub(super) fn prepare(data: &Path) -> Result<(), StartError> {
    let failed = |what: &str, why| StartError::io(format!("{what} {}", data.display()), why);
    let ours = || -> io::Result<bool> {
        let empty = std::fs::read_dir(data)?.next().is_none();
        Ok(empty || data.join(STORE).is_dir())
    };
    let make = || caudal_storage::make_folder(data).map_err(|why| failed("creating", why));
    if !data.exists() {
        make()
    } else if ours().map_err(|why| failed("looking into", why))? {
        // an earlier start may have made it, and ended before its name was on disk
        make()?;
        std::fs::set_permissions(data, Permissions::from_mode(0o700))
            .map_err(|why| failed("setting the permissions of", why))
    } else {
        Ok(())
    }
}

/// Locks the folder for this process until the file is dropped.
///
/// # Errors
/// `Busy` when another process has it; when a restore into it has not finished.
pub fn hold(data: &Path) -> Result<File, StartError> {
    is_restored(data)?;
    let held = lock(data)?;
    // A restore may have begun in between.
    is_restored(data).map(|()| held)
}

fn lock(data: &Path) -> Result<File, StartError> {
    let failed = |why| StartError::io(format!("opening {}", data.display()), why);
    let folder = File::open(data).map_err(failed)?;
    caudal_storage::exclusive(&folder, data)?;
    Ok(folder)
}

/// Refuses a folder into which a restore has not finished.
pub fn is_restored(data: &Path) -> Result<(), StartError> {
    let failed = |why| StartError::io(format!("looking into {}", data.display()), why);
    if data.join(RESTORING).try_exists().map_err(failed)? {
        Err(StartError::Setting(format!(
            "a restore into {} has not finished: wait for it, or, if it was interrupted, run `caudal restore` with this \
             folder again, which begins anew",
            data.display()
        )))
    } else {
        Ok(())
    }
}

/// Removes the service's data from its folder: the store with the notes about it, the pepper, and the
/// sandbox bank's accounts. Other files stay.
///
/// # Errors
/// `Busy` when a process uses the folder, `Io` when something cannot be removed.
pub fn clear(data: &Path) -> Result<(), StartError> {
    let _held = hold(data)?;
    without_store(data)?;
    remove(&data.join(PEPPER))
}

/// Removes the store with the notes about it, and the sandbox bank's accounts; the pepper stays.
fn without_store(data: &Path) -> Result<(), StartError> {
    // Remove the files that record a store first, so that the remains of an interrupted removal do not count as a lost
    // store.
    for name in [STORE_ID, PEPPER_CHECK] {
        remove(&data.join(name))?;
    }
    for name in [STORE, BANK] {
        let path = data.join(name);
        match std::fs::remove_dir_all(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                return Err(StartError::io(format!("removing {}", path.display()), why));
            }
            Ok(()) | Err(_) => {}
        }
    }
    // Notes about a store that is gone would be taken for notes about the next store.
    for name in [PLACE, OUTGOING_HELD, CHOSEN] {
        remove(&data.join(name))?;
    }
    Ok(())
}

/// Whether the folder has a store, or ever had one.
pub fn knows_a_store(data: &Path) -> Result<bool, StartError> {
    Ok(had_store(data)? || store_in(data)?.is_some())
}

/// Whether the folder ever had a store.
fn had_store(data: &Path) -> Result<bool, StartError> {
    Ok(known(data)?.is_some() || read(&data.join(PEPPER_CHECK))?.is_some())
}

/// The id of the folder's store as noted in `store.id`; `None` if it was not noted.
pub(super) fn known(data: &Path) -> Result<Option<String>, StartError> {
    let path = data.join(STORE_ID);
    let Some(bytes) = read(&path)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let id = text.trim().strip_prefix("store ").map(str::to_owned);
    let refuse = || {
        let why = format!(
            "{} is not what was written. Bring it back from a backup; if the store beside it is \
             surely the right one, remove this file, and it is written again",
            path.display()
        );
        StartError::from(OpenError::NotAStore(why))
    };
    id.map(Some).ok_or_else(refuse)
}

/// A folder into which a store is being restored; locked for this process.
#[derive(Debug)]
pub struct Restoring {
    data: PathBuf,
    held: File,
}

impl Restoring {
    /// Begins a restore into a folder, which is created if it is missing, and removes what an interrupted restore has
    /// left there. `mark` is the digest from [`pepper_mark`]. After a restore to the `past`, outgoing calls are held
    /// from the first start until an operator releases them.
    ///
    /// # Errors
    /// When the folder holds anything other than a pepper and an interrupted restore; `Busy` when a process uses it;
    /// when the system refuses an operation.
    pub fn begin(data: &Path, mark: Option<&[u8]>, past: bool) -> Result<Self, StartError> {
        is_free(data)?;
        prepare(data)?;
        let held = lock(data)?;
        is_free(data)?;
        write(
            &data.join(RESTORING),
            b"a restore into this folder has not finished\n",
        )?;
        without_store(data)?;
        if let Some(mark) = mark {
            write(&data.join(PEPPER_CHECK), mark)?;
        }
        if past {
            write(&data.join(OUTGOING_HELD), b"restored to the past\n")?;
        }
        let data = data.to_owned();
        Ok(Self { data, held })
    }

    /// The path of the store that is restored.
    pub fn store(&self) -> PathBuf {
        self.data.join(STORE)
    }

    /// The lock of the folder, for another part of this process.
    pub fn held(&self) -> Result<File, StartError> {
        let failed = |why| StartError::io(format!("locking {}", self.data.display()), why);
        self.held.try_clone().map_err(failed)
    }

    /// Ends the restore: from now on the folder can be used.
    pub fn finish(self) -> Result<(), StartError> {
        remove(&self.data.join(RESTORING))
    }
}

/// Refuses a folder that holds anything other than a pepper and an interrupted restore.
pub fn is_free(data: &Path) -> Result<(), StartError> {
    let failed = |why| StartError::io(format!("looking into {}", data.display()), why);
    let names = match std::fs::read_dir(data) {
        Ok(names) => names.collect::<io::Result<Vec<_>>>().map_err(failed)?,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(failed(why)),
    };
    let mut names = names.iter().map(std::fs::DirEntry::file_name);
    if data.join(RESTORING).try_exists().map_err(failed)? {
        return Ok(());
    }
    let half = Path::new(RESTORING).with_extension(HALF);
    let ours = |name: &std::ffi::OsString| {
        [PEPPER, PEPPER_CHECK].iter().any(|it| name == it) || name == half.as_os_str()
    };
    match names.find(|name| !ours(name)) {
        None => Ok(()),
        Some(name) => Err(StartError::Setting(format!(
            "{} is not empty: it holds {}. Nothing was changed; restore into a new folder (it may hold a file `{PEPPER}`)",
            data.display(),
            name.display()
        ))),
    }
}

/// The backups that the service of a data folder chose, in a file of the folder: the store, and a line for each place.
#[derive(Debug)]
pub struct BackupChoice(PathBuf);

impl BackupChoice {
    /// The choices of a data folder.
    pub fn of(data: &Path) -> Self {
        Self(data.join(CHOSEN))
    }

    /// The ids by their places, the one chosen last at the end.
    fn lines(&self, store: &LogId) -> Result<Vec<(BackupId, String)>, BackupError> {
        let read = read(&self.0).map_err(|why| BackupError::Refused(why.to_string()))?;
        let Some(bytes) = read else {
            return Ok(Vec::new());
        };
        let parsed = String::from_utf8(bytes).ok().and_then(|text| {
            let (first, rest) = text.split_once('\n')?;
            if unhex::<16>(first.strip_prefix("store ")?)? != *store {
                return Some(Vec::new());
            }
            let line = |line: &str| {
                let (id, place) = line.split_once(' ')?;
                Some((unhex(id)?, place.to_owned()))
            };
            rest.lines().map(line).collect()
        });
        parsed.ok_or_else(|| {
            BackupError::Refused(format!(
                "{} is not what was written. If the backup at its place is surely the right one, remove this file, and it \
                 is written again",
                self.0.display()
            ))
        })
    }
}

impl BackupChoices for BackupChoice {
    fn chosen(&self, store: &LogId, place: &str) -> Result<Option<BackupId>, BackupError> {
        let mut lines = self.lines(store)?.into_iter();
        Ok(lines.find(|(_, at)| at == place).map(|(id, _)| id))
    }

    fn choose(&self, store: &LogId, place: &str, id: &BackupId) -> Result<(), BackupError> {
        let mut lines = self.lines(store)?;
        lines.retain(|(_, at)| at != place);
        lines.push((*id, place.to_owned()));
        let text = |lines: &[(BackupId, String)]| {
            let lines = lines.iter().map(|(id, at)| format!("{} {at}\n", hex(id)));
            format!("store {}\n{}", hex(store), lines.collect::<String>())
        };
        // The places chosen first are forgotten when they are too many for a small file.
        while lines.len() > 1 && u64::try_from(text(&lines).len()).is_ok_and(|it| it > FILE_MAX) {
            lines.remove(0);
        }
        let written = write(&self.0, text(&lines).as_bytes());
        written.map_err(|why| BackupError::Refused(why.to_string()))
    }
}

/// The digest by which the folder's pepper is recognised; `None` until it has been noted.
pub fn pepper_mark(data: &Path) -> Result<Option<Vec<u8>>, StartError> {
    read(&data.join(PEPPER_CHECK))
}

/// Keeps the list of what a restore to the past has taken over, for people to read until they release outgoing calls.
pub fn list_since(data: &Path, since: &Since) -> Result<(), StartError> {
    let failed = |why: serde_json::Error| StartError::Setting(why.to_string());
    let list = serde_json::to_vec(since).map_err(failed)?;
    write(&data.join(OUTGOING_HELD), &list)
}

/// Whether outgoing calls are held.
pub(super) fn outgoing(data: &Path) -> Result<Outgoing, StartError> {
    let failed = |why| StartError::io(format!("looking into {}", data.display()), why);
    Outgoing::read(data.join(OUTGOING_HELD)).map_err(failed)
}

/// Opens the folder's own store and no other, and returns it with a handle to its records. A folder that never had a
/// store gets one, if `options` allow it.
///
/// # Errors
/// When the store is missing, is not the one that was noted, or does not open.
pub fn open(
    data: &Path,
    options: caudal_storage::StoreOptions,
    projection: Arc<dyn Projection>,
) -> Result<(Arc<dyn Store>, Records), StartError> {
    let path = data.join(STORE);
    let (known, had) = (known(data)?, had_store(data)?);
    let refuse = |why: String| Err(StartError::from(OpenError::NotAStore(why)));
    match (&known, store_in(data)?) {
        (Some(known), Some(there)) if *known != there => {
            return refuse(format!(
                "{} holds the store {there}, but {} has had the store {known} (its {STORE_ID} \
                 says so). Nothing was changed. Mount or bring back the right one; if the other \
                 is meant to be used from now on, remove {STORE_ID}",
                path.display(),
                data.display()
            ));
        }
        (_, None) if had => {
            return refuse(format!(
                "{0} holds no store ({0}/IDENTITY is missing), but {1} has had one: is its volume mounted? Nothing was \
                 changed, and no empty ledger is begun in its place: every key would be unknown, \
                 and references would be given out a second time. Mount the volume, or bring the \
                 store folder back from a backup; for a new ledger, choose another data folder",
                path.display(),
                data.display()
            ));
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    let options = caudal_storage::StoreOptions {
        create: options.create && !had,
        witnessed: known.is_some(),
        ..options
    };
    let store = DurableStore::open(path, options, projection)?;
    if known.is_none() {
        note(data, &store.id())?;
    }
    let records = store.records();
    Ok((store, records))
}

/// The id of the store that a folder has; `None` when it has none.
pub(super) fn store_in(data: &Path) -> Result<Option<String>, StartError> {
    Ok(DurableStore::id_of(&data.join(STORE))?)
}

/// Notes which store the folder has.
pub(super) fn note(data: &Path, id: &str) -> Result<(), StartError> {
    write(&data.join(STORE_ID), format!("store {id}\n").as_bytes())
}

/// The peppers, one a line and the newest first: the given ones, else the folder's, where one is made the first time.
pub(super) fn peppers(
    data: &Path,
    given: Option<&SecretString>,
) -> Result<SecretString, StartError> {
    let path = data.join(PEPPER);
    let peppers = match (given, read(&path)?) {
        (Some(given), _) => given.clone(),
        (None, Some(kept)) => SecretString::from(
            String::from_utf8(kept)
                .map_err(|_| StartError::Setting(format!("{} is not a text", path.display())))?,
        ),
        (None, None) if data.join(STORE).exists() => {
            return Err(StartError::Setting(format!(
                "{} is missing: without it no API key of this folder works. Bring it back from a \
                 backup, or set pepper to the one that was used",
                path.display()
            )));
        }
        (None, None) => {
            let made = new_secret()?;
            write(&path, made.as_bytes())?;
            made.into()
        }
    };
    let path = data.join(PEPPER_CHECK);
    let is_of =
        |kept: &[u8], pepper| verify_slices_are_equal(kept, mark(pepper).as_bytes()).is_ok();
    match read(&path)? {
        None => Ok(peppers),
        Some(kept) if lines(&peppers).any(|pepper| is_of(&kept, pepper)) => Ok(peppers),
        Some(_) => Err(StartError::Setting(format!(
            "the pepper is not the one under which the newest API keys of {} were made, so they would not work. Use that \
             one again (a new pepper goes on a line before it), or remove {} and issue all keys anew",
            data.display(),
            path.display()
        ))),
    }
}

fn mark(pepper: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, pepper.as_bytes());
    URL_SAFE_NO_PAD.encode(hmac::sign(&key, b"caudal pepper check"))
}

/// Notes the digest of the newest pepper, once there is a store.
pub(super) fn remember(data: &Path, peppers: &SecretString) -> Result<(), StartError> {
    let path = data.join(PEPPER_CHECK);
    let mark = mark(newest(peppers));
    match read(&path)? {
        Some(kept) if kept == mark.as_bytes() => Ok(()),
        Some(_) | None => write(&path, mark.as_bytes()),
    }
}

/// The secret of the embedded sandbox's notices, derived from this folder's newest pepper.
pub(super) fn notice_secret(peppers: &SecretString) -> SecretString {
    let key = hmac::Key::new(hmac::HMAC_SHA256, newest(peppers).as_bytes());
    let mark = URL_SAFE_NO_PAD.encode(hmac::sign(&key, b"caudal sandbox notices"));
    mark.into()
}

/// A small file; `None` when it is not there.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, StartError> {
    let failed = |why| StartError::io(format!("reading {}", path.display()), why);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_MAX)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(bytes))
}

/// Removes a file, if it exists; its name is gone from the disk when this returns.
pub(super) fn remove(path: &Path) -> Result<(), StartError> {
    let remove = || -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        sync_parent(path)
    };
    remove().map_err(|why| StartError::io(format!("removing {}", path.display()), why))
}

/// Makes the names in a file's folder durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Writes a small file with mode 0600, atomically; it is on disk when this returns.
///
/// # Errors
/// `Io` when it cannot be written; the file then keeps its old content.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StartError> {
    let half = path.with_extension(HALF);
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&half)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&half, path)?;
        sync_parent(path)
    };
    write().map_err(|why| StartError::io(format!("writing {}", path.display()), why))
}
