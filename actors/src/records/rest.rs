//! The row at rest: an account leaves it in the index when it is unloaded, and is loaded again from it.
//!
//! **Shape.** Format u8 (3), length u8 of the [`Stand`], the [`Stand`], the 22 digits of the CVU (zeros without one), and the
//! [`Profile`]. A [`Stand`] holds where the movements stand: format u8 (2), then MessagePack without names: account,
//! sequence, instant, available, held, the digest as four words, how many kinds of limits there are, and the usage. The
//! stand changes with every movement and the profile hardly ever, so a loaded account keeps the profile as it is in the
//! row. The closing of a day needs the CVU of each account, and unpacks no profile for it. A row of format 2 lacks it.
//!
//! **Order.** The row names its last movement, and is ignored if its stream does not have that movement
//! ([`Projection::rests`](caudal_storage::Projection::rests)). So a reader need not check this.
//!
//! **Failure.** The row is a hint that may be lost. A reader checks whether the streams have more. A row that was written
//! before a kind of limit was added lacks what counts towards it; it counts as lost, so that the streams are counted again.

mod profile;

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::{LimitKind, Usage};
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Head, StoreError};

pub use profile::Profile;

use super::msgpack;

const FORMAT: u8 = 2;
const WHOLE: u8 = 3;
const WITHOUT_CVU: u8 = 2;

/// The digits of a CVU as they are in the row.
type CvuDigits = [u8; 22];
/// The stand as it is in the row.
type StoredStand = (u64, u64, u64, i64, i64, [u64; 4], usize, Usage);

/// Where the movements of an account stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// The sequence of the last movement, from 1.
    pub sequence: u64,
    /// When it was posted.
    pub at: Timestamp,
    /// The balance after it.
    pub balance: Balance,
    /// The hash of the vouchers up to it.
    pub hash: Digest,
    usage: Usage,
}

impl Stand {
    /// The stand of an account; `None` before its first movement.
    pub fn of(account: &Account) -> Option<Self> {
        Some(Self {
            sequence: account.sequence,
            at: account.last_movement_at?,
            balance: account.balance,
            hash: account.hash,
            usage: account.usage,
        })
    }

    /// Sets an account to this stand. Its holds and open transfers are not part of it.
    pub fn resume(self, account: &mut Account) {
        account.sequence = self.sequence;
        account.last_movement_at = Some(self.at);
        account.balance = self.balance;
        account.hash = self.hash;
        account.usage = self.usage;
    }

    /// The row of an account.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] when serde refuses a value, which it does not.
    pub fn row(&self, account: AccountNo) -> Result<Vec<u8>, StoreError> {
        let mut words = [0; 4];
        let (chunks, _) = self.hash.0.as_chunks::<8>();
        let from = chunks.iter().copied().map(u64::from_be_bytes);
        words.iter_mut().zip(from).for_each(|(w, f)| *w = f);
        let Balance { available, held } = self.balance;
        let form: StoredStand = (
            account.0,
            self.sequence,
            self.at.millis(),
            available.centavos(),
            held.centavos(),
            words,
            LimitKind::COUNT,
            self.usage,
        );
        let mut row = Vec::with_capacity(128);
        row.push(FORMAT);
        rmp_serde::encode::write(&mut row, &form)
            .map_err(|why| StoreError::Invalid(format!("a row could not be encoded: {why}")))?;
        Ok(row)
    }

    /// Reads the row of an account; `None` if it belongs to another account or has an unknown format.
    pub fn parse(account: AccountNo, row: &[u8]) -> Option<Self> {
        let (&FORMAT, form) = row.split_first()? else {
            return None;
        };
        let form: StoredStand = msgpack::from_slice(form).ok()?;
        let (number, sequence, at, available, held, words, kinds, usage) = form;
        let mut hash = Digest::default();
        let (chunks, _) = hash.0.as_chunks_mut::<8>();
        let from = words.into_iter().map(u64::to_be_bytes);
        chunks.iter_mut().zip(from).for_each(|(c, f)| *c = f);
        let known = kinds == LimitKind::COUNT && number == account.0;
        (known && sequence > 0).then_some(Self {
            sequence,
            at: Timestamp::from_millis(at),
            balance: Balance {
                available: Money::from_centavos(available),
                held: Money::from_centavos(held),
            },
            hash,
            usage,
        })
    }
}

/// The part of an account that is in its row at rest and need not be written again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenPart {
    /// The profile as it is stored in the row; `None` if there is no such row.
    pub profile: Option<Arc<Profile>>,
    /// The last movement in the row; 0 without a row.
    pub sequence: u64,
}

impl WrittenPart {
    /// The last fact of the profile in the row; 0 without a row.
    pub fn profile_seq(&self) -> u64 {
        self.profile.as_ref().map_or(0, |profile| profile.seq())
    }
}

/// The row of an account with this stand and profile.
pub fn row(account: AccountNo, stand: &Stand, profile: &Profile) -> Result<Vec<u8>, StoreError> {
    let stand = stand.row(account)?;
    let length = u8::try_from(stand.len())
        .map_err(|_| StoreError::Invalid("where an account stands takes too long".into()))?;
    let digits = digits(profile.cvu());
    let parts = [&[WHOLE, length], stand.as_slice(), &digits, profile.bytes()];
    Ok(parts.concat())
}

fn digits(cvu: Option<Cvu>) -> CvuDigits {
    let mut digits = CvuDigits::default();
    if let Some(cvu) = cvu {
        digits.copy_from_slice(cvu.as_str().as_bytes());
    }
    digits
}

/// The parts of a row: the stand, the digits of the CVU, which format 2 lacks, and the profile.
fn parts(account: AccountNo, row: &[u8]) -> Option<(Stand, Option<CvuDigits>, &[u8])> {
    let (&[format, length], rest) = row.split_first_chunk::<2>()?;
    let (stand, rest) = rest.split_at_checked(usize::from(length))?;
    let (digits, profile) = match format {
        WHOLE => rest
            .split_first_chunk()
            .map(|(cvu, rest)| (Some(*cvu), rest))?,
        WITHOUT_CVU => (None, rest),
        _ => return None,
    };
    Some((Stand::parse(account, stand)?, digits, profile))
}

/// The account in its row, and its profile as it is stored there; `None` if the row belongs to another account or has an
/// unknown format.
pub fn parse(account: AccountNo, row: &[u8]) -> Option<(Box<Account>, Profile)> {
    let (stand, found, profile) = parts(account, row)?;
    let (mut whole, profile) = Profile::parse(profile)?;
    stand.resume(&mut whole);
    let same = found.is_none_or(|found| found == digits(whole.cvu));
    (same && whole.number == account).then_some((whole, profile))
}

/// Where the movements of an account stand by its row, and its CVU; `None` as for [`parse`], and for a row without a CVU.
pub fn stand_in(account: AccountNo, row: &[u8]) -> Option<(Stand, Cvu)> {
    let (stand, digits, _) = parts(account, row)?;
    let digits = digits?;
    let cvu = str::from_utf8(&digits).ok()?;
    Some((stand, Cvu::parse(cvu).ok()?))
}

/// The last movement of an account by its row; `None` as for [`parse`].
pub fn head_in(account: AccountNo, row: &[u8]) -> Option<Head> {
    let (stand, ..) = parts(account, row)?;
    Some(Head {
        seq: stand.sequence,
        at: stand.at.millis(),
    })
}

#[cfg(test)]
mod tests {
    use caudal_ledger::limits::Counter;
    use caudal_ledger::time::BusinessDay;

    use super::*;

    fn stand(usage: Usage) -> Stand {
        let mut hash = Digest::default();
        (0..).zip(&mut hash.0).for_each(|(n, byte)| *byte = n);
        Stand {
            sequence: 9,
            at: Timestamp::from_millis(1_795_000_000_000),
            balance: Balance {
                available: Money::from_centavos(150_025),
                held: Money::from_centavos(70),
            },
            hash,
            usage,
        }
    }

    #[test]
    fn a_row_is_these_bytes_and_reads_back() {
        let day = BusinessDay::parse("2026-11-23").unwrap();
        let usage = Usage::of(|kind| {
            Some(Counter {
                since: kind.window().first_day(day).filter(|_| kind.is_counted())?,
                used: kind.quantity(i64::from(kind.code()) * 100).unwrap(),
            })
        });
        let hex = |row: Vec<u8>| row.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let start = "0298070\
                     9cf000001a1ee565e00ce00024a0946\
                     94cf0001020304050607cf08090a0b0c0d0e0fcf1011121314151617cf18191a1b1c1d1e1f";
        for (usage, end) in [
            (Usage::default(), "0b90"),
            (
                usage,
                "0b969302cd512cccc89303cd512ccd012c9304cd5116cd01909305cd5116cd01f4\
                 9308cd512ccd03209309cd5116cd0384",
            ),
        ] {
            let stand = stand(usage);
            let row = stand.row(AccountNo(7)).unwrap();
            assert_eq!(Stand::parse(AccountNo(7), &row), Some(stand));
            assert_eq!(Stand::parse(AccountNo(8), &row), None, "another account");
            for cut in 0..row.len() {
                assert_eq!(Stand::parse(AccountNo(7), &row[..cut]), None, "{cut}");
            }
            assert_eq!(hex(row), [start, end].concat());
        }
    }

    #[test]
    fn a_row_of_another_number_of_kinds_of_limits_is_no_row() {
        let stand = stand(Usage::default());
        let mut row = stand.row(AccountNo(7)).unwrap();
        let kinds = row.iter_mut().rev().nth(1).unwrap();
        assert_eq!(usize::from(*kinds), LimitKind::COUNT);
        *kinds -= 1;
        assert_eq!(Stand::parse(AccountNo(7), &row), None);
    }

    #[test]
    fn an_account_that_has_not_moved_leaves_none() {
        let none = Stand {
            sequence: 0,
            ..stand(Usage::default())
        };
        let row = none.row(AccountNo(7)).unwrap();
        assert_eq!(Stand::parse(AccountNo(7), &row), None);
        assert_eq!(Stand::parse(AccountNo(7), b""), None);
        assert_eq!(Stand::parse(AccountNo(7), b"\x02"), None);
    }
}
