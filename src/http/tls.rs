//! Encrypted connections between nodes: only for holders of a certificate of the nodes' own authority.
//!
//! **Shape.** [`Tls`] is made of three files ([`Files`]): this node's certificate, its key, and the authorities by
//! which nodes know each other. The listener of nodes accepts connections with it, and their client makes them. TLS
//! 1.3 only; each side shows its certificate and checks the other's, and a client also checks that it is for the host
//! that was asked.
//!
//! **Order.** New files apply to connections made after they were put into force. The files are read again every
//! [`LOOK_EVERY`], and taken when two looks in a row find the same content: nobody replaces three files in one
//! moment.
//!
//! **Bounds.** A file has [`FILE_BYTES_MAX`] bytes at most. A handshake may take as long as the listener allows for
//! heads. Refusals are counted, and logged once every [`TELL_EVERY`].
//!
//! **Failure.** At a start, files that cannot be used are refused with the name of the setting. Later, the files in
//! force stay so, and the log says why; the new ones are tried again at each look, as a certificate may only be not
//! valid yet.

use std::error::Error as StdError;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{self, Digest};
use caudal_ledger::time::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, InconsistentKeys, RootCertStore, ServerConfig,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are read again.
pub const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How often the log says at most that connections were refused.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How long a refused client is listened to, so that it can read why.
const GOODBYE: Duration = Duration::from_secs(1);
/// How much of what it still sends is discarded meanwhile, in bytes.
const GOODBYE_BYTES_MAX: u64 = 1 << 16;
/// An instant at which no certificate is valid any more, in seconds since 1970: the end of the year 9999.
const NEVER: u64 = 253_402_300_799;

/// The paths of the certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Files {
    /// This node's certificate, and those between it and the authority (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
    /// The authorities by which nodes know each other (PEM).
    pub authority: PathBuf,
}

/// The settings of both ends of connections, and the end of their validity.
pub struct Ends {
    server: Arc<ServerConfig>,
    client: ClientConfig,
    until: Option<Timestamp>,
    /// The digest of the files that they were made from.
    mark: Digest,
}

impl Ends {
    /// The settings for connecting to the other nodes.
    pub fn client(&self) -> ClientConfig {
        self.client.clone()
    }
}

/// The digests of the files.
struct Looks {
    /// Of the files in force.
    taken: Digest,
    /// Of the files at the last look.
    last: Digest,
}

/// Connections that were refused.
#[derive(Default)]
struct Refused {
    count: u64,
    told: Option<Instant>,
}

/// The files and settings in force.
pub struct Tls {
    files: Files,
    host: String,
    ends: RwLock<Arc<Ends>>,
    looks: Mutex<Looks>,
    refused: Mutex<Refused>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files of a node that the others reach at `host`, a name or an address.
    ///
    /// # Errors
    /// How to mend the files, with the names of the settings: a file is missing or has nothing that can be read; the
    /// key is that of another certificate; the certificate is not valid now, for this host, for both ends, or by
    /// these authorities.
    pub fn read(files: Files, host: &str) -> Result<Self, String> {
        let found = Found::read(&files)?;
        let ends = found.ends(&files, host)?;
        let mark = found.mark();
        Ok(Self {
            files,
            host: host.to_owned(),
            ends: RwLock::new(Arc::new(ends)),
            looks: Mutex::new(Looks {
                taken: mark,
                last: mark,
            }),
            refused: Mutex::default(),
        })
    }

    /// Checks whether the files have changed, and returns their settings, which are not in force yet.
    ///
    /// # Errors
    /// As [`Tls::read`], at each look until it is mended: a certificate that is not valid yet becomes valid by
    /// itself.
    pub fn look(&self) -> Result<Option<Ends>, String> {
        let found = Found::read(&self.files)?;
        let mark = found.mark();
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = same(&looks.last, &mark);
        looks.last = mark;
        if !settled || same(&looks.taken, &mark) {
            return Ok(None);
        }
        found.ends(&self.files, &self.host).map(Some)
    }

    /// Puts the settings that [`Tls::look`] found into force.
    pub fn put(&self, found: Ends) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.taken = found.mark;
        *self.ends.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
    }

    fn ends(&self) -> Arc<Ends> {
        Arc::clone(&self.ends.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings for connecting to the other nodes.
    pub fn client(&self) -> ClientConfig {
        self.ends().client()
    }

    /// The end of this node's certificate; `None` where it does not end before the year 10000.
    pub fn until(&self) -> Option<Timestamp> {
        self.ends().until
    }

    /// Accepts a connection of a node.
    ///
    /// # Errors
    /// When it shows no certificate of the authority, does not speak TLS 1.3, or takes longer than `most`.
    pub async fn accept(
        &self,
        io: TcpStream,
        from: Option<SocketAddr>,
        most: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.ends().server));
        let taken = tokio::time::timeout(most, acceptor.accept(io).into_fallible()).await;
        let why = match taken {
            Ok(Ok(taken)) => return Ok(taken),
            Ok(Err((why, io))) => {
                self.tell(from, &why);
                // It is refused, whether the goodbye reaches it or not.
                tokio::time::timeout(GOODBYE, goodbye(io)).await.ok();
                return Err(why);
            }
            Err(_) => io::Error::from(io::ErrorKind::TimedOut),
        };
        self.tell(from, &why);
        Err(why)
    }

    /// Logs that a connection was refused, or only counts it.
    fn tell(&self, from: Option<SocketAddr>, why: &io::Error) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.count += 1;
        if refused.told.is_some_and(|at| at.elapsed() < TELL_EVERY) {
            return;
        }
        refused.told = Some(Instant::now());
        let from = from.map(|from| from.to_string());
        let why = refusal(why).unwrap_or_else(|| why.to_string());
        tracing::warn!(
            from,
            why,
            refused = refused.count,
            "a connection to the listener of nodes was refused; the count is since the start"
        );
    }
}

/// Reads on from a refused client: closing a socket with unread bytes would also discard the alert that was sent.
async fn goodbye(mut io: TcpStream) -> io::Result<()> {
    io.shutdown().await?;
    let mut heard = tokio::io::AsyncReadExt::take(io, GOODBYE_BYTES_MAX);
    tokio::io::copy(&mut heard, &mut tokio::io::sink())
        .await
        .map(drop)
}

/// The contents of the files.
struct Found {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
}

impl Found {
    fn read(files: &Files) -> Result<Self, String> {
        Ok(Self {
            certificate: bytes(CERTIFICATE, &files.certificate)?,
            key: bytes(KEY, &files.key)?,
            authority: bytes(AUTHORITY, &files.authority)?,
        })
    }

    fn mark(&self) -> Digest {
        let mut whole = digest::Context::new(&digest::SHA256);
        for part in [&self.certificate, &self.key, &self.authority] {
            whole.update(digest::digest(&digest::SHA256, part).as_ref());
        }
        whole.finish()
    }

    /// The settings of both ends, if the files fit together.
    fn ends(&self, files: &Files, host: &str) -> Result<Ends, String> {
        let wrong = |setting: &str, file: &Path, why: &dyn fmt::Display| {
            Err(format!("{setting}: {}: {why}", file.display()))
        };
        let chain = match certificates(&self.certificate) {
            Ok(chain) => chain,
            Err(why) => return wrong(CERTIFICATE, &files.certificate, &why),
        };
        let key = match PrivateKeyDer::from_pem_slice(&self.key) {
            Ok(key) => key,
            Err(why) => return wrong(KEY, &files.key, &format!("no key was found in it: {why}")),
        };
        let mut roots = RootCertStore::empty();
        let added = certificates(&self.authority).and_then(|found| {
            let added = found.into_iter().try_for_each(|one| roots.add(one));
            added.map_err(|why| words(&why))
        });
        if let Err(why) = added {
            return wrong(AUTHORITY, &files.authority, &why);
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let own = match CertifiedKey::from_der(chain, key, &provider) {
            Ok(own) => own,
            Err(why) => return wrong(KEY, &files.key, &words(&why)),
        };
        made(&provider, Arc::new(roots), own, host, self.mark())
            .or_else(|why| wrong(CERTIFICATE, &files.certificate, &why))
    }
}

const CERTIFICATE: &str = "cell.tls.certificate_file";
const KEY: &str = "cell.tls.key_file";
const AUTHORITY: &str = "cell.tls.authority_file";

/// The settings of both ends, with a certificate that others will accept.
fn made(
    provider: &Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
    own: CertifiedKey,
    host: &str,
    mark: Digest,
) -> Result<Ends, String> {
    let failed = |why: &dyn fmt::Display| format!("cannot be used: {why}");
    let name = ServerName::try_from(host.to_owned());
    let name =
        name.map_err(|_| format!("cell.address: {host} is no name that certificates have"))?;
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider));
    let clients = clients.build().map_err(|why| failed(&why))?;
    let servers = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider));
    let servers = servers.build().map_err(|why| failed(&why))?;
    let (first, between) = own
        .cert
        .split_first()
        .ok_or("no certificate was found in it")?;
    let as_server = |now| {
        servers
            .verify_server_cert(first, between, &name, &[], now)
            .map(drop)
    };
    let now = UnixTime::now();
    as_server(now).map_err(|why| match why {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!(
            "it is not for {host}, where the other nodes reach this one (cell.address, or cell.listen): it has to \
             have that as a subjectAltName"
        ),
        why => words(&why),
    })?;
    clients
        .verify_client_cert(first, between, now)
        .map_err(|why| words(&why))?;
    let until = match as_server(UnixTime::since_unix_epoch(Duration::from_secs(NEVER))) {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after,
            ..
        })) => Some(instant(not_after)),
        Ok(()) | Err(_) => None,
    };
    let shown = Arc::new(SingleCertAndKey::from(own));
    let showing = Arc::clone(&shown);
    let server = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|why| failed(&why))?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(showing);
    let client = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|why| failed(&why))?
        .with_webpki_verifier(servers)
        .with_client_cert_resolver(shown);
    Ok(Ends {
        server: Arc::new(server),
        client,
        until,
        mark,
    })
}

fn bytes(setting: &str, file: &Path) -> Result<Vec<u8>, String> {
    let wrong = |why: &dyn fmt::Display| format!("{setting}: {}: {why}", file.display());
    let opened = File::open(file).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => wrong(&"the file is missing"),
        _ => wrong(&why),
    })?;
    let mut found = Vec::new();
    let read = opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut found);
    let length = read.map_err(|why| wrong(&why))?;
    match u64::try_from(length) {
        Ok(length) if length <= FILE_BYTES_MAX => Ok(found),
        _ => Err(wrong(&format_args!(
            "it is larger than {FILE_BYTES_MAX} bytes"
        ))),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => Err("no certificate was found in it".to_owned()),
        Ok(found) => Ok(found),
        Err(why) => Err(format!("it cannot be read: {why}")),
    }
}

fn same(one: &Digest, other: &Digest) -> bool {
    one.as_ref() == other.as_ref()
}

fn instant(time: UnixTime) -> Timestamp {
    Timestamp::from_millis(time.as_secs().min(NEVER) * 1000)
}

/// An error in words for people.
fn words(why: &rustls::Error) -> String {
    use CertificateError as Of;
    let text = match why {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "the key is not that of the certificate in cell.tls.certificate_file"
        }
        rustls::Error::InvalidCertificate(Of::ExpiredContext { not_after, .. }) => {
            return format!("the certificate has expired at {}", instant(*not_after));
        }
        rustls::Error::InvalidCertificate(Of::NotValidYetContext { not_before, .. }) => {
            return format!(
                "the certificate is not valid before {}",
                instant(*not_before)
            );
        }
        rustls::Error::InvalidCertificate(Of::UnknownIssuer | Of::BadSignature) => {
            "the certificate is of no authority in cell.tls.authority_file"
        }
        rustls::Error::InvalidCertificate(
            Of::InvalidPurpose | Of::InvalidPurposeContext { .. },
        ) => "the certificate has to be for both ends (extendedKeyUsage serverAuth and clientAuth)",
        rustls::Error::NoCertificatesPresented => "no certificate was shown",
        rustls::Error::InvalidMessage(_) => "this is no TLS",
        rustls::Error::PeerIncompatible(_) => "TLS 1.3 is not spoken",
        rustls::Error::AlertReceived(alert) => {
            return format!(
                "the other side refuses the certificate that it was shown, or this one's ({alert:?})"
            );
        }
        other => return other.to_string(),
    };
    text.to_owned()
}

/// The error of TLS behind an error, if there is one.
fn cause<'a>(why: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let mut at = Some(why);
    while let Some(why) = at {
        if let Some(found) = why.downcast_ref() {
            return Some(found);
        }
        at = match why.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => why.source(),
        };
    }
    None
}

/// Why TLS refused something, if TLS is the cause.
pub fn refusal(why: &(dyn StdError + 'static)) -> Option<String> {
    cause(why).map(words)
}

/// Whether the other side has refused this one's certificate: it has not read any of the request. `DecryptError` is
/// the refusal of a certificate that another key of an authority with the same name has signed, as when an authority
/// gets a new key; like the others it ends a handshake and nothing later (RFC 8446, section 6.2).
pub fn is_refused(why: &(dyn StdError + 'static)) -> bool {
    use AlertDescription as Said;
    matches!(
        cause(why),
        Some(rustls::Error::AlertReceived(
            Said::BadCertificate
                | Said::UnsupportedCertificate
                | Said::CertificateRevoked
                | Said::CertificateExpired
                | Said::CertificateUnknown
                | Said::UnknownCA
                | Said::AccessDenied
                | Said::CertificateRequired
                | Said::DecryptError
        ))
    )
}
