//! A folder that is held by its descriptor, not by its name.
//!
//! **Shape.** Everything is opened relative to the descriptor, so it lies in the folder that was
//! opened, wherever its name leads by now. [`Id`] says whether a name still leads to what is open.
//!
//! **Order.** Nothing that is there is ever replaced: files are made with `O_EXCL`, and renamed
//! only to names that nothing has.
//!
//! **Failure.** Every function gives the system's error as it is.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::codec::Cursor;

/// What a file or folder is, whatever its name.
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

    /// The identity of what a path leads to; `None` when it leads nowhere.
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

/// What a file was at a moment. It is the same later only if nobody has changed it, its bytes or its
/// names: no program can set back when that was, and a copy has an inode and times of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    /// When its bytes or names last changed: seconds since 1970 UTC and nanoseconds.
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

    /// As 48 bytes, numbers big-endian.
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

    /// Reads what [`Self::encode`] wrote; `None` when the bytes run out.
    pub(crate) fn decode(c: &mut Cursor<'_>) -> Option<Self> {
        Some(Self {
            inode: c.u64()?,
            size: c.u64()?,
            changed: (c.array().map(i64::from_be_bytes)?, c.u64()?),
            modified: (c.array().map(i64::from_be_bytes)?, c.u64()?),
        })
    }
}

/// Which file it is, for as long as it lives, whatever is written to it: its inode, and when that
/// was made (seconds, nanoseconds). A copy has others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Birth {
    /// The inode number on its file system.
    pub(crate) inode: u64,
    /// When the inode was made: seconds since 1970 and nanoseconds.
    pub(crate) made: (i64, u32),
}

/// A folder that is open, and the path under which it was opened.
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

    /// Where it was when it was opened: for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open descriptor, to be locked or looked at.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// A way to it that goes on leading to it when it is moved, for code that wants a path. Its
    /// path where the system has no such way.
    pub(crate) fn steady_path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let way = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let same = matches!((Id::at(&way), Id::of(&self.file)), (Ok(Some(a)), Ok(b)) if a == b);
        if same { way } else { self.path.clone() }
    }

    /// A file inside, for reading; `NotFound` when there is none.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDONLY)
    }

    /// A file inside, for reading and writing; `NotFound` when there is none.
    pub(crate) fn write(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDWR)
    }

    /// A new file inside, empty, 0600; `EEXIST` when there is one of that name.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        self.file_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn file_with(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.file, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(File::from(file))
    }

    /// Makes a folder inside, 0700; `EEXIST` when something has the name.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.file, name, Mode::RWXU)?)
    }

    /// What lies under a name inside; `None` when nothing does.
    pub(crate) fn id(&self, name: &str) -> io::Result<Option<Id>> {
        Ok(self.stat(name)?.as_ref().map(Id::from))
    }

    /// Which file lies under a name inside; `None` when none does, or the file system does not say when
    /// it was made.
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

    /// Which file lies under a name inside: not known on this system.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn birth(&self, _name: &str) -> Option<Birth> {
        None
    }

    /// Whether there is a folder of that name inside; a file of that name is none.
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

    /// Takes a name away; nothing happens when nothing has it.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.file, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Renames inside; `EEXIST` when something has the new name already.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let dir = &self.file;
        match rustix::fs::renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            // a file system that cannot say "do not replace" can still link
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(dir, from, dir, to, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(dir, from, AtFlags::empty())?)
            }
            done => Ok(done?),
        }
    }

    /// Makes the names inside durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// When names in it last changed: seconds since 1970 UTC and nanoseconds.
    pub(crate) fn changed(&self) -> io::Result<(i64, u64)> {
        let stat = rustix::fs::fstat(&self.file)?;
        Ok((stat.st_mtime, stat.st_mtime_nsec))
    }

    /// Free bytes that an ordinary process may still use on its file system.
    pub(crate) fn free_space(&self) -> io::Result<u64> {
        let s = rustix::fs::fstatvfs(&self.file)?;
        Ok(s.f_bavail.saturating_mul(s.f_frsize))
    }
}
