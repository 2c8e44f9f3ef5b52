//! The console: the web interface for operators on the admin listener, served by the program
//! itself.
//!
//! **Shape.** A handler parses, calls the engine as the admin API does, and returns a [`view::Page`]; one template
//! writes it. Visitors without a session are redirected to the login page; a session begins with a person's
//! credential, the admin key or a one-time link ([`sessions`]). Every action is a form with the token of its session.
//! Texts are in both languages side by side ([`words`]). A node that does not own the log shows what it knows of itself
//! ([`page_context::ANY_NODE`]), and leads to [`node`] from any other page.
//!
//! **Bounds.** Pages of lists have [`view::ROWS`] rows and search no further than the API does; forms have
//! [`page_context::FORM_BYTES_MAX`]; [`live::STREAMS_MAX`] browsers follow the overview at the same time; for sessions see
//! [`sessions`]. The listener's own bounds apply to all of it.
//! **Order.** Session, then token, then the request itself: whoever is not logged in sees nothing but the login page. A page leaves when
//! the audit log has who opened it ([`looks`]).
//!
//! **Failure.** A refusal is a page with its sentence and the id of the request; nothing is retried by itself.
//!
//! **Security.** No page has an inline script or style, and the content security policy allows only files of this
//! service. The templates escape every text. Cookies are sent to no other site (`SameSite=Strict`), and no script can
//! read them.

mod accounts;
mod acts;
mod approvals;
mod assets;
mod audit;
mod backups;
mod books;
mod cases;
mod cells;
mod collector;
mod downloads;
mod lists;
mod live;
mod locale;
mod login;
mod looks;
mod movements;
mod node;
mod operations;
mod overview;
mod page_context;
mod people;
mod places;
mod problems;
mod realms;
mod reconciliation;
mod requests;
mod search;
mod sessions;
mod show;
mod tenants;
mod transfers;
mod treasury;
mod view;
mod webhooks;
mod words;

use std::sync::Arc;
use std::time::Instant;

use actix_web::middleware::from_fn;
use actix_web::web;
use caudal_http::AppState;

use downloads::{page, page_in, page_of};
use live::Pulse;
use sessions::Sessions;

/// The state that all pages share, as long as the listener runs.
#[derive(Debug)]
pub struct Console {
    sessions: Sessions,
    pulse: Pulse,
}

impl Console {
    /// The console of a service; starts taking samples for its pulse. Must be called inside an actix system.
    pub fn start(app: &AppState) -> Arc<Self> {
        let console = Arc::new(Self {
            sessions: Sessions::default(),
            pulse: Pulse::default(),
        });
        live::take(Arc::clone(&console), app.clone());
        console
    }

    /// The path of a link that logs in once, within ten minutes; `None` where the system has no random bits.
    pub fn link(&self) -> Option<String> {
        let link = self.sessions.link(Instant::now())?;
        Some(format!("/console/enter?link={}", link.expose()))
    }

    /// Adds the console's routes to a listener that has the state of the admin API.
    pub fn routes(self: Arc<Self>, config: &mut web::ServiceConfig) {
        let get = |path: &str| web::resource(path);
        let pages = web::scope("/console")
            .app_data(web::Data::from(self))
            .service(get("/").get(page(overview::page)))
            .service(get("/live").get(live::stream))
            .service(get("/parts/equation").get(treasury::equation))
            .service(get("/parts/reconciliation/{tenant}/{mode}").get(reconciliation::part))
            .service(get("/login").get(login::page).post(login::enter))
            .service(get("/enter").get(login::link))
            .service(get("/logout").post(login::leave))
            .service(get("/settings").post(login::settings))
            .service(get("/files/{version}/{name}").get(assets::file))
            .service(get("/search").get(search::page))
            .service(get("/tenants").get(page(tenants::list)))
            .service(get("/tenants/{tenant}").get(page_of(tenants::one)))
            .service(get("/tenants/{tenant}/{mode}/accounts").get(page_in(accounts::list)))
            .service(get("/tenants/{tenant}/{mode}/vouchers").get(page_in(movements::of_realm)))
            .service(get("/tenants/{tenant}/{mode}/transfers").get(page_in(transfers::of_realm)))
            .service(get("/tenants/{tenant}/{mode}/events").get(page_in(realms::events)))
            .service(get("/tenants/{tenant}/{mode}/positions").get(page_in(treasury::positions)))
            .service(
                get("/tenants/{tenant}/{mode}/reconciliation").get(page_in(reconciliation::day)),
            )
            .service(get("/tenants/{tenant}/{mode}/collector").get(page_in(collector::day)))
            .service(get("/tenants/{tenant}/{mode}/days").get(page_in(books::days)))
            .service(get("/tenants/{tenant}/{mode}/days/{date}").get(page_in(books::day)))
            .service(get("/tenants/{tenant}/{mode}/books").get(page_in(books::balances)))
            .service(get("/tenants/{tenant}/{mode}/books/entries").get(page_in(books::entries)))
            .service(get("/accounts/{key}").get(page_of(accounts::one)))
            .service(get("/accounts/{key}/movements").get(page_of(movements::of_account)))
            .service(get("/accounts/{key}/transfers").get(page_of(transfers::of_account)))
            .service(get("/accounts/{key}/statement").get(accounts::statement))
            .service(get("/accounts/{key}/act").post(accounts::act))
            .service(get("/vouchers/{id}").get(page_of(movements::one)))
            .service(get("/transfers/{id}").get(page_of(transfers::one)))
            .service(get("/cases").get(page(cases::list)))
            .service(
                get("/cases/{id}")
                    .get(page_of(cases::one))
                    .post(cases::decide),
            )
            .service(get("/treasury").get(page(treasury::page)))
            .service(get("/banks").get(page(treasury::banks)))
            .service(get("/reconciliation").get(page(reconciliation::choose)))
            .service(get("/webhooks").get(page(webhooks::list)))
            .service(get("/webhooks/{id}").get(page_of(webhooks::one)))
            .service(
                get("/deliveries/{id}")
                    .get(page_of(webhooks::delivery))
                    .post(webhooks::redeliver),
            )
            .service(get("/node").get(page(node::page)))
            .service(get("/people").get(page(people::page)))
            .service(get("/settings-of-platform").get(page(tenants::platform)))
            .service(get("/operations/{form}").post(operations::act))
            .service(get("/backups").get(page(backups::page)).post(backups::ship))
            .service(get("/audit").get(page(audit::page)))
            .service(get("/approvals").get(page(approvals::list)))
            .service(
                get("/approvals/{number}")
                    .get(page_in(approvals::one))
                    .post(approvals::decide),
            )
            .default_service(web::to(login::nowhere))
            .wrap(from_fn(looks::layer));
        config
            .service(web::resource("/console").get(login::home))
            .service(pages);
    }
}
