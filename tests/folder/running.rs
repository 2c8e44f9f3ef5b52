//! Changes to the folder of a process that is running and serving requests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::Tally;
use super::site::{Opened, Site, copy};
use super::still::segments;
use crate::support::client::fresh;
use crate::support::{Client, SOON, wait_until};

/// How many clients post in the meantime.
const CLIENTS: usize = 4;
/// How many acknowledgements come before the change.
const BEFORE: usize = 40;

/// The right behaviour after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// The process ends; once the change is undone the folder is whole.
    Whole,
    /// The process ends; the next start is refused.
    Refused,
    /// The process ends, and there is nothing left to start on.
    Gone,
    /// The process continues, and the next start finds everything.
    GoesOn,
}

/// A change: the folder, a place to move things to, an older copy.
pub type Change = fn(&Path, &Path, &Path);

/// A change, how it is undone as far as possible, and the right behaviour.
pub type Case = (&'static str, Change, fn(&Path, &Path), After);

fn keep(_: &Path, _: &Path) {}

fn store_back(data: &Path, away: &Path) {
    let store = data.join("store");
    if store.exists() {
        fs::remove_dir_all(&store).unwrap();
    }
    fs::rename(away, store).unwrap();
}

fn by_copy(path: &Path) {
    let aside = path.with_extension("copy");
    fs::copy(path, &aside).unwrap();
    fs::rename(aside, path).unwrap();
}

/// Removes a folder while the service runs, whose threads may make another file in a folder that has just been emptied.
fn remove(dir: &Path) {
    let full = std::io::ErrorKind::DirectoryNotEmpty;
    let once = || fs::remove_dir_all(dir);
    let mut done = once();
    for _ in 0..1_000 {
        match done {
            Err(e) if e.kind() == full => done = once(),
            _ => break,
        }
    }
    done.unwrap();
}

const CHANGES: [Case; 20] = [
    (
        "LOCK removed",
        |d, _, _| fs::remove_file(d.join("store/LOCK")).unwrap(),
        keep,
        After::Whole,
    ),
    (
        "LOCK replaced",
        |d, _, _| by_copy(&d.join("store/LOCK")),
        keep,
        After::Whole,
    ),
    (
        "IDENTITY replaced",
        |d, _, _| by_copy(&d.join("store/IDENTITY")),
        keep,
        After::Whole,
    ),
    (
        "IDENTITY removed",
        |d, _, _| fs::remove_file(d.join("store/IDENTITY")).unwrap(),
        keep,
        After::Refused,
    ),
    (
        "WITNESS removed",
        |d, _, _| fs::remove_file(d.join("store/WITNESS")).unwrap(),
        keep,
        After::Refused,
    ),
    (
        "data folder moved",
        |d, a, _| fs::rename(d, a).unwrap(),
        |d, a| fs::rename(a, d).unwrap(),
        After::Whole,
    ),
    (
        "data folder moved, older copy in its place",
        |d, a, o| {
            fs::rename(d, a).unwrap();
            copy(o, d);
        },
        |d, a| {
            fs::remove_dir_all(d).unwrap();
            fs::rename(a, d).unwrap();
        },
        After::Whole,
    ),
    (
        "data folder deleted",
        |d, _, _| remove(d),
        keep,
        After::Gone,
    ),
    (
        "store moved",
        |d, a, _| fs::rename(d.join("store"), a).unwrap(),
        keep,
        After::Refused,
    ),
    (
        "store moved and back",
        |d, a, _| fs::rename(d.join("store"), a).unwrap(),
        store_back,
        After::Whole,
    ),
    (
        "store moved, older copy in its place",
        |d, a, o| {
            fs::rename(d.join("store"), a).unwrap();
            copy(&o.join("store"), &d.join("store"));
        },
        store_back,
        After::Whole,
    ),
    (
        "store moved, empty folder in its place",
        |d, a, _| {
            fs::rename(d.join("store"), a).unwrap();
            fs::create_dir(d.join("store")).unwrap();
        },
        keep,
        After::Refused,
    ),
    (
        "store deleted",
        |d, _, _| remove(&d.join("store")),
        keep,
        After::Refused,
    ),
    (
        "journal moved",
        |d, a, _| fs::rename(d.join("store/journal"), a).unwrap(),
        |d, a| {
            fs::rename(a, d.join("store/journal")).unwrap();
        },
        After::Whole,
    ),
    (
        "journal deleted",
        |d, _, _| remove(&d.join("store/journal")),
        keep,
        After::Refused,
    ),
    (
        "newest segments deleted",
        |d, _, _| {
            segments(d)
                .iter()
                .rev()
                .take(2)
                .for_each(|path| fs::remove_file(path).unwrap());
        },
        keep,
        After::Refused,
    ),
    (
        "oldest segment deleted",
        |d, _, _| fs::remove_file(&segments(d)[0]).unwrap(),
        keep,
        After::Refused,
    ),
    (
        "segments replaced by copies",
        |d, _, _| {
            for path in segments(d) {
                let aside = path.with_extension("aside");
                fs::rename(&path, &aside).unwrap();
                fs::copy(&aside, &path).unwrap();
                fs::remove_file(aside).unwrap();
            }
        },
        keep,
        After::Whole,
    ),
    (
        "index deleted",
        |d, _, _| remove(&d.join("store/index")),
        keep,
        After::GoesOn,
    ),
    (
        "store.id removed",
        |d, _, _| fs::remove_file(d.join("store.id")).unwrap(),
        keep,
        After::GoesOn,
    ),
];

/// All changes.
pub fn all() -> Vec<Case> {
    CHANGES.to_vec()
}

/// The vouchers that the clients know.
#[derive(Default)]
struct Load {
    acked: Mutex<BTreeSet<String>>,
    changed: AtomicBool,
    stop: AtomicBool,
    /// How many were acknowledged although they were sent after the change.
    after: AtomicUsize,
}

async fn post(client: Client, cvu: String, load: Arc<Load>) {
    while !load.stop.load(Ordering::SeqCst) {
        let id = format!("r-{}", fresh());
        let late = load.changed.load(Ordering::SeqCst);
        let Some(answer) = client.voucher(&cvu, "IN", "1", &id).answer().await else {
            return;
        };
        if answer.status != 201 {
            assert_eq!(answer.status, 503, "{}", answer.text);
            return;
        }
        load.acked.lock().unwrap().insert(id);
        load.after.fetch_add(usize::from(late), Ordering::SeqCst);
    }
}

impl Site {
    /// Makes one change under a working process, and judges the result.
    pub async fn running(&self, case: &Case, tally: &mut Tally) {
        let (name, change, undo, right) = *case;
        let (data, away) = (self.fresh(), self.fresh());
        copy(&self.killed.data, &data);
        let process = match self.open(&data).await {
            Opened::Serves(process) => process,
            Opened::Refused(code, why) => panic!("{name}: the copy does not open: {code:?} {why}"),
        };
        let load = Arc::new(Load::default());
        let client = Client::new(&process.url, Some(&self.key));
        let begin =
            |_| actix_web::rt::spawn(post(client.clone(), self.cvu.clone(), Arc::clone(&load)));
        let tasks: Vec<_> = (0..CLIENTS).map(begin).collect();
        let acked = async |more: usize| {
            wait_until(name, SOON, async || {
                (load.acked.lock().unwrap().len() >= more).then_some(())
            })
            .await;
        };
        acked(BEFORE).await;
        change(&data, &away, &self.older);
        load.changed.store(true, Ordering::SeqCst);
        if right == After::GoesOn {
            let so_far = load.acked.lock().unwrap().len();
            acked(so_far + BEFORE).await;
            load.stop.store(true, Ordering::SeqCst);
            drop(process);
        } else {
            let (code, why) = process.ended().await;
            tally.ended += 1;
            if code.is_some() || !why.contains("storage lost") {
                tally
                    .wrong
                    .push(format!("running, {name}: it ended with {code:?}: {why}"));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        let after = load.after.load(Ordering::SeqCst);
        // files that the watch checks, but no commit, may be changed unnoticed for a quarter of a
        // second
        let seldom = ["LOCK", "IDENTITY", "WITNESS", "oldest"];
        if right != After::GoesOn && after > 0 && !seldom.iter().any(|word| name.starts_with(word))
        {
            tally
                .wrong
                .push(format!("running, {name}: {after} acknowledged after it"));
        }
        undo(&data, &away);
        let acked = load.acked.lock().unwrap().clone();
        self.judge((name, right), &data, acked, tally).await;
        for left in [data, away] {
            if left.exists() {
                fs::remove_dir_all(left).unwrap();
            }
        }
    }

    async fn judge(
        &self,
        (name, right): (&str, After),
        data: &Path,
        mut acked: BTreeSet<String>,
        tally: &mut Tally,
    ) {
        if right == After::Gone {
            return;
        }
        acked.extend(self.killed.acked.iter().cloned());
        match self.open(data).await {
            Opened::Refused(code, why) => {
                tally.refused += 1;
                if right != After::Refused || code != Some(3) || why.trim().is_empty() {
                    tally
                        .wrong
                        .push(format!("running, {name}: exit {code:?}: {why}"));
                }
            }
            Opened::Serves(process) => {
                tally.whole += 1;
                tally.vouchers += acked.len();
                let lacks = process.lacks(self, &acked).await;
                if lacks > 0 {
                    tally
                        .wrong
                        .push(format!("running, {name}: {lacks} lost without a word"));
                }
                if right == After::Refused && lacks == 0 {
                    tally.wrong.push(format!("running, {name}: it opens"));
                }
            }
        }
    }
}
