//! The rules of `ledger` against the naive model: runs of colliding operations, with restarts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::generators::ops::{Mix, Op, op};
use crate::machine::{Machine, convert};
use crate::model::{Answer, Model};

thread_local! {
    /// Built once a thread: a union of this many parts is dear to make for every step.
    static MONEY: BoxedStrategy<Op> = op(Mix::Money);
    static LIVES: BoxedStrategy<Op> = op(Mix::Lives);
}

/// Runs of one mix.
struct World<const LIVELY: bool>;

impl<const LIVELY: bool> ReferenceStateMachine for World<LIVELY> {
    type State = Model;
    type Transition = Op;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new()).boxed()
    }

    fn transitions(_: &Model) -> BoxedStrategy<Op> {
        if LIVELY {
            LIVES.with(Clone::clone)
        } else {
            MONEY.with(Clone::clone)
        }
    }

    fn apply(mut model: Model, op: &Op) -> Model {
        model.step(op);
        model
    }
}

impl<const LIVELY: bool> StateMachineTest for World<LIVELY> {
    type SystemUnderTest = Machine;
    type Reference = Self;

    fn init_test(model: &Model) -> Machine {
        let machine = Machine::new();
        assert_eq!(convert::same(&machine, model), Ok(()));
        machine
    }

    fn apply(mut machine: Machine, model: &Model, op: Op) -> Machine {
        let answer = machine.step(&op, model);
        assert_eq!(
            answer, model.answer,
            "the rules (left) against the model, at {op:?}"
        );
        if matches!(
            op,
            Op::CreateType { .. } | Op::ToggleType { .. } | Op::RemoveType { .. }
        ) {
            assert_eq!(convert::same_types(&machine, model), Ok(()));
        }
        machine
    }

    fn check_invariants(machine: &Machine, model: &Model) {
        assert_eq!(convert::same(machine, model), Ok(()));
        assert_eq!(machine.check_step(), Ok(()));
    }

    fn teardown(mut machine: Machine, model: Model) {
        assert_eq!(machine.check_all(), Ok(()));
        assert_eq!(machine.restart(), Ok(()));
        assert_eq!(convert::same(&machine, &model), Ok(()));
        assert_eq!(convert::same_types(&machine, &model), Ok(()));
    }
}

type Money = World<false>;
type Lives = World<true>;

// Together these run about a million steps.
prop_state_machine! {
    #![proptest_config(crate::config(2_500))]

    #[test]
    fn money_moves_as_the_model_says(sequential 1..400 => Money);

    #[test]
    fn accounts_live_as_the_model_says(sequential 1..400 => Lives);
}

/// The test of the tests (invariant 30): the runs reach every possible answer, so that a passing
/// run means something.
#[test]
fn every_answer_is_reached() {
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeSet::new();
    for mix in [Mix::Money, Mix::Lives] {
        let ops = op(mix);
        for _ in 0..50 {
            let mut model = Model::new();
            for _ in 0..300 {
                let op = ops.new_tree(&mut runner).unwrap().current();
                model.step(&op);
                reached.insert(match model.answer {
                    Answer::Recorded(_) => "recorded",
                    Answer::Replayed(_) => "replayed",
                    Answer::Refused(code) => code,
                    Answer::Reused { .. } => "id_externo_reused",
                    Answer::Facts(0) => "no facts",
                    Answer::Facts(_) => "facts",
                    Answer::Nothing => "nothing",
                });
            }
        }
    }
    let all = [
        "account_closed",
        "account_disabled",
        "account_not_empty",
        "account_not_found",
        "account_not_suspended",
        "account_suspended",
        "account_without_cvu",
        "amount_overflow",
        "facts",
        "first_holder_differs",
        "holder_twice",
        "id_externo_reused",
        "insufficient_funds",
        "insufficient_held",
        "limit_exceeded",
        "no facts",
        "nothing",
        "operation_in_flight",
        "person_type_contradicts",
        "recorded",
        "replayed",
        "voucher_type_inactive",
        "voucher_type_is_system",
        "voucher_type_not_found",
        "voucher_type_sense",
        "voucher_type_taken",
        "voucher_type_unknown",
    ];
    assert_eq!(reached, BTreeSet::from(all));
}
