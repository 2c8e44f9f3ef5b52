//! A certificate authority and the certificates that it signs.

use std::fs;
use std::path::Path;

use caudal::http::tls::Files;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// An authority; whoever holds its certificate accepts the certificates that it signed.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub pem: String,
}

/// A certificate and its key.
pub struct Certificate {
    /// The certificate.
    pub pem: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// An authority that nobody knows yet.
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut own = CertificateParams::default();
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = own.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(own, key);
        Self { issuer, pem }
    }

    /// A certificate of a node that is reached at `host`; `change` alters it before it is signed.
    pub fn signs_with(
        &self,
        host: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let mut node = CertificateParams::new([host.to_owned()]).unwrap();
        let purposes = [
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        node.extended_key_usages = purposes.to_vec();
        change(&mut node);
        let pem = node.signed_by(&key, &self.issuer).unwrap().pem();
        let key = key.serialize_pem();
        Certificate { pem, key }
    }

    /// A certificate of a node on this machine.
    pub fn signs(&self) -> Certificate {
        self.signs_with("127.0.0.1", |_| {})
    }
}

/// The files of a node, in a folder.
pub fn files(dir: &Path) -> Files {
    Files {
        certificate: dir.join("node.pem"),
        key: dir.join("node.key"),
        authority: dir.join("nodes-ca.pem"),
    }
}

/// Writes the files of a node that trusts these authorities.
pub fn write(dir: &Path, own: &Certificate, known: &[&Authority]) {
    let files = files(dir);
    fs::create_dir_all(dir).unwrap();
    let known: String = known.iter().map(|one| one.pem.as_str()).collect();
    fs::write(files.authority, known).unwrap();
    fs::write(files.certificate, &own.pem).unwrap();
    fs::write(files.key, &own.key).unwrap();
}
