//! Every engine of `storage` against a naive model: commits, refusals, restarts, crashes, rebuilds.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::store::driver::Driver;
use crate::store::ops::{Op, op};
use crate::store::rig::{Durable, Faulty, Rig};

thread_local! {
    static OPS: BoxedStrategy<Op> = op(1);
}

/// Runs whose operations have no preconditions: only the driver knows what is possible, since that
/// depends on what an engine found after a crash.
struct Runs;

impl ReferenceStateMachine for Runs {
    type State = ();
    type Transition = Op;

    fn init_state() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn transitions((): &()) -> BoxedStrategy<Op> {
        OPS.with(Clone::clone)
    }

    fn apply((): (), _: &Op) {}
}

/// Makes an engine.
trait Make {
    type Rig: Rig;
    fn make() -> Self::Rig;
}

struct Engine<M>(std::marker::PhantomData<M>);

impl<M: Make> StateMachineTest for Engine<M> {
    type SystemUnderTest = Driver<M::Rig>;
    type Reference = Runs;

    fn init_test((): &()) -> Self::SystemUnderTest {
        Driver::new(M::make())
    }

    fn apply(mut driver: Self::SystemUnderTest, (): &(), op: Op) -> Self::SystemUnderTest {
        assert_eq!(driver.step(&op), Ok(()), "at {op:?}");
        driver
    }

    fn teardown(driver: Self::SystemUnderTest, (): ()) {
        assert_eq!(driver.finish(), Ok(()));
    }
}

struct MakeFaulty;
impl Make for MakeFaulty {
    type Rig = Faulty;
    fn make() -> Faulty {
        Faulty::new()
    }
}

struct MakeDurable;
impl Make for MakeDurable {
    type Rig = Durable;
    fn make() -> Durable {
        Durable::new()
    }
}

type FaultyEngine = Engine<MakeFaulty>;
type DurableEngine = Engine<MakeDurable>;

prop_state_machine! {
    #![proptest_config(crate::config(300))]

    #[test]
    fn the_faulty_engine_keeps_its_word(sequential 1..200 => FaultyEngine);
}

prop_state_machine! {
    #![proptest_config(crate::config(30))]

    #[test]
    fn the_durable_engine_keeps_its_word(sequential 1..150 => DurableEngine);
}

/// The test of the tests (invariant 30): the runs lose power with work under way, keep some of it
/// and lose some, and see every refusal.
#[test]
fn every_fate_is_reached() {
    let mut runner = TestRunner::deterministic();
    let ops = op(1);
    let mut reached = BTreeSet::new();
    for _ in 0..40 {
        let mut driver = Driver::new(Faulty::new());
        for _ in 0..100 {
            let op = ops.new_tree(&mut runner).unwrap().current();
            assert_eq!(driver.step(&op), Ok(()), "at {op:?}");
        }
        reached.append(&mut driver.reached);
    }
    let all = [
        "a commit whose fate nobody knows",
        "an end with nothing open",
        "full",
        "invalid",
        "open commits were kept",
        "open commits were lost",
        "out of sequence",
        "overloaded",
        "recorded",
        "some open commits were kept, some lost",
    ];
    assert_eq!(reached, BTreeSet::from(all));
}
