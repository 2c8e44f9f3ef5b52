//! A folder identified by its open descriptor, not by its name.
//!
//! **Shape.** Everything is opened relative to the descriptor, so it is in the folder that was opened, wherever the
//! folder's name leads now. [`Id`] tells whether a name still leads to an open file.
//!
//! **Order.** Nothing existing is ever replaced: files are created with `O_EXCL`, and renamed only to free names.
//!
//! **Failure.** Every function passes on the system's error unchanged.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::codec::Cursor;

/// The identity of a file or folder, independent of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Id {
    device: u64,
    inode: u64,
}

impl Id {
    /// The identity of something open.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&rustix::fs::fstat(file)?))
    }

    /// The identity of the file that a path leads to; `None` when it leads nowhere.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        match rustix::fs::stat(path) {
            Ok(found) => Ok(Some(Self::from(&found))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

impl From<&rustix::fs::Stat> for Id {
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// The state of a file at some moment. It is the same later only if nobody has changed the file's bytes or names: no
/// program can set back the time of the last change, and a copy has another inode and other times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    /// When the file's bytes or names last changed: seconds since 1970 UTC and nanoseconds.
    changed: (i64, u64),
    modified: (i64, u64),
}

impl Stamp {
    /// The stamp of an open file, as it is now.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let stat = rustix::fs::fstat(file)?;
        Ok(Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        })
    }

    /// The size of the file, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Encodes the stamp in 48 bytes, numbers big-endian.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(48);
        b.extend_from_slice(&self.inode.to_be_bytes());
        b.extend_from_slice(&self.size.to_be_bytes());
        for (seconds, nanos) in [self.changed, self.modified] {
            b.extend_from_slice(&seconds.to_be_bytes());
            b.extend_from_slice(&nanos.to_be_bytes());
        }
        b
    }

    /// Parses the result of [`Self::encode`]; `None` when there are too few bytes.
    pub(crate) fn decode(c: &mut Cursor<'_>) -> Option<Self> {
        Some(Self {
            inode: c.u64()?,
            size: c.u64()?,
            changed: (c.array().map(i64::from_be_bytes)?, c.u64()?),
            modified: (c.array().map(i64::from_be_bytes)?, c.u64()?),
        })
    }
}

/// The identity of a file for its whole life, whatever is written to it: its inode, and when that was created (seconds,
/// nanoseconds). A copy has others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Birth {
    /// The inode number on its file system.
    pub(crate) inode: u64,
    /// When the inode was created: seconds since 1970 and nanoseconds.
    pub(crate) made: (i64, u32),
}

/// An open folder, and the path under which it was opened.
#[derive(Debug)]
pub(crate) struct Folder {
    file: File,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder that `path` leads to; `NotFound` when there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_in(CWD, path, path.to_path_buf())
    }

    /// Opens a folder inside; `NotFound` when there is none.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        Self::open_in(&self.file, Path::new(name), self.path.join(name))
    }

    fn open_in(at: impl std::os::fd::AsFd, name: &Path, path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(at, name, flags, Mode::empty())?);
        Ok(Self { file, path })
    }

    /// Its path when it was opened, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open descriptor, for locking or inspecting the folder.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// A path that still leads to the folder after it is moved, for code that needs a path. On systems without such
    /// paths, the path under which it was opened.
    pub(crate) fn steady_path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let way = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let same = matches!((Id::at(&way), Id::of(&self.file)), (Ok(Some(a)), Ok(b)) if a == b);
        if same { way } else { self.path.clone() }
    }

    /// Opens a file inside for reading; `NotFound` when there is none.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDONLY)
    }

    /// Opens a file inside for reading and writing; `NotFound` when there is none.
    pub(crate) fn write(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDWR)
    }

    /// The first `most` bytes of a file inside; `NotFound` when there is none.
    pub(crate) fn content(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.read(name)?.take(most).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Creates an empty file inside, mode 0600; `EEXIST` when there is one of that name.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn file_with(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.file, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(File::from(file))
    }

    /// Creates a folder inside, mode 0700; `EEXIST` when the name is taken.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.file, name, Mode::RWXU)?)
    }

    /// The identity of the file under a name inside; `None` when there is none.
    pub(crate) fn id(&self, name: &str) -> io::Result<Option<Id>> {
        Ok(self.stat(name)?.as_ref().map(Id::from))
    }

    /// The birth of the file under a name inside; `None` when there is none, or the file system does not say when it
    /// was created.
    #[cfg(target_os = "linux")]
    pub(crate) fn birth(&self, name: &str) -> Option<Birth> {
        use rustix::fs::{StatxFlags, statx};
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(&self.file, name, AtFlags::empty(), wanted).ok()?;
        let told = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
        told.then_some(Birth {
            inode: found.stx_ino,
            made: (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        })
    }

    /// The birth of a file: unknown on this system.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn birth(&self, _name: &str) -> Option<Birth> {
        None
    }

    /// Whether there is a folder of that name inside; a file of that name does not count.
    pub(crate) fn has_folder(&self, name: &str) -> io::Result<bool> {
        let is = |s: &rustix::fs::Stat| FileType::from_raw_mode(s.st_mode) == FileType::Directory;
        Ok(self.stat(name)?.as_ref().is_some_and(is))
    }

    fn stat(&self, name: &str) -> io::Result<Option<rustix::fs::Stat>> {
        match rustix::fs::statat(&self.file, name, AtFlags::empty()) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The names of all files and folders inside.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for item in Dir::read_from(&self.file)? {
            let name = item?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Removes a name inside; does nothing when it does not exist.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.file, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Renames a file inside; `EEXIST` when the new name is taken.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let dir = &self.file;
        match rustix::fs::renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            // a file system without "do not replace" can still link
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(dir, from, dir, to, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(dir, from, AtFlags::empty())?)
            }
            done => Ok(done?),
        }
    }

    /// Makes the names inside durable (fsync of the folder).
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// When names in the folder last changed: seconds since 1970 UTC and nanoseconds.
    pub(crate) fn changed(&self) -> io::Result<(i64, u64)> {
        let stat = rustix::fs::fstat(&self.file)?;
        Ok((stat.st_mtime, stat.st_mtime_nsec))
    }

    /// Free bytes on the folder's file system that an ordinary process may still use.
    pub(crate) fn free_space(&self) -> io::Result<u64> {
        let s = rustix::fs::fstatvfs(&self.file)?;
        Ok(s.f_bavail.saturating_mul(s.f_frsize))
    }
}
