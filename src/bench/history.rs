//! Past balances: how long a request for any instant of a long history takes.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use caudal_actors::engine::Engine;
use caudal_actors::realms::Target;
use caudal_actors::records::projection::Place;
use caudal_actors::records::{LEDGER, account_stream, reads};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::figures::{Histogram, nanos, scaled};

/// The number of requests.
const CALLS: u64 = 5000;

/// The times of one kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Times {
    /// The first request, with nothing cached.
    pub first_nanos: u64,
    /// The median.
    pub p50_nanos: u64,
    /// The 99th percentile.
    pub p99_nanos: u64,
}

impl Times {
    fn of(first: u64, all: &Histogram) -> Self {
        Self {
            first_nanos: first,
            p50_nanos: all.quantile(500),
            p99_nanos: all.quantile(990),
        }
    }
}

/// The times of past balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// The number of vouchers of the account.
    pub vouchers: u64,
    /// The work of the actor's turn alone: finding the sequence at the instant, and its voucher.
    pub turn: Times,
    /// The whole way through the engine: supervisor, actor, and back.
    pub engine: Times,
}

/// Requests balances at instants all over the history of an account.
///
/// # Errors
/// When the account has no history or a request fails.
pub async fn measure(
    engine: &Arc<Engine>,
    realm: RealmId,
    account: AccountNo,
) -> anyhow::Result<History> {
    let store = Arc::clone(engine.store());
    let stream = account_stream(realm, account, LEDGER);
    let last = store.head(stream)?.context("the account has no history")?;
    let place = |sequence| Place { account, sequence };
    let first = reads::voucher(store.as_ref(), realm, place(1))?;
    let first = first.context("the account has no first voucher")?.at;
    let span = last.at.saturating_sub(first.millis());
    let instant = |n: u64| {
        // Steps of the golden ratio cover the whole span evenly, in no order.
        let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        first.plus_millis(scaled(spread, span, 1 << 32))
    };
    let (mut turn, mut through) = (Histogram::default(), Histogram::default());
    let (mut first_turn, mut first_through) = (None, None);
    for n in 1..=CALLS {
        let at = instant(n);
        let start = Instant::now();
        let sequence = store.seq_at(stream, at.millis())?.unwrap_or(1);
        let known = reads::voucher(store.as_ref(), realm, place(sequence))?;
        let took = nanos(start.elapsed());
        turn.add(took);
        first_turn.get_or_insert(took);
        let start = Instant::now();
        let balance = engine
            .balance_at(realm, Target::Account(account), at)
            .await?;
        let took = nanos(start.elapsed());
        through.add(took);
        first_through.get_or_insert(took);
        agree(at, known.map(|v| v.after), balance.balance)?;
    }
    Ok(History {
        vouchers: last.seq,
        turn: Times::of(first_turn.unwrap_or(0), &turn),
        engine: Times::of(first_through.unwrap_or(0), &through),
    })
}

fn agree<T: PartialEq + std::fmt::Debug>(
    at: Timestamp,
    known: Option<T>,
    answered: T,
) -> anyhow::Result<()> {
    let same = known.as_ref() == Some(&answered);
    anyhow::ensure!(
        same,
        "at {at} the balance is {known:?}, answered was {answered:?}"
    );
    Ok(())
}
