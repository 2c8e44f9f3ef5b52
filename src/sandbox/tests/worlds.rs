//! Worlds: one for each collector account, connected by their rail and by nothing else.

use caudal_ledger::ids::RealmId;

use super::*;

/// A realm's world, and a login that may use it.
struct Place<'a> {
    rig: &'a Rig,
    token: String,
    collector: String,
    first: u64,
}

impl<'a> Place<'a> {
    async fn of(rig: &'a Rig, realm: u32) -> Self {
        let live = realm % 2 == 1;
        let user = if live { LIVE_USERNAME } else { USERNAME };
        let login = json!({"username": user, "password": PASSWORD});
        let (status, answer) = rig.ask(Method::POST, "/v1/login/jwt", login).await;
        assert_eq!(status, 200);
        Self {
            rig,
            token: answer["token"].as_str().unwrap().to_owned(),
            collector: collector(RealmId(realm)),
            first: u64::from(realm) * 10_000_000 + 1,
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}{path}", self.rig.bank.url());
        let request = self.rig.client.request(method, url);
        let request = request.header("authorization", format!("JWT {}", self.token));
        let answer = request.json(&body).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap())
    }

    async fn at(&self, collector: &str, method: Method, rest: &str, body: Value) -> (u16, Value) {
        let path = format!("/v1/banks/322/accounts/{collector}/owner{rest}");
        self.ask(method, &path, body).await
    }

    async fn open(&self) -> String {
        let body = json!({"client_id": self.first, "cuit": CUIT, "name": "Ana Acosta",
            "currency": "ARS"});
        let made = self.at(&self.collector, Method::POST, "/wallet/cvu", body);
        let (status, made) = made.await;
        assert_eq!(status, 200, "{made}");
        made["cvu"].as_str().unwrap().to_owned()
    }

    async fn alias(&self, cvu: &str, cuit: &str, label: &str) -> (u16, Value) {
        let body = json!({"cvu": cvu, "cuit": cuit, "label": label});
        self.at(&self.collector, Method::POST, "/wallet/alias", body)
            .await
    }

    async fn lookup(&self, key: &str) -> (u16, Value) {
        self.ask(Method::GET, &format!("/v1/accounts/{key}"), Value::Null)
            .await
    }

    async fn send(&self, id: &str, from: &str, to: &str) -> (u16, Value) {
        let order = json!({"origin_id": id, "origin_debit": {"cvu": from, "cuit": CUIT},
            "to": {"cbu": to}, "value": {"currency": "ARS", "amount": "1.25"}});
        let path = format!("/{TRANSFERS}/transaction-requests");
        self.at(&self.collector, Method::POST, &path, order).await
    }

    async fn balance(&self) -> String {
        let found = self.at(&self.collector, Method::GET, "", Value::Null).await;
        assert_eq!(found.1["id"], json!(self.collector));
        found.1["balance"]["amount"].as_str().unwrap().to_owned()
    }
}

#[actix_web::test]
async fn each_collector_account_is_a_world_and_the_rail_connects_them() {
    let rig = Rig::memory().await;
    let one = Place::of(&rig, 2).await;
    let two = Place::of(&rig, 4).await;
    let live = Place::of(&rig, 1).await;
    let (a, b, c) = (one.open().await, two.open().await, live.open().await);
    let codes = [&a, &b, &c].map(|cvu| cvu.get(3..7).unwrap());
    assert_eq!(codes, ["1001", "1003", "1000"]);
    // Another PSP of the rail is shown as one; accounts on the other rail do not exist.
    let (status, found) = one.lookup(&format!("cbu/{b}")).await;
    assert_eq!(
        (status, &found["bank_routing"]["code"]),
        (200, &json!("1003"))
    );
    for (who, key) in [(&one, &c), (&live, &a)] {
        let unknown = who.lookup(&format!("cbu/{key}")).await;
        assert_eq!(rig.code(unknown).await, "PA012");
    }
    // An alias can be taken only once on a rail.
    assert_eq!(one.alias(&a, CUIT, "mar.de.sal").await.0, 200);
    assert_eq!(
        rig.code(two.alias(&b, CUIT, "Mar.De.Sal").await).await,
        "VW007"
    );
    assert_eq!(live.alias(&c, CUIT, "mar.de.sal").await.0, 200);
    let (_, found) = two.lookup("alias/mar.de.sal").await;
    assert_eq!(found["account_routing"]["address"], json!(a));
    let (_, found) = live.lookup("alias/mar.de.sal").await;
    assert_eq!(found["account_routing"]["address"], json!(c));
    // Money finds its world by the CVU, and moves only between worlds of one rail.
    rig.cash_in(&a, "10.00").await;
    rig.cash_in(&c, "7.00").await;
    let (status, sent) = one.send("X1", &a, &b).await;
    assert_eq!((status, &sent["status"]), (200, &json!("COMPLETED")));
    assert_eq!(rig.code(one.send("X2", &a, &c).await).await, "PA012");
    // The same reference is another transfer in another world.
    assert_eq!(two.send("X1", &b, &a).await.1["warning"], Value::Null);
    let balances = (
        one.balance().await,
        two.balance().await,
        live.balance().await,
    );
    assert_eq!(balances, ("10.00".into(), "0.00".into(), "7.00".into()));
    assert_eq!(rig.balance().await, "0.00");
    assert_eq!(rig.state().await["balance"], "17.00");
    // A login of one world cannot act in another.
    assert_eq!(
        rig.code(two.alias(&a, CUIT, "otro.alias").await).await,
        "VW006"
    );
    assert_eq!(rig.code(two.send("X3", &a, &b).await).await, "VW006");
    for other in [live.collector.as_str(), "2850590940090418135201", "x"] {
        let refused = one.at(other, Method::GET, "", Value::Null).await;
        assert_eq!(rig.code(refused).await, "VW003", "{other}");
    }
    rig.bank.stop().await.unwrap();
}
