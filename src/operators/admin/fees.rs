//! An account's own fees, as operators set them.

use std::collections::BTreeSet;

use caudal_actors::realms::Target;
use caudal_http::AppState;
use caudal_http::body::Body;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::words::{Mistake, WrongField};
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::{CHARGED, FeeRule};
use caudal_ledger::ids::RealmId;
use serde_json::Value;

use super::accounts::CvuInPath;
use super::requests::{SetFees, rules};
use super::shapes::ScheduleBody;
use super::{PathPart, State, accounts, changes, ok};

/// Checks that every entry of a schedule is for a type that can be charged: one that the service charges, or a tenant's
/// own type in one of these realms.
///
/// # Errors
/// 400 that names each entry that cannot be charged; the realm's failure when a realm does not answer.
pub(super) async fn can_be_charged(
    app: &AppState,
    realms: &[RealmId],
    fees: &[FeeRule],
) -> Result<(), ApiError> {
    let own = |fee: &&FeeRule| !CHARGED.contains(&fee.code.as_str());
    let mut missing: BTreeSet<_> = fees.iter().filter(own).map(|fee| &fee.code).collect();
    for realm in realms {
        if missing.is_empty() {
            return Ok(());
        }
        let types = app.engine.queries().voucher_types(*realm).await?;
        missing.retain(|code| types.custom(code).is_err());
    }
    let named = fees.iter().enumerate();
    let wrong = named.filter(|(_, fee)| missing.contains(&fee.code));
    let wrong = wrong.map(|(at, _)| WrongField {
        field: format!("feeSchedule.{at}.voucherTypeCode"),
        mistake: Mistake::NotCharged,
    });
    let wrong: Vec<_> = wrong.collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(wrong))
    }
}

/// Reads the fee schedule of an account; what it does not have is as its tenant's schedule says.
#[utoipa::path(
    get,
    path = "/admin/accounts/{cvu}/fee-schedule",
    params(CvuInPath),
    responses((status = 200, body = ScheduleBody))
)]
pub(super) async fn read(admin_state: State, path: PathPart) -> HandlerResult {
    let cvu = CvuInPath::read(&path)?;
    let engine = &admin_state.app.engine;
    let (realm, account) = engine.operators().locate(cvu).await?;
    let target = Target::Account(account);
    let view = engine.queries().view(realm, target).await?;
    let body = ScheduleBody::of(cvu, &view.account.fees);
    Ok(ok(&body))
}

/// The fee schedule of an account, as [`read`] shows it.
pub(crate) fn state(cvu: Cvu, fees: &[FeeRule]) -> Value {
    changes::state(&ScheduleBody::of(cvu, fees))
}

/// Sets the whole fee schedule of an account.
#[utoipa::path(
    put,
    path = "/admin/accounts/{cvu}/fee-schedule",
    params(CvuInPath),
    request_body(content = SetFees),
    responses((status = 200, body = ScheduleBody))
)]
pub(super) async fn set(admin_state: State, path: PathPart, sent: Body) -> HandlerResult {
    let cvu = CvuInPath::read(&path)?;
    let SetFees { fees } = SetFees::read(sent)?;
    let engine = &admin_state.app.engine;
    let (realm, account) = engine.operators().locate(cvu).await?;
    let fees = rules(fees);
    can_be_charged(&admin_state.app, &[realm], &fees).await?;
    let order = ProfileOrder::ChangeFees(fees);
    let target = Target::Account(account);
    // No other change may come in between: the audit log has the schedule before and after.
    let _alone = admin_state.changes.lock().await;
    let old = engine.queries().view(realm, target).await?;
    let before = state(cvu, &old.account.fees);
    let view = accounts::change(engine, realm, target, order).await?;
    tracing::info!(cvu_last4 = cvu.last4(), "account fee schedule changed");
    let after = ScheduleBody::of(cvu, &view.account.fees);
    Ok(changes::answer(&before, &after))
}
