//! Which processors the service has, and which the clients, so that clients take nothing from the service.
//!
//! **Shape.** A thread hands the processors that it may use on to those that it starts, so the service is pinned before it is
//! built, and each thread of clients pins itself. The clients of a flood give way to those whose answers are timed: else
//! it would be measured how long a client waits for another one.

use anyhow::ensure;
use rustix::process::nice;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How far the clients of a flood give way: as far as the system has it.
const GIVE_WAY: i32 = 19;

/// The processors of a machine, shared out.
#[derive(Clone, Copy, Debug)]
pub struct Pin {
    service: CpuSet,
    clients: CpuSet,
    /// How many processors the service has.
    pub workers: usize,
}

impl Pin {
    /// Half of those that this thread may use for each, and of an odd number one more for the service.
    ///
    /// # Errors
    /// When there are fewer than two, or the system does not say.
    pub fn halves() -> anyhow::Result<Self> {
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

    /// Has this thread, and those that it starts from now on, use the processors of the service.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn serve(&self) -> anyhow::Result<()> {
        Ok(sched_setaffinity(None, &self.service)?)
    }

    /// Has this thread use those of the clients, and give way to the others there if it floods.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn ask(&self, floods: bool) -> anyhow::Result<()> {
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
            assert_eq!(crate::machine::processors(), 1);
            return;
        };
        // In a thread of its own: what it may use is nobody else's affair.
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
