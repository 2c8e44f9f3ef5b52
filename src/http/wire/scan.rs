//! Follows the framing of the bytes that arrive on a connection, and stops what the HTTP library would let pass.
//!
//! **Shape.** A state for where the next byte belongs: head, body of a length, chunks, trailers. The scanner knows of
//! a head only where its lines end, and its `Content-Length` and `Transfer-Encoding`; the library refuses any other
//! fault of a head, and then reads nothing after it. So the scanner can disagree with the library about no request
//! that the library takes. It stops at the end of each request, so that the next one can be held back.
//!
//! **Bounds.** [`HEAD_BYTES_MAX`], [`CHUNK_LINE_BYTES_MAX`], [`TRAILER_BYTES_MAX`]; the kept part of an unfinished
//! line is as long as a head at most.

use actix_web::web::Bytes;
use memchr::memchr;

use crate::current;
use crate::errors::ApiError;
use crate::words::Refusal as Said;

/// The longest head of a request, in bytes: all lines with their ends.
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;
/// The most fields of a head; the library's own bound.
pub(crate) const HEAD_FIELDS_MAX: usize = 96;
/// The longest line before a chunk, in bytes: its size and any extensions.
pub(crate) const CHUNK_LINE_BYTES_MAX: usize = 128;
/// The longest trailers after the last chunk, in bytes.
pub(crate) const TRAILER_BYTES_MAX: usize = 1024;

/// Why nothing more is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FramingError {
    /// A line of a head ends in a line feed alone.
    BareLineFeed,
    /// A head is too long.
    LongHead,
    /// The library takes the head for no request.
    Malformed,
    /// A head has more fields than the library takes.
    ManyFields,
    /// A head did not become whole in time.
    Slow,
    /// Nothing arrived on the connection.
    Silent,
    /// A body is framed wrongly.
    Framing,
}

impl FramingError {
    /// Whether the wire writes the answer; else the handler answers, or nothing does.
    pub(crate) const fn is_answered_here(self) -> bool {
        match self {
            Self::BareLineFeed
            | Self::LongHead
            | Self::Malformed
            | Self::ManyFields
            | Self::Slow => true,
            Self::Silent | Self::Framing => false,
        }
    }

    /// Whether the library refused the head, and its answer is replaced.
    pub(crate) const fn is_of_library(self) -> bool {
        matches!(self, Self::Malformed | Self::ManyFields)
    }

    /// Why the library refused a head, by the beginning of its answer.
    pub(crate) fn of_library(answer: &[u8]) -> Self {
        if answer.starts_with(b"HTTP/1.1 431 ") {
            Self::ManyFields
        } else {
            Self::Malformed
        }
    }

    /// The whole answer, as bytes for the socket.
    pub(crate) fn answer(self) -> Bytes {
        let error = match self {
            Self::LongHead => Said::HeadTooLarge {
                most: HEAD_BYTES_MAX,
            },
            Self::ManyFields => Said::HeadFieldsTooMany {
                most: HEAD_FIELDS_MAX,
            },
            Self::Slow => Said::HeadTooSlow,
            Self::BareLineFeed => Said::BareLineFeed,
            Self::Malformed | Self::Silent | Self::Framing => Said::MalformedHead,
        };
        let error = ApiError::from(error);
        let request = current::Request {
            id: current::made_id(),
            ..current::Request::default()
        };
        let body = error.body(&request, crate::clock::now());
        let body = crate::text::json(&body);
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
enum ScanState {
    #[default]
    Head,
    /// This many bytes of a body are still to come.
    Body(u64),
    /// The line before a chunk.
    ChunkLine {
        size: u64,
        sized: bool,
        seen: usize,
    },
    /// This many bytes of a chunk and its end are still to come.
    Chunk(u64),
    Trailer {
        seen: usize,
        line: usize,
        last: u8,
    },
}

/// Follows the bytes of one connection, request by request, without keeping them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scanner {
    place: ScanState,
    /// The bytes of the head so far.
    head: usize,
    /// The number of its lines that are not empty.
    lines: usize,
    /// The beginning of a line whose end has not arrived.
    begun: Vec<u8>,
    length: u64,
    chunked: bool,
    heads: u64,
}

const CHUNK_LINE: ScanState = ScanState::ChunkLine {
    size: 0,
    sized: false,
    seen: 0,
};

impl Scanner {
    /// How many heads have arrived whole.
    pub(crate) const fn heads(&self) -> u64 {
        self.heads
    }

    /// Whether a head has begun and not ended.
    pub(crate) const fn amid_head(&self) -> bool {
        matches!(self.place, ScanState::Head) && self.head > 0
    }

    /// Whether the head of a request has arrived, and its body has not ended.
    pub(crate) const fn amid_body(&self) -> bool {
        !matches!(self.place, ScanState::Head)
    }

    /// Whether the next byte begins a request.
    pub(crate) const fn is_between(&self) -> bool {
        matches!(self.place, ScanState::Head) && self.head == 0
    }

    /// Follows more bytes of the connection, at most to the end of a request. Returns how many it has followed.
    ///
    /// # Errors
    /// How many of the bytes may be shown to the library, and why no more.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, (usize, FramingError)> {
        let followed = |rest: &[u8]| bytes.len().saturating_sub(rest.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let here = followed(rest);
            let refuse = |why| (here, why);
            rest = match self.place {
                ScanState::Head => self.head(rest).map_err(refuse)?,
                ScanState::Body(left) => {
                    let (left, rest) = skip(left, rest);
                    match left {
                        0 => self.next_head(),
                        left => self.place = ScanState::Body(left),
                    }
                    rest
                }
                ScanState::Chunk(left) => {
                    let (left, rest) = skip(left, rest);
                    self.place = match left {
                        0 => CHUNK_LINE,
                        left => ScanState::Chunk(left),
                    };
                    rest
                }
                ScanState::ChunkLine { .. } => self.chunk_line(rest).map_err(refuse)?,
                ScanState::Trailer { .. } => self.trailer(rest).map_err(refuse)?,
            };
            if self.is_between() {
                break;
            }
        }
        Ok(followed(rest))
    }

    fn next_head(&mut self) {
        self.place = ScanState::Head;
        (self.head, self.lines, self.length, self.chunked) = (0, 0, 0, false);
    }

    /// Takes one line of a head, or the part of it that has arrived; returns the bytes behind it.
    fn head<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], FramingError> {
        let end = memchr(b'\n', rest).map(|at| at.saturating_add(1));
        let (line, behind) = rest
            .split_at_checked(end.unwrap_or(rest.len()))
            .unwrap_or((rest, &[]));
        self.head += line.len();
        if self.head > HEAD_BYTES_MAX {
            return Err(FramingError::LongHead);
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

    /// Takes a whole line of a head.
    fn line(&mut self, line: &[u8]) -> Result<(), FramingError> {
        let line = line
            .strip_suffix(b"\r\n")
            .ok_or(FramingError::BareLineFeed)?;
        if !line.is_empty() {
            self.lines += 1;
            if self.lines > 1 {
                self.field(line);
            }
            return Ok(());
        }
        if self.lines == 0 {
            // Empty lines before a request are skipped.
            return Ok(());
        }
        self.heads += 1;
        let (length, chunked) = (self.length, self.chunked);
        self.next_head();
        if chunked {
            self.place = CHUNK_LINE;
        } else if length > 0 {
            self.place = ScanState::Body(length);
        }
        Ok(())
    }

    /// Takes a field of a head. A value that the library does not accept makes it end the connection there.
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

    fn chunk_line<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], FramingError> {
        let ScanState::ChunkLine {
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
                return Err(FramingError::Framing);
            }
            match (byte, char::from(*byte).to_digit(16)) {
                (b'\n', _) => {
                    self.place = match size {
                        0 => ScanState::Trailer {
                            seen: 0,
                            line: 0,
                            last: 0,
                        },
                        // The chunk's end, CR LF, is added to its length.
                        size => ScanState::Chunk(size.saturating_add(2)),
                    };
                    return Ok(bytes.as_slice());
                }
                (_, Some(digit)) if !sized => {
                    let next = size.checked_mul(16).ok_or(FramingError::Framing)?;
                    size = next.saturating_add(digit.into());
                }
                (_, Some(_) | None) => sized = true,
            }
        }
        self.place = ScanState::ChunkLine { size, sized, seen };
        Ok(bytes.as_slice())
    }

    fn trailer<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], FramingError> {
        let ScanState::Trailer {
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
                return Err(FramingError::Framing);
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
        self.place = ScanState::Trailer { seen, line, last };
        Ok(bytes.as_slice())
    }
}

/// Skips this many bytes, as far as they have arrived; returns how many are left, and the bytes behind them.
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
