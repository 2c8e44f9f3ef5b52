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
//! **Order.** Session, then token, then the request itself: a stranger sees nothing but the login page. A page leaves when
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
mod banks;
mod books;
mod cases;
mod cells;
mod collector;
mod days;
mod downloads;
mod figures;
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
            .service(get("/").get(overview::page))
            .service(get("/live").get(live::stream))
            .service(get("/parts/equation").get(treasury::equation))
            .service(get("/parts/reconciliation/{tenant}/{mode}").get(reconciliation::part))
            .service(get("/login").get(login::page).post(login::enter))
            .service(get("/enter").get(login::link))
            .service(get("/logout").post(login::leave))
            .service(get("/settings").post(login::settings))
            .service(get("/files/{version}/{name}").get(assets::file))
            .service(get("/search").get(search::page))
            .service(get("/tenants").get(tenants::list))
            .service(get("/tenants/{tenant}").get(tenants::one))
            .service(get("/tenants/{tenant}/{mode}/accounts").get(accounts::list))
            .service(get("/tenants/{tenant}/{mode}/vouchers").get(movements::of_realm))
            .service(get("/tenants/{tenant}/{mode}/transfers").get(transfers::of_realm))
            .service(get("/tenants/{tenant}/{mode}/events").get(realms::events))
            .service(get("/tenants/{tenant}/{mode}/positions").get(treasury::positions))
            .service(get("/tenants/{tenant}/{mode}/reconciliation").get(reconciliation::day))
            .service(get("/tenants/{tenant}/{mode}/collector").get(collector::day))
            .service(get("/tenants/{tenant}/{mode}/days").get(days::list))
            .service(get("/tenants/{tenant}/{mode}/days/{date}").get(days::day))
            .service(get("/tenants/{tenant}/{mode}/books").get(books::balances))
            .service(get("/tenants/{tenant}/{mode}/books/entries").get(books::entries))
            .service(get("/accounts/{key}").get(accounts::one))
            .service(get("/accounts/{key}/movements").get(movements::of_account))
            .service(get("/accounts/{key}/transfers").get(transfers::of_account))
            .service(get("/accounts/{key}/statement").get(accounts::statement))
            .service(get("/accounts/{key}/act").post(accounts::act))
            .service(get("/vouchers/{id}").get(movements::one))
            .service(get("/transfers/{id}").get(transfers::one))
            .service(get("/cases").get(cases::list))
            .service(get("/cases/{id}").get(cases::one).post(cases::decide))
            .service(get("/treasury").get(treasury::page))
            .service(get("/banks").get(banks::page))
            .service(get("/reconciliation").get(reconciliation::choose))
            .service(get("/webhooks").get(webhooks::list))
            .service(get("/webhooks/{id}").get(webhooks::one))
            .service(
                get("/deliveries/{id}")
                    .get(webhooks::delivery)
                    .post(webhooks::redeliver),
            )
            .service(get("/node").get(node::page))
            .service(get("/people").get(people::page))
            .service(get("/settings-of-platform").get(tenants::platform))
            .service(get("/operations/{form}").post(operations::act))
            .service(get("/backups").get(backups::page).post(backups::ship))
            .service(get("/audit").get(audit::page))
            .service(get("/approvals").get(approvals::list))
            .service(
                get("/approvals/{number}")
                    .get(approvals::one)
                    .post(approvals::decide),
            )
            .default_service(web::to(login::nowhere))
            .wrap(from_fn(looks::layer));
        config
            .service(web::resource("/console").get(login::home))
            .service(pages);
    }
}
