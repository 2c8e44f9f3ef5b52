//! The data folder: who may look into it, and the pepper of API keys that lies there.
//!
//! **Failure.** A pepper other than the one under which keys were made would silently make every
//! key wrong, so a digest of it lies beside the store, and a start with another pepper is refused.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};

use super::StartError;

/// The store, in the data folder.
pub const STORE: &str = "store";
/// The pepper, when no setting gives it.
const PEPPER: &str = "pepper";
/// By what a pepper is recognised.
const PEPPER_CHECK: &str = "pepper.check";
/// The largest file that is read whole, in bytes.
const FILE_MAX: u64 = 4096;

/// 256 random bits as text, for secrets of every kind.
///
/// # Errors
/// When the machine has no randomness.
pub fn new_secret() -> Result<String, StartError> {
    let mut random = [0_u8; 32];
    let none = |_| StartError::io("making a secret", io::Error::other("no randomness"));
    rand::fill(&mut random).map_err(none)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// Makes the folder, for its owner alone. One that is there is tightened when it is ours.
pub(super) fn prepare(data: &Path) -> Result<(), StartError> {
    let failed = |what: &str, why| StartError::io(format!("{what} {}", data.display()), why);
    let ours = || -> io::Result<bool> {
        let empty = std::fs::read_dir(data)?.next().is_none();
        Ok(empty || data.join(STORE).is_dir())
    };
    if !data.exists() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(data).map_err(|why| failed("creating", why))
    } else if ours().map_err(|why| failed("looking into", why))? {
        std::fs::set_permissions(data, Permissions::from_mode(0o700))
            .map_err(|why| failed("setting the permissions of", why))
    } else {
        Ok(())
    }
}

/// The pepper: the given one, else the folder's, made there the first time.
pub(super) fn pepper(data: &Path, given: Option<&SecretString>) -> Result<Vec<u8>, StartError> {
    let path = data.join(PEPPER);
    let pepper = match (given, read(&path)?) {
        (Some(given), _) => given.expose_secret().as_bytes().to_vec(),
        (None, Some(kept)) => kept,
        (None, None) if data.join(STORE).exists() => {
            return Err(StartError::Setting(format!(
                "{} is missing: without it no API key of this folder works. Bring it back from a \
                 backup, or set pepper to the one that was used",
                path.display()
            )));
        }
        (None, None) => {
            let made = new_secret()?.into_bytes();
            write(&path, &made)?;
            made
        }
    };
    check(data, &pepper)?;
    Ok(pepper)
}

fn check(data: &Path, pepper: &[u8]) -> Result<(), StartError> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, pepper);
    let mark = URL_SAFE_NO_PAD.encode(hmac::sign(&key, b"caudal pepper check"));
    let path = data.join(PEPPER_CHECK);
    match read(&path)? {
        None => write(&path, mark.as_bytes()),
        Some(kept) if verify_slices_are_equal(&kept, mark.as_bytes()).is_ok() => Ok(()),
        Some(_) => Err(StartError::Setting(format!(
            "the pepper is not the one under which the API keys of {} were made, so none of them \
             would work. Use that one again, or remove {} and issue all keys anew",
            data.display(),
            path.display()
        ))),
    }
}

/// A small file; `None` when it is not there.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StartError> {
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

/// Writes a small file, 0600, whole or not at all, and on disk when this returns.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StartError> {
    let half = path.with_extension("half");
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&half)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&half, path)?;
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
            _ => File::open(".")?.sync_all(),
        }
    };
    write().map_err(|why| StartError::io(format!("writing {}", path.display()), why))
}
