//! Verifies sealed days: proofs and days as `docs/sealed-days.md` describes them.
//!
//! **Independent.** Nothing here uses a type or a function of the service, so a mistake there is found here. SHA-256,
//! Ed25519, base64 and JSON come from libraries.
//!
//! **Order.** The form of the file, the id of the key, the signature, the form of the signed text, the date, the books, the
//! path; then, over all files, whether the key is the right one, and the order of the days. The first thing that is wrong
//! is reported.
//!
//! **Bounds.** A file has at most [`FILE_BYTES_MAX`] bytes, a path at most [`PATH_STEPS_MAX`] steps, a number is at most
//! [`NUMBER_MAX`], an amount fits in 128 bits. Every file is somebody else's: nothing panics.

use std::collections::HashSet;
use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The most bytes of a file: 1 MiB.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;
/// The most steps of a path: no tree has more than 2^64 leaves.
pub(crate) const PATH_STEPS_MAX: usize = 64;
/// The largest number that every reader of JSON reads exactly: 2^53 − 1.
pub(crate) const NUMBER_MAX: u64 = 9_007_199_254_740_991;

const LEAF: &[u8] = b"caudal/day/leaf/1\n";
const NODE: &[u8] = b"caudal/day/node/1\n";
/// The hash of a tree without leaves is that of this text.
const EMPTY: &[u8] = b"caudal/day/empty/1\n";
/// The accounts of the books in their order, and whether each grows by debits.
const BOOKS: [(&str, bool); 11] = [
    ("bank", true),
    ("clients", false),
    ("suspense", false),
    ("unclassified", false),
    ("fee_tax", false),
    ("fees", false),
    ("interest", false),
    ("adjustments", false),
    ("bank_fees", true),
    ("bank_taxes", true),
    ("psp_funds", false),
];

/// Why a file is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It cannot be read: why.
    File(String),
    /// A part of the file, or of the checkpoint in it, is not as the format has it: which.
    Form(String),
    /// The key is not its own, not the signer's, or neither given nor named by an earlier day.
    Key,
    /// The signature is wrong.
    Signature,
    /// The file and the checkpoint have different dates.
    Date,
    /// The books do not add up, or are not those of the totals.
    Books,
    /// A sum is negative.
    Negative,
    /// The path leads elsewhere.
    Path,
    /// The signed total is another one.
    Sums,
    /// The order of two checkpoints is wrong.
    Previous,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::File(why) => return write!(f, "refused (file: {why}): it cannot be read"),
            Self::Form(place) => {
                let why = "it is damaged, or it is not a proof or a day";
                return write!(f, "refused (form: {place}): {why}");
            }
            Self::Key => {
                "(key): its key was changed, did not sign it, or is not the key that was given or that an earlier day names"
            }
            Self::Signature => {
                "(signature): the checkpoint is not what the key signed: one of them was changed"
            }
            Self::Date => "(date): the file and its checkpoint have different dates",
            Self::Books => {
                "(books): the signed books do not add up, or differ from the signed totals"
            }
            Self::Negative => {
                "(negative): a sum is negative, which could hide that clients have more than the total"
            }
            Self::Path => {
                "(path): the path does not lead from this balance to the signed root: it is not part of the signed total"
            }
            Self::Sums => "(sums): the signed total is not the sum of the accounts",
            Self::Previous => {
                "(previous): it does not name the checkpoint of the day before, or another one of its day is signed, too: \
                 two histories"
            }
        };
        write!(f, "refused {why}")
    }
}

fn malformed(place: impl Into<String>) -> Refusal {
    Refusal::Form(place.into())
}

/// A key by which signatures are verified, written `<name>+<id>+<base64>`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct VerifierKey {
    name: String,
    id: [u8; 4],
    public: [u8; 32],
}

impl VerifierKey {
    /// Reads a key; `None` unless it is an Ed25519 key that has the id of its name and bytes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('+')?;
        let (id, key) = rest.split_once('+')?;
        let key: [u8; 33] = base64(key)?;
        let (algorithm, public) = key.split_first_chunk::<1>()?;
        let public: [u8; 32] = public.try_into().ok()?;
        let hash = sha256(&[name.as_bytes(), b"\n", &key]);
        let own = *hash.first_chunk::<4>()?;
        let is_right = key_name(name).is_some()
            && algorithm == &[1]
            && format!("{:08x}", u32::from_be_bytes(own)) == id;
        let name = name.to_owned();
        let id = own;
        is_right.then_some(Self { name, id, public })
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, public } = self;
        let key = STANDARD.encode([&[1], public.as_slice()].concat());
        write!(f, "{name}+{:08x}+{key}", u32::from_be_bytes(*id))
    }
}

/// Returns the signed text of a note, with its last line end.
///
/// # Errors
/// When it is no note with one signature, of another key, or the signature is wrong.
pub(crate) fn open_note<'a>(note: &'a str, key: &VerifierKey) -> Result<&'a str, Refusal> {
    let (text, name, signature) = note_parts(note).ok_or_else(|| malformed("checkpoint"))?;
    let (id, signature) = signature.split_at(4);
    if name != key.name || id != key.id {
        return Err(Refusal::Key);
    }
    if is_signature(&key.public, text.as_bytes(), signature) {
        Ok(text)
    } else {
        Err(Refusal::Signature)
    }
}

/// Whether an Ed25519 signature is that of a key over a text.
pub(crate) fn is_signature(public: &[u8], text: &[u8], signature: &[u8]) -> bool {
    let public = UnparsedPublicKey::new(&ED25519, public);
    public.verify(text, signature).is_ok()
}

/// The text of a note, the name of its signer, and the key's id with the signature.
fn note_parts(note: &str) -> Option<(&str, &str, [u8; 68])> {
    let end = note.rfind("\n\n")?.checked_add(1)?;
    let (text, line) = note.split_at_checked(end)?;
    let line = line.strip_prefix("\n\u{2014} ")?.strip_suffix('\n')?;
    let (name, signature) = line.split_once(' ')?;
    Some((text, key_name(name)?, base64(signature)?))
}

/// A hash with the sums below it, in centavos.
#[derive(Clone, Copy, Debug)]
struct Node {
    hash: [u8; 32],
    available: i128,
    held: i128,
}

impl Node {
    /// The parent of two; `None` if a sum leaves 128 bits.
    fn join(left: &Self, right: &Self) -> Option<Self> {
        let mut bytes = NODE.to_vec();
        for child in [left, right] {
            bytes.extend(child.hash);
            bytes.extend(child.available.to_be_bytes());
            bytes.extend(child.held.to_be_bytes());
        }
        Some(Self {
            hash: sha256(&[&bytes]),
            available: left.available.checked_add(right.available)?,
            held: left.held.checked_add(right.held)?,
        })
    }
}

/// The account of a proof.
#[derive(Clone, Debug)]
struct Leaf {
    cvu: String,
    sequence: u64,
    node: Node,
}

/// A step up a path: whether the sibling is on the left, and the sibling.
type Step = (bool, Node);

/// What the bank had, by the checkpoint.
#[derive(Clone, Debug)]
enum Bank {
    Known(i128),
    Pending,
    None,
}

/// The signed text of a day.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    /// Whose it is: `caudal/<tenant>/<live|test>`.
    pub(crate) origin: String,
    /// The day, `YYYY-MM-DD`.
    pub(crate) date: String,
    size: u64,
    root: [u8; 32],
    available: i128,
    held: i128,
    suspense: i128,
    books: Vec<(&'static str, i128)>,
    vouchers: u64,
    events: u64,
    bank: Bank,
    /// The key that signs the days after it, if it is another.
    next_key: Option<VerifierKey>,
    previous: Option<[u8; 32]>,
    digest: [u8; 32],
}

/// The lines of a checkpoint that are still to be read.
struct Lines<'a> {
    rest: &'a str,
    /// The number of the next line, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    fn malformed(&self) -> Refusal {
        malformed(format!("line {} of the checkpoint", self.number))
    }

    /// Reads the value of the next line, which begins with a word.
    fn take<T>(&mut self, word: &str, read: impl Fn(&'a str) -> Option<T>) -> Result<T, Refusal> {
        let line = self.rest.split_once('\n');
        let found = line.and_then(|(line, rest)| Some((read(line.strip_prefix(word)?)?, rest)));
        let (value, rest) = found.ok_or_else(|| self.malformed())?;
        self.rest = rest;
        self.number += 1;
        Ok(value)
    }
}

impl Checkpoint {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let mut lines = Lines {
            rest: text,
            number: 1,
        };
        let origin = lines.take("", key_name)?.to_owned();
        let size = lines.take("", number)?;
        let root = lines.take("", base64::<32>)?;
        let date = lines.take("date ", day)?.to_owned();
        let available = lines.take("available ", amount)?;
        let held = lines.take("held ", amount)?;
        let suspense = lines.take("suspense ", amount)?;
        let mut books = Vec::with_capacity(BOOKS.len());
        for (account, _) in BOOKS {
            books.push((account, lines.take(&format!("book {account} "), amount)?));
        }
        let vouchers = lines.take("vouchers ", number)?;
        let events = lines.take("events ", number)?;
        let bank = lines.take("bank ", bank)?;
        while lines.rest.starts_with("late ") {
            lines.take("late ", late)?;
        }
        let mut next_key = None;
        if lines.rest.starts_with("key ") {
            next_key = Some(lines.take("key ", VerifierKey::parse)?);
        }
        let previous = lines.take("previous ", previous)?;
        if !lines.rest.is_empty() {
            return Err(lines.malformed());
        }
        Ok(Self {
            origin,
            date,
            size,
            root,
            available,
            held,
            suspense,
            books,
            vouchers,
            events,
            bank,
            next_key,
            previous,
            digest: sha256(&[text.as_bytes()]),
        })
    }

    /// Whether the books add up to zero and have the clients' money and suspense as the checkpoint does.
    fn books_agree(&self) -> bool {
        let of = |name| self.books.iter().find(|(account, _)| *account == name);
        let has = |name, sum: Option<i128>| of(name).map(|(_, balance)| *balance) == sum;
        let signed = self.books.iter().zip(BOOKS);
        let zero = signed.map(|((_, balance), (_, by_debits))| {
            if by_debits {
                Some(*balance)
            } else {
                balance.checked_neg()
            }
        });
        let zero = zero.reduce(|sum, more| sum?.checked_add(more?)).flatten();
        zero == Some(0)
            && has("clients", self.available.checked_add(self.held))
            && has("suspense", Some(self.suspense))
    }

    /// Whether the root is that of a tree without leaves.
    fn is_empty_tree(&self) -> bool {
        self.root == sha256(&[EMPTY]) && self.available == 0 && self.held == 0
    }
}

/// A file that was verified.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// What was signed.
    pub(crate) checkpoint: Checkpoint,
    leaf: Option<Leaf>,
    /// The key that signed it, which is the one in the file.
    signer: VerifierKey,
    /// How that key is known.
    trust: Trust,
}

/// How the key of a file is known.
#[derive(Clone, Copy, Debug)]
enum Trust {
    /// Only from the file.
    InFile,
    /// It was given.
    Given,
    /// A verified earlier day names it.
    Named,
}

impl Verified {
    /// The key that signs the days after it.
    fn next_key(&self) -> &VerifierKey {
        self.checkpoint.next_key.as_ref().unwrap_or(&self.signer)
    }
}

/// Verifies the content of a file with the key in the file; [`compare`] decides whether that key is the right one.
pub(crate) fn verify(bytes: &[u8]) -> Result<Verified, Refusal> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(malformed(format!("more than {FILE_BYTES_MAX} bytes")));
    }
    let file: Value = serde_json::from_slice(bytes).map_err(|_| malformed("JSON"))?;
    let text = |field| file.get(field).and_then(Value::as_str);
    let date = text("date")
        .and_then(day)
        .ok_or_else(|| malformed("date"))?;
    let note = text("checkpoint").ok_or_else(|| malformed("checkpoint"))?;
    let own = text("key").ok_or_else(|| malformed("key"))?;
    let proof = match (file.get("leaf"), file.get("path")) {
        (None, None) => None,
        (leaf, path) => Some((read_leaf(leaf)?, read_path(path)?)),
    };
    let own = VerifierKey::parse(own).ok_or(Refusal::Key)?;
    let checkpoint = Checkpoint::parse(open_note(note, &own)?)?;
    let next = checkpoint.next_key.as_ref();
    if checkpoint.origin != own.name || next.is_some_and(|next| next.name != own.name) {
        return Err(Refusal::Key);
    }
    if checkpoint.date != date {
        return Err(Refusal::Date);
    }
    if !checkpoint.books_agree() {
        return Err(Refusal::Books);
    }
    if checkpoint.available < 0 || checkpoint.held < 0 {
        return Err(Refusal::Negative);
    }
    match &proof {
        Some((leaf, path)) => included(&checkpoint, leaf, path)?,
        None if checkpoint.size == 0 && !checkpoint.is_empty_tree() => return Err(Refusal::Sums),
        None => {}
    }
    Ok(Verified {
        checkpoint,
        leaf: proof.map(|(leaf, _)| leaf),
        signer: own,
        trust: Trust::InFile,
    })
}

/// Reads a text of an object, which a refusal calls `place`.
fn field<'a, T>(
    object: &'a Value,
    place: &str,
    name: &str,
    read: impl Fn(&'a str) -> Option<T>,
) -> Result<T, Refusal> {
    let text = object.get(name).and_then(Value::as_str);
    text.and_then(read)
        .ok_or_else(|| malformed(format!("{place}.{name}")))
}

fn read_leaf(leaf: Option<&Value>) -> Result<Leaf, Refusal> {
    let (leaf, place) = (leaf.unwrap_or(&Value::Null), "leaf");
    let salt = field(leaf, place, "salt", base64::<32>)?;
    let cvu = field(leaf, place, "cvu", cvu)?;
    let available = field(leaf, place, "available", amount)?;
    let held = field(leaf, place, "held", amount)?;
    let sequence = leaf.get("sequence").and_then(Value::as_u64);
    let sequence = sequence.filter(|it| *it <= NUMBER_MAX);
    let sequence = sequence.ok_or_else(|| malformed("leaf.sequence"))?;
    let chain = field(leaf, place, "chain", base64::<32>)?;
    let hash = sha256(&[
        LEAF,
        &salt,
        cvu.as_bytes(),
        &available.to_be_bytes(),
        &held.to_be_bytes(),
        &sequence.to_be_bytes(),
        &chain,
    ]);
    Ok(Leaf {
        cvu: cvu.to_owned(),
        sequence,
        node: Node {
            hash,
            available,
            held,
        },
    })
}

fn read_path(path: Option<&Value>) -> Result<Vec<Step>, Refusal> {
    let steps = path.and_then(Value::as_array);
    let steps = steps.ok_or_else(|| malformed("path"))?;
    if steps.len() > PATH_STEPS_MAX {
        return Err(malformed(format!("more than {PATH_STEPS_MAX} steps")));
    }
    let is_left = |side: &str| match side {
        "left" => Some(true),
        "right" => Some(false),
        _ => None,
    };
    let read = |(at, step): (usize, &Value)| {
        let place = format!("path[{at}]");
        let is_left = field(step, &place, "side", is_left)?;
        let node = Node {
            hash: field(step, &place, "hash", base64::<32>)?,
            available: field(step, &place, "available", amount)?,
            held: field(step, &place, "held", amount)?,
        };
        Ok((is_left, node))
    };
    steps.iter().enumerate().map(read).collect()
}

/// Whether these steps lead from a leaf to the root of a tree of this size.
fn has_shape(path: &[Step], size: u64) -> bool {
    let mut size = size;
    for (is_left, _) in path.iter().rev() {
        if size < 2 {
            return false;
        }
        // The left subtree has the largest power of two that is smaller than the size.
        let left = 1_u64 << (size - 1).ilog2();
        size = if *is_left { size - left } else { left };
    }
    size == 1
}

/// Whether an account is part of the signed total.
fn included(day: &Checkpoint, leaf: &Leaf, path: &[Step]) -> Result<(), Refusal> {
    if !has_shape(path, day.size) {
        return Err(Refusal::Path);
    }
    let is_negative = |node: &Node| node.available < 0 || node.held < 0;
    if is_negative(&leaf.node) || path.iter().any(|(_, node)| is_negative(node)) {
        return Err(Refusal::Negative);
    }
    let mut node = leaf.node;
    for (is_left, sibling) in path {
        let (left, right) = if *is_left {
            (sibling, &node)
        } else {
            (&node, sibling)
        };
        node = Node::join(left, right).ok_or(Refusal::Sums)?;
    }
    if node.hash != day.root {
        return Err(Refusal::Path);
    }
    if (node.available, node.held) != (day.available, day.held) {
        return Err(Refusal::Sums);
    }
    Ok(())
}

/// A file by its name, and what was found.
pub(crate) type Found = (String, Result<Verified, Refusal>);

/// Compares the checkpoints of each realm in the order of their days, and refuses those that do not follow each other. If a
/// key is given, it refuses those that are signed with another one, unless a verified earlier day names it.
/// Returns what is known of their order, line by line.
pub(crate) fn compare(files: &mut [Found], key: Option<&VerifierKey>) -> Vec<String> {
    let place = |found: &&mut Found| {
        let day = found.1.as_ref().ok().map(|it| &it.checkpoint);
        day.map(|day| (day.origin.clone(), day.date.clone()))
    };
    let mut files: Vec<_> = files
        .iter_mut()
        .filter(|(_, found)| found.is_ok())
        .collect();
    files.sort_by_key(place);
    let (mut lines, mut last) = (Vec::new(), None::<Verified>);
    let mut named = HashSet::new();
    for (_, found) in files {
        let Ok(verified) = found else { continue };
        let trust = match key {
            None => Some(Trust::InFile),
            Some(key) if *key == verified.signer => Some(Trust::Given),
            Some(_) => named.contains(&verified.signer).then_some(Trust::Named),
        };
        let order = trust.ok_or(Refusal::Key).and_then(|trust| {
            verified.trust = trust;
            last.as_ref()
                .map_or(Ok(None), |last| follows(last, verified))
        });
        match order {
            Ok(line) => lines.extend(line),
            Err(why) => {
                *found = Err(why);
                continue;
            }
        }
        named.insert(verified.next_key().clone());
        last = Some(verified.clone());
    }
    lines
}

/// Compares two verified files, of which the first is not of a later day of the realm. Returns what is known of their order.
fn follows(earlier: &Verified, later: &Verified) -> Result<Option<String>, Refusal> {
    let (first, second) = (&earlier.checkpoint, &later.checkpoint);
    if first.origin != second.origin {
        return Ok(None);
    }
    let (origin, one, two) = (&first.origin, &first.date, &second.date);
    if first.digest == second.digest {
        return Ok(None);
    }
    if one == two {
        return Err(Refusal::Previous);
    }
    if second.previous == Some(first.digest) {
        if later.signer != *earlier.next_key() {
            return Err(Refusal::Key);
        }
        return Ok(Some(format!("{origin}: {two} follows {one}")));
    }
    let days = day_number(two).zip(day_number(one));
    if days.is_some_and(|(two, one)| two - one == 1) {
        return Err(Refusal::Previous);
    }
    let between = format!(
        "{origin}: the days between {one} and {two} were not given: their order was not verified"
    );
    Ok(Some(between))
}

impl Verified {
    /// What was verified, line by line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let day = &self.checkpoint;
        let kind = if self.leaf.is_some() { "proof" } else { "day" };
        let key = match self.trust {
            Trust::Given => "that was given",
            Trust::Named => "that an earlier day names",
            Trust::InFile => {
                "in the file; THE KEY ITSELF WAS NOT VERIFIED: give the key that the PSP publishes"
            }
        };
        let (available, held) = (pesos(day.available), pesos(day.held));
        let total = format!(
            "{available} available and {held} held in {} accounts",
            day.size
        );
        let mut lines = vec![format!(
            "verified: a {kind} of {} by {}",
            day.date, day.origin
        )];
        lines.push(format!("signature: verified with the key {key}"));
        if let Some(leaf) = &self.leaf {
            let (available, held) = (pesos(leaf.node.available), pesos(leaf.node.held));
            let (cvu, sequence) = (&leaf.cvu, leaf.sequence);
            lines.push(format!(
                "balance: CVU {cvu} has {available} available and {held} held after its voucher {sequence}, \
                 and is part of the total"
            ));
        }
        lines.push(format!("total: {total}"));
        lines.push(match day.bank {
            Bank::Known(balance) => format!("bank: {}", pesos(balance)),
            Bank::Pending => "bank: pending, a later day has it".to_owned(),
            Bank::None => "bank: none".to_owned(),
        });
        let books = day.books.iter();
        let books: Vec<_> = books
            .map(|(name, sum)| format!("{name} {}", pesos(*sum)))
            .collect();
        lines.push(format!("books: {}; they add up", books.join(", ")));
        let (vouchers, events) = (day.vouchers, day.events);
        lines.push(format!("counts: {vouchers} vouchers, {events} events"));
        let next = day.next_key.iter();
        lines.extend(next.map(|key| format!("key: the days after it are signed with {key}")));
        lines
    }
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, &parts.concat()).as_ref());
    hash
}

/// Standard base64 of exactly this many bytes, with padding and without spare bits.
fn base64<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// A name without spaces and `+`, in visible ASCII.
fn key_name(text: &str) -> Option<&str> {
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic() && b != b'+');
    (is_plain && !text.is_empty()).then_some(text)
}

fn cvu(text: &str) -> Option<&str> {
    let is_plain = text.len() == 22 && text.bytes().all(|b| b.is_ascii_digit());
    is_plain.then_some(text)
}

/// Digits without leading zeros.
fn digits(text: &str) -> Option<&str> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    (is_plain && (text == "0" || !text.starts_with('0'))).then_some(text)
}

fn number(text: &str) -> Option<u64> {
    let number = digits(text)?.parse().ok();
    number.filter(|it| *it <= NUMBER_MAX)
}

/// Pesos with two decimals, as centavos.
fn amount(text: &str) -> Option<i128> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (pesos, cents) = rest.split_once('.')?;
    let is_plain = cents.len() == 2 && cents.bytes().all(|b| b.is_ascii_digit());
    let centavos = format!("{sign}{}{cents}", digits(pesos)?).parse().ok()?;
    (is_plain && text != "-0.00").then_some(centavos)
}

fn pesos(centavos: i128) -> String {
    let sign = if centavos < 0 { "-" } else { "" };
    let centavos = centavos.unsigned_abs();
    format!("{sign}{}.{:02}", centavos / 100, centavos % 100)
}

/// A day `YYYY-MM-DD` that exists.
fn day(text: &str) -> Option<&str> {
    day_number(text).map(|_| text)
}

/// The number of a day, so that the day after has the next one.
fn day_number(text: &str) -> Option<u32> {
    let is_plain = |(at, b): (usize, u8)| match at {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    };
    if text.len() != 10 || !text.bytes().enumerate().all(is_plain) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = if is_leap { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let last = *months.get(before)?;
    if year == 0 || !(1..=last).contains(&day) {
        return None;
    }
    let past = year.checked_sub(1)?;
    let leap_days = past / 4 - past / 100 + past / 400;
    let of_year: u32 = months.iter().take(before).sum();
    Some(past * 365 + leap_days + of_year + day)
}

/// `<balance> <base64>`, `pending` or `none`.
fn bank(text: &str) -> Option<Bank> {
    match text {
        "pending" => Some(Bank::Pending),
        "none" => Some(Bank::None),
        known => {
            let (balance, hash) = known.split_once(' ')?;
            base64::<32>(hash)?;
            amount(balance).map(Bank::Known)
        }
    }
}

/// `<day> <balance> <base64>`.
fn late(text: &str) -> Option<()> {
    let (date, rest) = text.split_once(' ')?;
    let (balance, hash) = rest.split_once(' ')?;
    day(date)?;
    amount(balance)?;
    base64::<32>(hash).map(|_| ())
}

fn previous(text: &str) -> Option<Option<[u8; 32]>> {
    match text {
        "none" => Some(None),
        hash => base64(hash).map(Some),
    }
}
