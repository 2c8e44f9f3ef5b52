//! The machine's figures for this process: CPU time of each thread, memory, bytes on disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// CPU time by the name of the thread, in nanoseconds; threads of one name are summed.
pub type Cpu = BTreeMap<String, u64>;

/// Nanoseconds of a clock tick, for kernels without scheduler statistics.
const TICK: u64 = 10_000_000;

/// The runtime's threads that run actors, each with its name; the runtime's others serve HTTP.
#[derive(Clone, Debug, Default)]
pub struct Actors(BTreeMap<OsString, String>);

/// The prefix of the names of actors' threads.
const ACTORS: &str = "actors";
/// The name of the couriers' thread, the last one that an engine starts.
const COURIERS: &str = "couriers";

/// The common name of the threads that serve HTTP.
pub const HTTP: &str = "http";

/// The system's name of every thread of the runtime, whatever it does.
const RUNTIME: &str = "actix-rt";

impl Actors {
    /// All threads of the runtime at this moment.
    pub fn now() -> Self {
        let runtime = threads()
            .into_iter()
            .filter(|(_, name, _)| name.starts_with(RUNTIME));
        Self(
            runtime
                .map(|(task, ..)| (task, ACTORS.to_owned()))
                .collect(),
        )
    }

    /// Adds the threads that an engine has started since with this many actors' threads, by their number.
    #[must_use]
    pub fn and_since(mut self, arbiters: usize) -> Self {
        let mut since: Vec<_> = Self::now().0.into_keys().collect();
        since.retain(|task| !self.0.contains_key(task));
        // The kernel assigns rising numbers.
        since.sort_by_key(|task| task.to_string_lossy().parse::<u64>().ok());
        for (at, task) in since.into_iter().enumerate() {
            let name = match at < arbiters {
                true => format!("{ACTORS} {at}"),
                false => COURIERS.to_owned(),
            };
            self.0.insert(task, name);
        }
        self
    }

    /// The CPU time of every living thread, by its role.
    pub fn cpu(&self) -> Cpu {
        let mut cpu = Cpu::new();
        for (task, name, nanos) in threads() {
            let numbered = |c: char| c.is_ascii_digit() || c == '-';
            let duty = match (name.starts_with(RUNTIME), self.0.get(&task)) {
                (true, Some(name)) => name,
                (true, None) => HTTP,
                (false, _) => name.trim_end_matches(numbered),
            };
            let sum = cpu.entry(duty.to_owned()).or_default();
            *sum += nanos;
        }
        cpu
    }
}

/// The CPU time of the whole machine since it was started, in nanoseconds.
pub fn busy() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks = line
        .split_whitespace()
        .skip(1)
        .map(|n| n.parse().unwrap_or(0));
    // user, nice, system, idle, iowait, irq, softirq, steal
    let working = ticks
        .enumerate()
        .filter(|(at, _)| matches!(at, 0..=2 | 5..=7));
    let sum = working.fold(0_u64, |sum, (_, n): (_, u64)| sum.saturating_add(n));
    sum.saturating_mul(TICK)
}

/// Number, name and CPU time of every living thread.
fn threads() -> Vec<(OsString, String, u64)> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let known = tasks.flatten().filter_map(|task| {
        let path = task.path();
        let name = fs::read_to_string(path.join("comm")).ok()?;
        let nanos = scheduled(&path).or_else(|| ticked(&path)).unwrap_or(0);
        Some((task.file_name(), name.trim().to_owned(), nanos))
    });
    known.collect()
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

/// The CPU time between two readings.
pub fn spent(before: &Cpu, after: &Cpu) -> Cpu {
    let since = |(name, nanos): (&String, &u64)| {
        let earlier = before.get(name).copied().unwrap_or(0);
        (name.clone(), nanos.saturating_sub(earlier))
    };
    after.iter().map(since).filter(|(_, n)| *n > 0).collect()
}

/// The CPU time of the actors, couriers included.
pub fn of_actors(spent: &Cpu) -> u64 {
    let actors = spent.iter();
    let actors = actors.filter(|(name, _)| name.starts_with(ACTORS) || *name == COURIERS);
    actors.fold(0, |sum, (_, nanos)| sum.saturating_add(*nanos))
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

/// Bytes that this process can still write to the disk of a folder.
///
/// # Errors
/// When the system does not report them.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
