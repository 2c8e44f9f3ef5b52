//! What a process with secrets does about itself, before it has any.

use std::hint::black_box;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask,
};

use super::Exit;

/// How often freed memory is given back.
const EVERY: Duration = Duration::from_secs(1);
/// What the allocator counts as large, in bytes; it is never written to.
const LARGE_BYTES: usize = 8 << 20;

/// Makes every file from now on its owner's alone.
pub fn keep_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Lets no memory of this process get to disk or to another one of the same user: it holds keys and
/// what people own.
pub fn keep_memory_private() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let limited = setrlimit(Resource::Core, none);
    if let Err(why) = limited.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable)) {
        tracing::warn!(%why, "a crash may leave a core dump, which holds secrets");
    }
}

/// Says so when others can read a file that holds secrets.
pub fn warn_if_shared(file: &Path) {
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

/// Has the allocator give back to the system, for as long as the process runs, what was freed.
///
/// It does so by itself only when a large block is freed after the freed memory has rested a while:
/// when a flood is over and nothing is asked for any more, there is no such block.
pub fn give_memory_back() -> Result<(), Exit> {
    let begun = thread::Builder::new().name("memory".into()).spawn(|| {
        loop {
            thread::sleep(EVERY);
            drop(black_box(Vec::<u8>::with_capacity(LARGE_BYTES)));
        }
    });
    begun.map(drop).map_err(Exit::failed)
}
