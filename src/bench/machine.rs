//! The machine's figures for this process: CPU time of each thread, and memory.

use std::collections::BTreeMap;
use std::fs;

/// CPU time by the name of the thread, in nanoseconds; threads of one name are summed.
pub type Cpu = BTreeMap<String, u64>;

/// The name of the thread that sends the load.
pub const LOAD_THREAD: &str = "bench-load";

/// Nanoseconds of a clock tick.
const TICK: u64 = 10_000_000;

/// The CPU time of every living thread so far.
pub fn cpu() -> Cpu {
    let mut cpu = Cpu::new();
    for (name, nanos) in threads() {
        let numbered = |c: char| c.is_ascii_digit() || c == '-';
        let sum = cpu.entry(name.trim_end_matches(numbered).to_owned());
        *sum.or_default() += nanos;
    }
    cpu
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

/// Name and CPU time of every living thread.
fn threads() -> Vec<(String, u64)> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let known = tasks.flatten().filter_map(|task| {
        let path = task.path();
        let name = fs::read_to_string(path.join("comm")).ok()?;
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        let nanos = text.split_whitespace().next()?.parse().ok()?;
        Some((name.trim().to_owned(), nanos))
    });
    known.collect()
}

/// The CPU time between two readings.
pub fn spent(before: &Cpu, after: &Cpu) -> Cpu {
    let since = |(name, nanos): (&String, &u64)| {
        let earlier = before.get(name).copied().unwrap_or(0);
        (name.clone(), nanos.saturating_sub(earlier))
    };
    after.iter().map(since).filter(|(_, n)| *n > 0).collect()
}

/// The CPU time of all threads but the load's.
pub fn of_service(spent: &Cpu) -> u64 {
    let service = spent.iter().filter(|(name, _)| *name != LOAD_THREAD);
    service.fold(0, |sum, (_, nanos)| sum.saturating_add(*nanos))
}

/// Resident memory of this process, in bytes.
pub fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// The number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
