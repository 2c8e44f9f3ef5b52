//! Operations as clients of a walletentidad know them: their kinds, states and words. A transfer is an operation of
//! the sender; money that arrives is an operation of the receiver, under the id of its voucher.

pub(crate) mod notices;

use caudal_actors::accounts::{AccountVoucher, TransferView};
use caudal_ledger::balance::Direction;
use caudal_ledger::transfers::{Counterparty, Transfer, TransferStatus};
use caudal_ledger::vouchers::{ReferenceType, Voucher};

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// A transfer that leaves through the bank.
    Sent,
    /// A transfer that arrived through the bank.
    Received,
    /// A transfer to an account of the realm.
    SentInside,
    /// A transfer from an account of the realm.
    ReceivedInside,
}

impl OperationKind {
    /// The kind of a transfer, for the account that sends.
    pub const fn of(transfer: &Transfer) -> Self {
        if transfer.receiver.is_some() {
            Self::SentInside
        } else {
            Self::Sent
        }
    }

    /// The kind of a voucher by which money arrives; `None` for any other voucher.
    pub const fn of_voucher(voucher: &Voucher) -> Option<Self> {
        match (voucher.direction, voucher.reference_type) {
            (Direction::Credit, ReferenceType::CashIn) => Some(Self::Received),
            (Direction::Credit, ReferenceType::P2p) => Some(Self::ReceivedInside),
            _ => None,
        }
    }

    /// The number of the kind.
    pub const fn number(self) -> u8 {
        match self {
            Self::Sent => 1,
            Self::Received => 2,
            Self::SentInside => 4,
            Self::ReceivedInside => 5,
        }
    }

    /// The name of the kind, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "Transferencia saliente",
            Self::Received => "Transferencia entrante",
            Self::SentInside => "Transferencia interna saliente",
            Self::ReceivedInside => "Transferencia interna entrante",
        }
    }
}

/// How far an operation has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationState {
    /// The bank has not answered yet.
    ToProcess,
    /// The money has arrived, or left for good.
    Approved,
    /// The bank refused; the money is back.
    Rejected,
    /// The bank has the order, or may have it.
    ToConsult,
    /// An operator has to decide.
    ToAudit,
    /// The money had left and came back.
    Returned,
    /// A part of the money came back.
    PartlyReturned,
}

impl OperationState {
    /// The state of a transfer.
    pub fn of(transfer: &Transfer) -> Self {
        match transfer.status {
            TransferStatus::Requested => Self::ToProcess,
            TransferStatus::InProgress => Self::ToConsult,
            TransferStatus::Audit => Self::ToAudit,
            TransferStatus::Completed => Self::Approved,
            TransferStatus::Rejected => Self::Rejected,
            TransferStatus::Reversed if transfer.reversed < transfer.amount.money() => {
                Self::PartlyReturned
            }
            TransferStatus::Reversed => Self::Returned,
        }
    }

    /// The number of the state.
    pub const fn number(self) -> u8 {
        match self {
            Self::ToProcess => 1,
            Self::Approved => 2,
            Self::Rejected => 3,
            Self::ToConsult => 4,
            Self::ToAudit => 5,
            Self::Returned => 6,
            Self::PartlyReturned => 7,
        }
    }

    /// The name of the state, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToProcess => "A procesar",
            Self::Approved => "Aprobada",
            Self::Rejected => "Rechazada",
            Self::ToConsult => "A consultar",
            Self::ToAudit => "Auditar",
            Self::Returned => "Devuelta",
            Self::PartlyReturned => "Devuelta parcialmente",
        }
    }

    /// The bank's word for the state.
    pub const fn bank_word(self) -> &'static str {
        match self {
            Self::ToProcess => "PENDING",
            Self::ToConsult => "IN_PROGRESS",
            Self::ToAudit => "UNKNOWN_FOREVER",
            Self::Rejected => "FAILED",
            Self::Approved | Self::Returned | Self::PartlyReturned => "COMPLETED",
        }
    }
}

/// The other side of an operation, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Other {
    /// The holder's name.
    pub name: Option<String>,
    /// The holder's tax id.
    pub cuit: Option<String>,
    /// The CBU or CVU.
    pub key: Option<String>,
    /// The alias.
    pub alias: Option<String>,
    /// The code of the bank or PSP.
    pub bank: Option<String>,
}

impl From<Counterparty> for Other {
    fn from(other: Counterparty) -> Self {
        Self {
            bank: other.entity().and_then(|(code, name)| code.or(name)),
            name: other.name,
            cuit: other.cuit,
            key: other.cbu,
            alias: other.alias,
        }
    }
}

impl Other {
    /// The receiver of a transfer.
    pub fn of(transfer: &Transfer) -> Self {
        let mut other = transfer.counterparty();
        // The CVU of an account of the realm is known, however the order named the account.
        let inside = transfer.receiver.map(|(_, cvu)| cvu.to_string());
        other.cbu = other.cbu.or(inside);
        other.into()
    }

    /// The sender of the money of a voucher.
    pub fn of_voucher(voucher: &Voucher) -> Self {
        voucher.other_side().map_or_else(Self::default, Self::from)
    }
}

/// An operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A transfer, for the account that sends.
    Sent(Box<TransferView>),
    /// Money that arrived, by its voucher.
    Received(OperationKind, AccountVoucher),
}

impl Operation {
    /// The operation of a voucher; `None` when it brings no money.
    pub fn received(placed: AccountVoucher) -> Option<Self> {
        let kind = OperationKind::of_voucher(&placed.voucher)?;
        Some(Self::Received(kind, placed))
    }
}
