//! The secrets that operators name at the admin API: files in one folder of this machine.
//!
//! **Shape.** The settings name the folder; a bank relation names a file in it. The file has two lines: the base URL of
//! the bank that the secret is for, and the secret; the secret of notices may have older lines after it. So whoever stores a secret also says which bank it belongs to, and
//! no change of a relation sends it to another one.
//!
//! **Bounds.** A name is a single component of a path ([`is_secret_name`]); a file has at most [`BYTES_MAX`] bytes.
//!
//! **Failure.** There is one error for every cause, so that nobody can find out through the admin API which files this
//! machine has. The log has the cause.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use caudal_http::secret_lines::LINES_MAX;
use caudal_ledger::tenants::is_secret_name;
use secrecy::SecretString;
use url::Url;

/// The largest file of a secret, in bytes.
const BYTES_MAX: u64 = 4096;

/// The folder of secrets; `None` if the settings name none.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretFiles(Option<PathBuf>);

/// Why a name gives no secret: what the operator has to do, the same for every cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoSecret(pub &'static str);

/// The error of every name that cannot be used.
const UNUSABLE: NoSecret = NoSecret(
    "names no secret for this bank: in the folder that secrets_folder of the service's settings names, store a file of \
     that name with two lines, the bank's baseUrl and the secret. The service's log says what is wrong with it",
);
/// The error where there is no folder.
const NO_FOLDER: NoSecret = NoSecret(
    "cannot be used: the service's settings name no secrets_folder, in which the files of secrets are",
);

impl SecretFiles {
    /// The secrets in a folder, which need not exist yet.
    pub(crate) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// The secret of a name, for the bank at a base URL.
    pub(crate) fn read(&self, name: &str, base_url: &str) -> Result<SecretString, NoSecret> {
        let folder = self.0.as_deref().ok_or(NO_FOLDER)?;
        if !is_secret_name(name) {
            return Err(UNUSABLE);
        }
        let text = content(folder, name).map_err(|why| {
            tracing::warn!(%why, name, "secret named by a bank relation cannot be read");
            UNUSABLE
        })?;
        let unfit = |why: &str| {
            tracing::warn!(why, name, "secret named by a bank relation cannot be used");
            UNUSABLE
        };
        let (bank, secret) = parted(&text)
            .ok_or_else(|| unfit("it must have two lines, or more for a secret of notices that is replaced: the bank's base URL and the secret"))?;
        if place(bank) == place(base_url) {
            Ok(secret.into())
        } else {
            Err(unfit("it is for another base URL than the relation's"))
        }
    }
}

/// The text of a file in the folder. A link that leads out of the folder is refused, and so is anything but a file.
fn content(folder: &Path, name: &str) -> io::Result<String> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    let folder = folder.canonicalize()?;
    let path = folder.join(name).canonicalize()?;
    if !path.starts_with(&folder) {
        return Err(refused("it leads out of the folder"));
    }
    // A pipe would hold up whoever opens it.
    if !path.metadata()?.is_file() {
        return Err(refused("it is not a file"));
    }
    let mut text = String::new();
    let mut file = File::open(path)?.take(BYTES_MAX.strict_add(1));
    let read = file.read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= BYTES_MAX) {
        Ok(text)
    } else {
        Err(refused("it is too large"))
    }
}

/// The first line of a file, and its secret, which may have several lines.
fn parted(text: &str) -> Option<(&str, &str)> {
    let (bank, secret) = text.split_once('\n')?;
    let secret = secret.trim_end_matches(['\r', '\n']);
    let whole = !secret.is_empty() && secret.lines().count() <= LINES_MAX;
    whole.then_some((bank.trim(), secret))
}

/// The address that a base URL stands for; `None` if it is no URL.
fn place(base_url: &str) -> Option<String> {
    let url = Url::parse(base_url).ok()?;
    Some(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use caudal_ledger::tenants::SECRET_NAME_MAX;
    use secrecy::ExposeSecret as _;

    use super::*;

    const BANK: &str = "https://bank.example/api";

    fn folder() -> (tempfile::TempDir, SecretFiles) {
        let outside = tempfile::TempDir::new().unwrap();
        let folder = outside.path().join("secrets");
        std::fs::create_dir(&folder).unwrap();
        let secrets = SecretFiles::in_folder(Some(folder));
        (outside, secrets)
    }

    #[test]
    fn a_secret_is_read_for_its_own_bank_and_for_no_other() {
        let (outside, secrets) = folder();
        let of = |name: &str, text: &str| {
            std::fs::write(outside.path().join("secrets").join(name), text).unwrap();
        };
        of("a.password", "https://bank.example/api\npass word\n");
        of("b.password", "https://BANK.example:443/api/\r\nother\r\n");
        for url in [BANK, "https://bank.example/api/"] {
            let found = ["a.password", "b.password"].map(|name| secrets.read(name, url).unwrap());
            assert_eq!(
                found.each_ref().map(|it| it.expose_secret()),
                ["pass word", "other"]
            );
        }
        for url in [
            "https://bank.example",
            "https://bank.example/other",
            "https://bank.example:8443/api",
            "http://bank.example/api",
            "https://evil.example/api",
            "",
        ] {
            assert_eq!(
                secrets.read("a.password", url).unwrap_err(),
                UNUSABLE,
                "{url}"
            );
        }
        for (name, text) in [
            ("empty", ""),
            ("one-line", "https://bank.example/api"),
            ("no-secret", "https://bank.example/api\n\n"),
            ("many", "https://bank.example/api\na\nb\nc\nd\ne\n"),
            ("large", &*format!("{BANK}\n{}", "x".repeat(4096))),
        ] {
            of(name, text);
            assert_eq!(secrets.read(name, BANK).unwrap_err(), UNUSABLE, "{name}");
        }
    }

    #[test]
    fn nothing_outside_the_folder_is_read_and_all_errors_are_one() {
        let (outside, secrets) = folder();
        let inside = outside.path().join("secrets");
        let secret = format!("{BANK}\nanother's\n");
        std::fs::write(outside.path().join("settings.toml"), &secret).unwrap();
        std::fs::create_dir(inside.join("sub")).unwrap();
        std::fs::write(inside.join("sub/below"), &secret).unwrap();
        std::fs::write(inside.join(".hidden"), &secret).unwrap();
        symlink(outside.path().join("settings.toml"), inside.join("there")).unwrap();
        symlink(outside.path().join("absent"), inside.join("nowhere")).unwrap();
        symlink("../settings.toml", inside.join("up")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        symlink("sub/below", inside.join("link")).unwrap();
        let long = "x".repeat(SECRET_NAME_MAX + 1);
        for name in [
            "",
            ".",
            "..",
            "../settings.toml",
            "../absent",
            "sub/below",
            "/etc/passwd",
            "/no/such",
            ".hidden",
            "there",
            "nowhere",
            "up",
            "loop",
            "sub",
            "absent",
            "a\0b",
            "a\nb",
            "ñ",
            &long,
        ] {
            assert_eq!(secrets.read(name, BANK).unwrap_err(), UNUSABLE, "{name:?}");
        }
        // A link within the folder is how some systems replace a secret.
        assert_eq!(
            secrets.read("link", BANK).unwrap().expose_secret(),
            "another's"
        );
        let none = SecretFiles::default();
        for name in ["there", "absent", "../settings.toml"] {
            assert_eq!(none.read(name, BANK).unwrap_err(), NO_FOLDER);
        }
    }
}
