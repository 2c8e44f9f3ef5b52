//! Plays a history: sends each order to the service through one of the families, and enters what was
//! granted into the book.

use std::sync::Arc;

use super::book::{Account, Book, Held, Type, instant, written};
use super::steps::{Adjustment, Family, Step};
use crate::support::client::fresh;
use crate::support::{Answer, Client, TestClock, TestService, Value, cuit, json};

/// Names that differ in their letters.
const NAMES: [&str; 8] = [
    "Ágata", "Bruno", "Clara", "Darío", "Elsa", "Fabio", "Gema", "Hugo",
];

/// A service with its book.
pub struct Play {
    pub service: TestService,
    clock: Arc<TestClock>,
    pub book: Book,
    /// CUITs of holders; some have several accounts.
    pub holders: Vec<String>,
    aliases: Vec<String>,
}

impl Play {
    /// A realm with two accounts that have money, one from each family, and a type of each sense.
    pub async fn begin() -> Self {
        let book = Book::new();
        let clock = TestClock::at(&instant(book.now));
        let mut play = Self {
            service: TestService::at(&clock).await,
            clock,
            book,
            holders: (0..4).map(|_| cuit(fresh())).collect(),
            aliases: (0..4).map(|n| format!("Alias.{n}.Uno")).collect(),
        };
        for (family, credit) in [(Family::Native, true), (Family::Wallet, false)] {
            play.create_type(family, credit).await;
        }
        for (holder, family) in [(0, Family::Native), (1, Family::Wallet)] {
            play.open(family, holder, None).await;
        }
        play.get_cvu(1, true).await;
        for account in [0, 1] {
            let opening = Adjustment {
                family: Family::Native,
                account,
                kind: 0,
                numbered: false,
                centavos: 100_000,
                external: 200 + u8::try_from(account).unwrap(),
            };
            play.post(opening).await;
        }
        play
    }

    pub fn client(&self) -> &Client {
        &self.service.a
    }

    pub async fn step(&mut self, step: &Step) {
        match step.clone() {
            Step::Open {
                family,
                holder,
                alias,
            } => self.open(family, holder, alias).await,
            Step::GetCvu { account, automatic } => self.get_cvu(account, automatic).await,
            Step::CreateType { family, credit } => self.create_type(family, credit).await,
            Step::Toggle { kind, active } => self.toggle(kind, active).await,
            Step::RemoveType { kind } => self.remove(kind).await,
            Step::Post(order) => self.post(order).await,
            Step::Repeat {
                family,
                nth,
                changed,
            } => self.repeat(family, nth, changed).await,
            Step::Hold { account, centavos } => self.hold(account, centavos).await,
            Step::Settle {
                hold,
                confirm,
                centavos,
            } => self.settle(hold, confirm, centavos).await,
            Step::Transfer {
                from,
                to,
                by_alias,
                centavos,
            } => self.transfer(from, to, by_alias, centavos).await,
            Step::Suspend(account) => {
                let body = json!({"reason": "a history"});
                self.change(account, "POST", "/suspend", Some(body)).await;
            }
            Step::Reactivate(account) => self.change(account, "POST", "/reactivate", None).await,
            Step::Close(account) => self.change(account, "DELETE", "", None).await,
            Step::Enable { account, on } => self.enable(account, on).await,
            Step::Alias { account, alias } => {
                let body = json!({"alias": self.aliases[alias]});
                self.change(account, "PUT", "/alias", Some(body)).await;
            }
            Step::Wait(pause) => {
                self.book.wait(pause);
                self.clock.set(&instant(self.book.now));
            }
        }
    }

    async fn open(&mut self, family: Family, holder: usize, alias: Option<usize>) {
        let nth = self.book.accounts.len();
        let Some(first) = NAMES.get(nth) else { return };
        let (name, cuit) = (format!("{first} Paz"), self.holders[holder].clone());
        let code = nth.is_multiple_of(2).then(|| format!("COD-{nth}"));
        let mut account = Account {
            id: u64::try_from(nth).unwrap() + 1,
            status: "active",
            enabled: true,
            ..Account::default()
        };
        match family {
            Family::Native => {
                let mut body = json!({"cuit": cuit, "holderName": name});
                if let Some(code) = &code {
                    body["externalId"] = json!(code);
                }
                if let Some(alias) = alias {
                    body["alias"] = json!(self.aliases[alias]);
                }
                let key = format!("open-{}", fresh());
                let made = self.client().post("/v1/accounts", &body).key(&key).await;
                if alias.is_some() && made.status != 201 {
                    assert!(made.status == 409 || made.status == 400, "{}", made.text);
                    return;
                }
                let made = made.is(201);
                account.id = made["walletAccountId"].as_u64().unwrap();
                account.cvu = text(&made["cvu"]);
                account.alias = text(&made["alias"]);
            }
            Family::Wallet => {
                let mut body = json!({"cuitCuil": cuit, "nombre": first, "apellido": "Paz"});
                if let Some(code) = &code {
                    body["codigo"] = json!(code);
                }
                let made = self.client().post("/wallet/v1/Cuenta", &body).await;
                account.id = made.is(201)["id"].as_u64().unwrap();
            }
        }
        // Numbers rise and never repeat; a refused opening may use one up.
        let last = self.book.accounts.last().map_or(0, |last| last.id);
        assert!(account.id > last, "{} after {last}", account.id);
        (account.cuit, account.name, account.code) = (cuit, name, code);
        self.book.accounts.push(account);
        self.book.saw("opened");
    }

    async fn get_cvu(&mut self, account: usize, automatic: bool) {
        let at = self.book.account(account);
        let known = self.book.accounts[at].clone();
        let body = json!({"idCuenta": known.id, "nombreCVU": "Una", "aliasAutomatico": automatic});
        let given = self.client().post("/wallet/v1/CVU", &body).await;
        let alias = text(&given["alias"]).filter(|alias| !alias.is_empty());
        if known.status == "closed" {
            // It is the same CVU again, with its balance; another account may have the alias now.
            assert_eq!(text(&given.is(200)["cvu"]), known.cvu);
            let account = &mut self.book.accounts[at];
            (account.status, account.alias) = ("active", alias);
            self.book.saw("CVU given again");
            return;
        }
        let given = given.is(if known.cvu.is_some() { 200 } else { 201 });
        assert_eq!(given["idCuenta"], known.id);
        if known.cvu.is_some() {
            assert_eq!((text(&given["cvu"]), alias), (known.cvu, known.alias));
            return;
        }
        assert_eq!(alias.is_some(), automatic, "{}", given.text);
        let known = &mut self.book.accounts[at];
        (known.cvu, known.alias) = (text(&given["cvu"]), alias);
        self.book.saw("CVU given");
    }

    async fn create_type(&mut self, family: Family, credit: bool) {
        let nth = self.book.types.len();
        let (code, sense) = (
            format!("TYPE_{nth}"),
            if credit { "credit" } else { "debit" },
        );
        let id = match family {
            Family::Native => self.client().create_type(&code, sense).await["legacyId"].as_u64(),
            Family::Wallet => {
                let body = if nth.is_multiple_of(3) {
                    // The sense takes precedence over the sign.
                    json!({"nombre": format!("Type {code}"), "codigo": code, "sentido": sense, "signo": 1})
                } else {
                    let sign = if credit { 1 } else { -1 };
                    json!({"nombre": format!("Type {code}"), "codigo": code, "signo": sign})
                };
                let made = self.client().post("/wallet/v1/TipoComprobante", &body);
                made.await.is(201)["id"].as_u64()
            }
        };
        // Numbers count from 1000; none is reused, even if types are removed.
        assert_eq!(id, Some(1000 + u64::try_from(nth).unwrap()));
        self.book.types.push(Type {
            code,
            id: id.unwrap(),
            credit,
            active: true,
            removed: false,
        });
    }

    async fn toggle(&mut self, kind: usize, active: bool) {
        let at = kind % self.book.types.len();
        let path = format!("/v1/voucher-types/{}", self.book.types[at].code);
        let answer = self.client().patch(&path, &json!({"active": active})).await;
        let known = &mut self.book.types[at];
        answer.is(if known.removed { 404 } else { 200 });
        known.active = active;
    }

    async fn remove(&mut self, kind: usize) {
        let at = kind % self.book.types.len();
        // The first two types stay, or nothing could move any more.
        if at < 2 {
            return;
        }
        let path = format!("/v1/voucher-types/{}", self.book.types[at].code);
        let answer = self.client().delete(&path).await;
        let known = &mut self.book.types[at];
        answer.is(if known.removed { 404 } else { 204 });
        known.removed = true;
    }

    /// Sends an adjustment; `None` if the native family has no name for the account.
    async fn adjust(&self, order: Adjustment, family: Family, dry_run: bool) -> Option<Answer> {
        let account = &self.book.accounts[self.book.account(order.account)];
        let kind = &self.book.types[order.kind % self.book.types.len()];
        let external = format!("ext-{}", order.external);
        let query = if dry_run { "?dryRun=true" } else { "" };
        let amount = written(order.centavos);
        let call = match family {
            Family::Native => {
                let path = format!("/v1/accounts/{}/comprobantes{query}", account.cvu.as_ref()?);
                let body = json!({
                    "voucherTypeCode": kind.code, "amount": amount, "idExterno": external,
                    "description": external,
                });
                self.client().post(&path, &body)
            }
            Family::Wallet => {
                let kind = if order.numbered {
                    format!(r#""idTipoComprobante":{}"#, kind.id)
                } else {
                    format!(r#""codigo":"{}""#, kind.code)
                };
                let id = account.id;
                let path = format!("/wallet/v1/Comprobante{query}");
                self.client().call("POST", &path).text(format!(
                    r#"{{"idCuenta":{id},"importe":{amount},{kind},"idExterno":"{external}","referencia":"{external}"}}"#
                ))
            }
        };
        Some(call.await)
    }

    /// Posts an adjustment, after a dry run through the other family.
    async fn post(&mut self, order: Adjustment) {
        let dry = self.adjust(order, order.family.other(), true).await;
        let Some(answer) = self.adjust(order, order.family, false).await else {
            return;
        };
        if let Some(dry) = &dry {
            assert_eq!(
                dry.status == 200,
                answer.status == 201,
                "{} {}",
                dry.text,
                answer.text
            );
            assert_eq!(dry["code"], answer["code"]);
        }
        let (at, kind) = (
            self.book.account(order.account),
            order.kind % self.book.types.len(),
        );
        let known = self.book.types[kind].clone();
        let direction = if known.credit { "credit" } else { "debit" };
        let external = format!("ext-{}", order.external);
        let held_by = self.book.externals.get(&(external.clone(), direction));
        if let Some(first) = held_by.map(|nth| self.book.entries[*nth].clone()) {
            let same =
                (first.account, &first.code, first.centavos) == (at, &known.code, order.centavos);
            // A repeat finds its voucher even if the type is gone; anything else is refused.
            let gone = known.removed && first.code != known.code;
            if gone || self.book.accounts[at].cvu.is_none() {
                assert_ne!(answer.status, 201, "{}", answer.text);
            } else if same {
                assert!(answer.status == 201 && answer.replayed(), "{}", answer.text);
                assert_eq!(text(&answer["id"]), first.id);
                assert_eq!(after(&answer), first.after);
                self.book.saw("repeated");
            } else {
                answer.refused(409, "id_externo_reused");
                self.book.saw("reused");
            }
            return;
        }
        if !self.book.may_adjust(at, kind, order.centavos) {
            assert_eq!(answer.status, 400, "{}", answer.text);
            self.book.saw("refused");
            return;
        }
        let answer = answer.is(201);
        assert!(!answer.replayed());
        self.book.enter(at, direction, &known.code, order.centavos);
        self.book
            .adjusted(answer["id"].as_str().unwrap(), &external);
        let right = self.book.entries.last().unwrap().after;
        assert_eq!(after(&answer), right, "{}", answer.text);
        if let Some(dry) = &dry {
            assert_eq!(after(dry), right, "{}", dry.text);
        }
    }

    async fn repeat(&mut self, family: Family, nth: usize, changed: bool) {
        let all: Vec<_> = self.book.externals.values().copied().collect();
        let entry = &self.book.entries[all[nth % all.len()]];
        let external = entry.external.as_ref().unwrap();
        let kinds = &self.book.types;
        let order = Adjustment {
            family,
            account: entry.account,
            kind: kinds.iter().position(|it| it.code == entry.code).unwrap(),
            numbered: nth.is_multiple_of(2),
            centavos: entry.centavos + i64::from(changed),
            external: external.trim_start_matches("ext-").parse().unwrap(),
        };
        self.post(order).await;
    }

    async fn hold(&mut self, account: usize, centavos: i64) {
        let at = self.book.account(account);
        let Some(cvu) = self.book.accounts[at].cvu.clone() else {
            return;
        };
        let body = json!({"amount": written(centavos), "idExterno": format!("hold-{}", fresh())});
        let answer = self
            .client()
            .post(&format!("/v1/accounts/{cvu}/holds"), &body);
        let answer = answer.await;
        if !self.book.may_leave(at, centavos) {
            answer.is(400);
            return;
        }
        let id = text(&answer.is(201)["id"]).unwrap();
        self.book.enter(at, "hold", "HOLD", centavos);
        self.book.holds.push(Held {
            id,
            account: at,
            left: centavos,
        });
    }

    async fn settle(&mut self, hold: usize, confirm: bool, centavos: Option<i64>) {
        let Some(nth) = hold.checked_rem(self.book.holds.len()) else {
            return;
        };
        let hold = self.book.holds[nth].clone();
        let step = if confirm { "confirm" } else { "release" };
        let path = format!("/v1/holds/{}/{step}", hold.id);
        let answer = match centavos {
            Some(centavos) => {
                let body = json!({"amount": written(centavos)});
                self.client().post(&path, &body).await
            }
            None => self.client().call("POST", &path).await,
        };
        let centavos = centavos.unwrap_or(hold.left);
        if !self.book.may_settle(&hold, confirm, centavos) {
            answer.is(400);
            return;
        }
        let answer = answer.is(200);
        let (direction, code) = if confirm {
            ("confirm_hold", "CONFIRM_HOLD")
        } else {
            ("release", "RELEASE")
        };
        self.book.enter(hold.account, direction, code, centavos);
        let left = &mut self.book.holds[nth].left;
        *left -= centavos;
        assert_eq!(answer["remaining"], written(*left));
    }

    async fn transfer(&mut self, from: usize, to: usize, by_alias: bool, centavos: i64) {
        let (from, to) = (self.book.account(from), self.book.account(to));
        let (payer, payee) = (&self.book.accounts[from], &self.book.accounts[to]);
        let (Some(own), Some(theirs)) = (payer.cvu.clone(), payee.cvu.clone()) else {
            return;
        };
        if from == to {
            return;
        }
        let open = payee.status != "closed";
        let place = match &payee.alias {
            Some(alias) if by_alias && open => json!({"alias": alias}),
            _ => json!({"cvu": theirs}),
        };
        let answer = self
            .client()
            .transfer(&own, place, &written(centavos))
            .await;
        if !(open && self.book.may_leave(from, centavos)) {
            answer.is(400);
            return;
        }
        let answer = answer.is(201);
        assert_eq!(
            (&answer["kind"], &answer["status"]),
            (&json!("internal"), &json!("completed"))
        );
        self.book.enter(from, "debit", "INTERNAL_P2P_OUT", centavos);
        self.book.enter(to, "credit", "INTERNAL_P2P_IN", centavos);
        self.book.saw("transferred");
    }

    /// Changes an account through the native family, and enters how it is shown afterwards.
    async fn change(&mut self, account: usize, method: &str, path: &str, body: Option<Value>) {
        let at = self.book.account(account);
        let Some(cvu) = self.book.accounts[at].cvu.clone() else {
            return;
        };
        let before = self.book.accounts[at].status;
        let mut call = self
            .client()
            .call(method, &format!("/v1/accounts/{cvu}{path}"));
        if let Some(body) = &body {
            call = call.json(body);
        }
        let answer = call.await;
        assert!([200, 400, 409].contains(&answer.status), "{}", answer.text);
        let shown = self.client().get(&format!("/v1/accounts/{cvu}")).await;
        let shown = shown.is(200);
        let status = match (path, before) {
            (_, "closed") | ("", _) => "closed",
            ("/suspend", _) => "suspended",
            ("/reactivate", _) => "active",
            _ => before,
        };
        assert_eq!(shown["status"], status);
        let known = &mut self.book.accounts[at];
        (known.status, known.alias) = (status, text(&shown["alias"]));
        self.book.saw("changed");
    }

    async fn enable(&mut self, account: usize, on: bool) {
        let at = self.book.account(account);
        let path = format!("/wallet/v1/Habilitado/Cuenta/{}", self.book.accounts[at].id);
        let answer = self.client().patch(&path, &json!({"habilitado": on})).await;
        if self.book.accounts[at].status == "closed" {
            assert!(
                answer.status == 204 || answer.status == 400,
                "{}",
                answer.text
            );
        } else {
            assert_eq!(answer.status, 204, "{}", answer.text);
        }
        if answer.status == 204 {
            self.book.accounts[at].enabled = on;
        }
    }
}

/// The text of a value, if it is one.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The available and the held amount after a voucher, in either family's words, in centavos.
fn after(answer: &Answer) -> (i64, i64) {
    let either = |native: &str, wallet: &str| {
        let text = answer[native].as_str().or(answer[wallet].as_str());
        centavos(text.unwrap_or_else(|| panic!("{}", answer.text)))
    };
    (
        either("availableAfter", "availableBalance"),
        either("heldAfter", "heldBalance"),
    )
}

/// Parses a written amount into centavos.
pub fn centavos(text: &str) -> i64 {
    let (whole, rest) = text.split_once('.').unwrap();
    assert_eq!(rest.len(), 2, "{text}");
    format!("{whole}{rest}").parse().unwrap()
}
