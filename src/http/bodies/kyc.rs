//! KYC data on the wire of the native family. Its fields are listed here, and nowhere else outside the ledger: the
//! bodies of answers and of requests are made of the same list.

use caudal_ledger::kyc::{Address, Kyc};
use serde::Serialize;
use utoipa::ToSchema;

/// Hands the fields of KYC data to a macro, as lines of a `request!`: those before the address,
/// and those after it.
#[macro_export]
macro_rules! kyc_fields {
    ($then:ident) => {
        $then! {
            {
                nationality: Option<String> =
                    optional("nationality", text(kyc::country)) as Option<String>;
                birth_country: Option<String> =
                    optional("birthCountry", text(kyc::country)) as Option<String>;
                birth_date: Option<String> =
                    optional("birthDate", text(kyc::birth_date))
                    as Option<String> { format = Date };
                sex: Option<String> = optional("sex", text(kyc::sex))
                    as Option<String> { value_type = Option<$crate::bodies::words::SexWord> };
                dni: Option<String> = optional("dni", text(kyc::document)) as Option<String>;
                document_type: Option<String> =
                    optional("documentType", line(kyc::WORD_MAX)) as Option<String>;
                marital_status: Option<String> =
                    optional("maritalStatus", line(kyc::WORD_MAX)) as Option<String>;
                occupation: Option<String> =
                    optional("occupation", line(kyc::LINE_MAX)) as Option<String>;
                afip_activity: Option<String> = optional("afipActivity", text(kyc::afip_activity))
                    as Option<String> { pattern = "^[0-9]{6}$" };
                pep: Option<bool> = optional("pep", boolean) as Option<bool>;
                uif: Option<bool> = optional("uif", boolean) as Option<bool>;
                fatca: Option<bool> = optional("fatca", boolean) as Option<bool>;
                ocde: Option<bool> = optional("ocde", boolean) as Option<bool>;
            }
            {
                risk_level: Option<String> =
                    optional("riskLevel", text(kyc::risk_level))
                    as Option<String> { value_type = Option<$crate::bodies::words::RiskLevelWord> };
                kyc_level: Option<u8> = optional("kycLevel", integer(0, kyc::LEVEL_MAX.into()))
                    as Option<u8> { minimum = 0, maximum = 3 };
                verified_at: Option<Timestamp> =
                    optional("verifiedAt", text(instant))
                    as Option<$crate::bodies::texts::Instant>;
            }
        }
    };
}
pub use kyc_fields;

/// Hands the fields of an address to a macro, like [`kyc_fields`].
#[macro_export]
macro_rules! address_fields {
    ($then:ident) => {
        $then! {
            street: Option<String> = optional("street", line(kyc::LINE_MAX)) as Option<String>;
            number: Option<String> = optional("number", line(kyc::DOOR_MAX)) as Option<String>;
            floor: Option<String> = optional("floor", line(kyc::DOOR_MAX)) as Option<String>;
            apartment: Option<String> =
                optional("apartment", line(kyc::DOOR_MAX)) as Option<String>;
            city_code: Option<String> = optional("cityCode", line(kyc::CODE_MAX)) as Option<String>;
            province_code: Option<String> =
                optional("provinceCode", line(kyc::CODE_MAX)) as Option<String>;
            postal_code: Option<String> =
                optional("postalCode", line(kyc::POSTAL_CODE_MAX)) as Option<String>;
            cpa: Option<String> =
                optional("cpa", line(kyc::POSTAL_CODE_MAX)) as Option<String>;
            city_name: Option<String> = optional("cityName", line(kyc::LINE_MAX)) as Option<String>;
            province_name: Option<String> =
                optional("provinceName", line(kyc::LINE_MAX)) as Option<String>;
        }
    };
}
pub use address_fields;

macro_rules! address_body {
    ($(
        $field:ident: $type:ty = $how:ident($wire:literal, $read:expr)
            as $json:ty $({ $($schema:tt)+ })?;
    )+) => {
        /// A postal address.
        #[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
        #[expect(missing_docs, reason = "the names say it all")]
        pub struct AddressBody {
            $(
                #[serde(rename = $wire)]
                #[schema(rename = $wire)]
                pub $field: $json,
            )+
        }

        impl From<&Address> for AddressBody {
            fn from(address: &Address) -> Self {
                Self {
                    $($field: address.$field.clone(),)+
                }
            }
        }
    };
}
address_fields!(address_body);

macro_rules! kyc_body {
    ({$(
        $field:ident: $type:ty = $how:ident($wire:literal, $read:expr)
            as $json:ty $({ $($schema:tt)+ })?;
    )+} {$(
        $after:ident: $after_type:ty = $after_how:ident($after_wire:literal, $after_read:expr)
            as $after_json:ty $({ $($after_schema:tt)+ })?;
    )+}) => {
        /// KYC and registry data.
        #[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
        #[expect(
            missing_docs,
            reason = "the fields are documented with the data itself"
        )]
        pub struct KycBody {
            $(
                #[serde(rename = $wire)]
                #[schema(rename = $wire, $($($schema)+)?)]
                pub $field: $json,
            )+
            pub address: AddressBody,
            $(
                #[serde(rename = $after_wire)]
                #[schema(rename = $after_wire, $($($after_schema)+)?)]
                pub $after: $after_json,
            )+
        }

        impl From<&Kyc> for KycBody {
            fn from(kyc: &Kyc) -> Self {
                Self {
                    $($field: kyc.$field.clone(),)+
                    address: (&kyc.address).into(),
                    $($after: kyc.$after.clone().map(Into::into),)+
                }
            }
        }
    };
}
kyc_fields!(kyc_body);
