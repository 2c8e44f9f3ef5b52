//! How long the disk of a folder takes to make a small write durable: what every commit waits for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::figures::{Times, nanos};

/// Bytes of each write: about a group of single vouchers.
const WRITE: usize = 8192;
/// Writes until the file begins again; it is set aside first, as segments of the journal are.
const WRITES: u64 = 2048;

/// Writes and flushes, one after the other, for some time; returns how long each took, and all of them.
pub(super) fn measure(folder: &Path, time: Duration) -> io::Result<(Times, u64)> {
    let path = folder.join("flushed");
    let file = File::create(&path)?;
    let bytes = vec![0x5a; WRITE];
    let places = (0..).step_by(WRITE);
    for place in places.take(usize::try_from(WRITES).unwrap_or(usize::MAX)) {
        file.write_all_at(&bytes, place)?;
    }
    file.sync_all()?;
    let (mut times, begun) = (Times::default(), Instant::now());
    let width = u64::try_from(WRITE).unwrap_or(0);
    while begun.elapsed() < time {
        let place = (times.count() % WRITES) * width;
        let start = Instant::now();
        file.write_all_at(&bytes, place)?;
        file.sync_data()?;
        times.add(nanos(start.elapsed()));
    }
    let took = nanos(begun.elapsed());
    std::fs::remove_file(path)?;
    Ok((times, took))
}
