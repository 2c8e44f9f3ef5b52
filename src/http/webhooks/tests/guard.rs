//! Every form of every address that a webhook must not reach, and the reason for its refusal.

use std::net::IpAddr;

use crate::webhooks::guard::{AllowedAddresses, URL_MAX, UrlError, parse};

fn public() -> AllowedAddresses {
    AllowedAddresses::public(Vec::new())
}

fn refused(text: &str, reach: &AllowedAddresses) -> UrlError {
    match parse(text, reach) {
        Ok(url) => panic!("{text} passes, as {url}"),
        Err(why) => why,
    }
}

/// The first and the last address of each range, and public ones right before and after it.
const RANGES_V4: [(&str, &str, &str, &str); 15] = [
    ("0.0.0.0", "0.255.255.255", "", "1.0.0.0"),
    ("10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
    (
        "100.64.0.0",
        "100.127.255.255",
        "100.63.255.255",
        "100.128.0.0",
    ),
    (
        "127.0.0.0",
        "127.255.255.255",
        "126.255.255.255",
        "128.0.0.0",
    ),
    (
        "168.63.129.16",
        "168.63.129.16",
        "168.63.129.15",
        "168.63.129.17",
    ),
    (
        "169.254.0.0",
        "169.254.255.255",
        "169.253.255.255",
        "169.255.0.0",
    ),
    (
        "172.16.0.0",
        "172.31.255.255",
        "172.15.255.255",
        "172.32.0.0",
    ),
    ("192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"),
    ("192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"),
    (
        "192.88.99.0",
        "192.88.99.255",
        "192.88.98.255",
        "192.88.100.0",
    ),
    (
        "192.168.0.0",
        "192.168.255.255",
        "192.167.255.255",
        "192.169.0.0",
    ),
    (
        "198.18.0.0",
        "198.19.255.255",
        "198.17.255.255",
        "198.20.0.0",
    ),
    (
        "198.51.100.0",
        "198.51.100.255",
        "198.51.99.255",
        "198.51.101.0",
    ),
    (
        "203.0.113.0",
        "203.0.113.255",
        "203.0.112.255",
        "203.0.114.0",
    ),
    ("224.0.0.0", "255.255.255.255", "223.255.255.255", ""),
];

const RANGES_V6: [(&str, &str, &str, &str); 17] = [
    ("::", "::", "", ""),
    ("::1", "::1", "", ""),
    ("::2", "::ffff:ffff", "", ""),
    ("::ffff:0:0", "::ffff:ffff:ffff", "", ""),
    ("::ffff:0:0:0", "::ffff:0:ffff:ffff", "", ""),
    ("64:ff9b::", "64:ff9b::ffff:ffff", "", ""),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", ""),
    (
        "100::",
        "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "",
        "2000::",
    ),
    (
        "2001::",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2000:ffff::1",
        "2001:200::",
    ),
    (
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db7:ffff::1",
        "2001:db9::",
    ),
    (
        "2002::",
        "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:ffff::1",
        "2003::",
    ),
    (
        "3fff::",
        "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3ffe:ffff::1",
        "3fff:1000::",
    ),
    (
        "4000::",
        "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff:ffff::1",
        "",
    ),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""),
];

#[test]
fn every_range_is_refused_from_its_first_to_its_last_address_only() {
    let hosts = |ip: &str| match ip.parse::<IpAddr>().unwrap() {
        IpAddr::V4(_) => format!("https://{ip}/x"),
        IpAddr::V6(_) => format!("https://[{ip}]/x"),
    };
    for (first, last, before, after) in RANGES_V4.into_iter().chain(RANGES_V6) {
        for ip in [first, last] {
            let why = refused(&hosts(ip), &public());
            let UrlError::Address { ip: named, .. } = why else {
                panic!("{ip}: {why}");
            };
            assert_eq!(named, ip.parse::<IpAddr>().unwrap());
            // The same address, resolved from a name.
            assert!(
                public().refuses("hooks.example.com", named).is_some(),
                "{ip}"
            );
        }
        for ip in [before, after].into_iter().filter(|ip| !ip.is_empty()) {
            assert!(parse(&hosts(ip), &public()).is_ok(), "{ip}");
            let ip = ip.parse().unwrap();
            assert_eq!(public().refuses("hooks.example.com", ip), None, "{ip}");
        }
    }
}

#[test]
fn an_address_in_disguise_is_refused_however_it_is_written() {
    for host in [
        // This machine, in decimal, octal, hexadecimal, short, and with other digits.
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.0x1",
        "127.0.0.01",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127%2e0.0.1",
        "0",
        // A public address in such forms: a person would not recognise it.
        "0x08080808",
        "8.8.2056",
    ] {
        for text in [
            format!("https://{host}/"),
            format!("https://{host}:8443/a?b=c"),
        ] {
            for reach in [public(), AllowedAddresses::loopback()] {
                let why = refused(&text, &reach);
                assert!(matches!(why, UrlError::Disguised(_)), "{text}: {why}");
            }
        }
    }
    for text in [
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://ⓛocalhost/",
        "https://hooks.example.com/ñ",
        "https://hooks.example.com\\@127.0.0.1/",
        "https:\\\\127.0.0.1/",
        " https://hooks.example.com/",
        "https://hooks.example.com/\n",
        "https://127.\t0.0.1/",
    ] {
        assert_eq!(refused(text, &public()), UrlError::Characters, "{text}");
    }
    // Inside addresses of version 6.
    for host in [
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::8.8.8.8]",
        "[2002:7f00:1::]",
        "[2002:0808:0808::1]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[fd00:ec2::254]",
    ] {
        let why = refused(&format!("https://{host}/"), &public());
        assert!(matches!(why, UrlError::Address { .. }), "{host}: {why}");
    }
}

/// Further faults of a URL, by a part of the refusal's text.
const WRONG: [(&str, &[&str]); 7] = [
    (
        "is no URL",
        &[
            "",
            "hooks.example.com",
            "/caudal",
            "https://",
            "https://1.2.3.4.5/",
            "https://256.0.0.1/",
            "https://hooks.example.com:99999/",
            "https://[fe80::1%25eth0]/",
        ],
    ),
    (
        "must begin with https://",
        &[
            "http://hooks.example.com/",
            "http://hooks.example.com:443/",
            "ftp://hooks.example.com/",
            "file:///etc/passwd",
            "gopher://hooks.example.com:443/",
            "javascript:alert(1)",
        ],
    ),
    (
        "names no host",
        &[
            "https:hooks.example.com",
            "https:/hooks.example.com/",
            "https:///hooks.example.com/",
            "https:hooks.example.com/https://x",
        ],
    ),
    (
        "must not carry a user or password",
        &[
            "https://user@hooks.example.com/",
            "https://user:secret@hooks.example.com/",
            "https://hooks.example.com@127.0.0.1/",
            "https://hooks.example.com:443@127.0.0.1/",
            "https://@hooks.example.com/",
        ],
    ),
    (
        "must not have a fragment",
        &[
            "https://hooks.example.com/#",
            "https://hooks.example.com/a#b",
        ],
    ),
    (
        "use 443 or 8443",
        &[
            "https://hooks.example.com:22/",
            "https://hooks.example.com:0/",
            "https://[2606:4700::1111]:6379/",
        ],
    ),
    (
        "names a host by no public name",
        &[
            "https://localhost/",
            "https://Receiver.LOCALHOST/",
            "https://intranet/",
            "https://hooks.example.com./",
        ],
    ),
];

#[test]
fn other_forbidden_urls() {
    let path = |bytes: usize| format!("https://hooks.example.com/{}", "a".repeat(bytes - 26));
    assert!(parse(&path(URL_MAX), &public()).is_ok());
    assert_eq!(refused(&path(URL_MAX + 1), &public()), UrlError::TooLong);
    for (word, texts) in WRONG {
        for text in texts {
            let why = refused(text, &public()).to_string();
            assert!(why.contains(word), "{text}: {why}");
        }
    }
    for text in [
        "https://hooks.example.com",
        "HTTPS://Hooks.Example.com/Caudal?key=a%20b",
        "https://hooks.example.com:443/",
        "https://hooks.example.com:8443/",
        "https://xn--caf-dma.example.com/",
        "https://hooks.example.com/a@b:c",
        "https://8.8.8.8/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://localhost.example.com/",
    ] {
        assert!(parse(text, &public()).is_ok(), "{text}");
    }
}

#[test]
fn a_first_look_reaches_this_machine_and_nothing_else_of_the_kind() {
    let reach = AllowedAddresses::loopback();
    for text in [
        "http://127.0.0.1:3000/caudal",
        "http://127.0.0.2",
        "http://[::1]:3000/",
        "http://localhost:3000/",
        "http://LOCALHOST/",
        "https://localhost:3000/",
        "https://hooks.example.com/",
    ] {
        assert!(parse(text, &reach).is_ok(), "{text}");
    }
    for text in [
        "http://hooks.example.com/",
        "https://hooks.example.com:3000/",
        "http://8.8.8.8/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://0.0.0.0:3000/",
        "http://[::]:3000/",
        "http://[::ffff:127.0.0.1]:3000/",
        "http://receiver.localhost:3000/",
        "http://localhost.:3000/",
        "http://user@localhost:3000/",
    ] {
        refused(text, &reach);
    }
    let here: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    for ip in here {
        assert_eq!(reach.refuses("localhost", ip), None);
        assert!(reach.refuses("hooks.example.com", ip).is_some());
        assert!(public().refuses("localhost", ip).is_some());
    }
    // Plain http must not leave the machine under the name `localhost`.
    assert!(
        reach
            .refuses("localhost", "8.8.8.8".parse().unwrap())
            .is_some()
    );
}

#[test]
fn an_operator_opens_networks_and_nothing_beside_them() {
    let networks = ["10.20.0.0/16", "fd12::/32"].map(|text| text.parse().unwrap());
    let reach = AllowedAddresses::public(networks.to_vec());
    for text in [
        "https://10.20.0.1/",
        "https://10.20.255.255:8443/",
        "https://[fd12::1]/",
    ] {
        assert!(parse(text, &reach).is_ok(), "{text}");
    }
    for text in [
        "https://10.21.0.1/",
        "https://[fd13::1]/",
        "https://[::ffff:10.20.0.1]/",
        "http://10.20.0.1/",
        "https://10.20.0.1:6379/",
        "https://169.254.169.254/",
    ] {
        refused(text, &reach);
    }
    let refuses = |ip: &str| reach.refuses("hooks.internal", ip.parse().unwrap());
    assert_eq!(refuses("10.20.3.4"), None);
    assert!(refuses("10.21.3.4").is_some());
}

#[test]
fn a_refusal_says_what_is_wrong_and_what_would_be_right() {
    for (text, said) in [
        (
            "http://hooks.example.com/",
            "must begin with https://: events are sent encrypted only",
        ),
        (
            "https://hooks.example.com:22/",
            "has port 22: use 443 or 8443",
        ),
        (
            "https://0x7f.1/",
            "names a host that would be read as `127.0.0.1`: write it so",
        ),
        (
            "https://169.254.169.254/latest/meta-data/",
            "points to 169.254.169.254, a link-local address: use one that is reached from the \
             internet",
        ),
    ] {
        assert_eq!(refused(text, &public()).to_string(), said);
    }
}
