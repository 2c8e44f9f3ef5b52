//! What is known about the holder of an account: KYC and registry data.

use actix_web::{HttpRequest, patch, web};
use caudal_ledger::accounts::Order;
use caudal_ledger::kyc::{self, Address, Kyc};
use caudal_ledger::time::Timestamp;

use super::Answer;
use crate::bodies::accounts::AccountBody;
use crate::bodies::kyc::{address_fields, kyc_fields};
use crate::http::body::Body;
use crate::http::body::read::{boolean, instant, integer, line, text};
use crate::http::caller::Caller;
use crate::http::problems::Problems;
use crate::http::request::request;

macro_rules! address_request {
    ($(
        $field:ident: $type:ty = $how:ident($wire:literal, $read:expr) as $json:ty;
    )+) => {
        request! {
            /// A postal address.
            strict_part pub struct UpdateAddress as AddressDto {
                $($field: $type = $how($wire, $read) as $json;)+
            }
        }

        impl From<UpdateAddress> for Address {
            fn from(sent: UpdateAddress) -> Self {
                Self {
                    $($field: sent.$field,)+
                }
            }
        }
    };
}
address_fields!(address_request);

macro_rules! kyc_request {
    ({$(
        $field:ident: $type:ty = $how:ident($wire:literal, $read:expr)
            as $json:ty $({ $($schema:tt)+ })?;
    )+} {$(
        $after:ident: $after_type:ty = $after_how:ident($after_wire:literal, $after_read:expr)
            as $after_json:ty $({ $($after_schema:tt)+ })?;
    )+}) => {
        request! {
            /// KYC and registry data; what is sent is set.
            strict struct UpdateAccountKyc as UpdateAccountKycDto {
                $($field: $type = $how($wire, $read) as $json $({ $($schema)+ })?;)+
                email: Option<String> = optional("email", text(kyc::email)) as Option<String>;
                phone: Option<String> = optional("phone", text(kyc::phone)) as Option<String>;
                address: Option<UpdateAddress> = object("address", UpdateAddress::take)
                    as Option<UpdateAddress>;
                $(
                    $after: $after_type = $after_how($after_wire, $after_read)
                        as $after_json $({ $($after_schema)+ })?;
                )+
            }
        }

        impl From<UpdateAccountKyc> for Order {
            fn from(sent: UpdateAccountKyc) -> Self {
                let kyc = Kyc {
                    $($field: sent.$field,)+
                    address: sent.address.map(Address::from).unwrap_or_default(),
                    $($after: sent.$after,)+
                };
                Self::ChangeKyc {
                    kyc,
                    email: sent.email,
                    phone: sent.phone,
                }
            }
        }
    };
}
kyc_fields!(kyc_request);

/// Changes KYC and registry data: what is sent is set, the rest stays.
///
/// An absent field stays as it is. Emits `account.updated`.
#[utoipa::path(
    operation_id = "changeKyc",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    request_body(content = UpdateAccountKyc),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/kyc")]
pub async fn change(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let order = UpdateAccountKyc::read(body)?.into();
    super::change(&request, &caller, &path, order).await
}
