//! The tenant's own data: texts by name.

use std::collections::BTreeMap;

use caudal_http::body::Body;
use caudal_http::words::Mistake;
use caudal_ledger::vouchers::VoucherDetails;

/// How much metadata a voucher, hold or transfer may have.
pub(super) const METADATA: MetadataBounds = MetadataBounds {
    most: VoucherDetails::ENTRIES_MAX,
    key: VoucherDetails::NAME_MAX,
    value: VoucherDetails::VALUE_MAX,
};

/// How much of the tenant's own data something may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetadataBounds {
    /// The most entries.
    pub most: usize,
    /// The longest name, in characters.
    pub key: usize,
    /// The longest value, in characters.
    pub value: usize,
}

impl MetadataBounds {
    /// Reads an object of texts.
    pub(super) fn read(self, raw: &str) -> Result<BTreeMap<String, String>, Mistake> {
        let Self { most, key, value } = self;
        let body: Body = serde_json::from_str(raw).map_err(|_| Mistake::NotTexts)?;
        let pairs = body.texts().ok_or(Mistake::NotTexts)?;
        let is_bad = |(name, text): (&String, &String)| {
            name.is_empty()
                || name.chars().count() > key
                || text.chars().count() > value
                || name.chars().chain(text.chars()).any(char::is_control)
        };
        if pairs.len() > most || pairs.iter().any(is_bad) {
            return Err(Mistake::Metadata { most, key, value });
        }
        Ok(pairs)
    }
}
