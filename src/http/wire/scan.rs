//! Follows the framing of what comes in on a connection, and stops what the HTTP library lets pass.
//!
//! **Shape.** A state for where the next byte belongs: head, body of a length, chunks, trailers. It
//! knows of a head only where its lines end, and its `Content-Length` and `Transfer-Encoding`; what
//! else may be wrong with a head is the library's to refuse, and then nothing after it is read. So
//! it can disagree with the library about no request that the library takes.
//!
//! **Bounds.** [`HEAD_BYTES_MAX`], [`CHUNK_LINE_BYTES_MAX`], [`TRAILER_BYTES_MAX`]; of a line that
//! has not ended, what is kept is as long as a head at most.

use actix_web::web::Bytes;
use memchr::memchr;

use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::words::Refusal as Said;

/// The longest head of a request, in bytes: all lines with their ends.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;
/// The longest line before a chunk, in bytes: its size and whatever extensions.
pub const CHUNK_LINE_BYTES_MAX: usize = 128;
/// The longest trailers after the last chunk, in bytes.
pub const TRAILER_BYTES_MAX: usize = 1024;

/// Why nothing more is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A line of a head that ends in a line feed alone.
    BareLineFeed,
    /// A head that is too long.
    LongHead,
    /// A head that does not come to its end.
    Slow,
    /// A connection on which nothing comes.
    Silent,
    /// A body that is not framed as it should be.
    Framing,
}

impl Refusal {
    /// Whether its answer comes from here; else the handler answers, or nobody does.
    pub const fn is_answered_here(self) -> bool {
        match self {
            Self::BareLineFeed | Self::LongHead | Self::Slow => true,
            Self::Silent | Self::Framing => false,
        }
    }

    /// The whole answer.
    pub fn answer(self) -> Bytes {
        let error = match self {
            Self::LongHead => Said::HeadTooLarge {
                most: HEAD_BYTES_MAX,
            },
            Self::Slow => Said::HeadTooSlow,
            Self::BareLineFeed | Self::Silent | Self::Framing => Said::BareLineFeed,
        };
        let error = ApiError::from(error);
        let request = current::Request {
            id: current::made_id(),
            ..current::Request::default()
        };
        let body = error.body(&request, crate::clock::now());
        let body = crate::http::text::json(&body);
        let (status, length, id) = (error.status, body.len(), request.id);
        Bytes::from(format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\nx-request-id: {id}\r\nx-content-type-options: nosniff\r\n\
             referrer-policy: no-referrer\r\ncache-control: no-store\r\n\r\n{body}"
        ))
    }
}

/// Where the next byte belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Head,
    /// This many bytes of a body are to come.
    Body(u64),
    /// The line before a chunk.
    ChunkLine {
        size: u64,
        sized: bool,
        seen: usize,
    },
    /// This many bytes of a chunk and its end are to come.
    Chunk(u64),
    Trailer {
        seen: usize,
        line: usize,
        last: u8,
    },
}

/// Follows the bytes of one connection, request by request, without keeping them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scanner {
    place: Place,
    /// The bytes of the head so far.
    head: usize,
    /// The lines of it that are not empty.
    lines: usize,
    /// The beginning of a line that has not ended.
    begun: Vec<u8>,
    length: u64,
    chunked: bool,
    heads: u64,
}

const CHUNK_LINE: Place = Place::ChunkLine {
    size: 0,
    sized: false,
    seen: 0,
};

impl Scanner {
    /// How many heads are whole.
    pub const fn heads(&self) -> u64 {
        self.heads
    }

    /// Whether a head has begun and not ended.
    pub const fn amid_head(&self) -> bool {
        matches!(self.place, Place::Head) && self.head > 0
    }

    /// Follows these bytes.
    ///
    /// # Errors
    /// How many of them may be shown to the library, and why no more.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), (usize, Refusal)> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let here = bytes.len().saturating_sub(rest.len());
            let refuse = |why| (here, why);
            rest = match self.place {
                Place::Head => self.head(rest).map_err(refuse)?,
                Place::Body(left) => {
                    let (left, rest) = skip(left, rest);
                    match left {
                        0 => self.next_head(),
                        left => self.place = Place::Body(left),
                    }
                    rest
                }
                Place::Chunk(left) => {
                    let (left, rest) = skip(left, rest);
                    self.place = match left {
                        0 => CHUNK_LINE,
                        left => Place::Chunk(left),
                    };
                    rest
                }
                Place::ChunkLine { .. } => self.chunk_line(rest).map_err(refuse)?,
                Place::Trailer { .. } => self.trailer(rest).map_err(refuse)?,
            };
        }
        Ok(())
    }

    fn next_head(&mut self) {
        self.place = Place::Head;
        (self.head, self.lines, self.length, self.chunked) = (0, 0, 0, false);
    }

    /// One line of a head, or what has come of it; gives what is behind it.
    fn head<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Refusal> {
        let end = memchr(b'\n', rest).map(|at| at.saturating_add(1));
        let (line, behind) = rest
            .split_at_checked(end.unwrap_or(rest.len()))
            .unwrap_or((rest, &[]));
        self.head += line.len();
        if self.head > HEAD_BYTES_MAX {
            return Err(Refusal::LongHead);
        }
        if end.is_none() {
            self.begun.extend_from_slice(line);
            return Ok(behind);
        }
        if self.begun.is_empty() {
            self.line(line)?;
        } else {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend_from_slice(line);
            self.line(&whole)?;
        }
        Ok(behind)
    }

    /// A whole line of a head.
    fn line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let line = line.strip_suffix(b"\r\n").ok_or(Refusal::BareLineFeed)?;
        if !line.is_empty() {
            self.lines += 1;
            if self.lines > 1 {
                self.field(line);
            }
            return Ok(());
        }
        if self.lines == 0 {
            // Empty lines before a request are passed over.
            return Ok(());
        }
        self.heads += 1;
        let (length, chunked) = (self.length, self.chunked);
        self.next_head();
        if chunked {
            self.place = CHUNK_LINE;
        } else if length > 0 {
            self.place = Place::Body(length);
        }
        Ok(())
    }

    /// A field of a head. One that says what the library does not take ends the connection there.
    fn field(&mut self, line: &[u8]) {
        let value = |name: &[u8]| {
            let (given, value) = line.split_at_checked(name.len())?;
            let value = value.strip_prefix(b":")?;
            given.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
        };
        match line.first() {
            Some(b'c' | b'C') => {
                if let Some(value) = value(b"content-length") {
                    let text = std::str::from_utf8(value).unwrap_or_default();
                    self.length = text.parse().unwrap_or_default();
                }
            }
            Some(b't' | b'T') => self.chunked |= value(b"transfer-encoding").is_some(),
            Some(_) | None => {}
        }
    }

    fn chunk_line<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Refusal> {
        let Place::ChunkLine {
            mut size,
            mut sized,
            mut seen,
        } = self.place
        else {
            return Ok(rest);
        };
        let mut bytes = rest.iter();
        for byte in bytes.by_ref() {
            seen += 1;
            if seen > CHUNK_LINE_BYTES_MAX {
                return Err(Refusal::Framing);
            }
            match (byte, char::from(*byte).to_digit(16)) {
                (b'\n', _) => {
                    self.place = match size {
                        0 => Place::Trailer {
                            seen: 0,
                            line: 0,
                            last: 0,
                        },
                        // Its end, CR LF, comes after it.
                        size => Place::Chunk(size.saturating_add(2)),
                    };
                    return Ok(bytes.as_slice());
                }
                (_, Some(digit)) if !sized => {
                    let next = size.checked_mul(16).ok_or(Refusal::Framing)?;
                    size = next.saturating_add(digit.into());
                }
                (_, Some(_) | None) => sized = true,
            }
        }
        self.place = Place::ChunkLine { size, sized, seen };
        Ok(bytes.as_slice())
    }

    fn trailer<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], Refusal> {
        let Place::Trailer {
            mut seen,
            mut line,
            mut last,
        } = self.place
        else {
            return Ok(rest);
        };
        let mut bytes = rest.iter();
        for byte in bytes.by_ref() {
            seen += 1;
            if seen > TRAILER_BYTES_MAX || (*byte == b'\n') != (last == b'\r') {
                return Err(Refusal::Framing);
            }
            last = *byte;
            match byte {
                b'\n' if line == 0 => {
                    self.next_head();
                    return Ok(bytes.as_slice());
                }
                b'\n' => line = 0,
                b'\r' => {}
                _ => line = line.saturating_add(1),
            }
        }
        self.place = Place::Trailer { seen, line, last };
        Ok(bytes.as_slice())
    }
}

/// Skips this many bytes, as far as they have come.
fn skip(left: u64, rest: &[u8]) -> (u64, &[u8]) {
    let here = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
    let behind = rest.get(here..).unwrap_or_default();
    (
        left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX)),
        behind,
    )
}

#[cfg(test)]
mod tests;
