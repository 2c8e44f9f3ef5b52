//! What the machine says of this process: CPU of each thread, memory, bytes on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// CPU time by the name of the thread, in nanoseconds; threads of one name are summed.
pub type Cpu = BTreeMap<String, u64>;

/// Nanoseconds of a clock tick, for kernels without statistics of the scheduler.
const TICK: u64 = 10_000_000;

/// The CPU time of every living thread.
pub fn cpu() -> Cpu {
    let mut cpu = Cpu::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return cpu;
    };
    for task in tasks.flatten() {
        let path = task.path();
        let Ok(name) = fs::read_to_string(path.join("comm")) else {
            continue;
        };
        let nanos = scheduled(&path).or_else(|| ticked(&path)).unwrap_or(0);
        let sum = cpu.entry(name.trim().to_owned()).or_default();
        *sum = sum.saturating_add(nanos);
    }
    cpu
}

fn scheduled(task: &Path) -> Option<u64> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn ticked(task: &Path) -> Option<u64> {
    let text = fs::read_to_string(task.join("stat")).ok()?;
    // The name may hold anything, but it ends at the last parenthesis.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user.saturating_add(system).saturating_mul(TICK))
}

/// What was spent between two readings.
pub fn spent(before: &Cpu, after: &Cpu) -> Cpu {
    let since = |(name, nanos): (&String, &u64)| {
        let earlier = before.get(name).copied().unwrap_or(0);
        (name.clone(), nanos.saturating_sub(earlier))
    };
    after.iter().map(since).filter(|(_, n)| *n > 0).collect()
}

/// Memory of this process in bytes: now, and at its highest.
pub fn memory() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0).saturating_mul(1024)
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Bytes that a folder takes on the disk.
pub fn disk_bytes(folder: &Path) -> u64 {
    let Ok(items) = fs::read_dir(folder) else {
        return 0;
    };
    items
        .flatten()
        .filter_map(|item| {
            let meta = item.metadata().ok()?;
            Some(if meta.is_dir() {
                disk_bytes(&item.path())
            } else {
                meta.blocks().saturating_mul(512)
            })
        })
        .fold(0, u64::saturating_add)
}

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
