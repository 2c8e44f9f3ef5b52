//! A backup store in an S3-compatible store, with the credentials of the environment.

use std::sync::{Arc, OnceLock};

use futures_util::StreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode};

use super::api::{BackupStore, Listed, StoreFuture};
use crate::BackupError;

/// A backup store in an object store.
#[derive(Debug)]
pub(super) struct Objects {
    place: String,
    bucket: String,
    prefix: String,
    store: OnceLock<Arc<dyn ObjectStore>>,
}

impl Objects {
    /// The backup store at an address, which is `BUCKET/PREFIX` behind its scheme.
    pub(super) fn new(place: &str, rest: &str) -> Self {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            place: place.to_owned(),
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            store: OnceLock::new(),
        }
    }

    fn store(&self) -> Result<&Arc<dyn ObjectStore>, BackupError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let failed = |why| BackupError::backup_store(format!("opening {}", self.place), why);
        let builder = AmazonS3Builder::from_env().with_bucket_name(&self.bucket);
        let store = builder.build().map_err(failed)?;
        let store = PrefixStore::new(store, self.prefix.as_str());
        Ok(self.store.get_or_init(|| Arc::new(store)))
    }

    fn failed(&self, what: &str, name: &str, why: &Error) -> BackupError {
        BackupError::backup_store(format!("{what} {name} in {}", self.place), why)
    }
}

impl BackupStore for Objects {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
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

    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let put = self.store()?.put(&Path::from(name), bytes.into()).await;
            let done = put.map(drop);
            done.map_err(|why| self.failed("replacing", name, &why))
        })
    }

    fn has<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            match self.store()?.head(&Path::from(name)).await {
                Ok(_) => Ok(true),
                Err(Error::NotFound { .. }) => Ok(false),
                Err(why) => Err(self.failed("looking for", name, &why)),
            }
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
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

    fn list<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<Listed>> {
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

    fn remove<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            match self.store()?.delete(&Path::from(name)).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(why) => Err(self.failed("removing", name, &why)),
            }
        })
    }
}
