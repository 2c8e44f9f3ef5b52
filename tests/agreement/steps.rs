//! The steps of a history: they name accounts, types, holds and days by small numbers, so that a
//! shortened history still makes sense.

use proptest::collection::vec;
use proptest::prelude::*;

/// Which family an order is sent through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Native,
    Wallet,
}

impl Family {
    pub const fn other(self) -> Self {
        match self {
            Self::Native => Self::Wallet,
            Self::Wallet => Self::Native,
        }
    }
}

/// How far the clock advances.
#[derive(Clone, Copy, Debug)]
pub enum Pause {
    Millisecond,
    Hours,
    /// To the last millisecond of the day in Buenos Aires.
    LastOfDay,
    /// To the first millisecond of the next day.
    Midnight,
    Day,
}

/// An adjustment.
#[derive(Clone, Copy, Debug)]
pub struct Adjustment {
    pub family: Family,
    pub account: usize,
    pub kind: usize,
    /// Whether the wallet family names the type by its number.
    pub numbered: bool,
    pub centavos: i64,
    pub external: u8,
}

/// One action of a client.
#[derive(Clone, Debug)]
pub enum Step {
    Open {
        family: Family,
        holder: usize,
        alias: Option<usize>,
    },
    GetCvu {
        account: usize,
        automatic: bool,
    },
    CreateType {
        family: Family,
        credit: bool,
    },
    Toggle {
        kind: usize,
        active: bool,
    },
    RemoveType {
        kind: usize,
    },
    Post(Adjustment),
    /// An earlier adjustment again, maybe with another amount.
    Repeat {
        family: Family,
        nth: usize,
        changed: bool,
    },
    Hold {
        account: usize,
        centavos: i64,
    },
    Settle {
        hold: usize,
        confirm: bool,
        /// `None` for the rest of the hold.
        centavos: Option<i64>,
    },
    Transfer {
        from: usize,
        to: usize,
        by_alias: bool,
        centavos: i64,
    },
    Suspend(usize),
    Reactivate(usize),
    Close(usize),
    Enable {
        account: usize,
        on: bool,
    },
    Alias {
        account: usize,
        alias: usize,
    },
    Wait(Pause),
}

/// A history, and the page size in which its lists are read.
#[derive(Clone)]
pub struct History {
    pub steps: Vec<Step>,
    pub size: usize,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "in pages of {}:", self.size)?;
        let mut steps = self.steps.iter();
        steps.try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![Just(Family::Native), Just(Family::Wallet)]
}

/// Few different amounts, so that some coincide.
fn centavos() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => prop_oneof![Just(1), Just(50), Just(100), Just(1_234), Just(100_000)],
        1 => 1_i64..50_000,
        1 => Just(999_999_999_999),
    ]
}

fn pause() -> impl Strategy<Value = Pause> {
    prop_oneof![
        Just(Pause::Millisecond),
        Just(Pause::Hours),
        Just(Pause::LastOfDay),
        Just(Pause::Midnight),
        Just(Pause::Day),
    ]
}

fn adjustment() -> impl Strategy<Value = Step> {
    let parts = (
        family(),
        0_usize..8,
        0_usize..6,
        any::<bool>(),
        centavos(),
        0_u8..60,
    );
    parts.prop_map(|(family, account, kind, numbered, centavos, external)| {
        Step::Post(Adjustment {
            family,
            account,
            kind,
            numbered,
            centavos,
            external,
        })
    })
}

fn profile() -> impl Strategy<Value = Step> {
    let account = || 0_usize..8;
    prop_oneof![
        3 => account().prop_map(Step::Suspend),
        4 => account().prop_map(Step::Reactivate),
        3 => account().prop_map(Step::Close),
        3 => (account(), prop::bool::weighted(0.6))
            .prop_map(|(account, on)| Step::Enable { account, on }),
        3 => (account(), 0_usize..4).prop_map(|(account, alias)| Step::Alias { account, alias }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let account = || 0_usize..8;
    let transfer = (account(), account(), any::<bool>(), centavos());
    prop_oneof![
        3 => (family(), 0_usize..4, prop::option::of(0_usize..4))
            .prop_map(|(family, holder, alias)| Step::Open { family, holder, alias }),
        4 => (account(), any::<bool>())
            .prop_map(|(account, automatic)| Step::GetCvu { account, automatic }),
        2 => (family(), any::<bool>())
            .prop_map(|(family, credit)| Step::CreateType { family, credit }),
        1 => (0_usize..6, prop::bool::weighted(0.7))
            .prop_map(|(kind, active)| Step::Toggle { kind, active }),
        1 => (2_usize..6).prop_map(|kind| Step::RemoveType { kind }),
        18 => adjustment(),
        4 => (family(), 0_usize..20, prop::bool::weighted(0.3))
            .prop_map(|(family, nth, changed)| Step::Repeat { family, nth, changed }),
        5 => (account(), centavos())
            .prop_map(|(account, centavos)| Step::Hold { account, centavos }),
        5 => (0_usize..8, any::<bool>(), prop::option::of(centavos()))
            .prop_map(|(hold, confirm, centavos)| Step::Settle { hold, confirm, centavos }),
        9 => transfer.prop_map(|(from, to, by_alias, centavos)| {
            Step::Transfer { from, to, by_alias, centavos }
        }),
        6 => profile(),
        5 => pause().prop_map(Step::Wait),
    ]
}

/// Any history with this many steps.
pub fn history(steps: std::ops::Range<usize>) -> impl Strategy<Value = History> {
    (vec(step(), steps), 1_usize..6).prop_map(|(steps, size)| History { steps, size })
}
