//! The bodies of the treasury in the wallet family. Amounts are JSON numbers written exactly, from the text of the
//! centavos; fields whose names end in `Balance` are strings.

use caudal_actors::accounts::{AccountVoucher, BalanceView};
use caudal_actors::engine::treasury::{NoBalance, Position, Snapshot};
use caudal_actors::ports::BankError;
use caudal_http::bodies::body;
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
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct CuentaRecaudadora {
    /// Its CBU.
    pub cbu: String,
    /// The name of its bank.
    pub banco: String,
}

/// How many accounts are in which state.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct CuentasPorEstado {
    /// Active.
    pub activas: u64,
    /// Suspended.
    pub suspendidas: u64,
    /// Closed.
    pub cerradas: u64,
}

body! {
    /// The treasury of the realm.
    pub(crate) struct Tesoreria from snapshot: &Snapshot {
        => let (totals, coverage) = (&snapshot.totals, snapshot.coverage());
        => let ratio = coverage.and_then(|coverage| coverage.ratio);
        => let bank = snapshot.bank.as_ref();
        /// When it was taken.
        fecha: Instant = snapshot.as_of.into();
        /// `ARS`.
        moneda: &'static str as CurrencyWord = "ARS";
        /// The account that really holds the money.
        cuenta_recaudadora: CuentaRecaudadora = CuentaRecaudadora {
            cbu: snapshot.collector.cbu.clone(),
            banco: snapshot.collector.bank.clone(),
        };
        /// What it has; null when the bank is away.
        saldo_banco: Option<Importe> = bank.ok().map(|(balance, _)| Importe::of(balance));
        /// What belongs to clients.
        saldo_clientes: Importe = Importe::of(totals.owed());
        /// What of it can be spent.
        saldo_disponible: Importe = Importe::of(totals.available);
        /// What of it is set apart.
        saldo_retenido: Importe = Importe::of(totals.held);
        /// `saldoBanco` less `saldoClientes`; may be negative. Null when the bank is away.
        saldo_libre: Option<Importe> = coverage.map(|coverage| Importe::of(coverage.free));
        /// The accounts with a CVU.
        cuentas: CuentasPorEstado = CuentasPorEstado {
            activas: totals.census.active,
            suspendidas: totals.census.suspended,
            cerradas: totals.census.closed,
        };
        /// `saldoBanco` by `saldoClientes`, four decimals, rounded down; null when nothing is owed.
        cobertura: Option<Importe> = ratio.map(Importe::of);
        /// Whether the collector account has all that is owed; null when the bank is away.
        cubierto: Option<bool> = coverage.map(|coverage| coverage.covered);
        /// Why the bank's balance is not known.
        error_banco: Option<&'static str> = bank.err().map(silence);
    }
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

body! {
    /// What a client has.
    pub(crate) struct SaldoCliente from position: &Position {
        => let (account, balance) = (&position.account, position.balance);
        /// The wallet account.
        id_cuenta: u64 = account.number.0;
        /// Its CVU.
        cvu: Option<String> = account.cvu.map(|cvu| cvu.to_string());
        /// Its alias.
        alias: Option<String> = account.alias.as_ref().map(ToString::to_string);
        /// The holder's name.
        nombre: String = account.holder.name.clone();
        /// The holder's CUIT.
        cuit_cuil: String = account.holder.cuit.to_string();
        /// What can be spent.
        saldo: Importe = Importe::of(balance.available);
        /// The same, as a string.
        available_balance: Pesos = balance.available.into();
        /// What is set apart.
        held_balance: Pesos = balance.held.into();
        /// The sum of both.
        total_balance: Pesos = balance.total().into();
        /// When it last moved; null before the first movement.
        fecha_ultimo_movimiento: Option<Instant> = position.last_movement_at.map(Into::into);
    }
}

/// A page of what clients have.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
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

body! {
    /// What a client had at the end of a day.
    pub(crate) struct SaldoClienteHistorico of(day: BusinessDay, view: &BalanceView) {
        => let Balance { available, held } = view.balance;
        /// The business day.
        date: Day = day.into();
        /// What could be spent.
        saldo: Importe = Importe::of(available);
        /// The same, as a string.
        available_balance: Pesos = available.into();
        /// What was set apart.
        held_balance: Pesos = held.into();
        /// The sum of both.
        total_balance: Pesos = view.balance.total().into();
        /// The CVU.
        cvu: String = view.cvu.to_string();
        /// The wallet account.
        id_cuenta: u64 = view.account.0;
    }
}

body! {
    /// A ledger movement of a client.
    pub(crate) struct Movimiento
        of(realm: RealmId, placed: &AccountVoucher, types: &VoucherTypes, calendar: &Calendar)
    {
        => let AccountVoucher { account, voucher } = placed;
        => let id = voucher.id(realm, *account);
        => let Balance { available, held } = voucher.after;
        => let day = voucher.at.business_day();
        /// The voucher's id.
        id_comprobante: String = id.to_string();
        /// The name of its type at that time.
        descripcion_tipo_comprobante: String
            = nombres::of_type(&voucher.type_code, &voucher.type_name);
        /// When it was posted.
        fecha: Instant = voucher.at.into();
        /// How much.
        importe: Importe = Importe::of(voucher.amount);
        /// `1` where it adds to what can be spent, `-1` where money goes out or is set apart.
        sentido: &'static str as SentidoWord = sentido(voucher.direction);
        /// The same as a number.
        signo: i8 as SignoWord = signo(voucher.direction);
        /// What could be spent afterwards.
        saldo: Importe = Importe::of(available);
        /// The tenant's own id.
        id_externo: Option<String> = voucher.external_id.as_ref().map(ToString::to_string);
        /// The CVU.
        cvu: String = voucher.cvu.to_string();
        /// The number of the type that it was posted with; below 1000 for types of the system.
        id_tipo_comprobante: Option<u64> = types.number_of(voucher);
        /// The code of its type.
        codigo: String = voucher.type_code.to_string();
        /// The wallet account.
        id_cuenta: u64 = account.0;
        /// A line for people.
        referencia: Option<String> = voucher.description.clone();
        /// The tenant's own date.
        fecha_externa: Option<String> as Option<FechaExterna> = voucher.external_date_as_sent();
        /// The other side, as far as it was known then; null for adjustments, holds and fees.
        contraparte: Option<Contraparte> = voucher.other_side().map(Contraparte::from);
        /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
        sentido_ledger: &'static str as LedgerTypeWord = voucher.direction.as_str();
        /// What could be spent afterwards, as a string.
        available_balance: Pesos = available.into();
        /// What was set apart afterwards.
        held_balance: Pesos = held.into();
        /// The sum of both.
        total_balance: Pesos = voucher.after.total().into();
        /// The business day on which it happened.
        fecha_negocio: Day = day.into();
        /// The banking day on which banks process it; null for a year whose holidays nobody has said.
        fecha_proceso: Option<Day> = calendar.processed(day).ok().map(Day::from);
        /// The banking day after that.
        fecha_publicacion: Option<Day> = calendar.published(day).ok().map(Day::from);
    }
}

/// A page of movements.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovimientosPage {
    /// How many movements match.
    pub total_records: u64,
    /// The movements.
    pub items: Vec<Movimiento>,
}
