//! Which connections have a permit, and which are turned away.

use super::*;

fn bounds(connections: usize, per_peer: usize) -> Arc<Bounds> {
    let limits = ConnectionLimits {
        connections,
        per_peer,
        ..ConnectionLimits::default()
    };
    Arc::new(Bounds::new(limits, Arc::default(), Arc::default()))
}

fn from(ip: &str) -> Option<SocketAddr> {
    Some(SocketAddr::new(ip.parse().unwrap(), 1))
}

#[test]
fn the_threads_of_a_listener_share_its_connections() {
    assert_eq!(
        [1, 4, 100, 0].map(|workers| bounds(40, 0).most(workers)),
        [40, 10, 1, 1]
    );
}

#[test]
fn a_request_is_under_way_until_its_answer_is_dropped() {
    let permit = bounds(1, 0).take(None).unwrap();
    assert!(permit.is_idle() && !permit.awaits_handler());
    permit.begun(1);
    assert!(!permit.is_idle() && permit.awaits_handler());
    let handled = permit.pass().begin();
    assert!(!permit.is_idle() && !permit.awaits_handler());
    drop(handled);
    assert!(permit.is_idle());
}

#[test]
fn one_peer_has_its_bound_and_a_proxy_has_none() {
    let permits = bounds(100, 2);
    let (one, two) = (
        permits.take(from("192.0.2.1")),
        permits.take(from("192.0.2.1")),
    );
    assert!(one.is_some() && two.is_some());
    assert!(permits.take(from("192.0.2.1")).is_none());
    assert!(permits.take(from("::ffff:192.0.2.1")).is_none());
    assert!(permits.take(from("192.0.2.2")).is_some());
    drop(one);
    assert!(permits.take(from("192.0.2.1")).is_some());
    let six: Vec<_> = (1..=3)
        .map(|n| permits.take(from(&format!("2001:db8::{n}"))))
        .collect();
    assert_eq!(six.iter().flatten().count(), 2);
    let proxied: Vec<_> = (0..9).map(|_| permits.take(from("127.0.0.1"))).collect();
    assert_eq!(proxied.iter().flatten().count(), 9);
}
