//! Two histories of one account publish different ids.

use super::movements::{at, send, with_money};
use super::*;
use crate::ids::Tag;

#[test]
fn a_place_taken_twice_has_another_id_each_time() {
    // As after an older copy of the store was put back: the same account, and then another history.
    let account = with_money(1_000);
    let mut seen = std::collections::BTreeSet::new();
    for later in 0..100 {
        let context = at(context().now.millis() + later);
        let (transfer, movements) = account
            .decide_request(&send(100), origin(), &context)
            .unwrap();
        let first = &movements.vouchers[0];
        assert_eq!(first.sequence, account.sequence + 1);
        let id = transfer.id(REALM, account.number);
        assert_eq!(id.0, first.id(REALM, account.number));
        assert_eq!(first.reference_id, Some(id.to_string()));
        assert!(seen.insert(id.to_string()), "{later}");
        // The chain covers the voucher's tag.
        let mut other = first.clone();
        other.tag = Tag::NONE;
        assert_ne!(
            first.hash_after(account.hash),
            other.hash_after(account.hash)
        );
        assert_eq!(first.hash_after(account.hash), first.hash);
    }
}
