//! Which connections have a seat, which give way, and which are turned away.

use std::future::poll_fn;
use std::task::Poll;

use super::*;

const SLACK: usize = 1;

fn seats(connections: usize, per_peer: usize) -> Rc<Seats> {
    let limits = ConnectionLimits {
        connections,
        per_peer,
        ..ConnectionLimits::default()
    };
    let bounds = Bounds::new(limits, Arc::default(), Arc::default());
    let share = Share {
        most: connections + 2 * SLACK,
        seats: connections,
        slack: SLACK,
    };
    Rc::new(Seats::new(Arc::new(bounds), share))
}

fn from(ip: &str) -> Option<SocketAddr> {
    Some(SocketAddr::new(ip.parse().unwrap(), 1))
}

#[test]
fn whoever_was_idle_the_longest_makes_room_and_who_has_a_request_stays() {
    let seats = seats(4, 0);
    let taken: Vec<_> = (0..4).map(|_| seats.take(None).unwrap()).collect();
    taken[0].begun(1);
    let _fifth = seats.take(None).unwrap();
    let asked: Vec<_> = taken.iter().map(Seat::has_to_leave).collect();
    assert_eq!(asked, [false, true, false, false]);
}

#[test]
fn a_stranger_makes_room_before_whoever_has_a_key() {
    let seats = seats(3, 0);
    let known = seats.take(None).unwrap();
    known.place.known.set(true);
    let stranger = seats.take(None).unwrap();
    let other = seats.take(None).unwrap();
    let _fourth = seats.take(None).unwrap();
    let asked = [&known, &stranger, &other].map(Seat::has_to_leave);
    assert_eq!(asked, [false, true, false]);
}

#[test]
fn nobody_comes_when_nobody_can_leave() {
    let seats = seats(3, 0);
    let mut taken: Vec<_> = (0..3).map(|_| seats.take(None).unwrap()).collect();
    taken.iter().for_each(|seat| seat.begun(1));
    assert!(seats.take(None).is_none());
    // A connection whose answer is finished can leave.
    drop(UnderWay(taken[2].pass()));
    taken.push(seats.take(None).unwrap());
    assert!(taken[2].has_to_leave());
    taken[3].begun(1);
    assert!(seats.take(None).is_none());
    taken.remove(0);
    assert!(seats.take(None).is_some());
}

#[test]
fn those_that_do_not_go_are_bounded() {
    let seats = seats(8, 0);
    let taken: Vec<_> = (0..10_000).filter_map(|_| seats.take(None)).collect();
    assert_eq!(taken.len(), 8 + SLACK);
}

#[test]
fn one_peer_has_its_bound_and_a_proxy_has_none() {
    let seats = seats(100, 2);
    let (one, two) = (seats.take(from("192.0.2.1")), seats.take(from("192.0.2.1")));
    assert!(one.is_some() && two.is_some());
    assert!(seats.take(from("192.0.2.1")).is_none());
    assert!(seats.take(from("::ffff:192.0.2.1")).is_none());
    assert!(seats.take(from("192.0.2.2")).is_some());
    drop(one);
    assert!(seats.take(from("192.0.2.1")).is_some());
    let six: Vec<_> = (1..=3)
        .map(|n| seats.take(from(&format!("2001:db8::{n}"))))
        .collect();
    assert_eq!(six.iter().flatten().count(), 2);
    let proxied: Vec<_> = (0..9).map(|_| seats.take(from("127.0.0.1"))).collect();
    assert_eq!(proxied.iter().flatten().count(), 9);
}

#[test]
fn a_crowd_of_strangers_that_has_not_gone_yet_puts_no_key_out() {
    let seats = seats(4, 0);
    let known = seats.take(None).unwrap();
    known.place.known.set(true);
    let strangers: Vec<_> = (0..20).filter_map(|_| seats.take(None)).collect();
    assert_eq!(strangers.len(), 3 + SLACK);
    assert!(!known.has_to_leave());
}

#[actix_web::test]
async fn a_newcomer_waits_for_whoever_goes() {
    let seats = seats(2, 0);
    let first = seats.take(None).unwrap();
    let _others: Vec<_> = (0..2).filter_map(|_| seats.take(None)).collect();
    assert!(first.has_to_leave() && seats.take(None).is_none());
    let mut coming = Box::pin(Rc::clone(&seats).wait(None));
    let waits = poll_fn(|cx| Poll::Ready(coming.as_mut().poll(cx).is_pending()));
    assert!(waits.await);
    drop(first);
    assert!(coming.await.is_some());
}
