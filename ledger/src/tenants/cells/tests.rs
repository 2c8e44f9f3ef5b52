//! The platform's decisions about cells.

use super::*;
use crate::rejection::Rejection;
use crate::tenants::orders::{NewTenant, PlatformOrder};
use crate::time::Timestamp;

const ID: &str = "one";

fn created(platform: &mut Platform, id: &str, cell: u32) -> Result<usize, Rejection> {
    let new = PlatformOrder::CreateTenant(NewTenant::plain(id), cell);
    platform.told(new, Timestamp::from_millis(100))
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

#[test]
fn a_tenant_is_where_it_was_made_and_cells_that_are_not_take_nobody() {
    let (platform, realm) = platform(2);
    assert_eq!(platform.cell_of(realm), 2);
    assert_eq!((platform.realms_in(0), platform.realms_in(2)), (0, 2));
    let (mut platform, realm) = self::platform(0);
    assert_eq!(platform.cell_of(realm), 0);
    for id in ["two", ID] {
        let nowhere = created(&mut platform, id, 3);
        assert_eq!(nowhere, Err(Rejection::CellNotFound));
    }
    let again = created(&mut platform, ID, 1);
    assert_eq!(again, Err(Rejection::TenantTaken));
    assert_eq!(platform.placements().count(), 0);
}

#[test]
fn the_emptiest_cell_is_the_first_one_of_those_with_the_fewest_realms() {
    let (mut platform, _) = platform(0);
    for (id, cell) in [("two", 1), ("three", 2), ("four", 0), ("five", 1)] {
        assert_eq!(platform.emptiest(), cell, "{id}");
        created(&mut platform, id, cell).unwrap();
    }
    assert_eq!(platform.emptiest(), 2);
    assert_eq!(Platform::default().emptiest(), 0, "there is no other one");
}
