//! Business days of Buenos Aires against a calendar of our own: UTC−3 and nothing else since 2010.

use caudal_ledger::time::{BusinessDay, Timestamp};
use proptest::prelude::*;

use crate::config;
use crate::model::calendar;

/// 2010-01-01 to 2099-12-31, and close to the ends of days.
fn instants() -> impl Strategy<Value = u64> {
    let from = calendar::start(14_610);
    let to = calendar::start(47_482);
    prop_oneof![
        2 => from..to,
        3 => (14_610_i64..47_482, -3_i64..3)
            .prop_map(|(day, off)| calendar::start(day).saturating_add_signed(off).max(1_262_314_800_000)),
    ]
}

fn written((year, month, day): (i64, i64, i64)) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

proptest! {
    #![proptest_config(config(10_000))]

    #[test]
    fn days_are_those_of_the_fixed_offset(millis in instants()) {
        let number = calendar::day(millis);
        let civil = calendar::civil(number);
        let day = Timestamp::from_millis(millis).business_day();
        prop_assert_eq!(day.to_string(), written(civil));
        prop_assert_eq!(day.month(), format!("{:04}-{:02}", civil.0, civil.1));
        prop_assert_eq!(day.start().millis(), calendar::start(number));
        prop_assert_eq!(day.end().millis(), calendar::start(number + 1) - 1);
        prop_assert_eq!(BusinessDay::parse(&day.to_string()), Some(day));
        prop_assert_eq!(day.start().business_day(), day);
        prop_assert_eq!(day.end().business_day(), day);
        prop_assert_eq!(day.end().plus_millis(1).business_day().start(), day.end().plus_millis(1));
    }

    #[test]
    fn two_days_of_a_month_share_it(one in 14_610_i64..47_482, apart in -40_i64..40) {
        let other = (one + apart).max(14_610);
        let day = |number| Timestamp::from_millis(calendar::start(number)).business_day();
        let month = |number| {
            let (year, month, _) = calendar::civil(number);
            (year, month)
        };
        prop_assert_eq!(day(one).same_month(day(other)), month(one) == month(other));
        prop_assert_eq!(day(one).cmp(&day(other)), one.cmp(&other));
    }

    /// Any instant: written in UTC with milliseconds, reads back, and is within its own day.
    #[test]
    fn instants_read_back(millis in prop_oneof![instants(), 0..=Timestamp::MAX.millis(), any::<u64>()]) {
        let at = Timestamp::from_millis(millis);
        prop_assert!(at <= Timestamp::MAX);
        let text = at.to_string();
        prop_assert_eq!(Timestamp::parse(&text), Some(at), "{}", text);
        prop_assert!(text.len() == 24 && text.ends_with('Z'), "{}", text);
        // Days are those of the years up to 9998.
        if !text.starts_with("9999") {
            let day = at.business_day();
            prop_assert!(day.start() <= at && at <= day.end(), "{} in {}", at, day);
        }
    }

    /// Dates have one way to be written; anything else is refused, and nothing panics.
    #[test]
    fn only_real_days_are_read(
        text in prop_oneof![
            "(19[7-9][0-9]|2[0-9]{3}|99[0-9]{2})-[01][0-9]-[0-3][0-9]",
            "[0-9]{1,5}-[0-9]{1,2}-[0-9]{1,2}",
            "\\PC{0,12}",
        ]
    ) {
        if let Some(day) = BusinessDay::parse(&text) {
            prop_assert_eq!(&day.to_string(), &text);
            prop_assert!(day.start() <= day.end());
        }
        prop_assert_eq!(Timestamp::parse(&text), Timestamp::parse(&text));
    }
}

/// Every day of the years 2010 to 2099 can be read, and follows the one before.
#[test]
fn no_day_is_missing() {
    let mut last: Option<BusinessDay> = None;
    for number in 14_610..47_482 {
        let text = written(calendar::civil(number));
        let day = BusinessDay::parse(&text).expect(&text);
        assert_eq!(day.start().millis(), calendar::start(number), "{text}");
        assert!(
            last.is_none_or(|last| last.end().plus_millis(1) == day.start()),
            "{text}"
        );
        last = Some(day);
    }
}
