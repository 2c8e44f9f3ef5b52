//! The formats in which events can be sent to a webhook, and the events that each can carry.

use serde::{Deserialize, Serialize};

use crate::balance::Direction;
use crate::events::{EventKind, EventKinds, Subject};
use crate::vouchers::ReferenceType;

words! {
    /// The format of the bodies sent to a webhook.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WebhookFormat {
        /// An event: `{id, sequence, type, timestamp, data}`.
        #[default]
        Standard = "standard",
        /// A flat notice, as clients of a walletentidad know it: about transfers that ended, money that arrived, and
        /// accounts that were disabled.
        Walletentidad = "walletentidad",
    }
}

impl WebhookFormat {
    /// The kinds of events that a flat notice can carry.
    const FLAT: [EventKind; 5] = [
        EventKind::VoucherCreated,
        EventKind::TransferCompleted,
        EventKind::TransferRejected,
        EventKind::TransferReversed,
        EventKind::AccountDisabled,
    ];

    /// The kinds of events that it can carry.
    pub fn kinds(self) -> EventKinds {
        match self {
            Self::Standard => EventKinds::EVERY,
            Self::Walletentidad => EventKinds::of(&Self::FLAT),
        }
    }

    /// Whether it carries some events of a kind and not others.
    pub const fn is_choosy(self, kind: EventKind) -> bool {
        matches!(
            (self, kind),
            (Self::Walletentidad, EventKind::VoucherCreated)
        )
    }

    /// Whether it carries an event with this subject, given that it can carry the kind: of vouchers only those by which
    /// money arrives.
    pub fn carries(self, subject: &Subject) -> bool {
        match (self, subject) {
            (Self::Walletentidad, Subject::Voucher(voucher)) => {
                voucher.direction == Direction::Credit
                    && matches!(
                        voucher.reference_type,
                        ReferenceType::CashIn | ReferenceType::P2p
                    )
            }
            (Self::Standard | Self::Walletentidad, _) => true,
        }
    }
}
