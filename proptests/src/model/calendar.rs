//! A calendar of Buenos Aires since 2010: UTC−3 and nothing else, in whole numbers.

use caudal_ledger::limits::Window;

/// Days since 1970-01-01 of the business day of an instant.
pub fn day(millis: u64) -> i64 {
    (i64::try_from(millis).unwrap() - 3 * 3_600_000).div_euclid(86_400_000)
}

/// The first millisecond of a business day.
pub fn start(day: i64) -> u64 {
    u64::try_from(day * 86_400_000 + 3 * 3_600_000).unwrap()
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Year, month and day of a day since 1970-01-01, counted out year by year and month by month.
pub fn civil(day: i64) -> (i64, i64, i64) {
    let mut left = day;
    let mut year = 1970;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

/// Year and month of a day.
fn month(day: i64) -> (i64, i64) {
    let (year, month, _) = civil(day);
    (year, month)
}

/// Whether a day is in the same period of a limit as another.
pub fn within(window: Window, day: i64, today: i64) -> bool {
    match window {
        Window::Day => day == today,
        // Most days are far away, and counting out their months is slow.
        Window::Month => (day - today).abs() < 32 && month(day) == month(today),
        Window::Transaction | Window::Balance | Window::Minute => false,
    }
}

/// The first millisecond after the period of a limit that a day is in; `None` for a limit without a period.
pub fn resets(window: Window, today: i64) -> Option<u64> {
    within(window, today, today).then(|| {
        let mut next = today;
        while within(window, next, today) {
            next += 1;
        }
        start(next)
    })
}
