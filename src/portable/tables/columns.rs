//! The columns of each table as CSV. They are appended to, never moved: spreadsheets count them.

/// A file of the folder, with its columns as CSV.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name, without what says how it is written.
    pub name: &'static str,
    /// The values of a row, in their order.
    pub columns: &'static [&'static str],
}

/// Accounts, with their balances.
pub const ACCOUNTS: Kind = Kind {
    name: "accounts",
    columns: &[
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
        "balance.available",
        "balance.held",
        "balance.total",
        "balance.sequence",
        "createdAt",
        "updatedAt",
        "closedAt",
    ],
};
/// Vouchers, with the number of their account.
pub const VOUCHERS: Kind = Kind {
    name: "vouchers",
    columns: &[
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
        "createdAt",
    ],
};
/// Holds, likewise.
pub const HOLDS: Kind = Kind {
    name: "holds",
    columns: &[
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
    ],
};
/// Transfers, by the account that sends.
pub const TRANSFERS: Kind = Kind {
    name: "transfers",
    columns: &[
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
        "rejection.reason",
        "createdAt",
        "updatedAt",
    ],
};
