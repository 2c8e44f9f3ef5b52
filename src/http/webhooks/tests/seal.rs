//! Secrets: their text, that they open where they were sealed and nowhere else, and that `Debug` hides them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;

use crate::webhooks::seal::{SealError, Sealer, SigningSecret};

const PEPPER: &str = "a pepper of tests";

#[test]
fn a_secret_reads_back_and_is_of_its_length() {
    let secret = SigningSecret::new().unwrap();
    assert_eq!(secret.bytes().len(), 32);
    assert_ne!(secret.bytes(), SigningSecret::new().unwrap().bytes());
    let text = secret.text();
    assert!(text.expose_secret().starts_with("whsec_"));
    let again = SigningSecret::parse(text.expose_secret()).unwrap();
    assert_eq!(again.bytes(), secret.bytes());
    for (length, good) in [(0, false), (23, false), (24, true), (64, true), (65, false)] {
        let text = format!("whsec_{}", STANDARD.encode(vec![7; length]));
        assert_eq!(SigningSecret::parse(&text).is_ok(), good, "{length}");
    }
    let bare = STANDARD.encode([7; 32]);
    for text in [
        "",
        "whsec_",
        "whsec_ñ",
        "whsec_%%%",
        &bare,
        &format!("whsk_{bare}"),
    ] {
        assert_eq!(
            SigningSecret::parse(text).unwrap_err(),
            SealError::NoSecret,
            "{text}"
        );
    }
}

#[test]
fn a_sealed_secret_opens_for_its_tenant_under_its_pepper_only() {
    let sealer = Sealer::new(&PEPPER.into()).unwrap();
    let secret = SigningSecret::new().unwrap();
    let sealed = sealer.seal("tnt_1", &secret).unwrap();
    let opened = sealer.open("tnt_1", &sealed).unwrap();
    assert_eq!(opened.bytes(), secret.bytes());
    // Each sealing gives other bytes, and shows nothing of the secret.
    assert_ne!(sealer.seal("tnt_1", &secret).unwrap(), sealed);
    let shows = |window: &[u8]| secret.bytes().windows(4).any(|part| part == window);
    assert!(!sealed.windows(4).any(shows));

    let closed = |sealer: &Sealer, tenant: &str, sealed: &[u8]| {
        assert_eq!(sealer.open(tenant, sealed).unwrap_err(), SealError::Sealed);
    };
    closed(&sealer, "tnt_2", &sealed);
    let another = Sealer::new(&"another pepper".into()).unwrap();
    closed(&another, "tnt_1", &sealed);
    let both = Sealer::new(&format!("another pepper\n{PEPPER}").into()).unwrap();
    assert_eq!(both.open("tnt_1", &sealed).unwrap().bytes(), secret.bytes());
    assert!(both.needs_older("tnt_1", &sealed));
    // What is sealed from then on no longer needs the older one.
    let again = both.anew("tnt_1", &sealed).unwrap();
    assert_eq!(both.anew("tnt_1", &again), None);
    assert_eq!(
        another.open("tnt_1", &again).unwrap().bytes(),
        secret.bytes()
    );
    assert!(!both.needs_older("tnt_1", &again));
    closed(&both, "tnt_2", &sealed);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        closed(&sealer, "tnt_1", &changed);
        closed(&sealer, "tnt_1", &sealed[..at]);
    }
    closed(&sealer, "tnt_1", &[&sealed[..], &[0]].concat());
}

/// The bytes 0 to 31, sealed for `tnt_1` by another program's cryptography.
const SEALED: &str =
    "AWRlZmdoaWprbG1ubw/VOaV9Bf4oUaynF9ckJFfbcqdmfSCpr9/bymnFBiBz6lpVbEJ2Hp+WL+iBqdPxPA==";

#[test]
fn sealed_secrets_of_this_format_always_open() {
    let sealed = STANDARD.decode(SEALED).unwrap();
    let opened = Sealer::new(&PEPPER.into())
        .unwrap()
        .open("tnt_1", &sealed)
        .unwrap();
    assert_eq!(opened.bytes(), (0..32).collect::<Vec<u8>>());
}

#[test]
fn nothing_shows_a_secret_by_accident() {
    let secret = SigningSecret::parse(&format!("whsec_{}", STANDARD.encode([b'k'; 32]))).unwrap();
    let text = secret.text();
    for shown in [format!("{secret:?}"), format!("{text:?}")] {
        assert!(shown.contains("REDACTED"), "{shown}");
        assert!(!shown.contains("107") && !shown.contains("a2"), "{shown}");
    }
    assert_eq!(
        format!("{:?}", Sealer::new(&PEPPER.into()).unwrap()),
        "Sealer"
    );
}
