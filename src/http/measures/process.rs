//! The figures of the operating system for this process, named as Prometheus' own clients name them.

use std::fmt::Write as _;
use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::{NANOS, decimal};

/// A figure: its name, its kind, what it is, and its value as text; `None` where the system does not tell.
type Figure = (&'static str, &'static str, &'static str, Option<String>);

/// Appends the figures as Prometheus reads them.
pub(super) fn figures(page: &mut String) {
    for (name, kind, help, value) in all() {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            writeln!(
                page,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            )
            .ok();
        }
    }
}

fn all() -> [Figure; 8] {
    let stat = fs::read_to_string("/proc/self/stat");
    let stat = stat.ok().and_then(|text| Stat::parse(&text));
    let of = |figure: fn(&Stat) -> Option<String>| stat.as_ref().and_then(figure);
    let limit = |resource| {
        let limit = getrlimit(resource).current;
        Some(limit.map_or_else(|| "0".to_owned(), |limit| limit.to_string()))
    };
    let open = fs::read_dir("/proc/self/fd").map(|all| all.count().to_string());
    [
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            of(|stat| Some(decimal(seconds(stat.cpu)?, NANOS))),
        ),
        (
            "process_open_fds",
            "gauge",
            "Number of open file descriptors.",
            open.ok(),
        ),
        (
            "process_max_fds",
            "gauge",
            "Maximum number of open file descriptors; 0 without a limit.",
            limit(Resource::Nofile),
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Virtual memory size in bytes.",
            of(|stat| Some(stat.virtual_bytes.to_string())),
        ),
        (
            "process_virtual_memory_max_bytes",
            "gauge",
            "Maximum amount of virtual memory available in bytes; 0 without a limit.",
            limit(Resource::As),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            of(|stat| {
                let page = u64::try_from(page_size()).ok()?;
                Some(stat.resident_pages.checked_mul(page)?.to_string())
            }),
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            of(|stat| Some((booted()? + seconds(stat.began)? / NANOS).to_string())),
        ),
        (
            "process_threads",
            "gauge",
            "Number of OS threads in the process.",
            of(|stat| Some(stat.threads.to_string())),
        ),
    ]
}

/// Ticks of the kernel's clock, in nanoseconds.
fn seconds(ticks: u64) -> Option<u64> {
    let nanos = ticks.checked_mul(NANOS)?;
    nanos.checked_div(clock_ticks_per_second())
}

/// When the machine started, in seconds since 1970.
fn booted() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// The part of `/proc/self/stat` that is shown.
#[derive(PartialEq, Eq, Debug)]
struct Stat {
    /// In ticks, of the program and of the kernel for it.
    cpu: u64,
    threads: u64,
    /// In ticks after the machine started.
    began: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name of the program stands in parentheses, and may contain some and spaces.
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_whitespace().collect();
        // proc_pid_stat(5) counts from 1, and two fields are before these.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu: field(14)?.checked_add(field(15)?)?,
            threads: field(20)?,
            began: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_kernel_is_read_whatever_the_program_is_called() {
        let line = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 13 14 15 16 17 18 4200 8192 3 20";
        let right = Stat {
            cpu: 300,
            threads: 17,
            began: 4200,
            virtual_bytes: 8192,
            resident_pages: 3,
        };
        assert_eq!(Stat::parse(line), Some(right));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn every_figure_of_this_process_is_there() {
        let mut page = String::new();
        figures(&mut page);
        let samples: Vec<_> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples.len(), 8, "{page}");
        for name in [
            "open_fds",
            "resident_memory_bytes",
            "start_time_seconds",
            "threads",
        ] {
            let start = format!("process_{name} ");
            let value = samples.iter().find_map(|line| line.strip_prefix(&start));
            assert!(value.unwrap().parse::<u64>().unwrap() > 0, "{name}: {page}");
        }
    }
}
