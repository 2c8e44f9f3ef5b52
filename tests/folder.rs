//! Changes to the data folder by somebody else, while the service is stopped, after it was killed,
//! and while it runs.
//!
//! Each change is made to a separate copy; then the real binary is started on it. It may find
//! everything that was acknowledged, or refuse with exit code 3 and say why. It may not open
//! silently with something missing: that would be an unnoticed loss. A process whose folder is
//! changed under it acknowledges nothing that is sent after the change, and ends by itself.
//!
//! `CAUDAL_FOLDER_CHANGES` sets how many of the changes are tried, 8 by default; 200 is all of them.
//! `CAUDAL_SEED` chooses where to begin.

mod running;
mod site;
mod still;

use std::time::Instant;

use site::Site;

/// The results of the changes.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    whole: usize,
    ended: usize,
    vouchers: usize,
    /// Violations of the rule, in words.
    wrong: Vec<String>,
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

#[actix_web::test]
async fn no_change_to_the_folder_loses_anything_in_silence() {
    let (since, site) = (Instant::now(), Site::build().await);
    let (still, running) = (still::all(), running::all());
    let total = still.len() + running.len();
    let wanted = number("CAUDAL_FOLDER_CHANGES", 8).clamp(1, total);
    let seed = number("CAUDAL_SEED", usize::try_from(std::process::id()).unwrap());
    println!("CAUDAL_SEED={seed}");
    let mut tally = Tally::default();
    for n in 0..wanted {
        let at = (seed + n * total / wanted) % total;
        match still.get(at) {
            Some(case) => site.still(case, &mut tally).await,
            None => site.running(&running[at - still.len()], &mut tally).await,
        }
    }
    println!(
        "{wanted} of {total} changes: {} refused, {} whole, {} processes ended by themselves, {} \
         vouchers looked for, {} wrong, in {:?}",
        tally.refused,
        tally.whole,
        tally.ended,
        tally.vouchers,
        tally.wrong.len(),
        since.elapsed()
    );
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}
