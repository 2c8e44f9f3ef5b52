//! The body of a statement. Its bytes stay the same for ever, so its lines have a shape of their own: a field that
//! vouchers get later does not enter statements by itself, and nothing in it is looked up in tables that grow.

use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::{Flow, Statement};
use caudal_ledger::vouchers::Voucher;
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::{Day, Instant, Pesos};
use super::words::{LedgerTypeWord, ReferenceTypeWord};

/// What an account has at one end of a statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = StatementBalance)]
pub struct StatementBalance {
    /// What can be spent.
    pub available: Pesos,
    /// What is set apart.
    pub held: Pesos,
    /// The sum of both.
    pub total: Pesos,
}

impl From<Balance> for StatementBalance {
    fn from(balance: Balance) -> Self {
        Self {
            available: balance.available.into(),
            held: balance.held.into(),
            total: balance.total().into(),
        }
    }
}

/// How many lines of a statement have a direction, and what they come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct StatementSum {
    /// How many.
    pub count: u64,
    /// ARS with two decimals.
    pub amount: Pesos,
}

impl From<Flow> for StatementSum {
    fn from(flow: Flow) -> Self {
        Self {
            count: flow.count,
            amount: flow.amount.into(),
        }
    }
}

/// What the lines of a statement come to, direction by direction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatementSums {
    /// Money that came in.
    pub credit: StatementSum,
    /// Money that left.
    pub debit: StatementSum,
    /// Money that was set apart; it stays in the total.
    pub hold: StatementSum,
    /// Money that was set apart and returned.
    pub release: StatementSum,
    /// Money that was set apart and left.
    pub confirm_hold: StatementSum,
}

/// A movement in a statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatementLine {
    /// The number of the movement in its account.
    pub sequence: u64,
    /// The id of the voucher.
    pub id: String,
    /// When it was posted.
    pub created_at: Instant,
    /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
    #[schema(value_type = LedgerTypeWord)]
    pub ledger_type: &'static str,
    /// ARS with two decimals.
    pub amount: Pesos,
    /// What was available afterwards.
    pub available_after: Pesos,
    /// What was held afterwards.
    pub held_after: Pesos,
    /// The sum of both.
    pub total_after: Pesos,
    /// The code of its type.
    pub voucher_type_code: String,
    /// The name of its type at that time.
    pub voucher_type_name: String,
    /// The tenant's own id.
    pub id_externo: Option<String>,
    /// What it belongs to.
    #[schema(value_type = ReferenceTypeWord)]
    pub reference_type: &'static str,
    /// The id of what it belongs to.
    pub reference_id: String,
    /// A line for people.
    pub description: Option<String>,
    /// The id of the voucher that it reverses; absent where it reverses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reverses: Option<String>,
    /// The name of the other side.
    pub counterparty_name: Option<String>,
    /// The tax id of the other side.
    pub counterparty_cuit: Option<String>,
    /// The CBU or CVU of the other side.
    pub counterparty_cbu: Option<String>,
    /// The id of the movement on the rail (COELSA).
    pub coelsa_id: Option<String>,
}

impl StatementLine {
    /// Renders a movement of an account of a realm.
    pub fn of(realm: RealmId, statement: &Statement, voucher: &Voucher) -> Self {
        let id = voucher.id(realm, statement.of.account).to_string();
        let other = voucher.counterparty.as_deref();
        Self {
            sequence: voucher.sequence,
            created_at: voucher.at.into(),
            ledger_type: voucher.direction.as_str(),
            amount: voucher.amount.into(),
            available_after: voucher.after.available.into(),
            held_after: voucher.after.held.into(),
            total_after: voucher.after.total().into(),
            voucher_type_code: voucher.type_code.to_string(),
            voucher_type_name: voucher.type_name.clone(),
            id_externo: voucher.external_id.as_ref().map(ToString::to_string),
            reference_type: voucher.reference_type.as_str(),
            reference_id: voucher.reference_id.clone().unwrap_or_else(|| id.clone()),
            description: voucher.description.clone(),
            reverses: voucher
                .reverses(realm, statement.of.account)
                .map(|id| id.to_string()),
            counterparty_name: other.and_then(|other| other.name.clone()),
            counterparty_cuit: other.and_then(|other| other.cuit.clone()),
            counterparty_cbu: other.and_then(|other| other.cbu.clone()),
            coelsa_id: voucher.coelsa_id().map(str::to_owned),
            id,
        }
    }
}

/// The statement of an account for whole days: the opening balance, every movement, the closing balance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Statement)]
pub struct StatementBody {
    /// The CVU.
    pub cvu: String,
    /// The alias that it had at the end of the period.
    pub alias: Option<String>,
    /// The number of the wallet account.
    pub wallet_account_id: u64,
    /// How the holder was called at the end of the period.
    pub holder_name: String,
    /// The tax id of the holder.
    pub cuit: String,
    /// How the payment service provider was called at the end of the period.
    pub provider: String,
    /// The CUIT that the provider stated at the end of the period.
    pub provider_cuit: Option<String>,
    /// The address that the provider stated at the end of the period.
    pub provider_address: Option<String>,
    /// The first day.
    pub from: Day,
    /// The last day, whole.
    pub to: Day,
    /// Whether nothing can get into it any more, so that its bytes stay the same; false until five minutes
    /// after the end of its last day.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// `ARS`.
    pub currency: &'static str,
    /// What the account had before the period.
    pub opening: StatementBalance,
    /// What it has after the last line: the total is that of `opening`, plus `credit`, less `debit` and `confirmHold`.
    pub closing: StatementBalance,
    /// What the lines come to.
    pub sums: StatementSums,
    /// How many lines there are.
    pub movements: u64,
    /// The number of the last movement that it knows; 0 where the account had none yet.
    pub last_sequence: u64,
    /// The hash chain of the account up to and with that movement, 64 hexadecimal digits.
    pub hash: String,
    /// The movements, oldest first.
    pub lines: Vec<StatementLine>,
}

impl StatementBody {
    /// Renders a statement without its lines.
    pub fn frame(statement: &Statement) -> Self {
        let of = &statement.of;
        let sum = |direction| statement.flows.of(direction).into();
        Self {
            cvu: of.cvu.to_string(),
            alias: of.alias.as_ref().map(ToString::to_string),
            wallet_account_id: of.account.0,
            holder_name: of.holder.clone(),
            cuit: of.cuit.clone(),
            provider: of.provider.clone(),
            provider_cuit: of.provider_details.cuit.map(|cuit| cuit.to_string()),
            provider_address: of.provider_details.address.clone(),
            from: statement.period.first.into(),
            to: statement.period.last.into(),
            is_final: statement.is_final,
            currency: "ARS",
            opening: statement.opening.into(),
            closing: statement.closing.into(),
            sums: StatementSums {
                credit: sum(Direction::Credit),
                debit: sum(Direction::Debit),
                hold: sum(Direction::Hold),
                release: sum(Direction::Release),
                confirm_hold: sum(Direction::ConfirmHold),
            },
            movements: statement.lines(),
            last_sequence: statement.last,
            hash: statement.hash.to_string(),
            lines: Vec::new(),
        }
    }
}
