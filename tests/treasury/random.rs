//! A bank that moves money of the collector account at random, over thirty days, next to clients and crashes.
//!
//! **What is right.** Each day adds up, except for exactly what the bank hides; the terms of the treasury add up to the
//! bank's balance, and the books differ from it by exactly what the bank changed and took back.

use super::books::{balances, centavos, entries_explain, unexplained};
use crate::support::{SOON, TestService, Value, json, wait_until};

/// How many days back the bank posts.
const DAYS: u64 = 30;
/// How many movements it makes.
const MOVEMENTS: u64 = 60;
/// How often the service crashes meanwhile.
const CRASHES: u64 = 3;
const KINDS: [(&str, i64); 5] = [
    ("fee", -1),
    ("tax", -1),
    ("sweep", -1),
    ("interest", 1),
    ("funding", 1),
];

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[actix_web::test]
async fn thirty_days_of_a_bank_that_does_as_it_likes_add_up() {
    let mut service = TestService::start().await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    let (mut chance, today) = (Chance(40), service.engine().now().business_day());
    let days = (0..DAYS).scan(today, |day, _| {
        let it = *day;
        *day = it.before();
        Some(it)
    });
    let days: Vec<_> = days.collect();
    let read = async |service: &TestService, day: &str| {
        let path = format!("/v1/treasury/collector?date={day}");
        service.a.get(&path).await.is(200)
    };
    let (mut arrived, mut made) = (0, Vec::new());
    // The oldest movement stays as it is: before it, the bank has no balance to begin with.
    let oldest = days.last().unwrap().to_string();
    let first = json!({"kind": "funding", "amount": "1000.00", "date": oldest});
    service.bank_moves(first).await;
    read(&service, &oldest).await;
    for number in 0..MOVEMENTS {
        let place = usize::try_from(chance.below(DAYS)).unwrap();
        let day = days[place].to_string();
        let (kind, sign) = KINDS[usize::try_from(chance.below(5)).unwrap()];
        let amount = i64::try_from(chance.below(90_000) + 100).unwrap();
        let text = format!("{}.{:02}", amount / 100, amount % 100);
        let id = service
            .bank_moves(json!({"kind": kind, "amount": text, "date": day}))
            .await;
        made.push((id, day.clone(), sign * amount));
        if chance.below(3) == 0 {
            service.bank.cash_in(&cvu, "12.34").await;
            arrived += 1_234;
        }
        // The service sees some days before the bank thinks again.
        read(&service, &day).await;
        if number % (MOVEMENTS / CRASHES) == 7 {
            service.crash().await;
            service.hear().await;
        }
    }
    wait_until("all arrivals are booked", SOON, async || {
        let has = service.a.balance(&cvu).await["total"].clone();
        (centavos(&has) == arrived).then_some(())
    })
    .await;
    // The bank changes, takes back and hides some of what the service has recorded.
    let (mut differences, mut hidden) = (0, 0);
    let mut named = Vec::new();
    for (id, day, amount) in &made {
        let (change, flag) = match chance.below(6) {
            0 => (json!({"withdrawn": true}), "listed"),
            1 => (json!({"amount": "1.00"}), "changed"),
            2 => (json!({"hidden": true}), "listed"),
            _ => continue,
        };
        match (flag, &change["hidden"]) {
            ("changed", _) => differences += amount.signum() * 100 - amount,
            (_, Value::Null) => differences -= amount,
            _ => hidden += amount,
        }
        service.rethinks(id, change).await;
        named.push((id, day, flag));
    }
    assert!(differences != 0 && hidden != 0, "the bank was idle");
    let mut unlisted = 0;
    for day in &days {
        let found = read(&service, &day.to_string()).await;
        unlisted += centavos(&found["unexplained"]);
    }
    // What the list hides shows on the day on which the balance no longer fits, and each item is named on its own.
    assert_eq!(unlisted, hidden);
    for (id, day, flag) in named {
        let found = read(&service, day).await;
        let mut items = found["items"].as_array().unwrap().iter();
        let item = items.find(|it| it["bankId"] == **id).unwrap();
        assert_eq!(item[flag], json!(flag == "changed"), "{day}: {item}");
    }
    // All of it was recorded today, so the entries of today are all that the books have.
    entries_explain(&service.a, today).await;
    // What nobody has classified and what the bank took back or changed is all that the books lack.
    let books = balances(&service.a.get("/v1/books/trial-balance").await.is(200));
    let of = |name: &str| {
        let found = books.iter().find(|(account, _)| account == name);
        found.map_or(0, |(_, balance)| centavos(&json!(balance)))
    };
    let taken = service.a.get(super::PATH).await.is(200);
    assert_eq!(of("bank") + differences, centavos(&taken["bankBalance"]));
    assert_eq!(of("clients"), arrived);
    assert_eq!(
        unexplained(&service.a).await,
        of("unclassified") + differences
    );
    service.verified().await;
}
