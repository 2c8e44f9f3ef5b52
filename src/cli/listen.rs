//! `caudal listen`: forwards the events of a key to a URL on this machine, as a webhook would.
//!
//! **Shape.** The command follows the stream of events and posts each one, signed as webhooks are, one after the other.
//! After an interruption it resumes from the last event (`Last-Event-ID`), so no event is missed or sent twice.
//!
//! **Failure.** If the URL refuses an event or does not answer, a line reports it, and the event is not sent again: the
//! command is for trying out a receiver, and the next event follows.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use caudal_http::webhooks::SigningSecret;
use caudal_http::webhooks::signing::{self, Message};
use reqwest::{Client, StatusCode, Url};
use secrecy::ExposeSecret as _;

use super::Exit;
use super::dev::{DATA, DevFile};
use super::remote::{client, refused};
use super::terminal::{self, Hangup, Signals, say};

/// How long the URL has to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The stream is treated as broken after this long without a byte: while nothing happens, it sends a comment every 15
/// seconds.
const SILENCE: Duration = Duration::from_secs(45);
/// The pause before the stream is requested again.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest message of the stream, in bytes.
const MESSAGE_MAX: usize = 4 << 20;

/// Follow the events of a key and post each to a URL, for instance of a receiver that you are writing, signed like a
/// webhook. Prints a line for each event and runs until Ctrl-C.
#[derive(Debug, clap::Args)]
pub(super) struct ListenArgs {
    /// Where events are posted to, for instance http://127.0.0.1:9000/hooks
    #[arg(long, value_name = "URL")]
    forward: Url,
    /// The API; without it, that of the running `caudal dev`
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// A key that may read events; without it, the test key of the running `caudal dev`
    #[arg(
        long,
        value_name = "KEY",
        env = "CAUDAL_API_KEY",
        hide_env_values = true
    )]
    key: Option<String>,
    /// Only events of these types, with commas between them, for instance `voucher.created,hold.*`
    #[arg(long, value_name = "TYPES")]
    types: Option<String>,
    /// Begin after this event instead of now
    #[arg(long, value_name = "EVENT")]
    after: Option<String>,
    /// What events are signed with (`whsec_…`); one is made unless set
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
}

/// The stream to follow, and the destination of its events.
struct Forward {
    client: Client,
    stream: Url,
    key: String,
    to: Url,
    secret: SigningSecret,
    /// The id of the last event received.
    last: Option<String>,
}

/// A message of the stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct StreamMessage {
    id: Option<String>,
    kind: String,
    data: String,
}

/// Runs the command until a signal.
pub(super) fn run(args: ListenArgs) -> Result<(), Exit> {
    terminal::log(caudal_http::log::LogFormat::Terminal, "warn")?;
    terminal::wait(async {
        let mut signals = Signals::listen(Hangup::Ends)?;
        let mut forward = Forward::of(args)?;
        tokio::select! {
            () = signals.next() => Ok(()),
            ended = forward.follow() => ended,
        }
    })
}

impl Forward {
    fn of(args: ListenArgs) -> Result<Self, Exit> {
        let dev = DevFile::read(DATA.as_ref())?;
        let none = || {
            Exit::usage(format!(
                "which service? Set --url and --key (or CAUDAL_API_KEY), or run this where \
                 {DATA}/dev.json of a running `caudal dev` is"
            ))
        };
        let (url, key) = match (args.url, args.key, dev) {
            (Some(url), Some(key), _) => (url, key),
            (None, key, Some(dev)) => {
                let url = dev.url.parse().map_err(Exit::failed)?;
                (url, key.unwrap_or(dev.test_key))
            }
            (Some(_), None, _) | (None, _, None) => return Err(none()),
        };
        let mut stream = url.join("/v1/events/stream").map_err(Exit::usage)?;
        if let Some(types) = &args.types {
            stream.query_pairs_mut().append_pair("types", types);
        }
        let secret = match args.secret {
            Some(text) => {
                let wrong = |why| Exit::usage(format!("--secret {why}"));
                SigningSecret::parse(&text).map_err(wrong)?
            }
            None => SigningSecret::new().map_err(Exit::failed)?,
        };
        let client = client(&[&stream, &args.forward]).read_timeout(SILENCE);
        say(&format!(
            "Events go to {}, signed with\n\n  {}\n\nPress Ctrl-C to end it.\n",
            args.forward,
            secret.text().expose_secret()
        ))?;
        Ok(Self {
            client: client.build().map_err(Exit::failed)?,
            stream,
            key,
            to: args.forward,
            secret,
            last: args.after,
        })
    }

    /// Follows the stream, reconnecting each time it ends.
    async fn follow(&mut self) -> Result<(), Exit> {
        loop {
            if let Err(why) = self.once().await? {
                tracing::warn!(%why, "the stream ended; it is asked for again");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Follows the stream until it breaks. An error that a retry cannot fix ends the command.
    async fn once(&mut self) -> Result<Result<(), reqwest::Error>, Exit> {
        let mut asked = self
            .client
            .get(self.stream.clone())
            .header("x-api-key", &self.key);
        if let Some(last) = &self.last {
            asked = asked.header("last-event-id", last);
        }
        let mut answer = match asked.send().await {
            Ok(answer) => answer,
            Err(why) => return Ok(Err(why)),
        };
        let status = answer.status();
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            return Err(refused(answer).await);
        }
        if let Err(why) = answer.error_for_status_ref() {
            return Ok(Err(why));
        }
        let mut unread = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(more)) => unread.extend_from_slice(&more),
                Ok(None) => return Ok(Ok(())),
                Err(why) => return Ok(Err(why)),
            }
            while let Some(message) = next(&mut unread) {
                self.forward(message).await?;
            }
            if unread.len() > MESSAGE_MAX {
                return Err(Exit::failed(
                    "a message of the stream is too long: is it Caudal's?",
                ));
            }
        }
    }

    /// Posts an event and prints its line.
    async fn forward(&mut self, event: StreamMessage) -> Result<(), Exit> {
        if let Some(id) = &event.id {
            self.last = Some(id.clone());
        }
        let (Some(id), false) = (event.id, event.data.is_empty()) else {
            return Ok(());
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let timestamp = since.map_or(0, |since| since.as_secs()).to_string();
        let message = Message {
            id: &id,
            timestamp: &timestamp,
            body: event.data.as_bytes(),
        };
        let began = Instant::now();
        let sent = self
            .client
            .post(self.to.clone())
            .timeout(PATIENCE)
            .header("content-type", "application/json")
            .header(signing::ID, &id)
            .header(signing::TIMESTAMP, &timestamp)
            .header(signing::SIGNATURE, message.sign(self.secret.bytes()))
            .body(event.data)
            .send()
            .await;
        let outcome = match sent {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(why) if why.is_connect() => "nobody listens there".to_owned(),
            Err(why) if why.is_timeout() => "no answer in time".to_owned(),
            Err(why) => why.to_string(),
        };
        let millis = began.elapsed().as_millis();
        say(&format!("{:<28} {id}  {outcome}  {millis} ms", event.kind))
    }
}

/// Takes the next complete event; `None` until there is one.
fn next(unread: &mut Vec<u8>) -> Option<StreamMessage> {
    let end = unread.windows(2).position(|two| two == b"\n\n")?;
    let rest = unread.split_off(end.checked_add(2)?);
    let bytes = std::mem::replace(unread, rest);
    let text = String::from_utf8_lossy(&bytes);
    let mut event = StreamMessage::default();
    for line in text.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if name == "id" {
            event.id = Some(value.to_owned());
        } else if name == "event" {
            value.clone_into(&mut event.kind);
        } else if name == "data" {
            if !event.data.is_empty() {
                event.data.push('\n');
            }
            event.data.push_str(value);
        }
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_when_they_are_whole() {
        let text = "retry: 2000\nid: evt_1\n\nid: evt_2\nevent: a.b\ndata: {}\n\n: alive\nid: evt_3\n\nid: evt_4\nda";
        let mut unread = Vec::new();
        let mut found = Vec::new();
        for byte in text.bytes() {
            unread.push(byte);
            while let Some(event) = next(&mut unread) {
                found.push((event.id.unwrap(), event.kind, event.data));
            }
        }
        let event = |id: &str, kind: &str, data: &str| (id.into(), kind.into(), data.into());
        assert_eq!(
            found,
            [
                event("evt_1", "", ""),
                event("evt_2", "a.b", "{}"),
                event("evt_3", "", "")
            ]
        );
        assert_eq!(unread, b"id: evt_4\nda");
    }
}
