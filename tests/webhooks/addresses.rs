//! Places that a webhook must never reach: by literal addresses, by names that mislead, or by
//! redirects.

use std::net::TcpListener;

use super::*;

#[actix_web::test]
async fn a_url_that_may_not_be_sent_to_is_judged_again_at_each_attempt() {
    let receiver = Receiver::answering("200 OK");
    let port = receiver.addr.port();
    let names = Names::saying(&[&["127.0.0.1"]]);
    let public = sink_with(
        AllowedAddresses::public(Vec::new()),
        AttemptLimits::default(),
        &names,
    );
    for url in [
        receiver.url("/"),
        format!("https://127.0.0.1:{port}/"),
        "https://127.0.0.1/".into(),
        "https://0x7f.1/".into(),
        "https://localhost/".into(),
        "https://[::1]:8443/".into(),
        "https://[::ffff:127.0.0.1]/".into(),
        "https://169.254.169.254/".into(),
        "https://hooks.example.com@127.0.0.1/".into(),
        // A valid URL, except for the address that its name resolves to.
        "https://hooks.example.com:8443/".into(),
    ] {
        assert_eq!(
            send(&public, url.clone()).await.result,
            Err(NoResponse::Forbidden),
            "{url}"
        );
    }
    let local = sink_with(
        AllowedAddresses::loopback(),
        AttemptLimits::default(),
        &names,
    );
    for url in [
        format!("http://10.0.0.1:{port}/"),
        "https://hooks.example.com/".into(),
        format!("http://hooks.example.com:{port}/"),
    ] {
        assert_eq!(
            send(&local, url.clone()).await.result,
            Err(NoResponse::Forbidden),
            "{url}"
        );
    }
    assert!(receiver.next().is_none());
}

#[actix_web::test]
async fn the_connection_goes_to_the_address_that_was_judged() {
    let judged = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = judged.local_addr().unwrap().port();
    // The address that the machine's own resolver would give.
    let usual = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let closing = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let judged = Receiver::listen(judged, |line| line.last(closing));
    let usual = Receiver::listen(usual, |line| line.last(closing));
    let names = Names::saying(&[
        &["127.0.0.2"],
        &["10.0.0.1"],
        &["127.0.0.2", "8.8.8.8"],
        &[],
    ]);
    let sink = sink_with(
        AllowedAddresses::loopback(),
        AttemptLimits::default(),
        &names,
    );
    let url = format!("http://localhost:{port}/");
    for result in [
        Ok(200),
        Err(NoResponse::Forbidden),
        Err(NoResponse::Forbidden),
        Err(NoResponse::Unresolved),
    ] {
        assert_eq!(send(&sink, url.clone()).await.result, result);
    }
    assert!(judged.next().is_some() && judged.next().is_none());
    assert!(usual.next().is_none());
}

#[actix_web::test]
async fn a_redirect_is_a_status_and_nobody_goes_there() {
    let elsewhere = Receiver::answering("200 OK");
    for place in [
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        elsewhere.url("/"),
        "/again".to_owned(),
    ] {
        for status in [301, 302, 303, 307, 308] {
            let receiver = Receiver::answering(&format!("{status} Go\r\nlocation: {place}"));
            let sent = send(&sink(), receiver.url("/")).await;
            assert_eq!(sent.result, Ok(status));
            assert!(!sent.is_delivered());
            assert!(receiver.next().is_some() && receiver.next().is_none());
        }
    }
    assert!(elsewhere.next().is_none());
}

#[actix_web::test]
async fn a_name_that_nobody_knows_is_said_so() {
    let names: Arc<Names> = Arc::default();
    for url in ["https://hooks.example.com/", "https://localhost:1/"] {
        let sink = sink_with(
            AllowedAddresses::loopback(),
            AttemptLimits::default(),
            &names,
        );
        assert_eq!(
            send(&sink, url.into()).await.result,
            Err(NoResponse::Unresolved),
            "{url}"
        );
    }
}
