//! API keys: their format, their creation, and how a request is identified by one.
//!
//! `cdl_live_<id>_<secret><check>`: 13 characters of id, of which the first three are the shard in lower-case hexadecimal
//! digits, so that a load balancer finds the shard by the beginning of a key; 43 of secret (256 bits, base64url), 6 of
//! check (CRC-32), so that a typing error is refused before anything is looked up. A key of another shard is unknown
//! here, like any that was never issued. Only the
//! HMAC-SHA-256 of the secret under the server's pepper is kept: with 256 random bits a slow hash
//! would protect nothing and would be a lever for denial of service. While the pepper is replaced there are several: keys
//! are made under the newest and checked under each.
//!
//! The credentials of the people who run the service are created and stored in the same way, and begin with `cdl_op_`;
//! their ids have 10 characters, and no shard.

mod root;

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_actors::engine::Engine;
use caudal_actors::platform::KnownKey;
use caudal_ledger::chain::Digest;
use caudal_ledger::ids::{PepperId, RealmId, Shard};
use caudal_ledger::people::{Credential, Person};
use caudal_ledger::tenants::{ApiKey, Mode};
use caudal_ledger::time::Timestamp;
use secrecy::SecretString;

use crate::secret_lines::{lines, newest};

pub use root::RootKey;

const ID_CHARS: usize = 10;
/// The characters of the shard, which begin the id of a tenant's key.
const SHARD_CHARS: usize = 3;
const SECRET_CHARS: usize = 43;
const CHECK_CHARS: usize = 6;
/// The word in place of the mode in the credential of a person.
const OPERATOR: &str = "op";
const ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The key and realm that a request speaks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The realm that the key opens.
    pub realm: RealmId,
    /// Whether the key opens the live or the test realm.
    pub mode: Mode,
    /// The id of the tenant.
    pub tenant: String,
    /// The key's public id.
    pub key: String,
    /// Whether CUITs with a wrong check digit pass (test realm, by the tenant's policy).
    pub relaxed_cuit: bool,
}

impl Identity {
    /// The identity behind a key.
    pub fn of(known: &KnownKey) -> Self {
        let (key, tenant) = (&known.key, &known.tenant);
        Self {
            realm: tenant.realm(key.mode),
            mode: key.mode,
            tenant: tenant.id.clone(),
            key: key.id.clone(),
            relaxed_cuit: key.mode == Mode::Test && tenant.policy.relaxed_test_cuit,
        }
    }
}

/// A pepper, ready for use.
struct Pepper {
    key: hmac::Key,
    id: PepperId,
}

impl Pepper {
    fn new(text: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let tag = hmac::sign(&key, b"caudal pepper id");
        let mut id = [0; 4];
        id.iter_mut()
            .zip(tag.as_ref())
            .for_each(|(b, tag)| *b = *tag);
        let id = PepperId(u32::from_be_bytes(id));
        Self { key, id }
    }

    fn mac(&self, secret: &str) -> Digest {
        let tag = hmac::sign(&self.key, secret.as_bytes());
        #[expect(
            clippy::expect_used,
            reason = "HMAC-SHA-256 gives 32 bytes; zeros instead would fit any secret"
        )]
        let mac = tag.as_ref().try_into().expect("a tag of 32 bytes");
        Digest(mac)
    }
}

/// Creates keys under the newest pepper, and checks them under each.
pub struct Keyring {
    newest: Pepper,
    older: Vec<Pepper>,
    shard: Shard,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keyring")
    }
}

/// A new key: its text is shown once, the record is stored.
pub struct Issued {
    /// The whole key, which is shown only this once.
    pub text: String,
    /// The stored record.
    pub record: ApiKey,
}

impl Keyring {
    /// A keyring of a shard under peppers of any length, one a line; 32 random bytes are recommended.
    pub fn new(peppers: &SecretString, shard: Shard) -> Self {
        Self {
            newest: Pepper::new(newest(peppers)),
            older: lines(peppers).skip(1).map(Pepper::new).collect(),
            shard,
        }
    }

    /// How many older peppers there are.
    pub const fn older_peppers(&self) -> usize {
        self.older.len()
    }

    /// Whether what was made under a pepper needs an older one. Where that was not recorded, it may.
    pub fn needs_older(&self, pepper: Option<PepperId>) -> bool {
        !self.older.is_empty() && pepper != Some(self.newest.id)
    }

    /// The shard whose keys it issues.
    pub const fn shard(&self) -> Shard {
        self.shard
    }

    /// A new secret under a new id that begins with `prefix`: returns the id, the whole text, and the stored digest.
    fn make(&self, kind: &str, prefix: &str) -> anyhow::Result<(String, String, Digest)> {
        let mut random = [0_u8; 32 + ID_CHARS];
        rand::fill(&mut random).map_err(|_| anyhow::anyhow!("no randomness"))?;
        let (secret, id) = random.split_at(32);
        let letter = |byte: &u8| {
            let at = usize::from(byte & 31);
            #[expect(clippy::expect_used, reason = "five bits are a place among 32 letters")]
            let letter = ID_ALPHABET.get(at).expect("a letter for five bits");
            char::from(*letter)
        };
        let id: String = prefix.chars().chain(id.iter().map(letter)).collect();
        let secret = URL_SAFE_NO_PAD.encode(secret);
        let body = format!("cdl_{kind}_{id}_{secret}");
        let text = format!("{body}{}", check(&body));
        Ok((id, text, self.newest.mac(&secret)))
    }

    /// Creates a credential for a person: returns its text, which is shown only this once, and the stored part.
    ///
    /// # Errors
    /// When the machine provides no randomness.
    pub fn credential(&self) -> anyhow::Result<(String, Credential)> {
        let (id, text, mac) = self.make(OPERATOR, "")?;
        let pepper = Some(self.newest.id);
        Ok((text, Credential { id, mac, pepper }))
    }

    /// The person with this credential; `None` for every reason why nobody has it.
    pub fn person(&self, text: &str, engine: &Engine) -> Option<Person> {
        let (kind, id, secret) = parse(text)?;
        if kind != OPERATOR {
            return None;
        }
        let people = engine.operators().staff().people;
        let known = people.with_credential(id);
        // An unknown id costs the same comparison as a known one.
        let kept = known.map_or(Digest::default(), |person| person.credential.mac);
        let same = self.fits(secret, &kept);
        known.filter(|_| same).cloned()
    }

    /// Creates a key for a tenant.
    ///
    /// # Errors
    /// When the machine provides no randomness.
    pub fn issue(&self, tenant: &str, mode: Mode, label: Option<String>) -> anyhow::Result<Issued> {
        let (id, text, mac) = self.make(mode.as_str(), &self.shard.to_string())?;
        let record = ApiKey {
            id,
            tenant: tenant.to_owned(),
            mode,
            label,
            mac,
            pepper: Some(self.newest.id),
            created_at: Timestamp::default(),
            ends_at: None,
            revoked: false,
            scopes: None,
            networks: Vec::new(),
            lifetime: None,
        };
        Ok(Issued { text, record })
    }

    /// Whether a secret has this digest under one of the peppers.
    fn fits(&self, secret: &str, kept: &Digest) -> bool {
        let mut peppers = std::iter::once(&self.newest).chain(&self.older);
        peppers.any(|pepper| verify_slices_are_equal(&pepper.mac(secret).0, &kept.0).is_ok())
    }

    /// The identity behind a key; `None` for every reason why there is none.
    pub fn identify(&self, text: &str, engine: &Engine) -> Option<Identity> {
        self.recognise(text, engine)
            .map(|known| Identity::of(&known))
    }

    /// Looks up a key and counts it as used; `None` for every reason why it does not work.
    pub fn recognise(&self, text: &str, engine: &Engine) -> Option<Arc<KnownKey>> {
        let (kind, id, secret) = parse(text)?;
        let mode = mode(kind)?;
        let known = engine.key(id);
        // An unknown id costs the same comparison as a known one.
        let kept = known
            .as_ref()
            .map_or(Digest::default(), |known| known.key.mac);
        let same = self.fits(secret, &kept);
        let known = known.filter(|_| same)?;
        let now = engine.now();
        let works = known.key.mode == mode && known.key.works_at(now);
        works.then(|| {
            known.used.note(now);
            known
        })
    }
}

/// The part of a key that may be shown again: everything before the secret.
pub fn prefix(key: &ApiKey) -> String {
    format!("cdl_{}_{}", key.mode.as_str(), key.id)
}

/// The public id in the text of an API key; `None` if the text cannot be one.
pub fn id_of(text: &str) -> Option<&str> {
    let (kind, id, _) = parse(text)?;
    mode(kind).map(|_| id)
}

fn check(body: &str) -> String {
    let crc = crc32fast::hash(body.as_bytes());
    URL_SAFE_NO_PAD.encode(crc.to_be_bytes())
}

/// The mode named in an API key.
fn mode(kind: &str) -> Option<Mode> {
    match kind {
        "live" => Some(Mode::Live),
        "test" => Some(Mode::Test),
        _ => None,
    }
}

/// Splits a key into its kind, id and secret; `None` if it cannot be one of ours.
fn parse(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.strip_prefix("cdl_")?;
    let (kind, rest) = rest.split_once('_')?;
    let (id, secret_and_check) = rest.split_once('_')?;
    let chars = match kind {
        OPERATOR => ID_CHARS,
        _ => ID_CHARS.saturating_add(SHARD_CHARS),
    };
    if !text.is_ascii() || id.len() != chars {
        return None;
    }
    if secret_and_check.len() != SECRET_CHARS.saturating_add(CHECK_CHARS) {
        return None;
    }
    let (secret, sum) = secret_and_check.split_at_checked(SECRET_CHARS)?;
    let body = text.get(..text.len().checked_sub(CHECK_CHARS)?)?;
    (check(body) == sum).then_some((kind, id, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_any_changed_character_is_refused() {
        let ring = Keyring::new(&"pepper".into(), Shard::default());
        let issued = ring.issue("tnt_1", Mode::Test, None).unwrap();
        let (kind, id, secret) = parse(&issued.text).unwrap();
        assert_eq!((kind, id), ("test", issued.record.id.as_str()));
        for (peppers, fits, needs_older) in [
            ("pepper", true, false),
            ("other", false, false),
            ("newer\n pepper \n", true, true),
            ("pepper\nolder", true, false),
            ("1\n2\n3\n4\npepper", false, true),
        ] {
            let ring = Keyring::new(&peppers.into(), Shard::default());
            assert_eq!(ring.fits(secret, &issued.record.mac), fits, "{peppers}");
            let needs = ring.needs_older(issued.record.pepper);
            assert_eq!(needs, needs_older, "{peppers}");
        }
        for at in 0..issued.text.len() {
            let mut bytes = issued.text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(parse(&String::from_utf8(bytes).unwrap()), None);
        }
        for text in [
            "",
            "cdl_live_",
            "cdl_live_a_b",
            "cdl_other_aaaaaaaaaa_",
            "ñ",
        ] {
            assert_eq!(parse(text), None);
        }
    }

    #[test]
    fn a_key_begins_with_its_shard_and_a_credential_with_none() {
        for (number, begins) in [
            (0, "cdl_test_000"),
            (26, "cdl_test_01a"),
            (4095, "cdl_test_fff"),
        ] {
            let ring = Keyring::new(&"pepper".into(), Shard::new(number).unwrap());
            let issued = ring.issue("tnt_1", Mode::Test, None).unwrap();
            assert!(issued.text.starts_with(begins), "{}", issued.text);
            assert_eq!(id_of(&issued.text), Some(issued.record.id.as_str()));
            assert!(issued.text.starts_with(&prefix(&issued.record)));
            let (text, credential) = ring.credential().unwrap();
            assert!(text.starts_with(&format!("cdl_op_{}_", credential.id)));
            assert_eq!(credential.id.len(), ID_CHARS);
        }
    }
}
