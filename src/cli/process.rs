//! Protections of a process with secrets, set up before it has any.

use std::hint::black_box;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask,
};
use rustix::thread::disable_transparent_huge_pages;

use super::Exit;

/// The pause between two rounds of returning freed memory.
const EVERY: Duration = Duration::from_secs(1);
/// The size of a block that the allocator treats as large, in bytes; it is never written to.
const LARGE_BYTES: usize = 8 << 20;

/// Makes every file created from now on accessible to its owner only.
pub(super) fn keep_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Forbids core dumps, and keeps other processes of the same user from reading this process's memory: it holds keys and
/// personal data. Swap is not covered.
pub(super) fn keep_memory_private() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let limited = setrlimit(Resource::Core, none);
    if let Err(why) = limited.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable)) {
        tracing::warn!(%why, "a crash may leave a core dump, which holds secrets");
    }
}

/// Warns when others can read a file that holds secrets.
pub(super) fn warn_if_shared(file: &Path) {
    const OTHERS: u32 = 0o077;
    let Ok(known) = std::fs::metadata(file) else {
        return;
    };
    let mode = known.permissions().mode();
    if mode & OTHERS != 0 {
        tracing::warn!(
            file = %file.display(),
            mode = format!("{:03o}", mode & 0o777),
            "others can read the settings; keep secrets in variables, or set the file to mode 0600"
        );
    }
}

/// Makes the allocator return freed memory to the system, for as long as the process runs.
///
/// The allocator asks the system for huge pages, and a huge page stays in memory while a byte of it is used. Without
/// them the memory of a process under load is half as much. The allocator returns what is freed only when a large block
/// is freed some time after the other memory: after a flood of requests there is no such block.
pub(super) fn give_memory_back() -> Result<(), Exit> {
    if let Err(why) = disable_transparent_huge_pages(true) {
        tracing::warn!(%why, "the process may take more memory than memory_bytes: it uses huge pages");
    }
    let begun = thread::Builder::new().name("memory".into()).spawn(|| {
        loop {
            thread::sleep(EVERY);
            drop(black_box(Vec::<u8>::with_capacity(LARGE_BYTES)));
        }
    });
    begun.map(drop).map_err(Exit::failed)
}
