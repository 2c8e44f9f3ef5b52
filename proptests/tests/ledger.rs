//! The rules of `ledger` against the naive model: runs of colliding operations, with restarts.

use caudal_proptests::generators::ops::{Op, op};
use caudal_proptests::machine::{Machine, convert};
use caudal_proptests::model::Model;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

struct World;

thread_local! {
    /// Built once a thread: a union of so many parts is dear to make for every step.
    static OPS: BoxedStrategy<Op> = op();
}

impl ReferenceStateMachine for World {
    type State = Model;
    type Transition = Op;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new()).boxed()
    }

    fn transitions(_: &Model) -> BoxedStrategy<Op> {
        OPS.with(Clone::clone)
    }

    fn apply(mut model: Model, op: &Op) -> Model {
        model.step(op);
        model
    }
}

struct Rules;

impl StateMachineTest for Rules {
    type SystemUnderTest = Machine;
    type Reference = World;

    fn init_test(model: &Model) -> Machine {
        let machine = Machine::new();
        assert_eq!(convert::same(&machine, model), Ok(()));
        machine
    }

    fn apply(mut machine: Machine, model: &Model, op: Op) -> Machine {
        let answer = machine.step(&op, model);
        assert_eq!(answer, model.answer, "the machine against the model, at {op:?}");
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
    }
}

prop_state_machine! {
    #![proptest_config(caudal_proptests::config(250))]

    /// About a hundred thousand steps of runs that shrink well.
    #[test]
    fn the_rules_do_what_the_model_says(sequential 1..800 => Rules);
}
