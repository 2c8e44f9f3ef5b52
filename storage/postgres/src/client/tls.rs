//! Encrypted connections: rustls, with the cryptography of the rest of the service.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::client::settings::Settings;

/// Makes the connector for servers; reads the certificates that they are checked against, once.
///
/// # Errors
/// A sentence, when a file of certificates cannot be read or holds none.
pub(crate) fn connector(settings: &Settings) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    if settings.encrypts() {
        let found = match &settings.authorities {
            Some(path) => from_file(path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        if roots.add_parsable_certificates(found).0 == 0 {
            return Err(
                "no certificate of an authority was found by which to know the server".to_owned(),
            );
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| format!("no encrypted connections: {why}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn from_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |why| format!("reading the certificates in {}: {why}", path.display());
    CertificateDer::pem_file_iter(path)
        .map_err(failed)?
        .collect::<Result<_, _>>()
        .map_err(failed)
}
