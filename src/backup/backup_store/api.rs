//! What every backup store can do.

use std::fmt;
use std::pin::Pin;

use crate::BackupError;

/// The pending result of a backup store's operation.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BackupError>> + Send + 'a>>;

/// An object in a backup store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name, with `/` between the parts.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A place that stores objects by name.
pub trait BackupStore: fmt::Debug + Send + Sync + 'static {
    /// The backup store's address, for operators.
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
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()>;
    /// Stores an object, durably and whole, in place of an existing one.
    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()>;
    /// Whether there is an object of that name.
    fn has<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool>;
    /// The bytes of an object; `None` when there is none of that name.
    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>>;
    /// All objects whose names begin with the parts of `prefix`.
    fn list<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<Listed>>;
    /// Removes an object.
    fn remove<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()>;
}
