//! The operations of a run on the ledger's rules, and the frequency of each.

use proptest::prelude::*;
use proptest::sample::select;

/// One operation: plain data that the model and the machine both understand. Accounts, codes and
/// external ids are indexes into the lists of [`super`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// An adjustment voucher by the tenant.
    Post(Posting),
    /// A movement of any direction, such as holds and transfers make.
    Move {
        account: usize,
        way: Way,
        amount: Pick,
    },
    /// Credits of the largest amount until one more would leave the range of money.
    Flood { account: usize },
    /// An order about an account.
    Order { account: usize, order: Profile },
    /// The bank answers the account's pending request.
    Bank { account: usize, yes: bool },
    /// A voucher type is created.
    CreateType { realm: u32, code: usize, way: Way },
    /// A voucher type, custom or built in, is activated or deactivated.
    ToggleType {
        realm: u32,
        code: String,
        active: bool,
    },
    /// A voucher type, custom or built in, is removed.
    RemoveType { realm: u32, code: String },
    /// The tenant's policy about closing accounts changes.
    Policy {
        realm: u32,
        close_requires_zero: bool,
    },
    /// The clock moves, sometimes backwards.
    Clock { millis: i64 },
    /// Everything is forgotten and read back from the recorded bytes.
    Restart,
}

/// An adjustment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Posting {
    /// The account's index.
    pub account: usize,
    /// The code of the voucher type.
    pub code: String,
    /// The external id's index; `None` for an id that was never used.
    pub external: Option<usize>,
    /// The amount.
    pub amount: Pick,
    /// A line for people; a retry may change it.
    pub description: Option<String>,
}

/// An amount, relative to the account's balance at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// One centavo.
    Centavo,
    /// The available amount, plus this many centavos.
    Available(i8),
    /// The held amount, plus this many centavos.
    Held(i8),
    /// The largest amount less this many centavos.
    Largest(u8),
    /// The amount that the account can still take in, plus this many centavos.
    Room(i8),
}

/// A direction, by its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Credit,
    Debit,
    Hold,
    Release,
    ConfirmHold,
}

/// Orders about an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Profile {
    Suspend(String),
    Reactivate,
    SetAlias(&'static str),
    Close,
    Contact(Option<&'static str>),
    DailyAmount(Option<u8>),
    SetEnabled(bool),
    Open,
    /// Sets names and holders: those of the account itself, somebody else first, somebody twice, or
    /// the wrong type of person.
    Identity(Who),
}

/// The holders that an identity order names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Self_,
    SelfAndOther,
    OtherFirst,
    Twice,
    WrongType,
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        6 => Just(Pick::Centavo),
        4 => (-1_i8..=1).prop_map(Pick::Available),
        2 => (-1_i8..=1).prop_map(Pick::Held),
        2 => (0_u8..=1).prop_map(Pick::Largest),
        1 => (-1_i8..=1).prop_map(Pick::Room),
    ]
}

fn any_code() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(super::CODES.to_vec()),
        1 => select(vec!["CREDIT", "FEE", "HOLD", "INTERNAL_P2P_OUT"]),
        1 => Just("NEVER_MADE"),
    ]
    .prop_map(str::to_owned)
}

fn way() -> impl Strategy<Value = Way> {
    select(vec![
        Way::Credit,
        Way::Debit,
        Way::Hold,
        Way::Release,
        Way::ConfirmHold,
    ])
}

fn profile() -> impl Strategy<Value = Profile> {
    prop_oneof![
        3 => select(vec!["court", "customer request"]).prop_map(|r| Profile::Suspend(r.to_owned())),
        6 => Just(Profile::Reactivate),
        2 => select(vec!["Mi.Alias", "mi.alias", "otro-alias"]).prop_map(Profile::SetAlias),
        1 => Just(Profile::Close),
        2 => select(vec![None, Some("a@x.ar"), Some("b@x.ar")]).prop_map(Profile::Contact),
        // Either nothing passes or everything does: limits that count are asked where holds and
        // transfers are.
        1 => select(vec![None, None, Some(0)]).prop_map(Profile::DailyAmount),
        6 => prop_oneof![1 => Just(false), 3 => Just(true)].prop_map(Profile::SetEnabled),
        4 => Just(Profile::Open),
        1 => select(vec![
            Who::Self_,
            Who::SelfAndOther,
            Who::OtherFirst,
            Who::Twice,
            Who::WrongType
        ])
        .prop_map(Profile::Identity),
    ]
}

fn posting() -> impl Strategy<Value = Posting> {
    let description = prop_oneof![
        4 => Just(None),
        1 => Just(Some("ñandú ✓".to_owned())),
        1 => Just(Some(String::new()))
    ];
    let external = prop_oneof![
        3 => (0..super::EXTERNAL_IDS.len()).prop_map(Some),
        2 => Just(None)
    ];
    let account = 0..super::WORLD.len();
    (account, any_code(), external, pick(), description).prop_map(
        |(account, code, external, amount, description)| Posting {
            account,
            code,
            external,
            amount,
            description,
        },
    )
}

/// The operations that a run has most of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Movements on accounts that mostly let them pass.
    Money,
    /// The lives of accounts and voucher types, with movements in between.
    Lives,
}

/// Any operation. It does not depend on the state, so that a run shrinks freely.
pub fn op(mix: Mix) -> BoxedStrategy<Op> {
    let lives = match mix {
        Mix::Money => 1,
        Mix::Lives => 5,
    };
    let account = || 0..super::WORLD.len();
    let bank = prop_oneof![1 => Just(false), 7 => Just(true)];
    prop_oneof![
        40 => posting().prop_map(Op::Post),
        14 => (account(), way(), pick())
            .prop_map(|(account, way, amount)| Op::Move { account, way, amount }),
        1 => account().prop_map(|account| Op::Flood { account }),
        3 * lives => (account(), profile()).prop_map(|(account, order)| Op::Order { account, order }),
        2 * lives => (account(), bank).prop_map(|(account, yes)| Op::Bank { account, yes }),
        3 * lives => realm_op(),
        8 => clock().prop_map(|millis| Op::Clock { millis }),
        1 => Just(Op::Restart),
    ]
    .boxed()
}

fn realm_op() -> impl Strategy<Value = Op> {
    let realm = || 1_u32..=3;
    let code = 0..super::CODES.len();
    let sense = prop_oneof![9 => Just(Way::Credit), 9 => Just(Way::Debit), 1 => Just(Way::Hold)];
    let active = prop_oneof![1 => Just(false), 3 => Just(true)];
    prop_oneof![
        4 => (realm(), code, sense)
            .prop_map(|(realm, code, way)| Op::CreateType { realm, code, way }),
        4 => (realm(), any_code(), active)
            .prop_map(|(realm, code, active)| Op::ToggleType { realm, code, active }),
        1 => (realm(), any_code()).prop_map(|(realm, code)| Op::RemoveType { realm, code }),
        1 => (realm(), any::<bool>())
            .prop_map(|(realm, close_requires_zero)| Op::Policy { realm, close_requires_zero }),
    ]
}

/// Milliseconds: mostly a little, sometimes days or months, sometimes back.
fn clock() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0_i64..5,
        2 => -3_600_000_i64..3_600_000,
        2 => 0_i64..200_000_000,
        1 => -200_000_000_i64..0,
        1 => 0_i64..6_000_000_000,
    ]
}
