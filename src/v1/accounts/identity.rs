//! Who holds an account: names, co-holders, KYC and registry data.

use actix_web::{HttpRequest, patch, web};
use caudal_ledger::accounts::{HOLDERS_MAX, Holder, Order};
use caudal_ledger::kyc::{Address, Kyc};
use caudal_ledger::time::{Timestamp, birth_date};

use super::{Answer, NAME_MAX, PEOPLE, change, word};
use crate::bodies::accounts::AccountBody;
use crate::http::body::{Body, Fields, read as read_body};
use crate::http::caller::Caller;
use crate::http::persons::{cuit, email, phone};
use crate::http::problems::Problems;
use crate::http::words::Mistake;

/// Sets the holder's name and the co-holders; name and person type are synchronised with the bank.
#[utoipa::path(
    operation_id = "changeIdentity",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    request_body(content = inline(crate::v1::requests::UpdateAccountIdentidadDto)),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/identidad")]
pub async fn change_identity(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let mut fields = body.fields();
    let name = fields.optional("holderName", read_body::line(NAME_MAX));
    let person_type = fields.optional("personType", word(&PEOPLE));
    let listed = fields.objects("titulares", HOLDERS_MAX, |entry| {
        let cuit = entry.required("cuit", cuit(&caller));
        let name = entry.required("name", read_body::line(NAME_MAX));
        let given = entry.optional("personType", word(&PEOPLE));
        let (cuit, name) = (cuit?, name?);
        Some(Holder {
            cuit,
            name,
            person_type: given.unwrap_or_else(|| cuit.person_type()),
        })
    });
    if listed.is_none() {
        fields.mistake("titulares", Mistake::NoHolders);
    }
    fields.done()?;
    let holders = listed.unwrap_or_default().into_iter().flatten().collect();
    change(
        &request,
        &caller,
        &path,
        Order::SetIdentity {
            name,
            person_type,
            holders,
        },
    )
    .await
}

/// Changes KYC and registry data: what is sent is set, the rest stays.
#[utoipa::path(
    operation_id = "changeKyc",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    request_body(content = inline(crate::v1::requests::UpdateAccountKycDto)),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/kyc")]
pub async fn change_kyc(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let mut fields = body.fields();
    let kyc = read_kyc(&mut fields);
    let email = fields.optional("email", email);
    let phone = fields.optional("phone", phone);
    fields.done()?;
    change(
        &request,
        &caller,
        &path,
        Order::ChangeKyc { kyc, email, phone },
    )
    .await
}

pub(super) fn read_kyc(fields: &mut Fields) -> Kyc {
    use crate::http::body::read::{boolean, integer, line, text};
    let country = || {
        text(|code: &str| {
            let good = code.len() == 2 && code.bytes().all(|b| b.is_ascii_alphabetic());
            if good {
                Ok(code.to_ascii_uppercase())
            } else {
                Err(Mistake::NotACountry)
            }
        })
    };
    let digits = |min: usize, max: usize| {
        text(move |code: &str| {
            let good =
                (min..=max).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_digit());
            if good {
                Ok(code.to_owned())
            } else {
                Err(Mistake::Digits { min, max })
            }
        })
    };
    let address = fields.object("address", |inner| Address {
        street: inner.optional("street", line(100)),
        number: inner.optional("number", line(20)),
        floor: inner.optional("floor", line(20)),
        apartment: inner.optional("apartment", line(20)),
        city_code: inner.optional("cityCode", line(40)),
        province_code: inner.optional("provinceCode", line(40)),
        postal_code: inner.optional("postalCode", line(10)),
    });
    let day = text(|day: &str| {
        birth_date(day)
            .map(|day| day.to_string())
            .ok_or(Mistake::NotADate)
    });
    let level = fields.optional("kycLevel", integer(0, 3));
    Kyc {
        nationality: fields.optional("nationality", country()),
        birth_country: fields.optional("birthCountry", country()),
        birth_date: fields.optional("birthDate", day),
        sex: fields
            .optional("sex", word(&[("F", "F"), ("M", "M"), ("X", "X")]))
            .map(str::to_owned),
        dni: fields.optional("dni", digits(6, 9)),
        document_type: fields.optional("documentType", line(40)),
        marital_status: fields.optional("maritalStatus", line(40)),
        occupation: fields.optional("occupation", line(100)),
        afip_activity: fields.optional("afipActivity", digits(6, 6)),
        pep: fields.optional("pep", boolean),
        uif: fields.optional("uif", boolean),
        fatca: fields.optional("fatca", boolean),
        ocde: fields.optional("ocde", boolean),
        address: address.unwrap_or_default(),
        risk_level: fields
            .optional(
                "riskLevel",
                word(&[("low", "low"), ("medium", "medium"), ("high", "high")]),
            )
            .map(str::to_owned),
        kyc_level: level.and_then(|level| u8::try_from(level).ok()),
        verified_at: fields.optional(
            "verifiedAt",
            text(|at: &str| {
                Timestamp::parse(at)
                    .map(Timestamp::millis)
                    .ok_or(Mistake::NotAnInstant)
            }),
        ),
    }
}
