//! Hostile input over raw sockets: whatever arrives, the answer is the right one, without waiting
//! for more, and the service keeps posting.

mod refused;
mod stage;

use std::future::IntoFuture as _;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use self::stage::{HASTY, PATIENT, Stage, parsed, posting, read, request, sized};
use crate::support::client::fresh;
use crate::support::{Answer, json};

#[actix_web::test]
async fn bodies_that_are_no_bodies() {
    let stage = Stage::new().await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    let good = r#""voucherTypeCode":"IN","amount":"1.00","idExterno":"h""#;
    let deep = |open: &str, close: &str, n: usize| {
        format!("{{{good},\"x\":{}{}}}", open.repeat(n), close.repeat(n))
    };
    let bodies: Vec<(Vec<u8>, &str)> = vec![
        (
            format!("{{{good},\"amount\":\"2.00\"}}").into(),
            "malformed_body",
        ),
        (
            format!("{{{good},\"\\u0061mount\":\"2.00\"}}").into(),
            "malformed_body",
        ),
        (format!("\u{feff}{{{good}}}").into(), "malformed_body"),
        (format!("{{{good}}}{{{good}}}").into(), "malformed_body"),
        (format!("{{{good}}}\0").into(), "malformed_body"),
        (format!("[{{{good}}}]").into(), "malformed_body"),
        (format!("{{{good},}}").into(), "malformed_body"),
        (format!("{{{good},\"x\":NaN}}").into(), "malformed_body"),
        (format!("{{{good} /* x */}}").into(), "malformed_body"),
        (
            format!("{{{good},\"description\":\"\\ud800\"}}").into(),
            "invalid_request",
        ),
        (
            format!("{{{good},\"description\":\"a\\u0000b\"}}").into(),
            "invalid_request",
        ),
        (
            format!("{{{good},\"description\":\"a\0b\"}}").into(),
            "malformed_body",
        ),
        (
            format!("{{{good},\"description\":\"{}\"}}", "x".repeat(60_000)).into(),
            "invalid_request",
        ),
        (
            [b"{\"description\":\"\xff\xfe\",", good.as_bytes(), b"}"].concat(),
            "malformed_body",
        ),
        (
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00".to_vec(),
            "malformed_body",
        ),
        (vec![0; 1000], "malformed_body"),
        (vec![b' '; 60_000], "malformed_body"),
        (deep("[", "]", 30_000).into(), "invalid_request"),
        (deep("{\"a\":", "1}", 8_000).into(), "malformed_body"),
        ("[".repeat(60_000).into(), "malformed_body"),
        (
            format!("{{\"amount\":{}}}", "9".repeat(60_000)).into(),
            "invalid_request",
        ),
        (
            format!(
                "{{{}\"a\":1}}",
                (0..5000)
                    .map(|n| format!("\"f{n}\":1,"))
                    .collect::<String>()
            )
            .into(),
            "invalid_request",
        ),
    ];
    for (body, code) in bodies {
        let answer = stage.send(&sized(a, cvu, &body)).await.unwrap();
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(
            (answer.status, &answer.error()["code"]),
            (400, &json!(code)),
            "{shown}"
        );
        // Nothing from the parser's own messages, and no long echo.
        for word in [
            "serde",
            "EOF while",
            "expected value",
            "expected `",
            "trailing",
        ] {
            assert!(!answer.body.contains(word), "{}", answer.body);
        }
    }
    stage.lives().await;
}

#[actix_web::test]
async fn bodies_that_are_too_large_or_of_another_type() {
    let stage = Stage::new().await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    // Refused by the stated length, before a byte of the body is read.
    for length in ["65537", "10000000", "9223372036854775807"] {
        let answer = stage
            .send(&posting(
                a,
                cvu,
                &format!("content-length: {length}\r\n"),
                b"{",
            ))
            .await
            .unwrap();
        assert_eq!(
            (answer.status, &answer.error()["code"]),
            (413, &json!("body_too_large")),
            "{length}"
        );
    }
    // Refused while the chunks arrive.
    let chunk = format!("2000\r\n{}\r\n", "x".repeat(0x2000)).repeat(9);
    let answer = stage
        .send(&posting(
            a,
            cvu,
            "transfer-encoding: chunked\r\n",
            chunk.as_bytes(),
        ))
        .await
        .unwrap();
    assert_eq!(
        (answer.status, &answer.error()["code"]),
        (413, &json!("body_too_large"))
    );
    let body = r#"{"voucherTypeCode":"IN","amount":"1.00","idExterno":"t"}"#;
    for kind in [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonp",
        "",
    ] {
        let line = format!("POST /v1/accounts/{cvu}/comprobantes");
        let more = format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
        let answer = stage
            .send(&request(a, &line, &more, body.as_bytes()))
            .await
            .unwrap();
        assert_eq!(
            (answer.status, &answer.error()["code"]),
            (415, &json!("unsupported_media_type")),
            "{kind}"
        );
    }
    // A compressed body is refused and not unpacked.
    let more = format!("content-encoding: gzip\r\ncontent-length: {}\r\n", 8);
    let answer = stage
        .send(&posting(a, cvu, &more, b"\x1f\x8b\x08\x00\x00\x00\x00\x00"))
        .await
        .unwrap();
    assert_eq!(answer.status, 415);
    stage.lives().await;
}

#[actix_web::test]
async fn requests_that_could_be_read_in_two_ways() {
    let stage = Stage::new().await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    let body = br#"{"voucherTypeCode":"IN","amount":"1.00","idExterno":"smuggled"}"#;
    let length = body.len();
    for headers in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
        format!("content-length: {length}\r\ncontent-length: 0\r\n"),
        format!("content-length: +{length}\r\n"),
        format!("content-length: {length}, {length}\r\n"),
        "content-length: -1\r\n".to_owned(),
        "content-length: 0x10\r\n".to_owned(),
        "content-length: 99999999999999999999\r\n".to_owned(),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        "transfer-encoding: xchunked\r\n".to_owned(),
        format!("content-length : {length}\r\n"),
        format!("content-length: {length}\r\nx: a\r\n b\r\n"),
        format!("content-length: {length}\r\nx\0y: a\r\n"),
    ] {
        let answer = stage.send(&posting(a, cvu, &headers, body)).await;
        let status = answer.as_ref().map(|answer| answer.status);
        assert!(
            status.is_none() || status == Some(400),
            "{headers:?}: {answer:?}"
        );
    }
    for line in [
        "GET",
        "GET /v1/accounts HTTP/1.1 x",
        "\0\0\0\0",
        "GET /v1/accounts HTTP/9.9",
        "PRI * HTTP/2.0\r\n\r\nSM",
        "GET http://x:y:z/ HTTP/1.1",
    ] {
        let answer = stage
            .send(format!("{line}\r\nhost: x\r\n\r\n").as_bytes())
            .await;
        assert!(
            answer.as_ref().is_none_or(|answer| answer.status == 400
                || answer.status == 404
                || answer.status == 505),
            "{line}: {answer:?}"
        );
    }
    // Invalid request lines and headers: too long, or too many.
    let long = "a".repeat(200_000);
    for bytes in [
        request(a, &format!("GET /v1/accounts?q={long}"), "", b""),
        request(a, "GET /v1/accounts", &format!("x: {long}\r\n"), b""),
        request(a, "GET /v1/accounts", &"x: y\r\n".repeat(500), b""),
    ] {
        let answer = stage.send(&bytes).await;
        assert!(
            answer
                .as_ref()
                .is_none_or(|answer| [400, 414, 431].contains(&answer.status)),
            "{answer:?}"
        );
    }
    stage
        .service
        .a
        .get("/v1/comprobantes/by-external/smuggled")
        .await
        .refused(404, "voucher_not_found");
    stage.lives().await;
}

#[actix_web::test]
async fn paths_that_try_to_be_others() {
    let stage = Stage::new().await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    for (path, statuses) in [
        ("/v1/accounts/..%2f..%2fetc%2fpasswd", &[400][..]),
        ("/v1/accounts/%2e%2e/voucher-types", &[404]),
        ("/v1/accounts/../voucher-types", &[404]),
        ("/v1/accounts/..", &[400]),
        ("/v1/accounts/%00", &[400]),
        ("/v1/accounts/%", &[400]),
        ("/v1/accounts/%zz", &[400]),
        ("/v1/accounts/%ff%fe", &[400]),
        ("/v1/accounts/%c0%ae%c0%ae", &[400]),
        ("/v1/accounts/;jsessionid=1", &[400]),
        ("/v1/accounts/*", &[400]),
        ("/v1/accounts/{cvu}", &[400]),
        ("/v1/accounts/0000532609100002749314%20", &[400]),
        ("/v1/accounts/0000532609100002749314/..%2flimits", &[404]),
        ("/v1/accounts/0000532609100002749314/balance/", &[404]),
        ("//v1/accounts", &[404]),
        ("/v1/../admin/tenants", &[404]),
        ("/v1%2faccounts", &[404]),
        ("/V1/ACCOUNTS", &[404]),
        ("/v1/comprobantes/..%2finternal", &[404]),
        ("/v1/comprobantes/by-external/..%2f..%2f", &[404]),
        ("/v1/comprobantes/by-external/", &[404]),
        ("/v1/idempotency/a%2fb", &[200, 404]),
        ("/v1/idempotency/%0d%0aset-cookie:x", &[400]),
        ("/v1/voucher-types/%27%20OR%201=1", &[400, 405]),
        ("/docs/..%2f..%2fCargo.toml", &[404]),
        ("/docs/%2e%2e%2f%2e%2e%2fetc/passwd", &[404]),
    ] {
        let answer = stage
            .send(&request(a, &format!("GET {path}"), "", b""))
            .await
            .unwrap();
        assert!(statuses.contains(&answer.status), "{path}: {answer:?}");
        if answer.status >= 400 && !path.starts_with("/docs") {
            answer.error();
        }
        assert!(
            !answer.head.to_ascii_lowercase().contains("\nset-cookie"),
            "{path}: {answer:?}"
        );
        assert!(
            !answer.body.contains("root:") && !answer.body.contains("[package]"),
            "{path}: {answer:?}"
        );
    }
    for query in [
        "limit=50&limit=x",
        "q=%ff%fe",
        "q=%00",
        "limit=%2b5",
        "limit=0x10",
        "from=-9999",
        "q=%27;DROP",
        "offset=1e3",
        "limit=٣",
    ] {
        let answer = stage
            .send(&request(
                a,
                &format!("GET /v1/accounts/{cvu}/movements?{query}"),
                "",
                b"",
            ))
            .await
            .unwrap();
        assert!([200, 400].contains(&answer.status), "{query}: {answer:?}");
        if answer.status == 400 && !query.contains('٣') {
            answer.error();
        }
    }
    stage.lives().await;
}

#[actix_web::test]
async fn headers_that_are_abused() {
    let stage = Stage::new().await;
    let a = &stage.service.a;
    let key = a.key.clone().unwrap();
    let head =
        |more: &str| format!("GET /v1/accounts HTTP/1.1\r\nhost: x\r\n{more}\r\n").into_bytes();
    for more in [
        format!("x-api-key: {key}\r\nx-api-key: {key}\r\n"),
        format!("x-api-key: {key}, {key}\r\n"),
        format!("x-api-key: \"{key}\"\r\n"),
        format!("authorization: Bearer {key}\r\n"),
        format!("cookie: x-api-key={key}\r\n"),
        "x-api-key: \u{fffd}\r\n".to_owned(),
        format!("x-api-key: {}\r\n", "k".repeat(8000)),
    ] {
        let answer = stage.send(&head(&more)).await.unwrap();
        assert_eq!(
            (answer.status, &answer.error()["code"]),
            (401, &json!("unauthorized")),
            "{more}"
        );
        assert!(!answer.body.contains(&key));
    }
    // A hostile request id is not repeated.
    for id in [
        "a\tb",
        "<script>",
        "a b",
        "ñ",
        &"x".repeat(65),
        "../x",
        "${jndi:ldap://x}",
    ] {
        let answer = stage
            .send(&head(&format!(
                "x-api-key: {key}\r\nx-request-id: {id}\r\n"
            )))
            .await
            .unwrap();
        assert_eq!(answer.status, 200);
        assert!(!answer.head.contains(id), "{}", answer.head);
    }
    // Headers that a proxy would believe have no effect here.
    let forwarded = "x-forwarded-host: evil\r\nx-original-url: /admin/tenants\r\nx-http-method-override: DELETE\r\n";
    let answer = stage
        .send(&head(&format!("x-api-key: {key}\r\n{forwarded}")))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    stage.lives().await;
}

/// The service gives up on a body that never ends, and nobody else is held up.
#[actix_web::test]
async fn a_body_that_drips_is_given_up() {
    let stage = Stage::with(PATIENT, HASTY).await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    let drip = async |pause: Duration| {
        let mut stream = TcpStream::connect(a.url.trim_start_matches("http://"))
            .await
            .unwrap();
        let head = posting(a, cvu, "content-length: 60000\r\n", b"{");
        stream.write_all(&head).await.unwrap();
        let mut ticks = tokio::time::interval(pause);
        loop {
            ticks.tick().await;
            let mut chunk = [0; 4096];
            match stream.try_read(&mut chunk) {
                Ok(0) => return None,
                Ok(n) => return parsed(&chunk[..n]),
                Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
            if stream.write_all(b" ").await.is_err() {
                return read(&mut stream).await;
            }
        }
    };
    let drips = join_all((0..50).map(|n| drip(Duration::from_millis(50 + n))));
    let others = async {
        for _ in 0..50 {
            a.balance(cvu).await;
        }
    };
    let (answers, ()) = tokio::join!(drips, others);
    for answer in answers {
        let answer = answer.expect("an answer says why");
        assert_eq!(
            (answer.status, &answer.error()["code"]),
            (400, &json!("malformed_body"))
        );
    }
    stage.lives().await;
}

/// The service gives up on a head that never ends, too: with 408, or by closing.
#[actix_web::test]
async fn heads_that_drip_are_given_up() {
    let stage = Stage::with(HASTY, PATIENT).await;
    let idle = async || {
        let mut stream = TcpStream::connect(stage.service.a.url.trim_start_matches("http://"))
            .await
            .unwrap();
        stream
            .write_all(b"GET /v1/accounts HTTP/1.1\r\nhost: x\r\nx-")
            .await
            .unwrap();
        read(&mut stream).await
    };
    let answers = join_all((0..50).map(|_| idle())).await;
    assert!(
        answers.iter().flatten().all(|answer| answer.status == 408),
        "{answers:?}"
    );
    stage.lives().await;
}

#[actix_web::test]
async fn sixty_four_clients_mix_good_and_hostile() {
    let stage = Stage::new().await;
    let (a, cvu) = (&stage.service.a, stage.cvu.as_str());
    let good = async |worker: usize| {
        for n in 0..10 {
            let answer: Answer = a
                .voucher(cvu, "IN", "1.00", &format!("mix-{worker}-{n}"))
                .into_future()
                .await;
            answer.is(201);
        }
    };
    let hostile = async |worker: usize| {
        for n in 0..10 {
            let bytes = match (worker + n) % 6 {
                0 => sized(a, cvu, &vec![b'['; 60_000]),
                1 => posting(a, cvu, "content-length: 10000000\r\n", &vec![b'x'; 70_000]),
                2 => posting(a, cvu, "content-length: 500\r\n", b"{\"amount\":"),
                3 => request(a, "GET /v1/accounts?limit=-1", "", b""),
                4 => sized(
                    a,
                    cvu,
                    format!(
                        r#"{{"voucherTypeCode":"IN","amount":1e9,"idExterno":"bad-{}"}}"#,
                        fresh()
                    )
                    .as_bytes(),
                ),
                _ => vec![0xff; 5000],
            };
            let mut stream = TcpStream::connect(a.url.trim_start_matches("http://"))
                .await
                .unwrap();
            stream.write_all(&bytes).await.ok();
            if n % 2 == 0 && (worker + n) % 6 != 2 {
                let answer = read(&mut stream).await;
                assert!(
                    answer
                        .as_ref()
                        .is_none_or(|answer| (400..500).contains(&answer.status)),
                    "{answer:?}"
                );
            }
            // The other clients leave without waiting for an answer.
        }
    };
    let mixed = |worker: usize| async move {
        if worker.is_multiple_of(2) {
            good(worker).await
        } else {
            hostile(worker).await
        }
    };
    join_all((0..64).map(mixed)).await;
    assert_eq!(a.available(cvu).await, "420.00");
    assert_eq!(stage.service.verified().await, 321);
}
