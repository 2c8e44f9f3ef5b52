//! The body of a statement. Its bytes stay the same for ever, so its lines have a shape of their own: a field that
//! vouchers get later does not enter statements by itself, and nothing in it is looked up in tables that grow.

use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::{Flow, Flows, Statement};
use caudal_ledger::vouchers::Voucher;

use super::body;
use super::texts::{Day, Instant, Pesos};
use super::words::{LedgerTypeWord, ReferenceTypeWord};

body! {
    /// What an account has at one end of a statement.
    pub struct StatementBalance as StatementBalance from balance: Balance {
        /// What can be spent.
        available: Pesos = balance.available.into();
        /// What is set apart.
        held: Pesos = balance.held.into();
        /// The sum of both.
        total: Pesos = balance.total().into();
    }
}

body! {
    /// How many lines of a statement have a direction, and what they come to.
    pub struct StatementSum from flow: Flow {
        /// How many.
        count: u64 = flow.count;
        /// ARS with two decimals.
        amount: Pesos = flow.amount.into();
    }
}

body! {
    /// What the lines of a statement come to, direction by direction.
    pub struct StatementSums from flows: &Flows {
        /// Money that came in.
        credit: StatementSum = flows.of(Direction::Credit).into();
        /// Money that left.
        debit: StatementSum = flows.of(Direction::Debit).into();
        /// Money that was set apart; it stays in the total.
        hold: StatementSum = flows.of(Direction::Hold).into();
        /// Money that was set apart and returned.
        release: StatementSum = flows.of(Direction::Release).into();
        /// Money that was set apart and left.
        confirm_hold: StatementSum = flows.of(Direction::ConfirmHold).into();
    }
}

body! {
    /// A movement in a statement.
    pub struct StatementLine of(realm: RealmId, statement: &Statement, voucher: &Voucher) {
        => let id = voucher.id(realm, statement.of.account).to_string();
        => let other = voucher.counterparty.as_deref();
        /// The number of the movement in its account.
        sequence: u64 = voucher.sequence;
        /// The id of the voucher.
        id: String = id.clone();
        /// When it was posted.
        created_at: Instant = voucher.at.into();
        /// `credit`, `debit`, `hold`, `release` or `confirm_hold`.
        ledger_type: &'static str as LedgerTypeWord = voucher.direction.as_str();
        /// ARS with two decimals.
        amount: Pesos = voucher.amount.into();
        /// What was available afterwards.
        available_after: Pesos = voucher.after.available.into();
        /// What was held afterwards.
        held_after: Pesos = voucher.after.held.into();
        /// The sum of both.
        total_after: Pesos = voucher.after.total().into();
        /// The code of its type.
        voucher_type_code: String = voucher.type_code.to_string();
        /// The name of its type at that time.
        voucher_type_name: String = voucher.type_name.clone();
        /// The tenant's own id.
        id_externo: Option<String> = voucher.external_id.as_ref().map(ToString::to_string);
        /// What it belongs to.
        reference_type: &'static str as ReferenceTypeWord = voucher.reference_type.as_str();
        /// The id of what it belongs to.
        reference_id: String = voucher.reference_id.clone().unwrap_or_else(|| id.clone());
        /// A line for people.
        description: Option<String> = voucher.description.clone();
        /// The id of the voucher that it reverses; absent where it reverses none.
        reverses?: Option<String> = voucher
            .reverses(realm, statement.of.account)
            .map(|id| id.to_string());
        /// The name of the other side.
        counterparty_name: Option<String> = other.and_then(|other| other.name.clone());
        /// The tax id of the other side.
        counterparty_cuit: Option<String> = other.and_then(|other| other.cuit.clone());
        /// The CBU or CVU of the other side.
        counterparty_cbu: Option<String> = other.and_then(|other| other.cbu.clone());
        /// The id of the movement on the rail (COELSA).
        coelsa_id: Option<String> = voucher.coelsa_id().map(str::to_owned);
    }
}

body! {
    /// The statement of an account for whole days: the opening balance, every movement, the closing balance.
    pub struct StatementBody as Statement from statement: &Statement {
        => let of = &statement.of;
        /// The CVU.
        cvu: String = of.cvu.to_string();
        /// The alias that it had at the end of the period.
        alias: Option<String> = of.alias.as_ref().map(ToString::to_string);
        /// The number of the wallet account.
        wallet_account_id: u64 = of.account.0;
        /// How the holder was called at the end of the period.
        holder_name: String = of.holder.clone();
        /// The tax id of the holder.
        cuit: String = of.cuit.clone();
        /// How the payment service provider was called at the end of the period.
        provider: String = of.provider.clone();
        /// The CUIT that the provider stated at the end of the period.
        provider_cuit: Option<String> = of.provider_details.cuit.map(|cuit| cuit.to_string());
        /// The address that the provider stated at the end of the period.
        provider_address: Option<String> = of.provider_details.address.clone();
        /// The first day.
        from: Day = statement.period.first.into();
        /// The last day, whole.
        to: Day = statement.period.last.into();
        /// Whether nothing can get into it any more, so that its bytes stay the same; false until five minutes
        /// after the end of its last day.
        #[serde(rename = "final")]
        is_final: bool = statement.is_final;
        /// `ARS`.
        currency: &'static str = "ARS";
        /// What the account had before the period.
        opening: StatementBalance = statement.opening.into();
        /// What it has after the last line: the total is that of `opening`, plus `credit`, less `debit` and `confirmHold`.
        closing: StatementBalance = statement.closing.into();
        /// What the lines come to.
        sums: StatementSums = (&statement.flows).into();
        /// How many lines there are.
        movements: u64 = statement.lines();
        /// The number of the last movement that it knows; 0 where the account had none yet.
        last_sequence: u64 = statement.last;
        /// The hash chain of the account up to and with that movement, 64 hexadecimal digits.
        hash: String = statement.hash.to_string();
        /// The movements, oldest first.
        lines: Vec<StatementLine> = Vec::new();
    }
}
