//! The bodies of the treasury in the wallet family. Amounts are JSON numbers written exactly, from the text of the
//! centavos; fields whose names end in `Balance` are strings.

use caudal_actors::accounts::{AccountVoucher, BalanceView};
use caudal_actors::engine::treasury::{NoBalance, Position, Snapshot};
use caudal_actors::ports::BankError;
use caudal_http::bodies::counterparty::Contraparte;
use caudal_http::bodies::nombres;
use caudal_http::bodies::words::{CurrencyWord, LedgerTypeWord, SentidoWord, SignoWord};
use caudal_ledger::balance::Balance;
use caudal_ledger::calendar::Calendar;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::voucher_types::VoucherTypes;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wallet::campos::FechaExterna;
use crate::wallet::comprobantes::{sentido, signo};
use crate::wallet::corte::Corte;
use crate::wallet::importe::Importe;
use caudal_http::bodies::texts::{Day, Instant, Pesos};

/// The collector account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CuentaRecaudadora {
    /// Its CBU.
    pub cbu: String,
    /// The name of its bank.
    pub banco: String,
}

/// How many accounts are in which state.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CuentasPorEstado {
    /// Active.
    pub activas: u64,
    /// Suspended.
    pub suspendidas: u64,
    /// Closed.
    pub cerradas: u64,
}

/// The treasury of the realm.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tesoreria {
    /// When it was taken.
    pub fecha: Instant,
    /// `ARS`.
    #[schema(value_type = CurrencyWord)]
    pub moneda: &'static str,
    /// The account that really holds the money.
    pub cuenta_recaudadora: CuentaRecaudadora,
    /// What it has; null when the bank is away.
    pub saldo_banco: Option<Importe>,
    /// What belongs to clients.
    pub saldo_clientes: Importe,
    /// What of it can be spent.
    pub saldo_disponible: Importe,
    /// What of it is set apart.
    pub saldo_retenido: Importe,
    /// `saldoBanco` less `saldoClientes`; may be negative. Null when the bank is away.
    pub saldo_libre: Option<Importe>,
    /// The accounts with a CVU.
    pub cuentas: CuentasPorEstado,
    /// `saldoBanco` by `saldoClientes`, four decimals, rounded down; null when nothing is owed.
    pub cobertura: Option<Importe>,
    /// Whether the collector account has all that is owed; null when the bank is away.
    pub cubierto: Option<bool>,
    /// Why the bank's balance is not known.
    pub error_banco: Option<&'static str>,
}

const fn silence(why: &NoBalance) -> &'static str {
    match why {
        NoBalance::Shared => "la cuenta recaudadora es también de otra billetera",
        NoBalance::NoBank => "no hay un banco configurado",
        NoBalance::NotYet => "el banco todavía no respondió",
        NoBalance::Error(BankError::Refused(_)) => "el banco rechazó la consulta de saldo",
        NoBalance::Error(BankError::Failed { .. }) => "el banco falló",
        NoBalance::Error(BankError::TimedOut) => "el banco no respondió a tiempo",
    }
}

impl From<&Snapshot> for Tesoreria {
    fn from(snapshot: &Snapshot) -> Self {
        let (totals, coverage) = (&snapshot.totals, snapshot.coverage());
        let ratio = coverage.and_then(|coverage| coverage.ratio);
        let bank = snapshot.bank.as_ref();
        Self {
            fecha: snapshot.as_of.into(),
            moneda: "ARS",
            cuenta_recaudadora: CuentaRecaudadora {
                cbu: snapshot.collector.cbu.clone(),
                banco: snapshot.collector.bank.clone(),
            },
            saldo_banco: bank.ok().map(|(balance, _)| Importe::of(balance)),
            saldo_clientes: Importe::of(totals.owed()),
            saldo_disponible: Importe::of(totals.available),
            saldo_retenido: Importe::of(totals.held),
            saldo_libre: coverage.map(|coverage| Importe::of(coverage.free)),
            cuentas: CuentasPorEstado {
                activas: totals.census.active,
                suspendidas: totals.census.suspended,
                cerradas: totals.census.closed,
            },
            cobertura: ratio.map(Importe::of),
            cubierto: coverage.map(|coverage| coverage.covered),
            error_banco: bank.err().map(silence),
        }
    }
}

/// What a client has.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SaldoCliente {
    /// The wallet account.
    pub id_cuenta: u64,
    /// Its CVU.
    pub cvu: Option<String>,
    /// Its alias.
    pub alias: Option<String>,
    /// The holder's name.
    pub nombre: String,
    /// The holder's CUIT.
    pub cuit_cuil: String,
    /// What can be spent.
    pub saldo: Importe,
    /// The same, as a string.
    pub available_balance: Pesos,
    /// What is set apart.
    pub held_balance: Pesos,
    /// The sum of both.
    pub total_balance: Pesos,
    /// When it last moved; null before the first movement.
    pub fecha_ultimo_movimiento: Option<Instant>,
}

impl From<&Position> for SaldoCliente {
    fn from(position: &Position) -> Self {
        let (account, balance) = (&position.account, position.balance);
        Self {
            id_cuenta: account.number.0,
            cvu: account.cvu.map(|cvu| cvu.to_string()),
            alias: account.alias.as_ref().map(ToString::to_string),
            nombre: account.holder.name.clone(),
            cuit_cuil: account.holder.cuit.to_string(),
            saldo: Importe::of(balance.available),
            available_balance: balance.available.into(),
            held_balance: balance.held.into(),
            total_balance: balance.total().into(),
            fecha_ultimo_movimiento: position.last_movement_at.map(Into::into),
        }
    }
}

/// A page of what clients have.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SaldosPage {
    /// How many pages there are; where `X-Total-Count` is absent and there is more, one more than this page.
    pub total_pages: u64,
    /// How many clients match; where `X-Total-Count` is absent, how many there are at least.
    pub total_records: u64,
    /// The clients.
    pub items: Vec<SaldoCliente>,
    /// The instant of all pages.
    #[serde(flatten)]
    pub corte: Corte,
}

/// What a client had at the end of a day.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SaldoClienteHistorico {
    /// The business day.
    pub date: Day,
    /// What could be spent.
    pub saldo: Importe,
    /// The same, as a string.
    pub available_balance: Pesos,
    /// What was set apart.
    pub held_balance: Pesos,
    /// The sum of both.
    pub total_balance: Pesos,
    /// The CVU.
    pub cvu: String,
    /// The wallet account.
    pub id_cuenta: u64,
}

impl SaldoClienteHistorico {
    /// Renders a balance of the past.
    pub(crate) fn of(day: BusinessDay, view: &BalanceView) -> Self {
        let Balance { available, held } = view.balance;
        Self {
            date: day.into(),
            saldo: Importe::of(available),
            available_balance: available.into(),
            held_balance: held.into(),
            total_balance: view.balance.total().into(),
            cvu: view.cvu.to_string(),
            id_cuenta: view.account.0,
        }
    }
}

/// A ledger movement of a client.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Movimiento {
    /// The voucher's id.
    pub id_comprobante: String,
    /// The name of its type at that time.
    pub descripcion_tipo_comprobante: String,
    /// When it was posted.
    pub fecha: Instant,
    /// How much.
    pub importe: Importe,
    /// `1` where it adds to what can be spent, `-1` where money goes out or is set apart.
    #[schema(value_type = SentidoWord)]
    pub sentido: &'static str,
    /// The same as a number.
    #[schema(value_type = SignoWord)]
    pub signo: i8,
    /// What could be spent afterwards.
    pub saldo: Importe,
    /// The tenant's own id.
    pub id_externo: Option<String>,
    /// The CVU.
    pub cvu: String,
    /// The number of the type that it was posted with; below 1000 for types of the system.
    pub id_tipo_comprobante: Option<u64>,
    /// The code of its type.
    pub codigo: String,
    /// The wallet account.
    pub id_cuenta: u64,
    /// A line for people.
    pub referencia: Option<String>,
    /// The tenant's own date.
    #[schema(value_type = Option<FechaExterna>)]
    pub fecha_externa: Option<String>,
    /// The other side, as far as it was known then; null for adjustments, holds and fees.
    pub contraparte: Option<Contraparte>,
    /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
    #[schema(value_type = LedgerTypeWord)]
    pub sentido_ledger: &'static str,
    /// What could be spent afterwards, as a string.
    pub available_balance: Pesos,
    /// What was set apart afterwards.
    pub held_balance: Pesos,
    /// The sum of both.
    pub total_balance: Pesos,
    /// The business day on which it happened.
    pub fecha_negocio: Day,
    /// The banking day on which banks process it; null for a year whose holidays nobody has said.
    pub fecha_proceso: Option<Day>,
    /// The banking day after that.
    pub fecha_publicacion: Option<Day>,
}

impl Movimiento {
    /// Renders a voucher.
    pub(crate) fn of(
        realm: RealmId,
        placed: &AccountVoucher,
        types: &VoucherTypes,
        calendar: &Calendar,
    ) -> Self {
        let AccountVoucher { account, voucher } = placed;
        let id = voucher.id(realm, *account);
        let Balance { available, held } = voucher.after;
        let day = voucher.at.business_day();
        Self {
            id_comprobante: id.to_string(),
            descripcion_tipo_comprobante: nombres::of_type(&voucher.type_code, &voucher.type_name),
            fecha: voucher.at.into(),
            importe: Importe::of(voucher.amount),
            sentido: sentido(voucher.direction),
            signo: signo(voucher.direction),
            saldo: Importe::of(available),
            id_externo: voucher.external_id.as_ref().map(ToString::to_string),
            cvu: voucher.cvu.to_string(),
            id_tipo_comprobante: types.number_of(voucher),
            codigo: voucher.type_code.to_string(),
            id_cuenta: account.0,
            referencia: voucher.description.clone(),
            fecha_externa: voucher.external_date_as_sent(),
            contraparte: voucher.other_side().map(Contraparte::from),
            sentido_ledger: voucher.direction.as_str(),
            available_balance: available.into(),
            held_balance: held.into(),
            total_balance: voucher.after.total().into(),
            fecha_negocio: day.into(),
            fecha_proceso: calendar.processed(day).ok().map(Day::from),
            fecha_publicacion: calendar.published(day).ok().map(Day::from),
        }
    }
}

/// A page of movements.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovimientosPage {
    /// How many movements match.
    pub total_records: u64,
    /// The movements.
    pub items: Vec<Movimiento>,
}
