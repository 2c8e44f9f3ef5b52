//! Remuneration of balances: enrols an account in a fund, and reads its position there. The position is no part of
//! the balance.

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use caudal_actors::accounts::{EnrolAccount, EnrolmentView};
use caudal_actors::engine::remuneration::RemunerationView;
use caudal_actors::realms::Target;
use caudal_http::bodies::body;
use caudal_http::bodies::texts::{Day, Instant};
use caudal_http::bodies::words::EstadoWord;
use caudal_http::body::read as read_body;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::problems::{BankProblems, Problems};
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, give, json, mark_replayed};
use caudal_http::text;
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::remuneration::{BrokerageAccount, Enrol, EnrolmentState, NAME_MAX};

use super::campos;
use super::importe::{Exacto, Importe};

/// The word for how far an enrolment has come.
const fn estado(state: Option<EnrolmentState>) -> &'static str {
    match state {
        None => "NO_ENROLADA",
        Some(EnrolmentState::Pending) => "PENDIENTE",
        Some(EnrolmentState::Active) => "ACTIVA",
        Some(EnrolmentState::Rejected) => "RECHAZADA",
        Some(EnrolmentState::Suspended) => "SUSPENDIDA",
        Some(EnrolmentState::Ended) => "BAJA",
    }
}

body! {
    /// An enrolment in remuneration.
    pub(crate) struct RemuneracionAlta from view: &EnrolmentView {
        => let known = view.enrolment.as_ref();
        => let code = known.map(|it| it.brokerage_account.as_str().to_owned());
        /// The reference by which the bank knows it.
        id: String = view.reference.clone();
        /// The CVU.
        cvu: String = view.cvu.map(|cvu| cvu.to_string()).unwrap_or_default();
        /// The account.
        id_cuenta: u64 = view.account.0;
        /// The holder's securities account at the broker.
        cuenta_comitente: String = code.unwrap_or_default();
        /// The fund, as asked for or as the bank has chosen it.
        fondo: Option<String> = known.and_then(|it| it.fund.clone());
        /// `PENDIENTE` until the fund has said, then `ACTIVA` or `RECHAZADA`; `SUSPENDIDA` for a time;
        /// `BAJA` when it is over.
        estado: &'static str as EstadoWord = estado(known.map(|it| it.state));
        /// When it was asked for; null only when nothing is enrolled.
        fecha_alta: Option<Instant> = known.map(|it| it.requested_at.into());
    }
}

body! {
    /// What the balance of an account has become in its fund. What only the fund knows is null while
    /// the enrolment has nothing there, and while the fund cannot be asked.
    pub(crate) struct RemuneracionEstado from found: &RemunerationView {
        => let (view, position) = (&found.view, found.position.as_ref());
        => let known = view.enrolment.as_ref();
        => let code = known.map(|it| it.brokerage_account.as_str().to_owned());
        /// The CVU.
        cvu: String = view.cvu.map(|cvu| cvu.to_string()).unwrap_or_default();
        /// The account.
        id_cuenta: u64 = view.account.0;
        /// `NO_ENROLADA` when it never was, else the state of the last enrolment.
        estado: &'static str as EstadoWord = estado(known.map(|it| it.state));
        /// The holder's securities account at the broker.
        cuenta_comitente: Option<String> = code;
        /// The fund.
        fondo: Option<String> = known.and_then(|it| it.fund.clone());
        /// When the enrolment was asked for.
        fecha_alta: Option<Instant> = known.map(|it| it.requested_at.into());
        /// Units of the fund, with 4 decimals.
        cuotapartes: Option<Exacto> = position.map(|it| Exacto::of(it.units));
        /// The last price that was published, in pesos for 1000 units, with 6 decimals.
        valor_cuotaparte: Option<Exacto> = position.map(|it| Exacto::of(it.price.price));
        /// The business day of that price, `YYYY-MM-DD`.
        fecha_valor: Option<Day> = position.map(|it| it.price.day.into());
        /// In pesos: units × price ÷ 1000, to the centavo. Apart from the balance, and never part of it.
        saldo_valuado: Option<Importe> = position.and_then(|it| it.value()).map(Importe::of);
        /// The price against that of the business day before, in percent with 6 decimals; a weekend's
        /// yield is in that of the next business day.
        rendimiento_diario: Option<Exacto>
            = position.and_then(|it| it.daily_yield()).map(Exacto::of);
        /// The nominal yearly rate in percent with 2 decimals: the gain since the price of 30 days
        /// before (or since the last one, where the fund gives no other) × 365 ÷ the days between.
        tna: Option<Exacto> = position.and_then(|it| it.yearly_rate()).map(Exacto::of);
    }
}

/// The mistake of an enrolment without an account.
const UNNAMED: Mistake = Mistake::RequiredOr { other: "idCuenta" };

request! {
    /// An enrolment in the remuneration of balances, by `cvu` or `idCuenta`.
    lenient struct EnrollRemuneracion as EnrollRemuneracionDto {
        => let named = |fields| fields.has("cvu") || fields.has("idCuenta");
        /// The CVU; or `idCuenta`. Both may come when they are of one account.
        cvu: Option<Cvu> = optional("cvu", read_body::text(Cvu::parse))
            as Option<String> { pattern = "^000[0-9]{19}$" };
        /// The account; or `cvu`.
        id_cuenta: Option<u64> = optional("idCuenta", campos::number) as Option<u64>;
        => |fields| if !named { fields.mistake("cvu", UNNAMED) };
        /// The holder's securities account at the broker; a text or a whole number.
        cuenta_comitente: BrokerageAccount =
            required("cuentaComitente", campos::code_as(BrokerageAccount::parse))
            as String { min_length = 1, max_length = 40 };
        /// The fund; the bank's own choice when absent.
        fondo: Option<String> = optional("fondo", read_body::line(NAME_MAX))
            as Option<String> { max_length = 40 };
    }
}

/// Enrols an account in the remuneration of its balance.
///
/// The answer waits for the fund's first word; without one it is `PENDIENTE`, and the fund is asked
/// again until it has said. The same again gives the same enrolment, as it is now. Another
/// `cuentaComitente` or `fondo` is refused (409 `remuneration_enrolled`) until the enrolment was
/// rejected or has ended. No money of the balance moves.
#[utoipa::path(
    operation_id = "walletRemuneracionAlta",
    tag = "Wallet: remuneration",
    params(declared::IdempotencyKey),
    request_body(content = EnrollRemuneracion),
    responses((status = 201, body = RemuneracionAlta), BankProblems)
)]
#[post("/wallet/v1/Remuneracion/Alta")]
pub(crate) async fn enrol(mut call: ApiCall) -> HandlerResult {
    let again = |view: &EnrolmentView| view.again;
    let requester = call.requester_of(again, |view| {
        let body = text::json(&RemuneracionAlta::from(view));
        (StatusCode::CREATED, body)
    })?;
    let sent = EnrollRemuneracion::read(call.take_body())?;
    let target = target(&call.caller, &sent).await?;
    let order = Enrol {
        brokerage_account: sent.cuenta_comitente,
        fund: sent.fondo,
    };
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    let order = EnrolAccount { target, order };
    let answered = ledger.order(realm, order, requester).await;
    give(answered, |view| {
        let mut answer = json(StatusCode::CREATED, &RemuneracionAlta::from(&view));
        if view.again {
            mark_replayed(&mut answer);
        }
        answer
    })
}

/// The account that a request names; if it is named twice, both have to name the same one.
async fn target(caller: &Caller, sent: &EnrollRemuneracion) -> Result<Target, ApiError> {
    match (sent.cvu, sent.id_cuenta) {
        (Some(cvu), Some(number)) => {
            let named = Target::Cvu(cvu);
            let owner = caller.queries().view(caller.realm(), named).await;
            // The order itself refuses an account that does not exist.
            if owner.is_ok_and(|view| view.account.number.0 != number) {
                let other = "cvu";
                return Err(ApiError::field("idCuenta", Mistake::Contradicts { other }));
            }
            Ok(named)
        }
        (Some(cvu), None) => Ok(Target::Cvu(cvu)),
        (None, Some(number)) => Ok(Target::Account(AccountNo(number))),
        (None, None) => Err(ApiError::field("cvu", UNNAMED)),
    }
}

/// Tells how far the enrolment of an account is, and what it is worth today.
///
/// The fund is asked each time, and its state becomes ours where they differ. While it cannot be
/// asked, the state is the last that is known and what only the fund knows is null.
#[utoipa::path(
    operation_id = "walletRemuneracionEstado",
    tag = "Wallet: remuneration",
    params(declared::CvuInPath),
    responses((status = 200, body = RemuneracionEstado), Problems)
)]
#[get("/wallet/v1/Remuneracion/Estado/{cvu}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let cvu = declared::CvuInPath::read(&path)?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let target = Target::Cvu(cvu);
    let found = queries
        .remuneration(realm, target, &caller.request_id)
        .await?;
    Ok(json(StatusCode::OK, &RemuneracionEstado::from(&found)))
}
