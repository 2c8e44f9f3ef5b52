//! Query parameters: read strictly, unknown ones refused, every mistake reported by name.
//!
//! **Shape.** [`refuse_unknown`] refuses parameters that an operation does not have before its handler runs; the
//! handler then reads those that it knows. The wallet family is lenient, since its clients exist: a blank value
//! counts as absent, words count in any case, an end of a period may be `DD-MM-YYYY`, and a date-time without a zone is in
//! the time of Buenos Aires.

use std::collections::BTreeSet;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use caudal_actors::engine::lists::{ListCursor, ListPage, Listing, SortOrder};
use caudal_ledger::events::EventId;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Amount;
use caudal_ledger::time::{BusinessDay, Timestamp};

use super::cursors;
use super::errors::ApiError;
use super::nearest::{nearest, shown};
use super::paths::is_wallet;
use super::words::{Mistake, WrongField};

/// How many rows a page may have.
pub const LIMIT_MAX: u64 = 200;
/// How many rows a page has when a query sets no limit.
pub const LIMIT_DEFAULT: u64 = 50;
/// How many rows a page may skip; a cursor can go further.
pub const OFFSET_MAX: u64 = 10_000_000;
/// How a list may be ordered.
pub const ORDERS: [(&str, SortOrder); 2] = [
    ("asc", SortOrder::Ascending),
    ("desc", SortOrder::Descending),
];
/// The parameter that asks only for what would happen.
pub const DRY_RUN: &str = "dryRun";
/// The longest text to search for, in characters.
const TEXT_MAX: usize = 100;
/// The zone that is added to a date-time of the wallet family without one.
const ZONE: &str = "-03:00";

/// The parameters of a query.
#[derive(Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
    errors: Vec<WrongField>,
    lenient: bool,
}

impl FromRequest for Query {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let lenient = is_wallet(request.path());
        let pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
        let sent = pairs.filter(|(_, value)| !(lenient && value.trim().is_empty()));
        let pairs = sent.map(|(name, value)| (name.into_owned(), value.into_owned()));
        std::future::ready(Ok(Self {
            pairs: pairs.collect(),
            errors: Vec::new(),
            lenient,
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

    /// Reads a required parameter.
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

    /// Whether a parameter was sent.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(known, _)| known == name)
    }

    /// Notes a mistake that concerns several parameters.
    pub fn mistake(&mut self, name: &str, mistake: Mistake) {
        self.errors.push(WrongField {
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
        let lenient = self.lenient;
        self.read(name, |text| {
            let same = |word: &str| word == text || (lenient && word.eq_ignore_ascii_case(text));
            let found = choices.iter().find(|(word, _)| same(word));
            let choice = found.map(|(_, choice)| *choice);
            choice.ok_or_else(|| Mistake::among(choices))
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
        self.read(name, day)
    }

    /// Notes a day or an instant that is after the last one that may be asked for.
    pub fn not_after<T: PartialOrd>(&mut self, name: &str, asked: Option<T>, last: T) {
        if asked.is_some_and(|asked| asked > last) {
            self.mistake(name, Mistake::InTheFuture);
        }
    }

    /// Notes a day that is sent both as `date` and as `fecha`, and not the same, and one after `today`.
    pub fn one_day(
        &mut self,
        today: BusinessDay,
        date: Option<BusinessDay>,
        fecha: Option<BusinessDay>,
    ) {
        if date.is_some() && fecha.is_some() && date != fecha {
            self.mistake("fecha", Mistake::DiffersFrom { other: "date" });
        }
        let name = if date.is_some() { "date" } else { "fecha" };
        self.not_after(name, date.or(fecha), today);
    }

    /// An amount from 0 up, in centavos.
    pub fn centavos(&mut self, name: &str) -> Option<i64> {
        self.read(name, Amount::parse_or_zero)
    }

    /// Notes a range of amounts whose least is above its most.
    pub fn amounts_in_order(
        &mut self,
        min: &str,
        least: Option<i64>,
        max: &'static str,
        most: Option<i64>,
    ) {
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            self.mistake(min, Mistake::Above { other: max });
        }
    }

    /// An instant, RFC 3339.
    pub fn instant(&mut self, name: &str) -> Option<Timestamp> {
        self.read(name, |text| {
            Timestamp::parse(text).ok_or(Mistake::NotAnInstant)
        })
    }

    /// The beginning of a period: an instant, or a day from its start.
    pub fn since(&mut self, name: &str) -> Option<Timestamp> {
        self.moment(name, BusinessDay::start)
    }

    /// The end of a period: an instant, or a day to its end.
    pub fn until(&mut self, name: &str) -> Option<Timestamp> {
        self.moment(name, BusinessDay::end)
    }

    /// Notes a period that ends before it begins.
    pub fn in_order<T: PartialOrd>(
        &mut self,
        from: &str,
        first: Option<T>,
        to: &'static str,
        last: Option<T>,
    ) {
        if let (Some(first), Some(last)) = (first, last)
            && first > last
        {
            self.mistake(from, Mistake::After { other: to });
        }
    }

    fn moment(&mut self, name: &str, of_day: fn(BusinessDay) -> Timestamp) -> Option<Timestamp> {
        let lenient = self.lenient;
        self.read(name, |text| {
            let turned = || turned_day(text).filter(|_| lenient);
            let day = BusinessDay::parse(text).or_else(turned).map(of_day);
            let local = || Timestamp::parse(&format!("{text}{ZONE}")).filter(|_| lenient);
            let at = day.or_else(|| Timestamp::parse(text)).or_else(local);
            at.ok_or(Mistake::NotADateOrInstant)
        })
    }

    /// The cursor from which a list continues; an empty one is the first page, for clients that always send it.
    pub fn cursor(&mut self, name: &str) -> Option<ListCursor> {
        let read = |text: &str| match text {
            "" => Ok(None),
            text => cursors::read(text).map(Some).ok_or(Mistake::NotACursor),
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

    /// Like [`Self::done`], and returns the value made of the parameters; `made` is `None` when a required one is
    /// missing or wrong.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, ApiError> {
        super::body::whole(made, self.errors)
    }
}

/// A business day, `YYYY-MM-DD`.
///
/// # Errors
/// When the text is no day.
pub fn day(text: &str) -> Result<BusinessDay, Mistake> {
    BusinessDay::parse(text).ok_or(Mistake::NotADate)
}

/// The event after which a reader wants to continue, in a log that goes up to `last`.
///
/// # Errors
/// When the text is no id of an event of the realm, or the event is still to come.
pub fn place(realm: RealmId, last: u64, text: &str) -> Result<EventId, Mistake> {
    let id = EventId::parse(text).filter(|id| id.realm == realm);
    match id.ok_or(Mistake::NoEvent)? {
        // A reader that waited there would miss all events until then.
        id if id.number > last => Err(Mistake::EventToCome),
        id => Ok(id),
    }
}

/// A business day, `DD-MM-YYYY`.
fn turned_day(text: &str) -> Option<BusinessDay> {
    let mut parts = text.splitn(3, '-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    BusinessDay::parse(&format!("{year}-{month}-{day}"))
}

fn names(request: &HttpRequest) -> impl Iterator<Item = String> {
    let pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    pairs.map(|(name, _)| name.into_owned())
}

/// Refuses parameters that an operation does not have, each with the one that was probably meant.
///
/// # Errors
/// 400 with each unknown name.
pub fn refuse_unknown<T: AsRef<str>>(request: &HttpRequest, known: &[T]) -> Result<(), ApiError> {
    let is_known = |name: &String| known.iter().any(|known| known.as_ref() == name);
    let unknown: BTreeSet<_> = names(request).filter(|name| !is_known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let wrong = unknown.iter().map(|name| WrongField {
        field: shown(name),
        mistake: mistaken(name, known),
    });
    Err(ApiError::invalid(wrong.collect()))
}

/// The mistake of a name that an operation does not have.
fn mistaken<T: AsRef<str>>(name: &str, known: &[T]) -> Mistake {
    if known.is_empty() {
        return Mistake::NoParameters;
    }
    match nearest(name, known.iter().map(AsRef::as_ref)) {
        Some(near) => Mistake::MistakenParameter {
            near: near.to_owned(),
        },
        None => {
            let names: Vec<_> = known.iter().map(AsRef::as_ref).collect();
            let known = names.join(", ");
            Mistake::UnknownParameter { known }
        }
    }
}

/// Whether a request only asks what would happen.
pub fn is_dry(request: &HttpRequest) -> bool {
    let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    // In any case, as the wallet family reads it; elsewhere another case is refused.
    pairs.any(|(name, value)| name == DRY_RUN && value.eq_ignore_ascii_case("true"))
}

/// How many pages of this size a list has; where only a part of it was read, the number of this page, plus one if the
/// list continues.
pub fn pages<T>(listing: &Listing<T>, page: &ListPage) -> u64 {
    let whole = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let size = whole(page.limit).max(1);
    match listing.looked {
        None => listing.total.div_ceil(size),
        Some(_) => {
            let this = whole(page.offset).div_euclid(size) + 1;
            this + u64::from(listing.next.is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::PeriodParams;
    use super::*;

    fn request(uri: &str) -> HttpRequest {
        actix_web::test::TestRequest::with_uri(uri).to_http_request()
    }

    fn query_of(uri: &str) -> Query {
        let read = Query::from_request(&request(uri), &mut Payload::None);
        read.into_inner().unwrap()
    }

    fn query(text: &str) -> Query {
        query_of(&format!("/?{text}"))
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
        let PeriodParams { from, to } = PeriodParams::take(&mut q);
        assert_eq!(from.unwrap().to_string(), "2026-03-01T03:00:00.000Z");
        assert_eq!(to.unwrap().to_string(), "2026-03-02T02:59:59.999Z");
        for bad in [
            "from=2026-03-02&to=2026-03-01",
            "from=ayer",
            "to=2026-02-30",
            "from=01-03-2026",
        ] {
            let mut q = query(bad);
            PeriodParams::take(&mut q);
            assert!(q.done().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_wallet_family_is_lenient_and_the_native_one_is_not() {
        let words = [("asc", 1), ("desc", 2)];
        type Seen = (bool, Option<i32>, Option<String>, Option<Timestamp>);
        let read = |uri: &str| -> Result<Seen, ApiError> {
            let mut query = query_of(uri);
            let seen = (
                query.flag("dryRun"),
                query.choice("order", &words),
                query.read("cuit", |text| Ok::<_, Mistake>(text.to_owned())),
                query.since("from"),
            );
            query.finish(Some(seen))
        };
        let sent = "?dryRun=True&order=DESC&cuit=&from=2026-03-01T10:00:00";
        let at = Timestamp::parse("2026-03-01T10:00:00-03:00");
        let lenient = read(&format!("/Wallet/v1/x{sent}")).unwrap();
        assert_eq!(lenient, (true, Some(2), None, at));
        let strict = read(&format!("/v1/x{sent}")).unwrap_err();
        assert_eq!(strict.wrong().len(), 3);
        assert!(is_dry(&request(&format!("/wallet/v1/x{sent}"))));
    }

    #[test]
    fn days_of_the_wallet_family_are_read_both_ways_and_no_other() {
        let since = |text: &str| query_of(&format!("/wallet/v1/x?from={text}")).since("from");
        let right = BusinessDay::parse("2024-06-01").map(BusinessDay::start);
        assert_eq!((since("2024-06-01"), since("01-06-2024")), (right, right));
        for wrong in [
            "1-6-2024",
            "01/06/2024",
            "31-02-2024",
            "2024-6-1",
            "01-06-24",
            "--",
        ] {
            assert_eq!(since(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_one_that_was_meant() {
        let known = ["limit", "pageSize", "dryRun", "date"];
        for (sent, meant) in [
            ("limite", Some("limit")),
            ("LIMIT", Some("limit")),
            ("size", Some("pageSize")),
            ("dry_run", Some("dryRun")),
            ("dtae", Some("date")),
            ("colour", None),
            ("q", None),
            ("", None),
        ] {
            let right = match meant {
                Some(near) => Mistake::MistakenParameter { near: near.into() },
                None => Mistake::UnknownParameter {
                    known: known.join(", "),
                },
            };
            assert_eq!(mistaken(sent, &known), right, "{sent}");
        }
        let none: [&str; 0] = [];
        assert_eq!(mistaken("limit", &none), Mistake::NoParameters);
        let request = request("/v1/x?limit=1&b=1&a%00=2&b=3&dryRun");
        let refused = refuse_unknown(&request, &known).unwrap_err();
        let wrong = refused.wrong();
        let named: Vec<_> = wrong.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(named, ["a", "b"]);
    }
}
