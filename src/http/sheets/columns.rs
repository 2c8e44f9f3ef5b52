//! The columns of each table as CSV and XLSX. New columns are appended, and none is ever moved: spreadsheets count them.
//!
//! Each instant has a column `….date` with its business day in Buenos Aires: the text of an instant is UTC, so a program
//! that takes the day from it would count movements after 21:00 to the next day.

use super::SheetKind;

/// The columns with amounts, by the last name in their path: numbers in a workbook.
pub const AMOUNTS: &[&str] = &[
    "adjustments",
    "amount",
    "available",
    "availableAfter",
    "balance",
    "bankBalance",
    "bankCharges",
    "closing",
    "confirmed",
    "credit",
    "debit",
    "feeTax",
    "fees",
    "freeBalance",
    "funding",
    "held",
    "heldAfter",
    "incoming",
    "interest",
    "opening",
    "outgoing",
    "pspFees",
    "released",
    "remaining",
    "reversed",
    "suspense",
    "tax",
    "total",
    "totalAfter",
    "uncredited",
    "unexplained",
];
/// The columns that are numbers in JSON and still ids: texts in a workbook.
pub const DIGITS: &[&str] = &["walletAccountId"];

/// Vouchers, with the number of their account.
pub const VOUCHERS: SheetKind = SheetKind(&[
    "walletAccountId",
    "id",
    "cvu",
    "sequence",
    "ledgerType",
    "amount",
    "availableAfter",
    "heldAfter",
    "totalAfter",
    "voucherTypeCode",
    "voucherTypeName",
    "idExterno",
    "referenceType",
    "referenceId",
    "description",
    "counterparty.name",
    "counterparty.cuit",
    "counterparty.cbu",
    "counterparty.alias",
    "reverses",
    "relatesTo",
    "metadata",
    "createdAt",
    "createdAt.date",
]);
/// Holds, with the number of their account.
pub const HOLDS: SheetKind = SheetKind(&[
    "walletAccountId",
    "id",
    "cvu",
    "status",
    "amount",
    "confirmed",
    "released",
    "remaining",
    "idExterno",
    "expiresAt",
    "createdAt",
    "expiresAt.date",
    "createdAt.date",
    "metadata",
]);
/// Transfers, by the account that sends.
pub const TRANSFERS: SheetKind = SheetKind(&[
    "walletAccountId",
    "id",
    "kind",
    "status",
    "fromCvu",
    "to.cvu",
    "to.cbu",
    "to.alias",
    "counterparty.name",
    "counterparty.cuit",
    "amount",
    "fee.amount",
    "fee.tax",
    "reversed",
    "concept",
    "description",
    "idExterno",
    "originId",
    "bankTransferId",
    "coelsaId",
    "rejection.message",
    "createdAt",
    "updatedAt",
    "createdAt.date",
    "updatedAt.date",
    "rejection.code",
    "metadata",
]);
/// Accounts, without their balances.
pub const ACCOUNTS: SheetKind = SheetKind(&[
    "walletAccountId",
    "cvu",
    "alias",
    "status",
    "enabled",
    "holder.cuit",
    "holder.name",
    "holder.personType",
    "externalId",
    "email",
    "phone",
    "metadata",
    "createdAt",
    "updatedAt",
    "closedAt",
    "createdAt.date",
    "updatedAt.date",
    "closedAt.date",
]);
/// The positions of clients.
pub const POSITIONS: SheetKind = SheetKind(&[
    "walletAccountId",
    "cvu",
    "alias",
    "status",
    "holderName",
    "cuit",
    "available",
    "held",
    "total",
    "lastMovementAt",
    "lastMovementAt.date",
]);
/// Events; the data of each is a text of JSON.
pub const EVENTS: SheetKind = SheetKind(&[
    "id",
    "sequence",
    "type",
    "timestamp",
    "data",
    "timestamp.date",
]);
/// A snapshot of the treasury.
pub const TREASURY: SheetKind = SheetKind(&[
    "asOf",
    "sequence",
    "currency",
    "collector.cbu",
    "collector.bank",
    "bankBalance",
    "bankAsOf",
    "bankError.code",
    "clientFunds.available",
    "clientFunds.held",
    "clientFunds.total",
    "inTransit.outgoing",
    "inTransit.incoming",
    "pspFees",
    "freeBalance",
    "coverageRatio",
    "covered",
    "asOf.date",
    "bankAsOf.date",
    "uncredited",
]);
/// Closed days.
pub const CLOSED_DAYS: SheetKind = SheetKind(&[
    "date",
    "closedAt",
    "accounts",
    "clientFunds.available",
    "clientFunds.held",
    "clientFunds.total",
    "suspense",
    "bank.status",
    "bank.balance",
    "bank.unexplained",
    "freeBalance",
    "covered",
    "vouchers",
    "events",
    "root",
    "digest",
    "previous",
    "closedAt.date",
]);
/// Snapshots of collector accounts, each with the realms on it as a text of JSON.
pub const COLLECTORS: SheetKind = SheetKind(&[
    "treasury.asOf",
    "treasury.collector.cbu",
    "treasury.collector.bank",
    "shared",
    "realms",
    "treasury.currency",
    "treasury.bankBalance",
    "treasury.bankAsOf",
    "treasury.bankError.code",
    "treasury.clientFunds.available",
    "treasury.clientFunds.held",
    "treasury.clientFunds.total",
    "treasury.inTransit.outgoing",
    "treasury.inTransit.incoming",
    "treasury.pspFees",
    "treasury.freeBalance",
    "treasury.coverageRatio",
    "treasury.covered",
    "treasury.asOf.date",
    "treasury.bankAsOf.date",
    "treasury.free.fees",
    "treasury.free.feeTax",
    "treasury.free.adjustments",
    "treasury.free.funding",
    "treasury.free.interest",
    "treasury.free.bankCharges",
    "treasury.free.unexplained",
]);
/// Movements of the bank next to those of the ledger.
pub const RECONCILED: SheetKind = SheetKind(&[
    "date",
    "result",
    "direction",
    "amount",
    "cvu",
    "status",
    "bankAt",
    "bankTransferId",
    "coelsaId",
    "counterparty.name",
    "counterparty.cuit",
    "counterparty.cbu",
    "counterparty.alias",
    "voucher.id",
    "voucher.amount",
    "voucher.createdAt",
    "transferId",
    "reversal",
    "suspense.id",
    "suspense.reason",
    "suspense.state",
    "decision.by",
    "decision.reason",
    "contradicted",
    "bankAt.date",
    "voucher.createdAt.date",
    "class",
]);
/// The accounts of the books with their balances.
pub const TRIAL_BALANCE: SheetKind = SheetKind(&["account", "kind", "debit", "credit", "balance"]);
/// The entries of the books.
pub const BOOK_ENTRIES: SheetKind = SheetKind(&[
    "at",
    "at.date",
    "day",
    "account",
    "debit",
    "credit",
    "source.type",
    "source.id",
    "text",
    "counterAccount",
]);
/// The movements of a collector account, with what each is.
pub const COLLECTOR_MOVEMENTS: SheetKind = SheetKind(&[
    "bankId",
    "at",
    "at.date",
    "direction",
    "amount",
    "class",
    "text",
    "counterparty.name",
    "counterparty.cuit",
    "counterparty.cbu",
    "counterparty.coelsaId",
    "match.type",
    "match.id",
    "listed",
    "changed",
    "caseId",
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instant_has_its_business_day() {
        for kind in [
            VOUCHERS,
            HOLDS,
            TRANSFERS,
            ACCOUNTS,
            POSITIONS,
            EVENTS,
            TREASURY,
            COLLECTORS,
            RECONCILED,
            COLLECTOR_MOVEMENTS,
            TRIAL_BALANCE,
            CLOSED_DAYS,
            BOOK_ENTRIES,
        ] {
            for name in kind.0 {
                let day = format!("{name}.date");
                let instant = name.ends_with("At")
                    || name.ends_with("sOf")
                    || ["timestamp", "at"].contains(name);
                assert_eq!(kind.0.contains(&day.as_str()), instant, "{name}");
            }
        }
    }
}
