//! A calendar of Buenos Aires since 2010: UTC−3 and nothing else, in whole numbers.

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
