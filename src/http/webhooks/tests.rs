//! URLs and names that the sending side of webhooks refuses, secrets that it keeps, and signatures; the tests outside
//! cover delivery.

mod guard;
mod resolve;
mod seal;

use caudal_signing::Message;

#[test]
fn a_signature_is_the_one_of_the_specification() {
    // Published with the specification's libraries; and the one on their pages.
    let secret = super::SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let message = Message {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: "1614265330",
        body: br#"{"test": 2432232314}"#,
    };
    let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(message.sign(secret.bytes()), right);
    let both = format!("v1,AAAA v1a,x {right}");
    assert!(message.is_signed(secret.bytes(), &both, 3));
    assert!(!message.is_signed(secret.bytes(), &both, 2));
    assert!(!message.is_signed(b"another secret", &both, 3));
}
