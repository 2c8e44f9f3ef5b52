//! The log: its level, and logging more for a while.

use std::time::Duration;

use actix_web::HttpResponse;
use caudal_ledger::people::audit::REASON_MAX;

use super::acts::Act;
use super::view::{Block, Cell, Field, Form, Page, Part, Takes, Tone};
use super::visit::{Sent, Visit};
use super::words::Word;
use crate::admin::log::changed;
use crate::admin::people::Power;
use crate::http::errors::ApiError;
use crate::http::words::Mistake;
use crate::log::level::{self, CHANGED_MAX, CHANGED_USUAL, DIRECTIVES_MAX, Directives};

/// The longest number of seconds, in digits.
const SECONDS_DIGITS: usize = 4;

/// Shows the log's settings.
pub async fn page(visit: Visit) -> HttpResponse {
    let page = made(&visit);
    visit.show(Ok(page))
}

/// Changes the settings, or ends a change where no targets are named.
pub async fn change(sent: Sent) -> HttpResponse {
    let act = Act {
        action: "changeLog",
        subject: "log",
        power: Power::Act,
        grave: true,
    };
    let work = async {
        match asked(&sent) {
            Ok(to) => {
                let (done, came) = changed(to);
                (done, Some(came))
            }
            Err(why) => (Err(why), None),
        }
    };
    match sent.does_and_tells(act, work).await {
        Ok(()) => sent.visit.done("/console/log"),
        Err(why) => sent.visit.show(Err(why)),
    }
}

/// The change that the form asks for.
fn asked(sent: &Sent) -> Result<Option<(Directives, Duration)>, ApiError> {
    let text = |name: &str| sent.fields.get(name).map_or("", |text| text.trim());
    if text("directives").is_empty() {
        return Ok(None);
    }
    let directives = Directives::parse(text("directives"))
        .map_err(|_| ApiError::field("directives", Mistake::NotLogDirectives))?;
    let (min, max) = (1, CHANGED_MAX.as_secs());
    let seconds: Option<u64> = text("seconds").parse().ok();
    let seconds = seconds.filter(|seconds| (min..=max).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| ApiError::field("seconds", Mistake::OutOfRange { min, max }))?;
    Ok(Some((directives, Duration::from_secs(seconds))))
}

fn made(visit: &Visit) -> Page {
    let (tongue, now) = (visit.tongue(), level::now());
    let mut blocks: Vec<_> = visit.done_note().into_iter().collect();
    let fixed = now.usual.is_none();
    if fixed {
        let text = visit.say(Word::LogFixed);
        blocks.push(Block::Note(Tone::Warn, text.to_owned()));
    }
    let (directives, left) = now
        .changed
        .map_or((None, None), |(it, left)| (Some(it), Some(left)));
    let facts = vec![
        (visit.say(Word::LogUsual), Cell::maybe_code(now.usual)),
        (visit.say(Word::LogNow), Cell::maybe_code(directives)),
        (
            visit.say(Word::LogEnds),
            left.map_or_else(|| Cell::text(""), |left| tongue.lasting(left.as_secs())),
        ),
        (
            visit.say(Word::LogDropped),
            tongue.count(crate::log::dropped()),
        ),
    ];
    blocks.push(Block::Facts(visit.say(Word::Log).to_owned(), facts));
    if !fixed {
        let field = |name, word, takes, most| Field::new(tongue, name, word, takes, most);
        let usual = CHANGED_USUAL.as_secs().to_string();
        blocks.push(Block::Form(Form {
            title: visit.say(Word::LogChange).to_owned(),
            action: "/console/log".to_owned(),
            asks: false,
            fields: vec![
                field(
                    "directives",
                    Word::LogDirectives,
                    Takes::Line,
                    DIRECTIVES_MAX,
                )
                .maybe(""),
                field("seconds", Word::LogSeconds, Takes::Line, SECONDS_DIGITS).maybe(usual),
                field("reason", Word::Reason, Takes::Lines, REASON_MAX),
            ],
            submit: visit.say(Word::LogChange),
            grave: false,
        }));
    }
    visit.page(Part::Log, visit.say(Word::Log), blocks)
}
