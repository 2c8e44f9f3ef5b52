//! A tenant's bank relations: checks before they are stored, and how they are shown.

use caudal_actors::banks::{NoBank, Relation};
use caudal_actors::engine::bank::NotRelated;
use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::bodies::words::BankKindWord;
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::tenants::Mode;

/// Checks that a realm may have a relation.
///
/// # Errors
/// 400 that names the field, or 409 when the realm's accounts are on another collector account.
pub(super) fn check(app: &AppState, relation: &Relation) -> Result<(), ApiError> {
    let mode = relation.mode.as_str();
    match app.engine.operators().may_relate(relation) {
        Ok(()) | Err(NotRelated::NoBank(NoBank::Absent)) => Ok(()),
        Err(NotRelated::NoBank(NoBank::Wrong { field, why })) => {
            let field = format!("bank.{mode}.{field}");
            Err(ApiError::field(&field, Mistake::Bank { why }))
        }
        Err(NotRelated::HasAccounts) => Err(Refusal::BankInUse { mode }.into()),
        Err(NotRelated::Failed(why)) => Err(why.into()),
    }
}

/// Checks that keys of a mode are useful: the realm has a bank.
///
/// # Errors
/// 409 that says where to set a bank.
pub(super) fn has_bank(app: &AppState, tenant: &str, mode: Mode) -> Result<(), ApiError> {
    let platform = app.engine.platform();
    let relation = Relation::of(platform.tenant(tenant)?, mode);
    let mode = mode.as_str();
    let Err(why) = app.engine.operators().has_bank(&relation) else {
        return Ok(());
    };
    Err(match why {
        NoBank::Absent => Refusal::BankNotSet { mode }.into(),
        NoBank::Wrong { field, why } => Refusal::BankWrong { mode, field, why }.into(),
    })
}

body! {
    /// A relation: what the tenant has of its own, and the collector account that follows.
    struct RelationBody as BankRelation {
        /// The API of the bank.
        kind: &'static str as BankKindWord;
        collector_cbu: Option<String>;
        psp_code: Option<u16>;
        base_url: Option<String>;
        username: Option<String>;
        /// The name of the file of its password, in the folder of secrets.
        password_file: Option<String>;
        /// The name of the file of the secret of its notices, in the same folder.
        notice_secret_file: Option<String>;
        /// The collector account in use, its own or the platform's; null without a bank.
        collector_in_use: Option<String>;
    }
}

body! {
    /// The relations of a tenant.
    pub(super) struct RelationsBody as BankRelations
        of(app: &AppState, tenant: &caudal_ledger::tenants::Tenant)
    {
        => let one = |mode| {
            let own = tenant.banks.of(mode).clone();
            RelationBody {
                kind: own.kind.as_str(),
                collector_cbu: own.collector.map(|cbu| cbu.to_string()),
                psp_code: own.psp_code,
                base_url: own.base_url,
                username: own.username,
                password_file: own.password_file,
                notice_secret_file: own.notice_secret_file,
                collector_in_use: app.engine.queries().collector_of(tenant.realm(mode)),
            }
        };
        live: RelationBody = one(Mode::Live);
        test: RelationBody = one(Mode::Test);
    }
}
