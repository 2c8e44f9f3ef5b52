//! Operations as clients of a walletentidad know them: their kinds, states and words. A transfer is an
//! operation of whoever sends; money that arrives is one of whoever receives, under the id of its voucher.

pub mod notices;

use caudal_actors::accounts::{Placed, TransferView};
use caudal_ledger::balance::Direction;
use caudal_ledger::transfers::{Counterparty, Transfer, TransferStatus};
use caudal_ledger::vouchers::{ReferenceType, Voucher};

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A transfer that leaves through the bank.
    Sent,
    /// One that arrived through the bank.
    Received,
    /// A transfer to an account of the realm.
    SentInside,
    /// One from an account of the realm.
    ReceivedInside,
}

impl Kind {
    /// That of a transfer, for the account that sends.
    pub const fn of(transfer: &Transfer) -> Self {
        if transfer.receiver.is_some() {
            Self::SentInside
        } else {
            Self::Sent
        }
    }

    /// That of a voucher by which money arrives; `None` for any other.
    pub const fn of_voucher(voucher: &Voucher) -> Option<Self> {
        match (voucher.direction, voucher.reference_type) {
            (Direction::Credit, ReferenceType::CashIn) => Some(Self::Received),
            (Direction::Credit, ReferenceType::P2p) => Some(Self::ReceivedInside),
            _ => None,
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Sent => 1,
            Self::Received => 2,
            Self::SentInside => 4,
            Self::ReceivedInside => 5,
        }
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "Transferencia saliente",
            Self::Received => "Transferencia entrante",
            Self::SentInside => "Transferencia interna saliente",
            Self::ReceivedInside => "Transferencia interna entrante",
        }
    }
}

/// How far an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The bank has not answered yet.
    ToProcess,
    /// The money has arrived, or left for good.
    Approved,
    /// The bank refused; the money is back.
    Rejected,
    /// The bank has it, or may have it.
    ToConsult,
    /// A person decides.
    ToAudit,
    /// It had left and came back.
    Returned,
    /// A part of it came back.
    PartlyReturned,
}

impl State {
    /// That of a transfer.
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

    /// Its number.
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

    /// Its name for people.
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

    /// The bank's word for it.
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
    /// Whoever a transfer goes to.
    pub fn of(transfer: &Transfer) -> Self {
        let mut other = transfer.counterparty();
        // Of an account of the realm the CVU is known, however it was named.
        let inside = transfer.receiver.map(|(_, cvu)| cvu.to_string());
        other.cbu = other.cbu.or(inside);
        other.into()
    }

    /// Whoever the money of a voucher comes from.
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
    Received(Kind, Placed),
}

impl Operation {
    /// That of a voucher; `None` when it is no money that arrives.
    pub fn received(placed: Placed) -> Option<Self> {
        let kind = Kind::of_voucher(&placed.voucher)?;
        Some(Self::Received(kind, placed))
    }
}
