//! Logging in and out, and the looks of pages.
//!
//! **Order.** A credential is compared in constant time, and wrong ones are slowed as everywhere. A login form that a
//! page of another service sends is refused, so that nobody is logged in unawares.

use std::time::Instant;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_http::bytes::Bytes;

use super::Console;
use super::sessions::{Secret, WHOLE};
use super::show::{self, seen};
use super::view::{Block, Part, Tone};
use super::visit::{
    self, FORM_BYTES_MAX, LANGUAGE, Looks, SESSION, Sent, THEME, Visit, back, fields, is_foreign,
};
use super::words::Word;
use crate::admin::OperatorDesk;
use crate::admin::people::{self, Operator, Outcome};

/// How long a browser keeps language and theme, in seconds: a year.
const LOOKS_SECONDS: u64 = 365 * 24 * 60 * 60;

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

fn entered(request: &HttpRequest, secret: &Secret, answer: HttpResponse) -> HttpResponse {
    set(
        answer,
        &cookie(request, SESSION, secret.expose(), WHOLE.as_secs()),
    )
}

/// The login page.
pub(super) async fn page(request: HttpRequest) -> HttpResponse {
    let asked = fields(request.query_string().as_bytes());
    show::login(Looks::of(&request), &back(asked.get("back")), None)
}

/// Logs in with the admin key.
pub(super) async fn enter(
    request: HttpRequest,
    console: web::Data<Console>,
    desk: web::Data<OperatorDesk>,
    Bytes(body): Bytes<FORM_BYTES_MAX>,
) -> HttpResponse {
    let (looks, sent) = (Looks::of(&request), fields(&body));
    let back = back(sent.get("back"));
    let key = sent.get("key").map_or("", |key| key.trim());
    let known = people::recognise(&desk.door, key).filter(|_| !is_foreign(&request));
    let Some(operator) = known else {
        let what = "a credential was refused at the console";
        desk.door.strangers.wrong(&request, &desk.door, what);
        return show::refused(looks, &back, Word::WrongKey);
    };
    noted(&desk, &operator).await;
    match begun(&request, &console, operator, Instant::now()) {
        Some(secret) => entered(&request, &secret, seen(&back)),
        None => show::login(
            looks,
            &back,
            Some(&caudal_actors::failure::Failure::Overloaded.into()),
        ),
    }
}

/// Begins a session in place of the one that this browser had, which is no longer needed.
fn begun(request: &HttpRequest, console: &Console, who: Operator, now: Instant) -> Option<Secret> {
    if let Some(left) = visit::cookie(request, SESSION) {
        console.sessions.end(left);
    }
    console.sessions.begin(who, now)
}

/// Writes down who logged in. If the store takes no writes, the operator is let in all the same: just then somebody
/// has to look.
async fn noted(desk: &OperatorDesk, operator: &Operator) {
    let who = &operator.name;
    let noted = people::audit(
        &desk.door,
        operator,
        "logIn",
        "console",
        "",
        Outcome::Looked,
    );
    match noted.await {
        Ok(_) => tracing::info!(who, "somebody logged in at the console"),
        Err(why) => {
            tracing::error!(%why, who, "somebody logged in, which the audit log does not have")
        }
    }
}

/// Logs in by a link that works once, with the powers of the configured admin key.
pub(super) async fn link(
    request: HttpRequest,
    console: web::Data<Console>,
    desk: web::Data<OperatorDesk>,
) -> HttpResponse {
    let (looks, now) = (Looks::of(&request), Instant::now());
    let asked = fields(request.query_string().as_bytes());
    let good = asked
        .get("link")
        .is_some_and(|link| console.sessions.take(link, now));
    let root = people::root(&desk.door).filter(|_| good);
    if let Some(root) = &root {
        noted(&desk, root).await;
    }
    match root.and_then(|root| begun(&request, &console, root, now)) {
        Some(secret) => entered(&request, &secret, show::entered(looks)),
        None => show::refused(looks, "/console/", Word::LinkUsed),
    }
}

/// Logs out.
pub(super) async fn leave(request: HttpRequest, sent: Sent) -> HttpResponse {
    sent.visit.console.sessions.end(&sent.visit.secret);
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
        if let Some(value) = values
            .iter()
            .find(|value| **value == given && !value.is_empty())
        {
            answer = set(answer, &cookie(&request, name, value, LOOKS_SECONDS));
        }
    }
    answer
}

/// Redirects to the first page.
pub(super) async fn home() -> HttpResponse {
    seen("/console/")
}

/// The answer for a page that does not exist.
pub(super) async fn nowhere(visit: Visit) -> HttpResponse {
    let note = Block::Note(Tone::Warn, visit.say(Word::NoSuchPageHint).to_owned());
    let page = visit.page(Part::Search, visit.say(Word::NoSuchPage), vec![note]);
    visit.show_as(StatusCode::NOT_FOUND, &page)
}
