//! The platform's decisions about cells and moves between them.

use super::*;
use crate::tenants::orders::{NewTenant, PlatformOrder};
use crate::tenants::restores::RestoreStep;

const ID: &str = "one";
const COPIED: Copied = Copied {
    entries: 7,
    digest: crate::chain::Digest([7; 32]),
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn step(platform: &mut Platform, step: MoveStep, now: u64) -> Result<usize, Rejection> {
    let (id, mode) = (ID.to_owned(), Mode::Live);
    platform.told(PlatformOrder::Move { id, mode, step }, at(now))
}

fn begin_step(cell: u32, anew: bool) -> MoveStep {
    let behind = 50;
    MoveStep::Begin { cell, behind, anew }
}

fn begin(platform: &mut Platform, cell: u32) -> Result<usize, Rejection> {
    step(platform, begin_step(cell, false), 200)
}

fn leave(platform: &mut Platform, number: u32) -> Result<usize, Rejection> {
    step(platform, MoveStep::Leave { number }, 300)
}

fn end(platform: &mut Platform, number: u32) -> Result<usize, Rejection> {
    let (copied, commit) = (COPIED, 60);
    let over = MoveStep::End {
        number,
        copied,
        commit,
    };
    step(platform, over, 300)
}

fn restore(platform: &mut Platform, step: RestoreStep) -> Result<usize, Rejection> {
    let (id, mode) = (ID.to_owned(), Mode::Live);
    platform.told(PlatformOrder::Restore { id, mode, step }, at(500))
}

fn created(platform: &mut Platform, id: &str, cell: u32) -> Result<usize, Rejection> {
    let new = PlatformOrder::CreateTenant(NewTenant::plain(id), cell);
    platform.told(new, at(100))
}

fn platform(cell: u32) -> (Platform, RealmId) {
    let mut platform = Platform::default();
    for cell in [1, 2] {
        let added = platform.add_cell(cell, "aa").unwrap();
        platform.apply(&added);
        assert_eq!(platform.add_cell(cell, "aa"), None);
    }
    let facts = if cell == 0 { 1 } else { 3 };
    assert_eq!(created(&mut platform, ID, cell), Ok(facts));
    let realm = platform.tenant(ID).unwrap().live;
    (platform, realm)
}

fn lies(platform: &Platform, realm: RealmId) -> (u32, u32, u32) {
    let Standing {
        cell,
        generation,
        turns,
    } = platform.standing(realm);
    (cell, generation, turns)
}

#[test]
fn a_copy_that_cannot_go_on_is_followed_by_another_one() {
    let (mut platform, realm) = platform(0);
    assert_eq!(begin(&mut platform, 2), Ok(1));
    assert_eq!(begin(&mut platform, 2), Ok(0), "it goes on");
    assert_eq!(platform.moving(realm, 2), Some(1));
    assert_eq!(step(&mut platform, begin_step(2, true), 210), Ok(1));
    assert_eq!(platform.moving(realm, 2), Some(2));
    assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
    leave(&mut platform, 2).unwrap();
    assert_eq!(end(&mut platform, 2), Ok(1));
    assert_eq!(lies(&platform, realm), (2, 2, 0));
    assert_eq!(
        step(&mut platform, begin_step(2, true), 310),
        Ok(0),
        "it is there"
    );
    let behind = [0, 1, 2].map(|number| platform.behind_of(realm, number));
    assert_eq!(behind, [0, 50, 50]);
}

#[test]
fn a_tenant_is_where_it_was_made_and_cells_that_are_not_take_nobody() {
    let (platform, realm) = platform(2);
    assert_eq!(lies(&platform, realm), (2, 0, 0));
    assert_eq!((platform.realms_in(0), platform.realms_in(2)), (0, 2));
    let (mut platform, realm) = self::platform(0);
    assert_eq!(lies(&platform, realm), (0, 0, 0));
    assert_eq!(begin(&mut platform, 3), Err(Rejection::CellNotFound));
    for id in ["two", ID] {
        let nowhere = created(&mut platform, id, 3);
        assert_eq!(nowhere, Err(Rejection::CellNotFound));
    }
    let again = created(&mut platform, ID, 1);
    assert_eq!(again, Err(Rejection::TenantTaken));
    assert_eq!(platform.standings().count(), 0);
}

#[test]
fn the_emptiest_cell_is_the_first_one_of_those_with_the_fewest_realms() {
    let (mut platform, _) = platform(0);
    for (id, cell) in [("two", 1), ("three", 2), ("four", 0), ("five", 1)] {
        assert_eq!(platform.emptiest(), cell, "{id}");
        created(&mut platform, id, cell).unwrap();
    }
    // A realm that was moved counts in its new cell.
    begin(&mut platform, 2).unwrap();
    leave(&mut platform, 1).unwrap();
    end(&mut platform, 1).unwrap();
    assert_eq!([0, 1, 2].map(|cell| platform.realms_in(cell)), [3, 4, 3]);
    created(&mut platform, "six", 0).unwrap();
    assert_eq!(platform.emptiest(), 2);
    assert_eq!(Platform::default().emptiest(), 0, "there is no other one");
}

#[test]
fn a_realm_goes_there_and_back_and_nothing_of_it_is_held() {
    let (mut platform, realm) = platform(1);
    assert_eq!(begin(&mut platform, 1), Ok(0), "it is there");
    for (number, cell) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        assert_eq!(begin(&mut platform, cell), Ok(1));
        assert_eq!(begin(&mut platform, cell), Ok(0), "it goes on");
        assert_eq!(platform.moving(realm, cell), Some(number));
        assert_eq!(
            end(&mut platform, number + 1),
            Err(Rejection::RestoreNotFound)
        );
        assert_eq!(leave(&mut platform, number), Ok(1));
        assert_eq!(leave(&mut platform, number), Ok(0));
        assert!(platform.is_leaving(realm));
        assert_eq!(end(&mut platform, number), Ok(1));
        assert_eq!(end(&mut platform, number), Ok(0));
        assert!(!platform.is_leaving(realm));
        assert_eq!(lies(&platform, realm), (cell, number, 0));
        assert_eq!(platform.reach_of(cell), 60);
        assert!(!platform.is_held(realm));
    }
    assert_eq!(platform.cell_of(realm, 0), 1, "what was left stays");
}

#[test]
fn a_move_that_another_one_or_a_switch_overtook_does_not_end() {
    let (mut platform, realm) = platform(0);
    begin(&mut platform, 1).unwrap();
    begin(&mut platform, 2).unwrap();
    assert_eq!(platform.moving(realm, 1), None);
    assert_eq!(leave(&mut platform, 1), Err(Rejection::RestoreConflict));
    assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
    leave(&mut platform, 2).unwrap();
    assert_eq!(end(&mut platform, 2), Ok(1));
    let begun = RestoreStep::Begin {
        at: at(250),
        until: 9,
    };
    assert_eq!(restore(&mut platform, begun), Ok(1));
    let (number, copied) = (3, COPIED);
    assert_eq!(
        restore(&mut platform, RestoreStep::End { number, copied }),
        Ok(1)
    );
    begin(&mut platform, 1).unwrap();
    leave(&mut platform, 4).unwrap();
    // another history: the generation from which the copy was made is no longer in force
    assert_eq!(restore(&mut platform, RestoreStep::Switch(3)), Ok(1));
    assert_eq!(end(&mut platform, 4), Err(Rejection::RestoreConflict));
    assert_eq!(lies(&platform, realm), (0, 3, 1));
    // and back: no realm was moved away from that generation
    assert_eq!(restore(&mut platform, RestoreStep::Switch(2)), Ok(1));
}

#[test]
fn a_move_that_is_given_up_does_not_end_before_the_realm_leaves_again() {
    let (mut platform, realm) = platform(0);
    begin(&mut platform, 2).unwrap();
    assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
    leave(&mut platform, 1).unwrap();
    // the process that moved it is gone
    let stays = platform.stays(at(310));
    assert_eq!(stays.len(), 1);
    stays.iter().for_each(|fact| platform.apply(fact));
    assert!(!platform.is_leaving(realm) && platform.stays(at(310)).is_empty());
    assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
    let stay = MoveStep::Stay { number: 1 };
    assert_eq!(step(&mut platform, stay, 320), Ok(0));
    leave(&mut platform, 1).unwrap();
    assert_eq!(step(&mut platform, stay, 320), Ok(1));
    leave(&mut platform, 1).unwrap();
    assert_eq!(end(&mut platform, 1), Ok(1));
    assert_eq!(lies(&platform, realm), (2, 1, 0));
}

#[test]
fn what_a_move_left_does_not_come_into_force_again() {
    let (mut platform, realm) = platform(0);
    begin(&mut platform, 2).unwrap();
    assert_eq!(
        restore(&mut platform, RestoreStep::Switch(0)),
        Ok(0),
        "it is"
    );
    leave(&mut platform, 1).unwrap();
    end(&mut platform, 1).unwrap();
    let back = restore(&mut platform, RestoreStep::Switch(0));
    assert_eq!(back, Err(Rejection::RestoreConflict));
    assert_eq!(lies(&platform, realm), (2, 1, 0));
}

#[test]
fn a_generation_lies_in_the_cell_of_the_one_that_it_is_a_copy_of() {
    let (mut platform, realm) = platform(0);
    begin(&mut platform, 2).unwrap();
    // a copy made by a move is not a copy of an instant
    assert_eq!(platform.unused(realm, at(200)), None);
    leave(&mut platform, 1).unwrap();
    end(&mut platform, 1).unwrap();
    for (instant, from, cell) in [(250, 0, 0), (400, 1, 2)] {
        let begun = RestoreStep::Begin {
            at: at(instant),
            until: 9,
        };
        assert_eq!(restore(&mut platform, begun), Ok(1));
        let known = platform.generations(realm).unwrap();
        let (number, copy) = known.copies().next_back().unwrap();
        assert_eq!((copy.point.from, copy.cell), (from, cell));
        assert_eq!(platform.cell_of(realm, number), cell);
    }
}
