//! The processors of the service and those of the clients, so that clients take no CPU time from the service.
//!
//! **Shape.** A thread passes its processors on to the threads that it starts, so the service is pinned before it is
//! built, and each client thread pins itself. The clients of a flood get a lower priority than those whose answers are
//! timed: otherwise the measurement would include how long one client waits for another.

use anyhow::ensure;
use rustix::process::nice;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The priority of a flood's clients: the lowest that the system has.
const GIVE_WAY: i32 = 19;

/// A division of the machine's processors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    service: CpuSet,
    clients: CpuSet,
    /// The number of the service's processors.
    pub(super) workers: usize,
}

impl Pin {
    /// Half of this thread's processors for each; of an odd number, the service gets one more.
    ///
    /// # Errors
    /// When there are fewer than two, or the system does not report them.
    pub(super) fn halves() -> anyhow::Result<Self> {
        let may = sched_getaffinity(None)?;
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|it| may.is_set(*it)).collect();
        ensure!(all.len() > 1, "--pin needs two processors, there is one");
        let (service, clients) = all.split_at(all.len().div_ceil(2));
        let set = |of: &[usize]| {
            let mut set = CpuSet::new();
            of.iter().for_each(|it| set.set(*it));
            set
        };
        Ok(Self {
            service: set(service),
            clients: set(clients),
            workers: service.len(),
        })
    }

    /// Pins this thread, and those that it starts from now on, to the service's processors.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn serve(&self) -> anyhow::Result<()> {
        Ok(sched_setaffinity(None, &self.service)?)
    }

    /// Pins this thread to the clients' processors, with a lower priority if it floods.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn ask(&self, floods: bool) -> anyhow::Result<()> {
        sched_setaffinity(None, &self.clients)?;
        if floods {
            nice(GIVE_WAY)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_is_the_services_or_the_clients() {
        let Ok(pin) = Pin::halves() else {
            assert_eq!(caudal_bench::machine::processors(), 1);
            return;
        };
        // In a thread of its own, so that other tests keep their processors.
        let pinned = std::thread::spawn(move || {
            let before = sched_getaffinity(None).unwrap().count();
            pin.serve().unwrap();
            let service = sched_getaffinity(None).unwrap();
            pin.ask(true).unwrap();
            let clients = sched_getaffinity(None).unwrap();
            (before, service.count(), clients.count(), service == clients)
        });
        let (all, service, clients, same) = pinned.join().unwrap();
        assert_eq!(all, service + clients);
        assert!(usize::try_from(service).unwrap() == pin.workers && !same);
    }
}
