//! A client of HTTP/1.1 that costs next to nothing: requests are made beforehand and patched, and
//! of an answer only the status and the length are read.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Bytes of an answer at most.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Digits of the number in an external id.
const ID_DIGITS: usize = 16;
const CVU_DIGITS: usize = 22;

/// The path of the handler that does nothing, as long as that of a posting.
pub const NOOP_PATH: &str = "/bench/noop/0000000000000000000/0000000000000000";

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The handler that does nothing.
    Noop,
    /// A voucher.
    Post,
    /// A balance.
    Balance,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// What is asked.
    pub kind: Kind,
    /// The account, counted from 0.
    pub account: usize,
    /// How much; from 1000 to 9999.
    pub centavos: u64,
    /// The number in the external id.
    pub id: u64,
}

impl Order {
    /// The external id.
    pub fn external_id(&self) -> String {
        format!("bench-{:0ID_DIGITS$}", self.id)
    }

    /// The amount as text.
    pub fn amount(&self) -> String {
        format!("{:02}.{:02}", self.centavos / 100, self.centavos % 100)
    }
}

/// A request with places to be patched.
#[derive(Debug)]
struct Template {
    bytes: Vec<u8>,
    cvu: Option<usize>,
    amount: Option<usize>,
    id: Option<usize>,
}

const CVU_MARK: &str = "CCCCCCCCCCCCCCCCCCCCCC";
const AMOUNT_MARK: &str = "AA.AA";
const ID_MARK: &str = "IIIIIIIIIIIIIIII";

impl Template {
    fn new(method: &str, path: &str, key: &str, body: Option<&str>) -> Self {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\n");
        if let Some(body) = body {
            text.push_str("content-type: application/json\r\n");
            text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        } else {
            text.push_str("\r\n");
        }
        Self {
            cvu: text.find(CVU_MARK),
            amount: text.find(AMOUNT_MARK),
            id: text.find(ID_MARK),
            bytes: text.into_bytes(),
        }
    }
}

/// The requests of a run.
#[derive(Debug)]
pub struct Requests {
    noop: Template,
    post: Template,
    balance: Template,
    cvus: Vec<String>,
}

fn patch(out: &mut [u8], at: Option<usize>, with: &[u8]) {
    let place = at.and_then(|at| out.get_mut(at..at.checked_add(with.len())?));
    if let Some(place) = place {
        place.copy_from_slice(with);
    }
}

/// Writes a number as digits with leading zeros.
fn digits(out: &mut [u8], at: Option<usize>, mut number: u64, width: usize) {
    let place = at.and_then(|at| out.get_mut(at..at.checked_add(width)?));
    for byte in place.unwrap_or_default().iter_mut().rev() {
        *byte = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
    }
}

impl Requests {
    /// The requests under a key to accounts with these CVUs.
    pub fn new(key: &str, voucher_type: &str, cvus: Vec<String>) -> Self {
        let body = format!(
            r#"{{"voucherTypeCode":"{voucher_type}","amount":{AMOUNT_MARK},"idExterno":"bench-{ID_MARK}"}}"#
        );
        let path = format!("/v1/accounts/{CVU_MARK}/comprobantes");
        let balance = format!("/v1/accounts/{CVU_MARK}/balance");
        Self {
            noop: Template::new("POST", NOOP_PATH, key, Some(&body)),
            post: Template::new("POST", &path, key, Some(&body)),
            balance: Template::new("GET", &balance, key, None),
            cvus,
        }
    }

    /// The CVU of an account.
    pub fn cvu(&self, account: usize) -> &str {
        self.cvus.get(account).map_or("", String::as_str)
    }

    /// Writes a request.
    pub fn write(&self, order: &Order, out: &mut Vec<u8>) {
        let template = match order.kind {
            Kind::Noop => &self.noop,
            Kind::Post => &self.post,
            Kind::Balance => &self.balance,
        };
        out.clear();
        out.extend_from_slice(&template.bytes);
        let cvu = self.cvu(order.account).as_bytes();
        debug_assert_eq!(cvu.len(), CVU_DIGITS);
        patch(out, template.cvu, cvu);
        digits(out, template.amount, order.centavos / 100, 2);
        let cents = template.amount.map(|at| at.saturating_add(3));
        digits(out, cents, order.centavos % 100, 2);
        digits(out, template.id, order.id, ID_DIGITS);
    }
}

/// A connection that is kept.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(to: std::net::SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            out: Vec::with_capacity(1024),
            buffer: vec![0; ANSWER_BYTES_MAX],
        })
    }

    /// Asks and gives the status and the whole answer.
    pub async fn ask(&mut self, requests: &Requests, order: &Order) -> io::Result<(u16, &[u8])> {
        requests.write(order, &mut self.out);
        self.stream.write_all(&self.out).await?;
        let mut filled = 0_usize;
        loop {
            let room = self.buffer.get_mut(filled..).unwrap_or_default();
            if room.is_empty() {
                return Err(io::Error::other("the answer is too large"));
            }
            match self.stream.read(room).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled = filled.saturating_add(more),
            }
            let seen = self.buffer.get(..filled).unwrap_or_default();
            if let Some((status, length)) = head(seen)
                && filled >= length
            {
                return Ok((status, self.buffer.get(..length).unwrap_or_default()));
            }
        }
    }
}

/// The status, and the length of the whole answer; `None` while its head is not complete.
fn head(bytes: &[u8]) -> Option<(u16, usize)> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let mut lines = bytes.get(..end)?.split(|b| *b == b'\n');
    let status = std::str::from_utf8(lines.next()?.get(9..12)?).ok()?;
    let name = b"content-length:";
    let length = lines.find_map(|line| {
        let (first, value) = line.split_at_checked(name.len())?;
        let value = first.eq_ignore_ascii_case(name).then_some(value)?;
        std::str::from_utf8(value)
            .ok()?
            .trim()
            .parse::<usize>()
            .ok()
    });
    let body = end.checked_add(4)?;
    Some((status.parse().ok()?, body.checked_add(length.unwrap_or(0))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_patched_in_place() {
        let cvu = "0000999100000000000017".to_owned();
        let requests = Requests::new("cdl_test_k", "BENCH_IN", vec![cvu]);
        let mut out = Vec::new();
        let mut order = Order {
            kind: Kind::Post,
            account: 0,
            centavos: 1205,
            id: 77,
        };
        requests.write(&order, &mut out);
        let text = String::from_utf8(out.clone()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/accounts/0000999100000000000017/comprobantes HTTP/1.1"));
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        let right =
            r#"{"voucherTypeCode":"BENCH_IN","amount":12.05,"idExterno":"bench-0000000000000077"}"#;
        assert_eq!(body, right);
        assert!(body.contains(&order.external_id()) && body.contains(&order.amount()));
        order.kind = Kind::Noop;
        requests.write(&order, &mut out);
        let noop = String::from_utf8(out.clone()).unwrap();
        assert!(noop.ends_with(right), "{noop}");
        assert_eq!(noop.len(), text.len());
        order.kind = Kind::Balance;
        requests.write(&order, &mut out);
        assert!(out.starts_with(b"GET /v1/accounts/0000999100000000000017/balance HTTP/1.1\r\n"));
    }

    #[test]
    fn answers_are_measured() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        assert_eq!(head(whole), Some((201, whole.len())));
        assert_eq!(head(&whole[..30]), None);
        assert_eq!(
            head(b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"),
            Some((204, 33))
        );
    }
}
