//! How many index reads a voucher of an account costs that is not in memory: counted, because a clock cannot judge it
//! on a busy machine.

use caudal_storage::{DurableStore, Stats, Store as _, StoreOptions};

use super::*;
use crate::realms::Register;

/// Runs of the index.
const RUNS: u64 = 12;
/// The most accounts in memory.
const RESIDENT: usize = 8;

async fn post(engine: &Engine, account: u64, id: String) {
    let order = adjustment(account, "IN", 1, &id);
    value(engine.ledger().order(REALM, order, plain()).await);
}

#[actix::test]
async fn a_voucher_of_a_cold_account_reads_one_block_however_many_runs_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        table_bytes: 48 << 10,
        merge_fan_in: 1_000,
        frozen_max: 1,
        block_cache_bytes: 256 << 10,
        // so that the committer has to look up nearly each of them
        heads_max: 4,
        ..StoreOptions::small()
    };
    let store = DurableStore::open(folder.path(), options, Arc::new(ServiceProjection)).unwrap();
    let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
    let options = EngineOptions {
        resident: RESIDENT,
        ..EngineOptions::default()
    };
    let banks = Arc::new(move |_: &crate::banks::Relation| Ok(Arc::clone(&bank)));
    let clock = Arc::<harness::HarnessClock>::default();
    let engine = Engine::start(Arc::<DurableStore>::clone(&store), clock, banks, options).unwrap();
    furnish(&engine).await;
    // Runs are merged only when there are more than twice as many.
    let mut accounts = 0;
    while store.stats().index_runs < RUNS {
        accounts += 1;
        let opened = engine.ledger().order(
            REALM,
            Register {
                registration: registration(),
                open: true,
                alias: None,
            },
            plain(),
        );
        value(opened.await);
        post(&engine, accounts, format!("first-{accounts}")).await;
    }
    let runs = store.stats().index_runs;
    let before = store.stats();
    for account in 1..=accounts {
        post(&engine, account, format!("second-{account}")).await;
    }
    let after = store.stats();
    let count = |of: fn(&Stats) -> u64| of(&after) - of(&before);
    let read = count(|stats| stats.index_blocks_read);
    let vain = count(|stats| stats.index_blocks_vain);
    let gets = count(|stats| stats.index_gets);
    let opened = count(|stats| stats.index_runs_opened);
    println!(
        "{accounts} cold vouchers, {runs} runs: {gets} rows, {read} blocks, {vain} in vain, {opened} runs opened"
    );
    assert!(read <= accounts * 5 / 4, "{read} blocks, {vain} in vain");
    assert!(gets <= accounts * 12, "{gets} rows");
    drop(engine);
    store.close().unwrap();
}
