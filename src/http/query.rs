//! Query parameters: known ones read strictly, unknown ones ignored, every mistake named.

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_actors::engine::lists::{ListPage, Listing, SortOrder};
use caudal_ledger::money::Amount;
use caudal_ledger::time::{BusinessDay, Timestamp};

use super::errors::ApiError;
use super::words::{Mistake, Wrong};

/// The most rows of a page.
pub const LIMIT_MAX: u64 = 200;
/// Rows of a page when a query says nothing.
pub const LIMIT_DEFAULT: u64 = 50;
/// The furthest a page may be skipped to; go by cursor beyond it.
pub const OFFSET_MAX: u64 = 10_000_000;
/// How a list may be ordered.
pub const ORDERS: [(&str, SortOrder); 2] = [
    ("asc", SortOrder::Ascending),
    ("desc", SortOrder::Descending),
];
/// The parameter of whoever only wants to know what would happen.
pub const DRY_RUN: &str = "dryRun";
/// The longest text that is searched for, in characters.
const TEXT_MAX: usize = 100;

/// The parameters of a query.
#[derive(Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
    errors: Vec<Wrong>,
}

impl FromRequest for Query {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
        let pairs = pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        std::future::ready(Ok(Self {
            pairs,
            errors: Vec::new(),
        }))
    }
}

impl Query {
    /// Reads a parameter; one that is sent twice is a mistake.
    pub fn read<T, E: Into<Mistake>>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let mut values = self.pairs.iter().filter(|(known, _)| known == name);
        let read = match (values.next(), values.next()) {
            (None, _) => return None,
            (Some((_, value)), None) => read(value).map_err(Into::into),
            (Some(_), Some(_)) => Err(Mistake::SentTwice),
        };
        match read {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.mistake(name, mistake);
                None
            }
        }
    }

    /// Reads a parameter that has to be there.
    pub fn required<T, E: Into<Mistake>>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        if self.pairs.iter().all(|(known, _)| known != name) {
            self.mistake(name, Mistake::Required);
        }
        self.read(name, read)
    }

    /// Notes a mistake that concerns several parameters.
    pub fn mistake(&mut self, name: &str, mistake: Mistake) {
        self.errors.push(Wrong {
            field: name.to_owned(),
            mistake,
        });
    }

    /// A whole number in a range.
    pub fn integer(&mut self, name: &str, min: u64, max: u64) -> Option<u64> {
        self.read(name, |text| {
            let number = text.parse::<u64>().ok().filter(|n| (min..=max).contains(n));
            number.ok_or(Mistake::OutOfRange { min, max })
        })
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, name: &str, choices: &[(&'static str, T)]) -> Option<T> {
        self.read(name, |text| {
            let found = choices
                .iter()
                .find(|(word, _)| *word == text)
                .map(|(_, choice)| *choice);
            found.ok_or_else(|| Mistake::among(choices))
        })
    }

    /// Whether a parameter says `true`; `false` when it is absent, and a mistake when it is another word.
    pub fn flag(&mut self, name: &str) -> bool {
        self.choice(name, &[("true", true), ("false", false)])
            .unwrap_or(false)
    }

    /// A text to search for; an empty one asks for nothing.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let text = self.read(name, |text| match text.chars().count() {
            0..=TEXT_MAX => Ok(text.to_owned()),
            _ => Err(Mistake::LongText { max: TEXT_MAX }),
        });
        text.filter(|text| !text.is_empty())
    }

    /// A business day, `YYYY-MM-DD`.
    pub fn date(&mut self, name: &str) -> Option<BusinessDay> {
        self.read(name, |text| {
            BusinessDay::parse(text).ok_or(Mistake::NotADate)
        })
    }

    /// An amount from 0 up, in centavos.
    pub fn centavos(&mut self, name: &str) -> Option<i64> {
        self.read(name, Amount::parse_or_zero)
    }

    /// A range of amounts from 0 up, in centavos, both ends included.
    pub fn amounts(&mut self, min: &str, max: &'static str) -> (Option<i64>, Option<i64>) {
        let (least, most) = (self.centavos(min), self.centavos(max));
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            self.mistake(min, Mistake::Above { other: max });
        }
        (least, most)
    }

    /// An instant, RFC 3339.
    pub fn instant(&mut self, name: &str) -> Option<Timestamp> {
        self.read(name, |text| {
            Timestamp::parse(text).ok_or(Mistake::NotAnInstant)
        })
    }

    /// A period: days or instants, both ends included; a day at the end counts as a whole.
    pub fn period(
        &mut self,
        from: &str,
        to: &'static str,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        self.period_of(from, to, BusinessDay::parse)
    }

    /// Like [`Self::period`], where `read_day` tells how days are written.
    pub fn period_of(
        &mut self,
        from: &str,
        to: &'static str,
        read_day: fn(&str) -> Option<BusinessDay>,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        let first = self.moment(from, read_day, BusinessDay::start);
        let last = self.moment(to, read_day, BusinessDay::end);
        self.in_order((from, first), (to, last));
        (first, last)
    }

    /// The beginning of a period: an instant, or a day from its start.
    pub fn since(&mut self, name: &str) -> Option<Timestamp> {
        self.moment(name, BusinessDay::parse, BusinessDay::start)
    }

    /// The end of a period: an instant, or a day to its end.
    pub fn until(&mut self, name: &str) -> Option<Timestamp> {
        self.moment(name, BusinessDay::parse, BusinessDay::end)
    }

    /// Notes a period that ends before it begins.
    pub fn in_order(
        &mut self,
        (from, first): (&str, Option<Timestamp>),
        (to, last): (&'static str, Option<Timestamp>),
    ) {
        if let (Some(first), Some(last)) = (first, last)
            && first > last
        {
            self.mistake(from, Mistake::After { other: to });
        }
    }

    fn moment(
        &mut self,
        name: &str,
        read_day: fn(&str) -> Option<BusinessDay>,
        of_day: fn(BusinessDay) -> Timestamp,
    ) -> Option<Timestamp> {
        self.read(name, |text| {
            let day = read_day(text).map(of_day);
            let at = day.or_else(|| Timestamp::parse(text));
            at.ok_or(Mistake::NotADateOrInstant)
        })
    }

    /// Where a list goes on; an empty one is the first page, as of clients that always send it.
    pub fn cursor(&mut self, name: &str) -> Option<u64> {
        let read = |text: &str| match text {
            "" => Ok(None),
            text => cursor_place(text).map(Some).ok_or(Mistake::NotACursor),
        };
        self.read(name, read).flatten()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn done(self) -> Result<(), ApiError> {
        self.finish(Some(()))
    }

    /// Like [`Self::done`], with what was made of the parameters: `None` when one that has to be there
    /// is missing or wrong.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, ApiError> {
        super::body::whole(made, self.errors)
    }
}

/// The values of a parameter of a request, as often as it is sent.
fn values(request: &HttpRequest, name: &str) -> impl Iterator<Item = String> {
    let pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    pairs.filter_map(move |(known, value)| (known == name).then(|| value.into_owned()))
}

/// Whether a request has a parameter.
pub fn has(request: &HttpRequest, name: &str) -> bool {
    values(request, name).next().is_some()
}

/// Whether a request only asks what would happen.
pub fn is_dry(request: &HttpRequest) -> bool {
    values(request, DRY_RUN).any(|value| value == "true")
}

/// How many pages of this size a list has.
pub fn pages<T>(listing: &Listing<T>, page: &ListPage) -> u64 {
    let size = u64::try_from(page.limit).unwrap_or(u64::MAX).max(1);
    listing.total.div_ceil(size)
}

/// The opaque form of where a list goes on.
pub fn cursor<T>(listing: &Listing<T>) -> Option<String> {
    listing
        .next
        .map(|place| URL_SAFE_NO_PAD.encode(format!("c1:{place}")))
}

fn cursor_place(text: &str) -> Option<u64> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    std::str::from_utf8(&bytes)
        .ok()?
        .strip_prefix("c1:")?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        let request =
            actix_web::test::TestRequest::with_uri(&format!("/?{text}")).to_http_request();
        Query::from_request(&request, &mut Payload::None)
            .into_inner()
            .unwrap()
    }

    #[test]
    fn pages_are_read_strictly() {
        let page = query("limit=10&offset=5&order=asc").page();
        assert_eq!(
            (page.limit, page.offset, page.order),
            (10, 5, SortOrder::Ascending)
        );
        for bad in [
            "limit=0",
            "limit=201",
            "limit=x",
            "offset=-1",
            "order=up",
            "cursor=zz",
            "limit=1000000000",
            "offset=9223372036854775808",
            "offset=",
            "limit=5&limit=6",
        ] {
            let mut query = query(bad);
            query.page();
            assert!(query.done().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_at_the_end_counts_as_a_whole() {
        let mut q = query("from=2026-03-01&to=2026-03-01");
        let (from, to) = q.period("from", "to");
        assert_eq!(from.unwrap().to_string(), "2026-03-01T03:00:00.000Z");
        assert_eq!(to.unwrap().to_string(), "2026-03-02T02:59:59.999Z");
        for bad in [
            "from=2026-03-02&to=2026-03-01",
            "from=ayer",
            "to=2026-02-30",
        ] {
            let mut q = query(bad);
            q.period("from", "to");
            assert!(q.done().is_err(), "{bad}");
        }
    }

    #[test]
    fn cursors_read_back() {
        let listing = Listing {
            items: vec![()],
            total: 3,
            next: Some(42),
        };
        assert_eq!(cursor_place(&cursor(&listing).unwrap()), Some(42));
    }
}
