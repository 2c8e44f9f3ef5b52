//! A certificate for addresses of this machine, made for one run: `caudal serve` sends webhooks
//! only over TLS.

use std::net::Ipv4Addr;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING as ALGORITHM, EcdsaKeyPair, KeyPair as _,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// ecdsa-with-SHA256.
const SIGNED: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
/// id-ecPublicKey and the curve P-256.
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALT_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const BYTES: u8 = 0x04;
const OID: u8 = 0x06;
const TEXT: u8 = 0x0c;
const TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// A value in DER: its tag, its length, and its parts concatenated.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut whole = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short @ 0..=127) => whole.push(short),
        Ok(long) => whole.extend([0x81, long]),
        Err(_) => {
            whole.push(0x82);
            whole.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        }
    }
    whole.extend(content);
    whole
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    der(BITS, &[&[0], bytes])
}

/// A self-signed certificate for these addresses: as PEM for the side that should trust it, and
/// ready to serve with.
pub fn make(addresses: &[Ipv4Addr]) -> (String, Arc<ServerConfig>) {
    let random = SystemRandom::new();
    let secret = EcdsaKeyPair::generate_pkcs8(&ALGORITHM, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ALGORITHM, secret.as_ref()).unwrap();

    let algorithm = der(SEQUENCE, &[&der(OID, &[SIGNED])]);
    let name = der(
        SEQUENCE,
        &[
            &der(OID, &[COMMON_NAME]),
            &der(TEXT, &[b"receivers of tests"]),
        ],
    );
    let name = der(SEQUENCE, &[&der(SET, &[&name])]);
    let validity = der(
        SEQUENCE,
        &[
            &der(TIME, &[b"20200101000000Z"]),
            &der(TIME, &[b"20991231235959Z"]),
        ],
    );
    let kind = der(SEQUENCE, &[&der(OID, &[EC_KEY]), &der(OID, &[P256])]);
    let key = der(SEQUENCE, &[&kind, &bits(pair.public_key().as_ref())]);
    let names: Vec<u8> = addresses
        .iter()
        .flat_map(|ip| der(0x87, &[&ip.octets()]))
        .collect();
    let names = der(BYTES, &[&der(SEQUENCE, &[&names])]);
    let extension = der(SEQUENCE, &[&der(OID, &[ALT_NAMES]), &names]);
    let body = der(
        SEQUENCE,
        &[
            &der(0xa0, &[&der(INTEGER, &[&[2]])]),
            &der(INTEGER, &[&[1]]),
            &algorithm,
            &name,
            &validity,
            &name,
            &key,
            &der(0xa3, &[&der(SEQUENCE, &[&extension])]),
        ],
    );
    let signature = pair.sign(&random, &body).unwrap();
    let whole = der(SEQUENCE, &[&body, &algorithm, &bits(signature.as_ref())]);

    let lines: Vec<String> = BASE64_STANDARD
        .encode(&whole)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8(line.to_vec()).unwrap())
        .collect();
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    );
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(whole)],
            PrivatePkcs8KeyDer::from(secret.as_ref().to_vec()).into(),
        );
    (pem, Arc::new(config.unwrap()))
}
