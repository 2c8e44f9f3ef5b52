//! Realms that seal days: a key, accounts, and the files that a service returns.

use std::ops::{Deref, DerefMut};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_ledger::books::{BookBalances, HouseBalances};
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::days::{BankOfDay, BankSide, ClosedBook, DayFigures};
use caudal_ledger::money::{Money, Sum};
use caudal_ledger::seal::{
    BLOCK_LEAVES, DayLeaf, PathStep, SumNode, TreeBuilder, path, signed_note, verifier_key,
};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::{Value, json};

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A realm with its key.
pub(crate) struct Realm {
    pub(crate) origin: String,
    pair: Ed25519KeyPair,
}

impl Realm {
    pub(crate) fn new(tenant: &str, seed: u8) -> Self {
        Self {
            origin: format!("caudal/{tenant}/live"),
            pair: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(),
        }
    }

    pub(crate) fn public(&self) -> [u8; 32] {
        self.pair.public_key().as_ref().try_into().unwrap()
    }

    pub(crate) fn key(&self) -> String {
        verifier_key(&self.origin, &self.public())
    }

    pub(crate) fn sign(&self, text: &str) -> String {
        let signature = self.pair.sign(text.as_bytes());
        let signature = signature.as_ref().try_into().unwrap();
        signed_note(text, &self.origin, &self.public(), signature)
    }

    /// The file of a day with this text.
    pub(crate) fn day(&self, date: BusinessDay, text: &str) -> Value {
        json!({"date": date.to_string(), "checkpoint": self.sign(text), "key": self.key()})
    }
}

/// What a realm signs about a day.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    pub(crate) origin: String,
    figures: DayFigures,
}

impl Checkpoint {
    pub(crate) fn text(&self) -> String {
        self.figures.checkpoint(&self.origin)
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }
}

impl Deref for Checkpoint {
    type Target = DayFigures;

    fn deref(&self) -> &DayFigures {
        &self.figures
    }
}

impl DerefMut for Checkpoint {
    fn deref_mut(&mut self) -> &mut DayFigures {
        &mut self.figures
    }
}

/// The accounts of a day with the tree over them.
pub(crate) struct Day {
    pub(crate) leaves: Vec<DayLeaf>,
    pub(crate) checkpoint: Checkpoint,
    nodes: Vec<SumNode>,
    roots: Vec<SumNode>,
}

impl Day {
    /// A day of this many accounts, after a checkpoint.
    pub(crate) fn of(realm: &Realm, date: &str, accounts: u64, previous: Option<Digest>) -> Self {
        let date = BusinessDay::parse(date).unwrap();
        let leaf = |number: u64| {
            let chain = Digest::of(&number.to_be_bytes());
            DayLeaf {
                salt: Digest::of(format!("{date} {number}").as_bytes()).0,
                cvu: Cvu::compose(184, number + 1).unwrap(),
                available: Sum::from_centavos(i128::from(number * 97_003 % 1_000_000_007)),
                held: Sum::from_centavos(i128::from(number % 7)),
                sequence: number % 50,
                chain: if number.is_multiple_of(50) {
                    Digest::default()
                } else {
                    chain
                },
            }
        };
        let leaves: Vec<_> = (0..accounts).map(leaf).collect();
        let nodes: Vec<_> = leaves.iter().map(DayLeaf::node).collect();
        let root = |nodes: &[SumNode]| nodes.iter().copied().collect::<TreeBuilder>().root();
        let roots: Vec<_> = nodes.chunks(BLOCK_LEAVES).map(root).collect();
        let checkpoint = checkpoint(realm, date, accounts, root(&roots), previous);
        Self {
            leaves,
            checkpoint,
            nodes,
            roots,
        }
    }

    pub(crate) fn path(&self, at: usize) -> Vec<PathStep> {
        let block = at / BLOCK_LEAVES;
        let first = block * BLOCK_LEAVES;
        let end = self.nodes.len().min(first + BLOCK_LEAVES);
        let mut steps = path(&self.nodes[first..end], at - first);
        steps.extend(path(&self.roots, block));
        steps
    }

    /// The proof of an account, signed.
    pub(crate) fn proof(&self, realm: &Realm, at: usize) -> Value {
        let leaf = &self.leaves[at];
        let step = |step: &PathStep| {
            json!({
                "side": step.side.as_str(),
                "hash": base64(&step.node.hash.0),
                "available": step.node.available.to_string(),
                "held": step.node.held.to_string(),
            })
        };
        json!({
            "date": self.checkpoint.date.to_string(),
            "leaf": {
                "salt": base64(&leaf.salt),
                "cvu": leaf.cvu.as_str(),
                "available": leaf.available.to_string(),
                "held": leaf.held.to_string(),
                "sequence": leaf.sequence,
                "chain": base64(&leaf.chain.0),
            },
            "path": self.path(at).iter().map(step).collect::<Vec<_>>(),
            "checkpoint": realm.sign(&self.checkpoint.text()),
            "key": realm.key(),
        })
    }

    /// The file of the day, signed.
    pub(crate) fn file(&self, realm: &Realm) -> Value {
        realm.day(self.checkpoint.date, &self.checkpoint.text())
    }
}

/// Days that follow each other.
pub(crate) fn days<const N: usize>(realm: &Realm, dates: [&str; N], accounts: u64) -> [Day; N] {
    let mut previous = None;
    dates.map(|date| {
        let day = Day::of(realm, date, accounts, previous);
        previous = Some(day.checkpoint.digest());
        day
    })
}

fn checkpoint(
    realm: &Realm,
    date: BusinessDay,
    size: u64,
    root: SumNode,
    previous: Option<Digest>,
) -> Checkpoint {
    let house = [-3, 10, 500, 7, -20, -90, -11, 1_000].map(Sum::from_centavos);
    let suspense = Sum::from_centavos(1_205);
    let clients = root.available.plus(root.held);
    let books = BookBalances {
        clients,
        suspense,
        house: HouseBalances::new(house),
        ..BookBalances::default()
    };
    let controls = books.controls().into_iter();
    let figures = DayFigures {
        date,
        accounts: size,
        root,
        blocks: Vec::new(),
        suspense,
        books: controls
            .map(|(account, balance)| ClosedBook {
                account: account.as_str().to_owned(),
                balance,
            })
            .collect(),
        vouchers: 25 * size,
        events: 31 * size,
        bank: BankSide::Known(Box::new(BankOfDay {
            balance: Money::from_centavos(123_456),
            at: Timestamp::default(),
            digest: Digest::of(b"the bank's answer"),
            unexplained: Sum::default(),
            differences: Vec::new(),
        })),
        late: Vec::new(),
        next_key: None,
        previous,
    };
    Checkpoint {
        origin: realm.origin.clone(),
        figures,
    }
}
