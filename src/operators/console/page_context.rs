//! A visit: a request of an operator who is logged in, with the language that they read.
//!
//! **Shape.** [`PageContext`] is an extractor: no visit, no page. [`SubmittedForm`] reads a form that acts, and exists only when the
//! form carries the token of the visit's session and the browser says that it comes from this service.
//!
//! **Bounds.** A form may have [`FORM_BYTES_MAX`] and take the time of any body.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::time::Instant;

use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode, header};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse, ResponseError, web};
use caudal_actors::engine::{Engine, Operators, Queries};
use caudal_http::bytes::Bytes;
use caudal_http::current::Language;
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::{Mode, Tenant};

use super::Console;
use super::locale::Locale;
use super::sessions::Session;
use super::view::Cell;
use super::words::Word;
use crate::admin::{AdminState, owner, people};

/// The largest form, in bytes.
pub(super) const FORM_BYTES_MAX: usize = 16 * 1024;
/// The cookie of the session.
pub(super) const SESSION: &str = "caudal_session";
/// The cookie of the language.
pub(super) const LANGUAGE: &str = "caudal_language";
/// The cookie of the theme.
pub(super) const THEME: &str = "caudal_theme";
/// The pages that a node shows whether it owns the log or not; the last is that of the nodes.
pub(super) const ANY_NODE: [&str; 4] = [
    "/console/journal",
    "/console/backups",
    "/console/logout",
    "/console/node",
];
/// The longest address to which logging in leads back, in characters.
const BACK_MAX: usize = 1024;

/// The looks of a page, as its reader chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DisplayPreferences {
    /// The language.
    pub locale: Locale,
    /// `light`, `dark`, or `auto` for the system's choice.
    pub theme: &'static str,
}

/// The first value of a cookie.
pub(super) fn cookie<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let lines = request.headers().get_all(header::COOKIE);
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

impl DisplayPreferences {
    /// The looks by the cookies of a request; without one the language is the browser's, else Spanish.
    pub(super) fn of(request: &HttpRequest) -> Self {
        let language = match cookie(request, LANGUAGE) {
            Some("en") => Language::English,
            Some("es") => Language::Spanish,
            _ => preferred(request),
        };
        let theme = match cookie(request, THEME) {
            Some("light") => "light",
            Some("dark") => "dark",
            _ => "auto",
        };
        Self {
            locale: Locale(language),
            theme,
        }
    }
}

fn preferred(request: &HttpRequest) -> Language {
    let asked = request.headers().get(header::ACCEPT_LANGUAGE);
    let asked = asked.and_then(|value| value.to_str().ok());
    match asked {
        Some(asked) if asked.trim_start().to_ascii_lowercase().starts_with("en") => {
            Language::English
        }
        Some(_) | None => Language::Spanish,
    }
}

/// A request of an operator who is logged in.
pub(super) struct PageContext {
    /// The state that all pages share.
    pub console: web::Data<Console>,
    /// The state of the admin API.
    pub admin_state: web::Data<AdminState>,
    /// The operator's session.
    pub session: Session,
    /// The operator's language and theme.
    pub preferences: DisplayPreferences,
    /// The parameters of the address.
    pub asked: BTreeMap<String, String>,
    /// The secret of the session.
    pub secret: String,
    /// The path of the request.
    pub path: String,
}

/// Why a visitor does not get the page, or why a form is not read.
#[derive(Debug)]
pub(super) enum NoPage {
    /// Nobody is logged in: the browser is led to the login page, and back to the address from there.
    LoginRequired { back: String, part: bool },
    /// Only the owner of the log has the page: the browser is led to the page of the nodes.
    Standby { part: bool },
    /// The form was not sent by a page of this session.
    ForeignForm(Locale),
}

impl std::fmt::Display for NoPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::LoginRequired { .. } => "nobody is logged in",
            Self::Standby { .. } => "this node does not own the log",
            Self::ForeignForm(locale) => locale.say(Word::ForeignForm),
        })
    }
}

impl ResponseError for NoPage {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::LoginRequired { part: true, .. } => StatusCode::UNAUTHORIZED,
            Self::Standby { part: true } => StatusCode::SERVICE_UNAVAILABLE,
            Self::LoginRequired { .. } | Self::Standby { .. } => StatusCode::SEE_OTHER,
            Self::ForeignForm(_) => StatusCode::FORBIDDEN,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        let (place, part) = match self {
            Self::LoginRequired { back, part } => {
                let back: String = url::form_urlencoded::byte_serialize(back.as_bytes()).collect();
                (format!("/console/login?back={back}"), *part)
            }
            Self::Standby { part } => ("/console/node".to_owned(), *part),
            Self::ForeignForm(_) => {
                let answer = answer.content_type("text/plain; charset=utf-8");
                return answer.body(self.to_string());
            }
        };
        // Another page must not become a part of this one.
        let name = if part { "hx-redirect" } else { "location" };
        answer.insert_header((name, place)).finish()
    }
}

/// The address to go to after logging in: only a page of the console.
pub(super) fn back(text: Option<&String>) -> String {
    let sane = |text: &&String| {
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        text.len() <= BACK_MAX && plain && text.starts_with("/console/") && !text.contains("//")
    };
    text.filter(sane)
        .map_or_else(|| "/console/".to_owned(), Clone::clone)
}

/// The fields of a form or of an address; the last one of those with the same name.
pub(super) fn fields(text: &[u8]) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text).into_owned().collect()
}

/// The query of an address with these parameters.
pub(super) fn query<N: AsRef<str>, V: AsRef<str>>(
    pairs: impl IntoIterator<Item = (N, V)>,
) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

impl FromRequest for PageContext {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, actix_web::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}

impl PageContext {
    /// The visit of a request.
    pub(super) fn of(request: &HttpRequest) -> Result<Self, actix_web::Error> {
        // The form that was sent is lost: nothing is done just because somebody logs in.
        let asks = *request.method() == Method::GET;
        let place = request.uri().path_and_query().filter(|_| asks);
        let login_required = || NoPage::LoginRequired {
            back: place.map_or_else(String::new, ToString::to_string),
            part: request.headers().contains_key("hx-request"),
        };
        let console = request.app_data::<web::Data<Console>>();
        let admin_state = request.app_data::<web::Data<AdminState>>();
        let (Some(console), Some(admin_state)) = (console, admin_state) else {
            return Err(ApiError::from(Refusal::NoPage).into());
        };
        let secret = cookie(request, SESSION).ok_or_else(login_required)?;
        let session = console.sessions.find(secret, Instant::now());
        let session = session.ok_or_else(login_required)?;
        // The operator may have lost the credential, or got another role, since the login.
        let Some(who) = people::still(&admin_state.app, &session.who) else {
            console.sessions.end(secret);
            return Err(login_required().into());
        };
        // For the entry of what is shown.
        request.extensions_mut().insert(who.clone());
        let session = session.of(who);
        if !admin_state.app.is_owners() && !ANY_NODE.contains(&request.path()) {
            let part = request.headers().contains_key("hx-request");
            return Err(if asks {
                NoPage::Standby { part }.into()
            } else {
                admin_state.app.refusal().into()
            });
        }
        Ok(Self {
            console: console.clone(),
            admin_state: admin_state.clone(),
            session,
            preferences: DisplayPreferences::of(request),
            asked: fields(request.query_string().as_bytes()),
            secret: secret.to_owned(),
            path: request.path().to_owned(),
        })
    }

    /// The language of the visit.
    pub(super) const fn locale(&self) -> Locale {
        self.preferences.locale
    }

    /// A text in the visit's language.
    pub(super) const fn say(&self, word: Word) -> &'static str {
        self.preferences.locale.say(word)
    }

    /// The actors.
    pub(super) fn engine(&self) -> &Engine {
        &self.admin_state.app.engine
    }

    /// What tenants can read.
    pub(super) fn queries(&self) -> Queries<'_> {
        self.admin_state.queries()
    }

    /// What operators can read and do.
    pub(super) fn operators(&self) -> Operators<'_> {
        self.admin_state.operators()
    }

    /// The value of a parameter of the address, unless it is empty.
    pub(super) fn asks(&self, name: &str) -> Option<&str> {
        let found = self.asked.get(name).map(|text| text.trim());
        found.filter(|text| !text.is_empty())
    }

    /// The tenant and mode of a realm, as addresses name them.
    pub(super) fn realm(&self, realm: RealmId) -> Option<TenantRealm> {
        let platform = self.engine().platform();
        owner(&platform, realm).map(|(tenant, mode)| TenantRealm::of(tenant, mode))
    }

    /// The name of a tenant.
    pub(super) fn tenant(&self, id: &str) -> Cell {
        let platform = self.engine().platform();
        Cell::text(platform.tenant(id).map_or(id, |tenant| &tenant.name))
    }

    /// The realm of a tenant and a mode.
    pub(super) fn place(&self, (tenant, mode): &(String, String)) -> Result<TenantRealm, ApiError> {
        let platform = self.engine().platform();
        let found = platform.tenant(tenant)?;
        let modes = [Mode::Live, Mode::Test].into_iter();
        let mut modes = modes.filter(|known| known.as_str() == mode);
        let mode = modes.next().ok_or(Refusal::NoPage)?;
        Ok(TenantRealm::of(found, mode))
    }
}

/// A realm with its tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TenantRealm {
    /// The tenant's id.
    pub tenant: String,
    /// The tenant's name.
    pub name: String,
    /// Live or test.
    pub mode: Mode,
    /// The realm.
    pub realm: RealmId,
}

impl TenantRealm {
    /// A realm of a tenant.
    pub(super) fn of(tenant: &Tenant, mode: Mode) -> Self {
        Self {
            tenant: tenant.id.clone(),
            name: tenant.name.clone(),
            mode,
            realm: tenant.realm(mode),
        }
    }

    /// The address of a page in the realm.
    pub(super) fn address(&self, what: &str) -> String {
        format!(
            "/console/tenants/{}/{}/{what}",
            self.tenant,
            self.mode.as_str()
        )
    }

    /// The address of the treasury of its collector account.
    pub(super) fn treasury(&self) -> String {
        let (tenant, mode) = (&self.tenant, self.mode.as_str());
        format!("/console/treasury?tenant={tenant}&mode={mode}")
    }

    /// The name of the realm.
    pub(super) fn title(&self, locale: Locale) -> String {
        format!("{} · {}", self.name, locale.named(self.mode.as_str()))
    }
}

/// A visit with a form that acts: its token was checked.
pub(super) struct SubmittedForm {
    /// The visit.
    pub context: PageContext,
    /// The fields of the form.
    pub fields: BTreeMap<String, String>,
}

/// Whether a browser says that a request comes from a page of another service. A client that says nothing is no
/// browser of today, and has no browser's session.
pub(super) fn is_foreign(request: &HttpRequest) -> bool {
    let value = |name: &str| request.headers().get(name).map(|value| value.as_bytes());
    if let Some(site) = value("sec-fetch-site") {
        return !matches!(site, b"same-origin" | b"none");
    }
    // Browsers send only the origin where the connection is not encrypted.
    let host = value("host").and_then(|host| std::str::from_utf8(host).ok());
    let origin = value("origin").map(|origin| std::str::from_utf8(origin).ok());
    let from = |origin: &str| Some(origin.split_once("://")?.1.to_owned());
    origin.is_some_and(|origin| origin.and_then(from).as_deref() != host)
}

impl FromRequest for SubmittedForm {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, actix_web::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let context = PageContext::of(request);
        let foreign = is_foreign(request);
        let body = Bytes::<FORM_BYTES_MAX>::from_request(request, payload);
        let request = request.clone();
        Box::pin(async move {
            // Visitors who are not logged in are sent away before their form is read.
            context?;
            let Bytes(body) = body.await?;
            // A client that held the form back may have lost the session, the credential or the role by now.
            let context = PageContext::of(&request)?;
            let fields = fields(&body);
            let given = fields.get("token").map_or("", String::as_str);
            if foreign || !context.session.is_token(given) {
                return Err(NoPage::ForeignForm(context.preferences.locale).into());
            }
            Ok(Self { context, fields })
        })
    }
}

impl SubmittedForm {
    /// A required field, of this many characters at most.
    pub(super) fn required(&self, name: &str, most: usize) -> Result<String, ApiError> {
        let text = self.fields.get(name).map_or("", |text| text.trim());
        match text {
            "" => Err(ApiError::field(name, Mistake::Required)),
            text => caudal_ledger::text::line(text, most)
                .map_err(|why| ApiError::field(name, Mistake::Line { why, max: most })),
        }
    }
}
