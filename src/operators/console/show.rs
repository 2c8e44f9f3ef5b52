//! Writes pages: the frame that all share, refusals as pages, and the headers that keep a browser in bounds.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder};
use askama::Template;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::words::Say as _;
use caudal_ledger::time::Timestamp;

use super::assets::address;
use super::downloads::{DOWNLOAD, LIST, OF_PAGES};
use super::page_context::{DisplayPreferences, PageContext, TenantRealm, query};
use super::view::{
    Block, Cell, CellKind, Field, Form, Page, Part, PartEntry, Table, Takes, Tile, Tone,
};
use super::words::Word;

/// The policy for a page of the console: it may load files of this service, nothing inline, and send forms to the
/// service.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

/// The frame of a page.
struct Frame {
    preferences: DisplayPreferences,
    title: String,
    /// The operator's name; `None` on the login page.
    who: Option<String>,
    /// The token that forms carry.
    token: String,
    /// The text in the search field.
    sought: String,
    /// The address to which changing language and theme leads back.
    here: String,
    /// The address of the page's first tables as files, up to what names the table and the form.
    file: String,
    at: Option<String>,
}

impl Frame {
    fn say(&self, word: Word) -> &'static str {
        self.preferences.locale.say(word)
    }

    fn lang(&self) -> &'static str {
        self.preferences.locale.code()
    }

    fn file(&self, name: &str) -> String {
        address(name)
    }

    /// The address of a table as a file.
    fn download(&self, table: &Table, form: &str) -> String {
        format!("{}{LIST}={}&{DOWNLOAD}={form}", self.file, table.name)
    }
}

#[derive(Template)]
#[template(path = "page.html")]
struct Whole<'a> {
    frame: Frame,
    groups: Vec<PartGroup>,
    page: &'a Page,
}

/// A group of the navigation.
struct PartGroup {
    /// Its name, if it has one.
    name: Option<&'static str>,
    parts: Vec<PartLink>,
}

/// A link of the navigation.
struct PartLink {
    place: &'static str,
    name: &'static str,
    /// Whether the page is in this part.
    is_here: bool,
    /// How many items wait there for a person; empty if none do.
    waiting: String,
}

#[derive(Template)]
#[template(path = "part.html")]
struct Piece<'a> {
    frame: Frame,
    blocks: &'a [Block],
}

#[derive(Template)]
#[template(path = "now.html")]
struct Now<'a> {
    tiles: &'a [Tile],
    point: &'a str,
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    frame: Frame,
    back: &'a str,
    wrong: Option<String>,
}

#[derive(Template)]
#[template(path = "entered.html")]
struct Entered {
    frame: Frame,
}

/// Begins an answer of the console, with its headers.
fn answer(status: StatusCode) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Under `no-referrer` browsers send forms without their origin.
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .content_type("text/html; charset=utf-8");
    answer
}

/// A template as an answer.
fn written(status: StatusCode, made: &impl Template) -> HttpResponse {
    match made.render() {
        Ok(html) => answer(status).body(html),
        Err(why) => {
            tracing::error!(%why, "a page of the console could not be written");
            HttpResponse::InternalServerError().finish()
        }
    }
}

impl PageContext {
    fn frame(&self, title: &str, at: Option<Timestamp>) -> Frame {
        let asked = query(&self.asked);
        let here = if asked.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{asked}", self.path)
        };
        let kept = self.asked.iter();
        let kept = kept.filter(|(name, _)| !OF_PAGES.contains(&name.as_str()));
        let kept = query(kept);
        let more = if kept.is_empty() { "" } else { "&" };
        Frame {
            preferences: self.preferences,
            file: format!("{}?{kept}{more}", self.path),
            title: title.to_owned(),
            who: Some(self.session.who.name.clone()),
            token: self.session.token().to_owned(),
            sought: self.asks("q").map_or_else(String::new, str::to_owned),
            here,
            at: at.map(|at| self.locale().time(at).text),
        }
    }

    /// A page, or a refusal as one.
    pub(super) fn show(&self, made: Result<Page, ApiError>) -> HttpResponse {
        match made {
            Ok(page) => self.show_as(StatusCode::OK, &page),
            Err(why) => self.show_as(why.status, &self.refusal(&why)),
        }
    }

    /// A page with a status.
    pub(super) fn show_as(&self, status: StatusCode, page: &Page) -> HttpResponse {
        let alone = self.admin_state.app.node.is_none();
        let link = |(part, place, word): &PartEntry| PartLink {
            place,
            name: self.say(*word),
            is_here: *part == page.part,
            waiting: self.waiting(*part),
        };
        let group = |(name, parts): &(Option<Word>, &[PartEntry])| {
            let there = parts.iter();
            let there = there.filter(|(part, ..)| !(alone && *part == Part::Node));
            PartGroup {
                name: name.map(|name| self.say(name)),
                parts: there.map(link).collect(),
            }
        };
        let whole = Whole {
            frame: self.frame(&page.title, Some(page.at)),
            groups: Part::GROUPS.iter().map(group).collect(),
            page,
        };
        written(status, &whole)
    }

    /// How many items of a part wait for a person, for the navigation: empty if none do, or if they cannot be counted now.
    fn waiting(&self, part: Part) -> String {
        let engine = self.engine();
        let count = if part == Part::Cases {
            engine.operators().open_cases().ok()
        } else if part == Part::Approvals {
            let (approvals, now) = (engine.operators().staff().approvals, engine.now());
            let waiting = approvals.all().filter(|it| it.waits_at(now)).count();
            u64::try_from(waiting).ok()
        } else {
            None
        };
        let count = count.filter(|count| *count > 0);
        count.map_or_else(String::new, |count| self.locale().count(count).text)
    }

    /// A part of a page that is fetched by itself; a failure is shown in its place.
    pub(super) fn show_part(&self, made: Result<Vec<Block>, ApiError>) -> HttpResponse {
        let blocks =
            made.unwrap_or_else(|why| vec![Block::Note(Tone::Bad, why.text(self.locale().0))]);
        let piece = Piece {
            frame: self.frame("", None),
            blocks: &blocks,
        };
        written(StatusCode::OK, &piece)
    }

    /// The present figures, as the stream sends them: on a single line.
    pub(super) fn now(&self, tiles: &[Tile], point: &str) -> Result<String, askama::Error> {
        Ok(Now { tiles, point }.render()?.replace(['\r', '\n'], " "))
    }

    fn refusal(&self, why: &ApiError) -> Page {
        let locale = self.locale();
        let mut blocks = vec![Block::Note(Tone::Bad, why.text(locale.0))];
        let wrong = why.fields(locale.0);
        if wrong.len() > 1 {
            let said = wrong
                .into_iter()
                .map(|it| Block::Note(Tone::Warn, format!("{}: {}", it.field, it.message)));
            blocks.extend(said);
        }
        let id = format!(
            "{} {} · {}",
            self.say(Word::Request),
            current::request().id,
            why.code()
        );
        blocks.push(Block::Note(Tone::Quiet, id));
        Page {
            title: self.say(Word::NotDone).to_owned(),
            part: Part::Overview,
            above: Vec::new(),
            blocks,
            at: self.engine().now(),
        }
    }

    /// A page of a part, with its blocks; after an act it begins with the note that something was done.
    pub(super) fn page(&self, part: Part, title: impl Into<String>, blocks: Vec<Block>) -> Page {
        let done = self.asks("done").is_some();
        let done = done.then(|| self.note(Tone::Good, Word::Done));
        Page {
            title: title.into(),
            part,
            above: Vec::new(),
            blocks: done.into_iter().chain(blocks).collect(),
            at: self.engine().now(),
        }
    }

    /// A page about a realm, below those of its tenant.
    pub(super) fn page_in(
        &self,
        place: &TenantRealm,
        part: Part,
        title: impl Into<String>,
        blocks: Vec<Block>,
    ) -> Page {
        let tenant = format!("/console/tenants/{}", place.tenant);
        let page = self.page(part, title, blocks);
        let page = page.under(self.say(Word::Tenants), "/console/tenants");
        page.under(place.title(self.locale()), tenant)
    }

    /// A note, with its tone.
    pub(super) fn note(&self, tone: Tone, word: Word) -> Block {
        Block::Note(tone, self.say(word).to_owned())
    }

    /// Shows a failure below the form of a page, so that the operator can ask for something else.
    ///
    /// # Errors
    /// The failure itself where a file is asked for.
    pub(super) fn failed(&self, why: ApiError) -> Result<Block, ApiError> {
        if self.is_page() {
            Ok(Block::Note(Tone::Bad, why.text(self.locale().0)))
        } else {
            Err(why)
        }
    }

    /// Names and values, with a heading.
    pub(super) fn facts(&self, title: Word, facts: Vec<(&'static str, Cell)>) -> Block {
        Block::Facts(self.say(title).to_owned(), facts)
    }

    /// A field of a query with the value that the visit asks for.
    pub(super) fn asked_field(
        &self,
        name: &'static str,
        label: Word,
        takes: Takes,
        most: usize,
    ) -> Field {
        let value = self.asks(name).map_or("", |text| text);
        Field::new(self.locale(), name, label, takes, most).maybe(value)
    }

    /// A form that filters the list below it.
    pub(super) fn filter(&self, fields: Vec<Field>) -> Block {
        Block::Form(self.query(Word::Filter, Word::Filter, fields))
    }

    /// A form that only queries, and leads to the same page.
    pub(super) fn query(&self, title: Word, submit: Word, fields: Vec<Field>) -> Form {
        Form {
            asks: true,
            submit: self.say(submit),
            ..self.form(title, &*self.path, fields)
        }
    }

    /// A form that acts.
    pub(super) fn form(&self, title: Word, action: impl Into<String>, fields: Vec<Field>) -> Form {
        Form {
            title: self.say(title).to_owned(),
            action: action.into(),
            asks: false,
            fields,
            submit: self.say(title),
            grave: false,
        }
    }

    /// After an act: redirects to a page, which says that it was done.
    pub(super) fn done(&self, place: &str) -> HttpResponse {
        seen(&format!(
            "{place}{}done=1",
            if place.contains('?') { '&' } else { '?' }
        ))
    }
}

impl Page {
    /// Adds a page above it, and below those that were added.
    #[must_use]
    pub(super) fn under(mut self, name: impl Into<String>, address: impl Into<String>) -> Self {
        self.above.push((name.into(), address.into()));
        self
    }
}

/// Redirects to another page, which the browser fetches with GET.
pub(super) fn seen(place: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, place))
        .finish()
}

fn outside(preferences: DisplayPreferences, title: Word) -> Frame {
    Frame {
        preferences,
        title: preferences.locale.say(title).to_owned(),
        who: None,
        token: String::new(),
        sought: String::new(),
        here: "/console/login".to_owned(),
        file: String::new(),
        at: None,
    }
}

/// The login page, with the error of the last try.
pub(super) fn login(
    preferences: DisplayPreferences,
    back: &str,
    wrong: Option<&ApiError>,
) -> HttpResponse {
    let status = wrong.map_or(StatusCode::OK, |why| why.status);
    let page = Login {
        frame: outside(preferences, Word::LogIn),
        back,
        wrong: wrong.map(|why| why.text(preferences.locale.0)),
    };
    let mut answer = written(status, &page);
    let wait = wrong.and_then(|why| why.retry_after);
    if let Some(wait) = wait.map(HeaderValue::from) {
        answer.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    answer
}

/// The page after a link: it leads on by itself, since a browser that came here from elsewhere does not send the new
/// cookie at once.
pub(super) fn entered(preferences: DisplayPreferences) -> HttpResponse {
    let frame = outside(preferences, Word::Overview);
    written(StatusCode::OK, &Entered { frame })
}

/// The login page again, with the reason why the last try failed.
pub(super) fn refused(preferences: DisplayPreferences, back: &str, why: Word) -> HttpResponse {
    let page = Login {
        frame: outside(preferences, Word::LogIn),
        back,
        wrong: Some(preferences.locale.say(why).to_owned()),
    };
    written(StatusCode::UNAUTHORIZED, &page)
}
