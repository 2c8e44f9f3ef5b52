//! The places of backups: a folder on another disk or machine, or an S3-compatible store.
//!
//! **Shape.** A [`Depot`] stores bytes under names. [`open`] returns the depot that a setting or a command names.
//!
//! **Order.** [`Depot::put`] returns once the object is durable there.
//!
//! **Failure.** [`Depot::put`] never replaces an existing object; only [`Depot::replace`] does, as a whole.

use std::fmt;
use std::path::Path as FilePath;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use futures_util::StreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode};

use super::BackupError;

/// The pending result of a depot's operation.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, BackupError>> + Send + 'a>>;

/// An object in a depot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name, with `/` between the parts.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A place that stores objects by name.
pub trait Depot: fmt::Debug + Send + Sync + 'static {
    /// The depot's address, for operators.
    fn place(&self) -> String;
    /// Creates the place, if it is a folder that may be created. Called only for a place at which no backup was chosen
    /// yet.
    ///
    /// # Errors
    /// When the folder cannot be created.
    fn make(&self) -> Result<(), BackupError> {
        Ok(())
    }
    /// Stores an object, durably and whole; an existing one stays as it is, which is no error.
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()>;
    /// Stores an object, durably and whole, in place of an existing one.
    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()>;
    /// Whether there is an object of that name.
    fn has<'a>(&'a self, name: &'a str) -> Later<'a, bool>;
    /// The bytes of an object; `None` when there is none of that name.
    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Option<Vec<u8>>>;
    /// All objects whose names begin with the parts of `prefix`.
    fn list<'a>(&'a self, prefix: &'a str) -> Later<'a, Vec<Listed>>;
    /// Removes an object.
    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, ()>;
}

/// The depot at a place: a folder, which [`Depot::make`] creates if `make` is set, or `s3://BUCKET/PREFIX`. It is
/// opened when it is first used, and again until that works: a place that is unavailable for a while does not keep a
/// service from starting.
///
/// # Errors
/// When the place is none, or the program was built without the named kind of store.
pub fn open(place: &str, make: bool) -> Result<Arc<dyn Depot>, BackupError> {
    // The note of what was chosen has a line for each place.
    if place.contains(['\n', '\r']) {
        return Err(BackupError::Refused(
            "the place for backups contains a line break".to_owned(),
        ));
    }
    match place.split_once("://") {
        Some(("s3", _)) if cfg!(feature = "s3") => {}
        Some(("s3", _)) => {
            return Err(BackupError::Refused(format!(
                "{place}: this program was built without S3; build it with the feature s3, or name a folder"
            )));
        }
        Some(("file", _)) | None => {}
        Some(_) => {
            return Err(BackupError::Refused(format!(
                "{place} is no place for backups: name a folder, or s3://BUCKET/PREFIX"
            )));
        }
    }
    let is_folder = !place.contains("://") || place.starts_with("file://");
    Ok(Arc::new(Objects {
        place: place.to_owned(),
        make: make && is_folder,
        store: OnceLock::new(),
    }))
}

/// A depot in an object store that is already open.
pub fn over(place: &str, store: Arc<dyn ObjectStore>) -> Arc<dyn Depot> {
    Arc::new(Objects {
        place: place.to_owned(),
        make: false,
        store: store.into(),
    })
}

fn folder(place: &str) -> &FilePath {
    FilePath::new(place.strip_prefix("file://").unwrap_or(place))
}

fn store_at(place: &str) -> Result<Arc<dyn ObjectStore>, Error> {
    #[cfg(feature = "s3")]
    if let Some(rest) = place.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let builder = object_store::aws::AmazonS3Builder::from_env();
        let store = builder.with_bucket_name(bucket).build()?;
        return Ok(Arc::new(object_store::prefix::PrefixStore::new(
            store, prefix,
        )));
    }
    let store = LocalFileSystem::new_with_prefix(folder(place))?;
    Ok(Arc::new(store.with_fsync(true)))
}

/// A depot in an object store.
#[derive(Debug)]
struct Objects {
    place: String,
    /// Whether the place is a folder that may be created.
    make: bool,
    store: OnceLock<Arc<dyn ObjectStore>>,
}

impl Objects {
    fn store(&self) -> Result<&Arc<dyn ObjectStore>, BackupError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let failed = |why| BackupError::depot(format!("opening {}", self.place), why);
        let opened = store_at(&self.place).map_err(failed)?;
        Ok(self.store.get_or_init(|| opened))
    }

    fn failed(&self, what: &str, name: &str, why: &Error) -> BackupError {
        BackupError::depot(format!("{what} {name} in {}", self.place), why)
    }
}

impl Depot for Objects {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn make(&self) -> Result<(), BackupError> {
        if !self.make {
            return Ok(());
        }
        let made = std::fs::create_dir_all(folder(&self.place));
        made.map_err(|why| BackupError::depot(format!("making {}", self.place), why))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()> {
        Box::pin(async move {
            let path = Path::from(name);
            let put = self
                .store()?
                .put_opts(&path, bytes.into(), PutMode::Create.into())
                .await;
            match put {
                Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
                Err(why) => Err(self.failed("writing", name, &why)),
            }
        })
    }

    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> Later<'a, ()> {
        Box::pin(async move {
            let put = self.store()?.put(&Path::from(name), bytes.into()).await;
            let done = put.map(drop);
            done.map_err(|why| self.failed("replacing", name, &why))
        })
    }

    fn has<'a>(&'a self, name: &'a str) -> Later<'a, bool> {
        Box::pin(async move {
            match self.store()?.head(&Path::from(name)).await {
                Ok(_) => Ok(true),
                Err(Error::NotFound { .. }) => Ok(false),
                Err(why) => Err(self.failed("looking for", name, &why)),
            }
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let failed = |why: Error| self.failed("reading", name, &why);
            match self.store()?.get(&Path::from(name)).await {
                Ok(found) => {
                    // no copy, as nobody else has these bytes
                    Ok(Some(found.bytes().await.map_err(failed)?.into()))
                }
                Err(Error::NotFound { .. }) => Ok(None),
                Err(why) => Err(failed(why)),
            }
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> Later<'a, Vec<Listed>> {
        Box::pin(async move {
            let path = Path::from(prefix);
            let mut found = self.store()?.list((!prefix.is_empty()).then_some(&path));
            let mut all = Vec::new();
            while let Some(next) = found.next().await {
                let next = next.map_err(|why| self.failed("listing", prefix, &why))?;
                all.push(Listed {
                    name: next.location.to_string(),
                    size: next.size,
                });
            }
            Ok(all)
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, ()> {
        Box::pin(async move {
            match self.store()?.delete(&Path::from(name)).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(why) => Err(self.failed("removing", name, &why)),
            }
        })
    }
}
