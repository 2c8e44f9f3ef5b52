//! Names that lie, change their addresses, or get no answer.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::dns::Resolve;

use crate::webhooks::guard::AllowedAddresses;
use crate::webhooks::resolve::{
    ADDRESSES_MAX, CheckedResolver, LookingUp, NameLookup, ResolveError, SystemLookup,
};

/// Gives one answer after the other, and the last one from then on; `None` is silence.
#[derive(Debug)]
struct FixedNames {
    answers: Mutex<Vec<Option<Vec<IpAddr>>>>,
    asked: AtomicUsize,
}

impl NameLookup for FixedNames {
    fn lookup(&self, _: &str) -> LookingUp {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.len() {
            0 => return Box::pin(async { Err(io::Error::other("no such name")) }),
            1 => answers[0].clone(),
            _ => answers.remove(0),
        };
        Box::pin(async {
            match answer {
                Some(found) => Ok(found),
                None => std::future::pending().await,
            }
        })
    }
}

fn checked(answers: &[Option<&[&str]>]) -> (CheckedResolver, Arc<FixedNames>) {
    let read = |texts: &[&str]| texts.iter().map(|ip| ip.parse().unwrap()).collect();
    let names = Arc::new(FixedNames {
        answers: Mutex::new(answers.iter().map(|one| one.map(read)).collect()),
        asked: AtomicUsize::new(0),
    });
    let reach = Arc::new(AllowedAddresses::public(Vec::new()));
    let limit = Duration::from_millis(50);
    (
        CheckedResolver::new(reach, Arc::<FixedNames>::clone(&names), limit),
        names,
    )
}

const NAME: &str = "hooks.example.com";

#[actix_web::test]
async fn one_forbidden_address_spoils_the_answer() {
    for answer in [
        ["93.184.216.34", "10.0.0.1"],
        ["10.0.0.1", "93.184.216.34"],
        ["2606:4700::1111", "::1"],
        ["93.184.216.34", "::ffff:93.184.216.34"],
        ["169.254.169.254", "169.254.169.254"],
    ] {
        let (checked, _) = checked(&[Some(&answer)]);
        let found = checked.addresses(NAME).await;
        let forbidden = matches!(found, Err(ResolveError::Forbidden { .. }));
        assert!(forbidden, "{answer:?}: {found:?}");
    }
}

#[actix_web::test]
async fn the_client_gets_what_was_judged_and_a_changed_mind_is_judged_again() {
    let (checked, names) = checked(&[Some(&["93.184.216.34"]), Some(&["127.0.0.1"])]);
    let given: Vec<_> = checked
        .resolve(NAME.parse().unwrap())
        .await
        .unwrap()
        .collect();
    assert_eq!(given, ["93.184.216.34:0".parse().unwrap()]);
    assert_eq!(names.asked.load(Ordering::SeqCst), 1, "one lookup, not two");
    let again = checked.resolve(NAME.parse().unwrap()).await;
    let why = again.map(|given| given.collect::<Vec<_>>()).unwrap_err();
    assert_eq!(
        why.to_string(),
        "the name resolves to 127.0.0.1, an address of this machine"
    );
}

#[actix_web::test]
async fn no_address_an_error_and_silence_are_no_address() {
    for answers in [&[][..], &[Some(&[][..])], &[None]] {
        let (checked, _) = checked(answers);
        assert_eq!(checked.addresses(NAME).await, Err(ResolveError::Unresolved));
    }
}

#[actix_web::test]
async fn all_addresses_are_checked_and_some_are_tried() {
    let many: Vec<_> = (1..=40).map(|n| format!("93.184.216.{n}")).collect();
    let mut many: Vec<_> = many.iter().map(String::as_str).collect();
    let (good, _) = checked(&[Some(&many)]);
    let given = good.resolve(NAME.parse().unwrap()).await.unwrap();
    assert_eq!(given.count(), ADDRESSES_MAX);
    many.push("192.168.1.1");
    let (bad, _) = checked(&[Some(&many)]);
    assert!(bad.resolve(NAME.parse().unwrap()).await.is_err());
}

static ASKED: AtomicUsize = AtomicUsize::new(0);
/// Held while the name server is silent.
static SILENCE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn ask(name: &str) -> io::Result<Vec<IpAddr>> {
    if name == "silent.example" {
        ASKED.fetch_add(1, Ordering::SeqCst);
        drop(SILENCE.blocking_lock());
    }
    Ok(vec!["203.0.113.7".parse().unwrap()])
}

#[actix_web::test]
async fn a_name_server_that_is_silent_holds_one_thread_for_each_name() {
    let lookup = Arc::new(SystemLookup::asking(ask));
    let reach = Arc::new(AllowedAddresses::public(vec![
        "203.0.113.0/24".parse().unwrap(),
    ]));
    let soon = Duration::from_millis(20);
    let checked = CheckedResolver::new(Arc::clone(&reach), lookup.clone(), soon);
    let silence = SILENCE.lock().await;
    for _ in 0..5 {
        let found = checked.addresses("silent.example").await;
        assert_eq!(found, Err(ResolveError::Unresolved));
        // The first lookup is under way when the next one comes.
        while ASKED.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
    let patient = CheckedResolver::new(reach, lookup, Duration::from_secs(120));
    assert_eq!(patient.addresses("other.example").await.unwrap().len(), 1);
    drop(silence);
    assert_eq!(patient.addresses("silent.example").await.unwrap().len(), 1);
    assert_eq!(ASKED.load(Ordering::SeqCst), 2);
}
