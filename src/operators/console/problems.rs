//! What needs a person, as a table: the overview begins with it, and so does the page of the nodes.

use caudal_actors::platform::realms;
use caudal_ledger::tenants::Mode;

use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Tone, table};
use super::words::Word;
use crate::admin::observed::Observed;
use crate::admin::problems::{Problem, ProblemKind, problems};

/// The table of everything that needs a person now, or the note that nothing does.
pub(super) fn needed(context: &PageContext, observed: &Observed) -> Block {
    let found = problems(&context.admin_state, observed);
    if found.is_empty() {
        return context.note(Tone::Good, Word::NothingWrong);
    }
    let (locale, platform) = (context.locale(), context.engine().platform());
    Block::Table(table! {
        locale, Word::NeedsSomebody, Word::NothingWrong; it in &found;
        => let on_it = realms(&platform)
            .filter(|(tenant, mode)| it.realms.contains(&tenant.realm(*mode)));
        => let places: Vec<_> = on_it
            .map(|(tenant, mode)| TenantRealm::of(tenant, mode))
            .collect();
        => let titles = places.iter().map(|it| it.title(locale));
        => let is_disk = matches!(it.kind, ProblemKind::DiskLow | ProblemKind::DiskNearlyFull);
        => let free = is_disk.then(|| context.say(Word::FreeRoom).to_owned());
        => let about: Vec<_> = titles.chain(free).chain(it.subject.clone()).collect();
        => let runbook = it.kind.runbook();
        => let place = place(it, places.first()).unwrap_or_else(|| runbook.clone());
        Urgency: locale.state(it.kind.severity().as_str());
        Problem: Cell::text(locale.named(it.kind.code())).to(place);
        About: Cell::text(about.join(" · "));
        Since: locale.maybe_time(it.at);
        Items figure: locale.maybe_count(it.count);
        Amount figure: locale.maybe_money(it.amount);
        WhatToDo: Cell::text(context.say(Word::DocumentedSteps)).to(runbook);
    })
}

/// The page about a problem, if the console has one.
fn place(it: &Problem, realm: Option<&TenantRealm>) -> Option<String> {
    match it.kind {
        ProblemKind::MoneyMissing => realm.map(TenantRealm::treasury),
        ProblemKind::BankUnreachable | ProblemKind::CoverageUnknown => {
            Some("/console/banks".to_owned())
        }
        ProblemKind::NoOwner | ProblemKind::OneCopy | ProblemKind::NodeAbsent => {
            Some("/console/node".to_owned())
        }
        ProblemKind::BackupBehind => Some("/console/backups".to_owned()),
        ProblemKind::CaseOld => realm.map(|realm| {
            let (tenant, mode) = (&realm.tenant, Mode::as_str(realm.mode));
            format!("/console/cases?tenant={tenant}&mode={mode}")
        }),
        ProblemKind::TransferOld => {
            realm.map(|realm| realm.address("transfers?status=in_progress"))
        }
        ProblemKind::DayNotClosed => realm.map(|realm| realm.address("days")),
        ProblemKind::WebhookStopped => {
            let id = it.subject.as_ref()?;
            Some(format!("/console/webhooks/{id}"))
        }
        ProblemKind::KeyEnds => realm.map(|realm| format!("/console/tenants/{}", realm.tenant)),
        ProblemKind::NotReady
        | ProblemKind::ClockInDoubt
        | ProblemKind::DamageFound
        | ProblemKind::RealmDown
        | ProblemKind::DiskNearlyFull
        | ProblemKind::DiskLow
        | ProblemKind::OutgoingHeld => None,
    }
}

#[cfg(test)]
mod tests {
    use caudal_http::current::Language;

    use super::*;
    use crate::console::words::state;

    #[test]
    fn every_kind_has_a_name_in_both_languages() {
        for kind in ProblemKind::ALL {
            for language in [Language::Spanish, Language::English] {
                assert!(state(kind.code(), language).is_some(), "{kind:?}");
                assert!(state(kind.severity().as_str(), language).is_some());
            }
        }
    }
}
