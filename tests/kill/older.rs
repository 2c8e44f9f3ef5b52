//! A folder written by an older program: the present one verifies it, finds everything that was acknowledged,
//! continues on it, and is killed in turn.
//!
//! `CAUDAL_OLDER` is the path of the older program; `tests/rigs/older.sh` sets it. Without it the test prints
//! `not run`. `CAUDAL_KILLS` sets how often each of the two is killed, 3 by default.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::{Known, Process, begin, check, prepare, random_moment, verified};

/// How often the older program is killed before the present one takes over its folder, and how often that one is
/// killed then.
fn kills() -> usize {
    std::env::var("CAUDAL_KILLS").map_or(3, |text| text.parse().unwrap())
}

#[actix_web::test]
async fn a_folder_of_an_older_program_is_gone_on_with_and_nothing_is_lost_or_doubled() {
    let Ok(older) = std::env::var("CAUDAL_OLDER") else {
        println!("not run: CAUDAL_OLDER is not set");
        return;
    };
    let newer = env!("CARGO_BIN_EXE_caudal");
    // The last process of the older program is killed like the others, or stopped properly.
    for left in ["KILL", "TERM"] {
        let folder = TempDir::new().unwrap();
        let known = Arc::new(Mutex::new(Known::default()));
        let mut process = Process::of(&older, folder.path(), &[]).await;
        let cvus = prepare(&process.client, &known).await;
        let (mut written, mut kept) = (0, 0);
        for round in 1..=2 * kills() {
            let (stop, tasks) = begin(&process.client, &known, &cvus, round);
            random_moment(&known).await;
            let last = round == kills();
            process.signal(if last { left } else { "KILL" });
            process.ended().await;
            stop.store(true, Ordering::Relaxed);
            for task in tasks {
                task.await.unwrap();
            }
            if last {
                written = known.lock().unwrap().done.len();
                verified(folder.path());
            }
            let program = if round < kills() {
                older.as_str()
            } else {
                newer
            };
            process = Process::of(program, folder.path(), &[]).await;
            kept = check(&process.client, &known, &cvus).await;
        }
        process.signal("TERM");
        assert!(process.ended().await.success());
        verified(folder.path());
        println!(
            "{written} vouchers of the older program, which ended by {left}, {kept} in the end after {} kills, 0 lost, 0 twice",
            2 * kills()
        );
    }
}
