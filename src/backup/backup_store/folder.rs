//! A backup store in a folder: a file for each object.
//!
//! **Order.** A file is written next to its place under a name with `#` and a number, made durable, and only then gets its
//! name; the folder is made durable after that.
//!
//! **Failure.** If the folder itself is missing, nothing is listed, written or removed, so that a volume that is not mounted
//! is not taken for an empty backup store; only a single object that is asked for is not there. What a crash leaves next
//! to its place is never listed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use super::api::{BackupStore, Listed, StoreFuture};
use crate::BackupError;

/// The depth to which objects are listed: names have three parts at most.
const DEPTH_MAX: usize = 3;

/// A backup store in a folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    place: String,
    root: PathBuf,
    /// Whether it may be created.
    make: bool,
}

impl Folder {
    /// The backup store at a path, with or without `file://` before it.
    pub(super) fn new(place: &str, make: bool) -> Self {
        let root = place.strip_prefix("file://").unwrap_or(place).into();
        Self {
            place: place.to_owned(),
            root,
            make,
        }
    }

    /// Runs an operation on a thread that may wait for the disk.
    fn run<'a, T: Send + 'static>(
        &'a self,
        what: &'static str,
        name: &'a str,
        work: impl FnOnce(&Self, PathBuf) -> io::Result<T> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let (folder, path) = (self.clone(), self.path(name));
        let work = move || work(&folder, path?);
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(work).await;
            let done = done.map_err(io::Error::other).flatten();
            done.map_err(|why| {
                BackupError::backup_store(format!("{what} {name} in {}", self.place), why)
            })
        })
    }

    /// Fails unless the folder itself is there.
    fn present(&self) -> io::Result<()> {
        let there = fs::read_dir(&self.root).map(drop);
        there.map_err(|why| io::Error::new(why.kind(), format!("the folder itself: {why}")))
    }

    /// The path of an object. A name never leads out of the folder.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let mut parts = Path::new(name).components();
        if !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "this is no name"));
        }
        Ok(self.root.join(name))
    }

    /// Writes bytes durably next to their place, and has `publish` give them their name.
    fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        publish: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        self.present()?;
        let within = |folder: &&Path| folder.starts_with(&self.root);
        let folders = path.ancestors().skip(1).take_while(within);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        let (mut file, beside) = beside(path)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let published = written.and_then(|()| publish(&beside, path));
        // After a rename there is nothing to remove.
        fs::remove_file(&beside).ok();
        published?;
        folders.map(File::open).try_for_each(|it| it?.sync_all())
    }
}

/// A new file next to a place.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut number = 1_u64;
    loop {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!("#{number}"));
        match File::create_new(&beside) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return Ok((made?, beside.into())),
        }
    }
}

/// The result of an operation on something that may be missing; `None` when it is.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Lists the objects below a folder; `prefix` is its name with a `/`, or empty.
fn list(folder: &Path, prefix: &str, depth: usize, all: &mut Vec<Listed>) -> io::Result<()> {
    let Some(entries) = there(fs::read_dir(folder))? else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Links are followed; an object may have been removed meanwhile.
        let Some(found) = there(fs::metadata(entry.path()))? else {
            continue;
        };
        let full = format!("{prefix}{name}");
        if found.is_file() && !name.contains('#') {
            let size = found.len();
            all.push(Listed { name: full, size });
        } else if found.is_dir()
            && let Some(deeper) = depth.checked_sub(1)
        {
            list(&entry.path(), &format!("{full}/"), deeper, all)?;
        }
    }
    Ok(())
}

impl BackupStore for Folder {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn make(&self) -> Result<(), BackupError> {
        if !self.make {
            return Ok(());
        }
        let made = fs::create_dir_all(&self.root);
        made.map_err(|why| BackupError::backup_store(format!("making {}", self.place), why))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        self.run("writing", name, move |folder, path| {
            // A link never replaces what is there, as a rename would.
            folder.write(&path, &bytes, |beside, path| {
                match fs::hard_link(beside, path) {
                    Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
                    linked => linked,
                }
            })
        })
    }

    fn replace<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        self.run("replacing", name, move |folder, path| {
            folder.write(&path, &bytes, |beside, path| fs::rename(beside, path))
        })
    }

    fn has<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        self.run("looking for", name, |_, path| {
            let found = there(fs::metadata(path))?;
            Ok(found.is_some_and(|it| it.is_file()))
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        self.run("reading", name, |_, path| there(fs::read(path)))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<Listed>> {
        let within = match prefix {
            "" => String::new(),
            some => format!("{some}/"),
        };
        self.run("listing", prefix, move |folder, path| {
            folder.present()?;
            let mut all = Vec::new();
            list(&path, &within, DEPTH_MAX, &mut all)?;
            Ok(all)
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()> {
        self.run("removing", name, |folder, path| {
            folder.present()?;
            there(fs::remove_file(path)).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn an_object_is_whole_is_not_written_over_and_is_alone_in_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("backups");
        let backup_store = Folder::new(&format!("file://{}", root.display()), true);
        let why = backup_store.list("").await.unwrap_err();
        assert!(why.to_string().contains("the folder itself"), "{why}");
        assert!(backup_store.put("x", vec![1]).await.is_err());
        assert_eq!(backup_store.get("a/end").await.unwrap(), None);
        backup_store.make().unwrap();
        assert_eq!(backup_store.get("a/end").await.unwrap(), None);
        assert_eq!(backup_store.list("a").await.unwrap(), []);
        backup_store.put("a/full/1", vec![1; 3]).await.unwrap();
        backup_store.put("a/full/1", vec![2; 4]).await.unwrap();
        assert_eq!(
            backup_store.get("a/full/1").await.unwrap(),
            Some(vec![1; 3])
        );
        backup_store.replace("a/end", vec![1]).await.unwrap();
        backup_store.replace("a/end", vec![2]).await.unwrap();
        assert_eq!(backup_store.get("a/end").await.unwrap(), Some(vec![2]));
        // What a crash leaves, and what is not ours.
        fs::write(root.join("a/end#1"), "half").unwrap();
        fs::create_dir_all(root.join("b/c/d/e")).unwrap();
        fs::write(root.join("b/c/d/e/deep"), "").unwrap();
        backup_store.replace("a/end", vec![3]).await.unwrap();
        let listed = |name: &str, size| Listed {
            name: name.to_owned(),
            size,
        };
        let mut all = backup_store.list("").await.unwrap();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        assert_eq!(all, [listed("a/end", 1), listed("a/full/1", 3)]);
        let full = backup_store.list("a/full").await.unwrap();
        assert_eq!(full, [listed("a/full/1", 3)]);
        let beside: Vec<_> = fs::read_dir(root.join("a")).unwrap().collect();
        assert_eq!(beside.len(), 3, "{beside:?}");
        assert!(
            backup_store.has("a/end").await.unwrap() && !backup_store.has("a/full").await.unwrap()
        );
        for _ in 0..2 {
            backup_store.remove("a/end").await.unwrap();
            assert!(!backup_store.has("a/end").await.unwrap());
        }
        for name in ["../x", "/x", "a/../../x"] {
            assert!(backup_store.put(name, vec![1]).await.is_err(), "{name}");
        }
    }
}
