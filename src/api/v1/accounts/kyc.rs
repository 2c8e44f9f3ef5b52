//! The data about the holder of an account: KYC and registry data.

use actix_web::{patch, web};
use caudal_http::bodies::accounts::AccountBody;
use caudal_http::bodies::kyc::{address_fields, kyc_fields};
use caudal_http::body::read::{boolean, instant, integer, line, text};
use caudal_http::declared;
use caudal_http::errors::ApiError;
use caudal_http::problems::Problems;
use caudal_http::request::request;
use caudal_http::respond::ApiCall;
use caudal_http::words::Mistake;
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::kyc::{self, Address, AddressMarks, Kyc, KycMarks, Marks as _};
use caudal_ledger::particulars::Cleared;
use caudal_ledger::time::Timestamp;

use super::HandlerResult;

macro_rules! address_request {
    ($(
        $field:ident: $type:ty = $how:ident($wire:literal, $read:expr) as $json:ty;
    )+) => {
        request! {
            /// A postal address.
            strict_part pub struct UpdateAddress as AddressDto {
                $($field: Option<$type> = nullable($wire, $read) as $json;)+
            }
        }

        impl UpdateAddress {
            /// What is cleared of it, and what is set.
            fn split(self) -> (AddressMarks, Address) {
                let cleared = AddressMarks {
                    $($field: matches!(self.$field, Some(None)),)+
                };
                let set = Address {
                    $($field: self.$field.flatten(),)+
                };
                (cleared, set)
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
            /// KYC and registry data; what is sent is set, and null clears.
            strict struct UpdateAccountKyc as UpdateAccountKycDto {
                $($field: Option<$type> = nullable($wire, $read) as $json $({ $($schema)+ })?;)+
                email: Option<Option<String>> = nullable("email", text(kyc::email))
                    as Option<String>;
                phone: Option<Option<String>> = nullable("phone", text(kyc::phone))
                    as Option<String>;
                address: Option<Option<UpdateAddress>> =
                    nullable_object("address", UpdateAddress::take) as Option<UpdateAddress>;
                $(
                    $after: Option<$after_type> = nullable($after_wire, $after_read)
                        as $after_json $({ $($after_schema)+ })?;
                )+
            }
        }

        impl From<UpdateAccountKyc> for ProfileOrder {
            fn from(sent: UpdateAccountKyc) -> Self {
                let (no_address, address) = match sent.address {
                    Some(Some(sent)) => sent.split(),
                    Some(None) => (AddressMarks::all(), Address::default()),
                    None => (AddressMarks::default(), Address::default()),
                };
                let cleared = Cleared {
                    email: matches!(sent.email, Some(None)),
                    phone: matches!(sent.phone, Some(None)),
                    kyc: KycMarks {
                        $($field: matches!(sent.$field, Some(None)),)+
                        address: no_address,
                        $($after: matches!(sent.$after, Some(None)),)+
                    },
                    ..Cleared::default()
                };
                let kyc = Kyc {
                    $($field: sent.$field.flatten(),)+
                    address,
                    $($after: sent.$after.flatten(),)+
                };
                Self::ChangeKyc {
                    kyc,
                    email: sent.email.flatten(),
                    phone: sent.phone.flatten(),
                    cleared,
                }
            }
        }
    };
}
kyc_fields!(kyc_request);

/// Changes KYC and registry data: what is sent is set, null clears, the rest stays.
///
/// An absent field stays as it is. Emits `account.updated`.
#[utoipa::path(
    operation_id = "changeKyc",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    request_body(content = UpdateAccountKyc),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/kyc")]
pub(crate) async fn change(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let sent = UpdateAccountKyc::read(call.take_body())?;
    let today = call.caller.now().business_day().to_string();
    if sent
        .birth_date
        .as_ref()
        .is_some_and(|born| born.as_ref().is_some_and(|born| *born > today))
    {
        return Err(ApiError::field("birthDate", Mistake::InTheFuture));
    }
    let order = sent.into();
    super::change(&call, &path, order).await
}
