//! What is known about a holder (domain §4): one set of data that both families show.

use serde::{Deserialize, Serialize};

/// KYC and registry data. Every field is optional; a change sets the fields it brings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kyc {
    /// Country code, ISO 3166-1 alpha-2.
    pub nationality: Option<String>,
    /// Country code, ISO 3166-1 alpha-2.
    pub birth_country: Option<String>,
    /// `YYYY-MM-DD`.
    pub birth_date: Option<String>,
    /// `F`, `M` or `X`.
    pub sex: Option<String>,
    /// Number of the national identity document.
    pub dni: Option<String>,
    /// Kind of identity document.
    pub document_type: Option<String>,
    /// Civil status, as the tenant writes it.
    pub marital_status: Option<String>,
    /// Occupation, as the tenant writes it.
    pub occupation: Option<String>,
    /// Six-digit activity code of the tax agency; leading zeros count.
    pub afip_activity: Option<String>,
    /// Politically exposed person.
    pub pep: Option<bool>,
    /// Obliged subject before the anti-laundering unit.
    pub uif: Option<bool>,
    /// Taxpayer of the United States.
    pub fatca: Option<bool>,
    /// Tax resident elsewhere (CRS).
    pub ocde: Option<bool>,
    /// Postal address.
    pub address: Address,
    /// `low`, `medium` or `high`.
    pub risk_level: Option<String>,
    /// 0 (unverified) to 3 (business).
    pub kyc_level: Option<u8>,
    /// When the data was verified, in milliseconds since 1970 UTC.
    pub verified_at: Option<u64>,
}

/// A postal address as the tenant gave it; codes are kept as texts of any catalogue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Address {
    /// Street.
    pub street: Option<String>,
    /// House number.
    pub number: Option<String>,
    /// Floor.
    pub floor: Option<String>,
    /// Flat.
    pub apartment: Option<String>,
    /// Town, by a code of the tenant's catalogue.
    pub city_code: Option<String>,
    /// Province, by a code of the tenant's catalogue.
    pub province_code: Option<String>,
    /// Postal code.
    pub postal_code: Option<String>,
}

fn set<T: Clone>(old: &mut Option<T>, new: &Option<T>) {
    if new.is_some() {
        old.clone_from(new);
    }
}

impl Kyc {
    /// The data with what `change` brings; what it does not bring stays.
    #[must_use]
    pub fn merged(&self, change: &Self) -> Self {
        let mut kyc = self.clone();
        set(&mut kyc.nationality, &change.nationality);
        set(&mut kyc.birth_country, &change.birth_country);
        set(&mut kyc.birth_date, &change.birth_date);
        set(&mut kyc.sex, &change.sex);
        set(&mut kyc.dni, &change.dni);
        set(&mut kyc.document_type, &change.document_type);
        set(&mut kyc.marital_status, &change.marital_status);
        set(&mut kyc.occupation, &change.occupation);
        set(&mut kyc.afip_activity, &change.afip_activity);
        set(&mut kyc.pep, &change.pep);
        set(&mut kyc.uif, &change.uif);
        set(&mut kyc.fatca, &change.fatca);
        set(&mut kyc.ocde, &change.ocde);
        set(&mut kyc.risk_level, &change.risk_level);
        set(&mut kyc.kyc_level, &change.kyc_level);
        set(&mut kyc.verified_at, &change.verified_at);
        set(&mut kyc.address.street, &change.address.street);
        set(&mut kyc.address.number, &change.address.number);
        set(&mut kyc.address.floor, &change.address.floor);
        set(&mut kyc.address.apartment, &change.address.apartment);
        set(&mut kyc.address.city_code, &change.address.city_code);
        set(
            &mut kyc.address.province_code,
            &change.address.province_code,
        );
        set(&mut kyc.address.postal_code, &change.address.postal_code);
        kyc
    }
}
