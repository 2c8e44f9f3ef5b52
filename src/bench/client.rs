//! A very cheap client for HTTP/1.1: requests are prepared and patched, and of an answer only the status and the length
//! are read, and the end of a bulk's.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::draw::{Asked, BenchOrder, ID_DIGITS, Kind};

/// The buffer for an answer that is not a bulk's, in bytes.
const ANSWER_BYTES: usize = 16 * 1024;
/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The text around the items of a bulk.
const BULK_ENDS: (&str, &str) = (r#"{"mode":"independent","items":["#, "]}");

/// The path of the handler that does nothing; it is as long as that of a posting.
pub const EMPTY_PATH: &str = "/bench/empty/000000000000000000/0000000000000000";

/// A request with places to be patched: of the marks below, in their order.
#[derive(Debug)]
struct Template {
    bytes: Vec<u8>,
    places: [Option<usize>; 4],
}

const CVU_MARK: &str = "CCCCCCCCCCCCCCCCCCCCCC";
const OTHER_MARK: &str = "DDDDDDDDDDDDDDDDDDDDDD";
const AMOUNT_MARK: &str = "AA.AA";
const ID_MARK: &str = "IIIIIIIIIIIIIIII";

impl Template {
    fn new(text: String) -> Self {
        let marks = [CVU_MARK, OTHER_MARK, AMOUNT_MARK, ID_MARK];
        Self {
            places: marks.map(|mark| text.find(mark)),
            bytes: text.into_bytes(),
        }
    }

    fn request(method: &str, path: &str, key: &str, body: Option<&str>) -> Self {
        let mut text = head_of(method, path, key);
        if let Some(body) = body {
            text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        } else {
            text.push_str("\r\n");
        }
        Self::new(text)
    }

    /// Appends the text for an order.
    fn write(&self, order: &BenchOrder, cvus: &[String], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let out = out.get_mut(start..).unwrap_or_default();
        let cvu = |account| cvus.get(account).map_or("", String::as_str).as_bytes();
        let [of, to, amount, id] = self.places;
        patch(out, of, cvu(order.account));
        patch(out, to, cvu(order.other));
        digits(out, amount, order.centavos / 100, 2);
        let cents = amount.map(|at| at.saturating_add(3));
        digits(out, cents, order.centavos % 100, 2);
        digits(out, id, order.id, ID_DIGITS);
    }
}

/// The head of a request, without the length of its body.
fn head_of(method: &str, path: &str, key: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\n");
    if method == "POST" {
        text.push_str("content-type: application/json\r\n");
    }
    text
}

/// The requests of a run.
#[derive(Debug)]
pub struct Requests {
    empty: Template,
    post: Template,
    balance: Template,
    transfer: Template,
    bulk_head: String,
    bulk_item: Template,
    cvus: Vec<String>,
    key: String,
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
        let transfer = format!(
            r#"{{"fromCvu":"{CVU_MARK}","to":{{"cvu":"{OTHER_MARK}"}},"amount":{AMOUNT_MARK},"idExterno":"bench-{ID_MARK}"}}"#
        );
        let item = format!(
            r#"{{"cvu":"{CVU_MARK}","voucherTypeCode":"{voucher_type}","amount":{AMOUNT_MARK},"idExterno":"bench-{ID_MARK}"}}"#
        );
        Self {
            empty: Template::request("POST", EMPTY_PATH, key, Some(&body)),
            post: Template::request("POST", &path, key, Some(&body)),
            balance: Template::request("GET", &balance, key, None),
            transfer: Template::request("POST", "/v1/transfers", key, Some(&transfer)),
            bulk_head: head_of("POST", "/v1/comprobantes/batch", key),
            bulk_item: Template::new(item),
            cvus,
            key: key.to_owned(),
        }
    }

    /// The CVU of an account.
    pub fn cvu(&self, account: usize) -> &str {
        self.cvus.get(account).map_or("", String::as_str)
    }

    /// The text of a GET request for a path.
    pub fn get(&self, path: &str) -> String {
        format!("{}\r\n", head_of("GET", path, &self.key))
    }

    /// Writes a request.
    pub fn write(&self, asked: &Asked, out: &mut Vec<u8>) {
        out.clear();
        let template = match asked.kind {
            Kind::Empty => &self.empty,
            Kind::Post => &self.post,
            Kind::Balance => &self.balance,
            Kind::Transfer => &self.transfer,
            Kind::Bulk => return self.write_bulk(&asked.orders, out),
        };
        for order in &asked.orders {
            template.write(order, &self.cvus, out);
        }
    }

    fn write_bulk(&self, items: &[BenchOrder], out: &mut Vec<u8>) {
        let (begin, end) = BULK_ENDS;
        let each = self.bulk_item.bytes.len().saturating_add(1);
        let length = items.len().saturating_mul(each).saturating_sub(1);
        let length = length.saturating_add(begin.len()).saturating_add(end.len());
        out.extend_from_slice(self.bulk_head.as_bytes());
        out.extend_from_slice(format!("content-length: {length}\r\n\r\n{begin}").as_bytes());
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            self.bulk_item.write(item, &self.cvus, out);
        }
        out.extend_from_slice(end.as_bytes());
    }
}

/// A persistent connection.
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
            buffer: vec![0; ANSWER_BYTES],
        })
    }

    /// Sends a request; returns the status and the body of the answer.
    pub async fn ask(&mut self, requests: &Requests, asked: &Asked) -> io::Result<(u16, &[u8])> {
        requests.write(asked, &mut self.out);
        let (status, body, end) = self.exchange().await?;
        Ok((status, self.buffer.get(body..end).unwrap_or_default()))
    }

    /// Sends the text of a request; returns the status and the body.
    pub async fn get(&mut self, request: &str) -> io::Result<(u16, &[u8])> {
        self.out.clear();
        self.out.extend_from_slice(request.as_bytes());
        let (status, body, end) = self.exchange().await?;
        Ok((status, self.buffer.get(body..end).unwrap_or_default()))
    }

    /// Sends the prepared bytes; returns the status and the range of the body.
    async fn exchange(&mut self) -> io::Result<(u16, usize, usize)> {
        self.stream.write_all(&self.out).await?;
        let mut filled = 0_usize;
        let mut known = None;
        loop {
            let room = self.buffer.get_mut(filled..).unwrap_or_default();
            match self.stream.read(room).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled = filled.saturating_add(more),
            }
            known = known.or_else(|| head(self.buffer.get(..filled).unwrap_or_default()));
            match known {
                Some(answer @ (_, _, length)) if filled >= length => return Ok(answer),
                Some((_, _, length)) if length > ANSWER_BYTES_MAX => break,
                Some((_, _, length)) if length > self.buffer.len() => self.buffer.resize(length, 0),
                None if filled >= self.buffer.len() => break,
                Some(_) | None => {}
            }
        }
        Err(io::Error::other("the answer is too large"))
    }
}

/// Whether every one of this many items of a bulk was recorded, by the end of its answer.
pub fn all_recorded(body: &[u8], items: usize) -> bool {
    let end =
        format!(r#""summary":{{"recorded":{items},"replayed":0,"rejected":0,"notPosted":0}}}}"#);
    body.ends_with(end.as_bytes())
}

/// The status and the range of the body; `None` while the head is incomplete.
fn head(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let bytes = bytes.get(..end)?;
    let status = std::str::from_utf8(bytes.get(9..12)?).ok()?;
    let length = value_of(bytes, b"content-length:").and_then(|text| text.parse::<usize>().ok());
    let body = end.checked_add(4)?;
    let end = body.checked_add(length.unwrap_or(0))?;
    Some((status.parse().ok()?, body, end))
}

/// The value of a header; `name` is in lower case, with its colon.
fn value_of<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    head.split(|b| *b == b'\n').skip(1).find_map(|line| {
        let (first, value) = line.split_at_checked(name.len())?;
        let value = first.eq_ignore_ascii_case(name).then_some(value)?;
        Some(std::str::from_utf8(value).ok()?.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(requests: &Requests, kind: Kind, ids: &[u64]) -> String {
        let order = |id: &u64| BenchOrder {
            kind,
            account: 0,
            other: 1,
            centavos: 1205,
            id: *id,
        };
        let orders = ids.iter().map(order).collect();
        let mut out = b"what was asked before".to_vec();
        requests.write(&Asked { kind, orders }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_are_patched_in_place() {
        let cvus = ["0000999100000000000017", "0000999100000000000024"].map(str::to_owned);
        let requests = Requests::new("cdl_test_k", "BENCH_IN", cvus.to_vec());
        let post = text(&requests, Kind::Post, &[77]);
        let (head, body) = post.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/accounts/0000999100000000000017/comprobantes HTTP/1.1"));
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        let right =
            r#"{"voucherTypeCode":"BENCH_IN","amount":12.05,"idExterno":"bench-0000000000000077"}"#;
        assert_eq!(body, right);
        let empty = text(&requests, Kind::Empty, &[77]);
        assert!(empty.ends_with(right), "{empty}");
        assert_eq!(empty.len(), post.len());
        let balance = text(&requests, Kind::Balance, &[77]);
        assert!(
            balance.starts_with("GET /v1/accounts/0000999100000000000017/balance HTTP/1.1\r\n")
        );
        let transfer = text(&requests, Kind::Transfer, &[77]);
        assert!(transfer.ends_with(
            r#"{"fromCvu":"0000999100000000000017","to":{"cvu":"0000999100000000000024"},"amount":12.05,"idExterno":"bench-0000000000000077"}"#
        ), "{transfer}");
    }

    #[test]
    fn a_bulk_has_all_its_items_and_the_right_length() {
        let requests = Requests::new("k", "BENCH_IN", vec!["0000999100000000000017".to_owned()]);
        let bulk = text(&requests, Kind::Bulk, &[4, 5]);
        let (head, body) = bulk.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/comprobantes/batch HTTP/1.1\r\n"));
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["mode"], "independent");
        let ids: Vec<&str> = body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["idExterno"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["bench-0000000000000004", "bench-0000000000000005"]);
        assert_eq!(body["items"][1]["amount"].to_string(), "12.05");
    }

    #[test]
    fn a_bulk_is_recorded_as_a_whole() {
        let body = br#"{"results":[{},{}],"summary":{"recorded":2,"replayed":0,"rejected":0,"notPosted":0}}"#;
        assert!(all_recorded(body, 2) && !all_recorded(body, 3) && !all_recorded(b"{}", 2));
    }

    #[test]
    fn answers_are_measured() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        let end = whole.len();
        assert_eq!(head(whole), Some((201, end - 2, end)));
        assert_eq!(head(&whole[..30]), None);
        assert_eq!(
            head(b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"),
            Some((204, 33, 33))
        );
    }
}
