//! Logging in and out, and the looks of pages.
//!
//! **Order.** A credential is compared in constant time, and wrong ones are slowed as everywhere. A login form that a
//! page of another service sends is refused, so that nobody is logged in unawares.

use std::time::Instant;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_actors::failure::Failure;
use caudal_http::bytes::Bytes;
use caudal_ledger::people::audit::AuditDetails;

use super::Console;
use super::page_context::{
    self, DisplayPreferences, FORM_BYTES_MAX, LANGUAGE, PageContext, SESSION, SubmittedForm, THEME,
    back, fields, is_foreign,
};
use super::sessions::{SessionSecret, WHOLE};
use super::show::{self, seen};
use super::view::{Part, Tone};
use super::words::Word;
use crate::admin::AdminState;
use crate::admin::people::{self, AuditOutcome, Operator};

/// How long a browser keeps language and theme, in seconds: a year.
const PREFERENCES_SECONDS: u64 = 365 * 24 * 60 * 60;

/// A cookie of the console. It is limited to encrypted connections if this one is encrypted, by the word of a proxy.
fn cookie(request: &HttpRequest, name: &str, value: &str, seconds: u64) -> String {
    let proto = request.headers().get("x-forwarded-proto");
    let secure = proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

fn set(mut answer: HttpResponse, cookie: &str) -> HttpResponse {
    if let Ok(value) = header::HeaderValue::from_str(cookie) {
        answer.headers_mut().append(header::SET_COOKIE, value);
    }
    answer
}

fn entered(request: &HttpRequest, secret: &SessionSecret, answer: HttpResponse) -> HttpResponse {
    set(
        answer,
        &cookie(request, SESSION, secret.expose(), WHOLE.as_secs()),
    )
}

/// The login page.
pub(super) async fn page(request: HttpRequest) -> HttpResponse {
    let asked = fields(request.query_string().as_bytes());
    let preferences = DisplayPreferences::of(&request);
    show::login(preferences, &back(asked.get("back")), None)
}

/// Logs in with the admin key.
pub(super) async fn enter(
    request: HttpRequest,
    console: web::Data<Console>,
    admin_state: web::Data<AdminState>,
    Bytes(body): Bytes<FORM_BYTES_MAX>,
) -> HttpResponse {
    let (preferences, sent) = (DisplayPreferences::of(&request), fields(&body));
    let back = back(sent.get("back"));
    let key = sent.get("key").map_or("", |key| key.trim());
    let known = people::recognise(&admin_state.app, key).filter(|_| !is_foreign(&request));
    let Some(operator) = known else {
        let (what, app) = ("a credential was refused at the console", &admin_state.app);
        app.wrong_keys.wrong(&request, app, what);
        return show::refused(preferences, &back, Word::WrongKey);
    };
    noted(&admin_state, &operator).await;
    match begun(&request, &console, operator, Instant::now()) {
        Some(secret) => entered(&request, &secret, seen(&back)),
        None => show::login(preferences, &back, Some(&Failure::Overloaded.into())),
    }
}

/// Begins a session in place of the one that this browser had, which is no longer needed.
fn begun(
    request: &HttpRequest,
    console: &Console,
    who: Operator,
    now: Instant,
) -> Option<SessionSecret> {
    if let Some(left) = page_context::cookie(request, SESSION) {
        console.sessions.end(left);
    }
    console.sessions.begin(who, now)
}

/// Writes down who logged in. If the store takes no writes, the operator is let in all the same: just then somebody
/// has to look.
async fn noted(admin_state: &AdminState, operator: &Operator) {
    let who = &operator.name;
    let noted = people::audit(
        &admin_state.app,
        operator,
        "logIn",
        "console",
        "",
        AuditOutcome::Looked,
        AuditDetails::default(),
    );
    match noted.await {
        Ok(_) => tracing::info!(who, "console login"),
        Err(why) => {
            tracing::error!(%why, who, "login could not be written to the audit log")
        }
    }
}

/// Logs in by a link that works once, with the powers of the configured admin key.
pub(super) async fn link(
    request: HttpRequest,
    console: web::Data<Console>,
    admin_state: web::Data<AdminState>,
) -> HttpResponse {
    let (preferences, now) = (DisplayPreferences::of(&request), Instant::now());
    let asked = fields(request.query_string().as_bytes());
    let good = asked
        .get("link")
        .is_some_and(|link| console.sessions.take(link, now));
    let root = people::root(&admin_state.app).filter(|_| good);
    if let Some(root) = &root {
        noted(&admin_state, root).await;
    }
    match root.and_then(|root| begun(&request, &console, root, now)) {
        Some(secret) => entered(&request, &secret, show::entered(preferences)),
        None => show::refused(preferences, "/console/", Word::LinkUsed),
    }
}

/// Logs out.
pub(super) async fn leave(request: HttpRequest, sent: SubmittedForm) -> HttpResponse {
    sent.context.console.sessions.end(&sent.context.secret);
    set(seen("/console/login"), &cookie(&request, SESSION, "", 0))
}

/// Keeps language and theme in the browser: the service's state does not change, so no login is needed.
pub(super) async fn settings(
    request: HttpRequest,
    Bytes(body): Bytes<FORM_BYTES_MAX>,
) -> HttpResponse {
    let sent = fields(&body);
    let mut answer = seen(&back(sent.get("back")));
    if is_foreign(&request) {
        return answer;
    }
    let known = [
        (LANGUAGE, "language", ["es", "en", ""]),
        (THEME, "theme", ["light", "dark", "auto"]),
    ];
    for (name, field, values) in known {
        let given = sent.get(field).map_or("", String::as_str);
        let mut values = values.iter().filter(|value| !value.is_empty());
        if let Some(value) = values.find(|value| **value == given) {
            answer = set(answer, &cookie(&request, name, value, PREFERENCES_SECONDS));
        }
    }
    answer
}

/// Redirects to the first page.
pub(super) async fn home() -> HttpResponse {
    seen("/console/")
}

/// The answer for a page that does not exist.
pub(super) async fn nowhere(context: PageContext) -> HttpResponse {
    let note = context.note(Tone::Warn, Word::NoSuchPageHint);
    let page = context.page(Part::Search, context.say(Word::NoSuchPage), vec![note]);
    context.show_as(StatusCode::NOT_FOUND, &page)
}
