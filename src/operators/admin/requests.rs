//! The bodies of operators' requests about tenants and their money: policy, limits, fee schedules, bank relations.

use std::borrow::Cow;

use caudal_http::bodies::update_limits::{UpdateLimits, count};
use caudal_http::body::Fields;
use caudal_http::body::read::{boolean, integer, line, money, text};
use caudal_http::choice::{ServingWord, one_of};
use caudal_http::request::request;
use caudal_http::words::Mistake;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::limits::{Change, LimitsChange, TotalLimitsChange};
use caudal_ledger::money::Money;
use caudal_ledger::tenants::{
    BankKind, BankRelation, BankRelations, FourEyes, Policy, Provider, SECRET_NAME_MAX, Serving,
    is_secret_name,
};
use caudal_ledger::voucher_types::TypeCode;
use rust_decimal::Decimal;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use caudal_http::choice::BankKindWord;
/// The longest name of a tenant, in characters.
const NAME_MAX: usize = 80;
/// The longest address of a tenant, in characters.
const ADDRESS_MAX: usize = 200;
/// The most entries of a fee schedule.
const FEES_MAX: usize = 200;
/// The most decimals of a percentage.
const PERCENT_DECIMALS_MAX: usize = 6;
/// The tax on fees unless the schedule says otherwise, in percent: IVA.
const TAX_PERCENT: u32 = 21;
/// The longest URL, user and path, in characters.
const TEXT_MAX: usize = 500;
/// The largest PSP code.
const PSP_MAX: u64 = 9_999;

request! {
    /// A new tenant.
    strict pub struct CreateTenant as NewTenant {
        /// For people.
        name: String = required("name", line(NAME_MAX)) as String { min_length = 1, max_length = 80 };
        /// Its policy; the usual one when absent.
        policy: Option<PolicyRequest> = object("policy", PolicyRequest::take) as Option<PolicyRequest>;
        /// Its limits; those of the platform when absent.
        limits: Option<TenantLimits> = object("limits", TenantLimits::of) as Option<TenantLimits>;
        /// Its fees; those of the platform when absent.
        fees: Option<Vec<FeeRequest>> = objects("feeSchedule", FEES_MAX, FeeRequest::take)
            as Option<Vec<FeeRequest>> { max_items = 200 };
        => |fields| distinct(fields, fees.as_deref());
        /// Its banks; the platform's when absent.
        banks: Option<RelationsRequest> = object("bank", RelationsRequest::take) as Option<RelationsRequest>;
        /// What its statements state of it besides its name.
        provider: Option<ProviderRequest> = object("provider", ProviderRequest::take) as Option<ProviderRequest>;
    }
}

request! {
    /// A change of a tenant: what is not sent stays. Null is a mistake where nothing can be cleared.
    strict pub struct ChangeTenant as TenantChange {
        /// Its banks.
        banks: Option<RelationsRequest> = not_null_object("bank", RelationsRequest::take) as Option<RelationsRequest> { nullable = false };
        /// Its limits.
        limits: Option<TenantLimits> = not_null_object("limits", TenantLimits::of) as Option<TenantLimits> { nullable = false };
        /// For people.
        name: Option<String> = not_null("name", line(NAME_MAX))
            as Option<String> { nullable = false, min_length = 1, max_length = 80 };
        /// Its policy.
        policy: Option<PolicyRequest> = not_null_object("policy", PolicyRequest::take) as Option<PolicyRequest> { nullable = false };
        /// Its fees: a whole schedule, in place of the old one; null is an empty one, so that the platform's count.
        fees: Option<Vec<FeeRequest>> = nullable_objects("feeSchedule", FEES_MAX, FeeRequest::take)
            as Option<Vec<FeeRequest>> { max_items = 200 };
        => |fields| distinct(fields, fees.as_deref());
        /// What its statements state of it besides its name.
        provider: Option<ProviderRequest> = not_null_object("provider", ProviderRequest::take)
            as Option<ProviderRequest> { nullable = false };
        /// Which of its realms are served.
        realms: Option<RealmsRequest> = not_null_object("realms", RealmsRequest::take) as Option<RealmsRequest> { nullable = false };
    }
}

request! {
    /// What the statements of a tenant state of it besides its name; what is not sent stays, and null clears.
    strict_part pub struct ProviderRequest as ProviderChange {
        /// Its CUIT.
        cuit: Option<Option<Cuit>> = nullable("cuit", text(Cuit::parse)) as Option<String> { pattern = "^[0-9]{11}$" };
        /// Its registered address, in one line.
        address: Option<Option<String>> = nullable("address", line(ADDRESS_MAX))
            as Option<String> { min_length = 1, max_length = 200 };
    }
}

impl ProviderRequest {
    /// The settings with the sent changes applied.
    pub(super) fn over(self, old: Provider) -> Provider {
        Provider {
            cuit: self.cuit.unwrap_or(old.cuit),
            address: self.address.unwrap_or(old.address),
        }
    }
}

request! {
    /// Whether a tenant's realms are served; what is not sent stays.
    strict_part pub struct RealmsRequest as RealmsChange {
        /// The realm of live keys.
        live: Option<Serving> = not_null("live", text(one_of)) as Option<ServingWord> { nullable = false };
        /// The realm of test keys.
        test: Option<Serving> = not_null("test", text(one_of)) as Option<ServingWord> { nullable = false };
    }
}

request! {
    /// A change of what the platform sets: what is not sent stays.
    strict pub struct ChangePlatform as PlatformChange {
        /// The limits of tenants that set none.
        limits: Option<UpdateLimits> = not_null_object("limits", UpdateLimits::take) as Option<UpdateLimits> { nullable = false };
        /// The fees of tenants that set none; null is an empty schedule.
        fees: Option<Vec<FeeRequest>> = nullable_objects("feeSchedule", FEES_MAX, FeeRequest::take)
            as Option<Vec<FeeRequest>> { max_items = 200 };
        => |fields| distinct(fields, fees.as_deref());
    }
}

request! {
    /// The fees of an account: a whole schedule, in place of the old one.
    strict pub struct SetFees as NewFeeSchedule {
        => |fields| if !fields.has("feeSchedule") {
            fields.mistake("feeSchedule", Mistake::Required);
        };
        /// The schedule.
        fees: Vec<FeeRequest> = required_objects("feeSchedule", FEES_MAX, FeeRequest::take)
            as Vec<FeeRequest> { max_items = 200 };
        => |fields| distinct(fields, fees.as_deref());
    }
}

request! {
    /// A policy; what is not sent stays.
    strict_part pub struct PolicyRequest as PolicyChange {
        /// Whether only accounts without money may be closed.
        close_requires_zero_balance: Option<bool> = not_null("closeRequiresZeroBalance", boolean)
            as Option<bool> { nullable = false };
        /// Whether CUITs of the test realm may have a wrong check digit.
        relaxed_test_cuit: Option<bool> = not_null("relaxedTestCuit", boolean) as Option<bool> { nullable = false };
        /// What operators do for it that takes a second person.
        four_eyes: Option<FourEyesRequest> = not_null_object("fourEyes", FourEyesRequest::take)
            as Option<FourEyesRequest> { nullable = false };
    }
}

request! {
    /// What takes a second person; what is not sent stays.
    strict_part pub struct FourEyesRequest as FourEyesChange {
        /// Decisions about cases above this amount; 0.00 is every decision, null none.
        decisions_above: Option<Option<Money>> = nullable("decisionsAbove", money) as Option<String>;
        /// Limits that let more pass than before.
        limit_raises: Option<bool> = not_null("limitRaises", boolean) as Option<bool> { nullable = false };
    }
}

impl FourEyesRequest {
    fn over(self, old: FourEyes) -> FourEyes {
        FourEyes {
            decisions_above: self.decisions_above.unwrap_or(old.decisions_above),
            limit_raises: self.limit_raises.unwrap_or(old.limit_raises),
        }
    }
}

impl PolicyRequest {
    /// The policy with the sent changes applied.
    pub(super) fn over(self, old: Policy) -> Policy {
        let closing = self.close_requires_zero_balance;
        let relaxed = self.relaxed_test_cuit;
        Policy {
            close_requires_zero_balance: closing.unwrap_or(old.close_requires_zero_balance),
            relaxed_test_cuit: relaxed.unwrap_or(old.relaxed_test_cuit),
            four_eyes: self
                .four_eyes
                .map_or(old.four_eyes, |sent| sent.over(old.four_eyes)),
        }
    }
}

request! {
    /// Limits over the sum of a tenant's accounts, of each mode.
    strict_part pub struct TotalLimits as TotalLimitsChange {
        /// What may leave in a business day.
        daily_outgoing: Change<Money> = change("dailyOutgoingTotal", money) as Option<String>;
        /// What may leave in a calendar month.
        monthly_outgoing: Change<Money> = change("monthlyOutgoingTotal", money) as Option<String>;
        /// How many movements may be made in a minute.
        per_minute: Change<u64> = change("perMinuteCount", count) as Option<u64>;
    }
}

/// The limits of a tenant: those that its accounts inherit, and those over their sum.
#[derive(Debug)]
pub(super) struct TenantLimits {
    /// The limits that its accounts inherit.
    pub inherited: LimitsChange,
    /// The limits over the sum of its accounts.
    pub total: TotalLimitsChange,
}

impl TenantLimits {
    fn of(fields: &mut Fields) -> Option<Self> {
        let total = TotalLimits::take(fields)?;
        Some(Self {
            inherited: UpdateLimits::take(fields)?.into(),
            total: TotalLimitsChange {
                daily_outgoing: total.daily_outgoing,
                monthly_outgoing: total.monthly_outgoing,
                per_minute: total.per_minute,
            },
        })
    }
}

impl PartialSchema for TenantLimits {
    fn schema() -> RefOr<Schema> {
        let mut whole = UpdateLimits::schema();
        if let (RefOr::T(Schema::Object(whole)), RefOr::T(Schema::Object(total))) =
            (&mut whole, TotalLimits::schema())
        {
            whole.properties.extend(total.properties);
        }
        whole
    }
}

impl ToSchema for TenantLimits {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("TenantLimitsChange")
    }
}

request! {
    /// One entry of a fee schedule.
    strict_part pub struct FeeRequest as NewFee {
        /// The type of voucher that it is for.
        code: TypeCode = required("voucherTypeCode", text(TypeCode::parse))
            as String { example = "TRANSFER_OUT", pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// Of the amount, in percent; 0 when absent.
        percentage: Option<Decimal> = optional("percentage", percent) as Option<String> { example = "0.6" };
        /// Whatever the amount; 0 when absent.
        fixed: Option<Money> = optional("fixed", money) as Option<String>;
        /// No less than this.
        minimum: Option<Money> = optional("minimum", money) as Option<String>;
        /// No more than this.
        maximum: Option<Money> = optional("maximum", money) as Option<String>;
        /// Whether it is charged, or only shown.
        charge: bool = required("charge", boolean) as bool;
        /// The tax on it, in percent; IVA when absent.
        tax_rate: Option<Decimal> = optional("taxRate", percent) as Option<String> { example = "21" };
        => |fields| if minimum.zip(maximum).is_some_and(|(least, most)| least > most) {
            fields.mistake("minimum", Mistake::Above { other: "maximum" });
        };
    }
}

impl From<FeeRequest> for FeeRule {
    fn from(sent: FeeRequest) -> Self {
        Self {
            code: sent.code,
            percentage: sent.percentage.unwrap_or_default(),
            fixed: sent.fixed.unwrap_or_default(),
            minimum: sent.minimum,
            maximum: sent.maximum,
            charge: sent.charge,
            tax_rate: sent.tax_rate.unwrap_or_else(|| Decimal::from(TAX_PERCENT)),
        }
    }
}

/// The rules of a sent schedule.
pub(super) fn rules(sent: Vec<FeeRequest>) -> Vec<FeeRule> {
    sent.into_iter().map(FeeRule::from).collect()
}

/// Checks that a schedule has one entry for each type; invalid entries do not count.
fn distinct(fields: &mut Fields, sent: Option<&[Option<FeeRequest>]>) {
    let codes = sent.into_iter().flatten().flatten().map(|fee| &fee.code);
    let mut seen = std::collections::BTreeSet::new();
    if !codes.into_iter().all(|code| seen.insert(code)) {
        fields.mistake("feeSchedule", Mistake::FeeTwice);
    }
}

/// A percentage from 0 to 100, read from its text and never through binary floating point.
fn percent(raw: &str) -> Result<Decimal, Mistake> {
    let decimals = PERCENT_DECIMALS_MAX;
    let wrong = || Mistake::Percentage { decimals };
    let text = if raw.starts_with('"') {
        serde_json::from_str::<String>(raw).map_err(|_| wrong())?
    } else {
        raw.to_owned()
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
    let digits = |part: &str, max| {
        (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if !digits(whole, 3) || !digits(decimals, PERCENT_DECIMALS_MAX) || leading_zero {
        return Err(wrong());
    }
    let value = Decimal::from_str_exact(&text).map_err(|_| wrong())?;
    if value > Decimal::ONE_HUNDRED {
        return Err(wrong());
    }
    Ok(value.normalize())
}

request! {
    /// The relations of a tenant to its banks; what is not sent stays.
    strict_part pub struct RelationsRequest as BankRelationsChange {
        /// Of the live realm.
        live: Option<RelationRequest> = object("live", RelationRequest::take) as Option<RelationRequest>;
        /// Of the test realm.
        test: Option<RelationRequest> = object("test", RelationRequest::take) as Option<RelationRequest>;
    }
}

impl RelationsRequest {
    /// The relations with the sent changes applied.
    pub(super) fn over(self, old: &BankRelations) -> BankRelations {
        let one = |sent: Option<RelationRequest>, old: &BankRelation| match sent {
            Some(sent) => sent.over(old.clone()),
            None => old.clone(),
        };
        BankRelations {
            live: one(self.live, &old.live),
            test: one(self.test, &old.test),
        }
    }
}

request! {
    /// The relation of a realm to its bank; null goes back to the platform's.
    strict_part pub struct RelationRequest as BankRelationChange {
        /// The API of the bank.
        kind: Option<BankKind> = not_null("kind", text(one_of)) as Option<BankKindWord> { nullable = false };
        /// The collector account.
        collector: Option<Option<Cbu>> = nullable("collectorCbu", text(collector))
            as Option<String> { pattern = "^[0-9]{22}$" };
        /// The code of the PSP in its CVUs.
        psp_code: Option<Option<u16>> = nullable("pspCode", integer(1, PSP_MAX)) as Option<u16>;
        /// Where the bank is.
        base_url: Option<Option<String>> = nullable("baseUrl", line(TEXT_MAX)) as Option<String>;
        /// As whom the service logs in there.
        username: Option<Option<String>> = nullable("username", line(TEXT_MAX)) as Option<String>;
        /// The name of the file of its password, in the folder of secrets of the service's settings. The file states the
        /// base URL that the password is for, and it is sent nowhere else.
        password_file: Option<Option<String>> = nullable("passwordFile", text(secret_name))
            as Option<String> { pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" };
        /// The name of the file of the secret with which the bank at that base URL signs its notices, in the same folder.
        notice_secret_file: Option<Option<String>> = nullable("noticeSecretFile", text(secret_name))
            as Option<String> { pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" };
    }
}

impl RelationRequest {
    fn over(self, old: BankRelation) -> BankRelation {
        BankRelation {
            kind: self.kind.unwrap_or(old.kind),
            base_url: self.base_url.unwrap_or(old.base_url),
            username: self.username.unwrap_or(old.username),
            password_file: self.password_file.unwrap_or(old.password_file),
            notice_secret_file: self.notice_secret_file.unwrap_or(old.notice_secret_file),
            collector: self.collector.unwrap_or(old.collector),
            psp_code: self.psp_code.unwrap_or(old.psp_code),
        }
    }
}

fn secret_name(text: &str) -> Result<String, Mistake> {
    let max = SECRET_NAME_MAX;
    let named = is_secret_name(text).then(|| text.to_owned());
    named.ok_or(Mistake::NotASecretName { max })
}

fn collector(text: &str) -> Result<Cbu, Mistake> {
    let cbu = Cbu::parse(text)?;
    match cbu.cvu() {
        None => Ok(cbu),
        Some(_) => Err(Mistake::NotACollector),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_exactly_or_refused() {
        for (raw, text) in [
            ("\"0.6\"", "0.6"),
            ("0.600", "0.6"),
            ("0", "0"),
            ("\"100.000000\"", "100"),
            ("\"0.000001\"", "0.000001"),
        ] {
            assert_eq!(percent(raw).unwrap().to_string(), text, "{raw}");
        }
        for raw in [
            "\"\"",
            "-1",
            "\"+1\"",
            "1e1",
            "100.01",
            "0.0000001",
            "00.1",
            "\".5\"",
            "\"5.\"",
            "true",
            "null",
            "\"1_0\"",
            "\"٥\"",
        ] {
            assert!(percent(raw).is_err(), "{raw}");
        }
    }
}
