//! A case: one of the requests that are compared.

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Case {
    /// (a) The handler that does nothing.
    Noop,
    /// (b) Durable vouchers over many CVUs.
    Spread,
    /// (c) Durable vouchers on one CVU.
    Hot,
    /// (d) A few vouchers in each request, over many CVUs.
    Bulk,
    /// (d) Many vouchers in each request, over many CVUs.
    BulkLarge,
    /// (d) Many vouchers in each request, on one CVU.
    BulkHot,
    /// (e) Balances.
    Balance,
    /// (f) Four balances for each voucher.
    Mix,
    /// (g) Transfers between many CVUs, two vouchers each.
    Transfer,
}

impl Case {
    /// All cases, in the order of their letters.
    pub const ALL: [Self; 9] = [
        Self::Noop,
        Self::Spread,
        Self::Hot,
        Self::Bulk,
        Self::BulkLarge,
        Self::BulkHot,
        Self::Balance,
        Self::Mix,
        Self::Transfer,
    ];

    /// Its name in the tables.
    pub fn title(self, bulk: Bulk) -> String {
        match self {
            Self::Noop => "(a) no-op POST".to_owned(),
            Self::Spread => "(b) voucher, many CVUs".to_owned(),
            Self::Hot => "(c) voucher, one CVU".to_owned(),
            Self::Bulk => format!("(d) bulk of {}, many CVUs", bulk.small),
            Self::BulkLarge => format!("(d) bulk of {}, many CVUs", bulk.large),
            Self::BulkHot => format!("(d) bulk of {}, one CVU", bulk.large),
            Self::Balance => "(e) balance".to_owned(),
            Self::Mix => "(f) 80 % balance, 20 % voucher".to_owned(),
            Self::Transfer => "(g) transfer, two vouchers".to_owned(),
        }
    }

    /// Whether its rate counts vouchers instead of answers.
    pub const fn counts_vouchers(self) -> bool {
        matches!(self, Self::Bulk | Self::BulkLarge | Self::BulkHot)
    }
}

/// The number of vouchers in a bulk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// The small one.
    pub small: usize,
    /// The large one.
    pub large: usize,
}
