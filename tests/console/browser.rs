//! A browser, as far as the console needs one: it keeps cookies and sends forms.

use std::collections::BTreeMap;

use crate::support::{Answer, Client, TestService, Value, canary, json};

/// A browser of the console; see the module.
pub struct Browser {
    client: Client,
    cookies: BTreeMap<String, String>,
    language: &'static str,
}

impl Browser {
    /// A browser in which nobody is logged in.
    pub fn new(service: &TestService) -> Self {
        Self::at(service.admin_client())
    }

    /// A browser at the admin listener that this client calls.
    pub fn at(client: Client) -> Self {
        Self {
            client,
            cookies: BTreeMap::new(),
            language: "es-AR,es;q=0.9",
        }
    }

    /// A browser that is logged in with the admin key.
    pub async fn entered(service: &TestService) -> Self {
        let mut browser = Self::new(service);
        let key = caudal_service::TEST_ADMIN_KEY;
        let answer = browser.send("/console/login", &[("key", key)]).await;
        assert_eq!(answer.is(303).header("location"), "/console/");
        browser
    }

    /// The same browser with another preferred language.
    pub fn reads(mut self, language: &'static str) -> Self {
        self.language = language;
        self
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&String> {
        self.cookies.get(name)
    }

    /// Sets a cookie of the test's own making.
    pub fn set(&mut self, name: &str, value: &str) {
        self.cookies.insert(name.to_owned(), value.to_owned());
    }

    fn cookies(&self) -> String {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    /// Opens a page.
    pub async fn get(&mut self, path: &str) -> Answer {
        let call = self
            .client
            .get(path)
            .header("accept-language", self.language);
        let answer = call.header("cookie", &self.cookies()).await;
        self.keep(&answer);
        answer
    }

    /// Sends a form, as a page of the service itself would.
    pub async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send_from(path, fields, "same-origin").await
    }

    /// Sends a form from a page of some site.
    pub async fn send_from(&mut self, path: &str, fields: &[(&str, &str)], site: &str) -> Answer {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        let body = body.extend_pairs(fields).finish();
        let call = self.client.call("POST", path);
        let call = call
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept-language", self.language)
            .header("sec-fetch-site", site)
            .header("cookie", &self.cookies());
        let answer = call.body(body).await;
        self.keep(&answer);
        answer
    }

    /// The token that the forms of a page carry.
    pub async fn token(&mut self, path: &str) -> String {
        let page = self.get(path).await.is(200);
        let token = token(&page.text).expect("a form with a token");
        canary::learn(token);
        token.to_owned()
    }

    /// Sends a form that acts, with the token of the page that it is on.
    pub async fn act(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.token(page).await;
        let fields: Vec<_> = fields
            .iter()
            .copied()
            .chain([("token", token.as_str())])
            .collect();
        self.send(path, &fields).await
    }

    fn keep(&mut self, answer: &Answer) {
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (pair, attributes) = line.split_once("; ").unwrap();
            assert!(attributes.contains("Path=/console; "), "{line}");
            assert!(attributes.contains("HttpOnly; SameSite=Strict"), "{line}");
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.contains("Max-Age=0;") {
                drop(self.cookies.remove(name))
            } else {
                // Language and theme are no secrets.
                if name == "caudal_session" {
                    canary::learn(value);
                }
                self.set(name, value);
            }
        }
    }
}

/// The token of the first form of a page.
pub fn token(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("name=\"token\" value=\"")?;
    rest.split('"').next()
}

/// Carries out an operator's order at the admin API, with a reason.
pub async fn order(service: &TestService, method: &str, path: &str, body: &Value) -> Answer {
    let call = service.admin_client().call(method, path);
    let call = call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY);
    call.header("x-reason", "a test").json(body).await
}

/// Adds a person; returns their credential.
pub async fn credential(service: &TestService, name: &str, role: &str) -> String {
    let body = json!({"name": name, "role": role});
    let added = order(service, "POST", "/admin/people", &body).await;
    added.is(201)["credential"].as_str().unwrap().to_owned()
}
