//! The bytes of a statement in each format: published once, they stay the same for ever.

use aws_lc_rs::digest::{SHA256, digest};
use caudal_ledger::alias::Alias;
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::chain::Digest;
use caudal_ledger::counterparty::Counterparty;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId, Tag};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::statements::{Named, Period, Statement, StatementCheck};
use caudal_ledger::tenants::Provider;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, Voucher};

use super::StatementFormat;

/// The hash of each format, as it was published. A change here changes documents that clients have.
const PUBLISHED: [(StatementFormat, &str); 4] = [
    (
        StatementFormat::Json,
        "b45abfc9578aef7b488d9fc5c91f79f9a8790c8f9b3c61ecfaa0f957f26de207",
    ),
    (
        StatementFormat::Csv,
        "f9b446fa35ed0b6db0e4603afaf458513b45f34bd96b91f9e0c5224bbb7bc67a",
    ),
    (
        StatementFormat::Camt,
        "dd41dc3cabc90e318adc46f48fde2b03cd2352c1d994f20c1b0da2527062580b",
    ),
    (
        StatementFormat::Pdf,
        "660d94a4b18ac52ea39ac0dcdb464f8d67988ce23d6f2575367ea2149a468d5e",
    ),
];

/// A name with characters that a format has to escape, and with some that the fonts lack.
const NAMED: &str = "=A1&<b>]]> (Ñandú \\ & Cía) \u{5d0}\u{20ac}";
/// The types of the movements, which fill three pages: the system's, a tenant's, and one that came later.
const TYPES: [(Direction, &str, &str); 6] = [
    (Direction::Credit, "TRANSFER_IN", "Transfer received"),
    (Direction::Hold, "HOLD", "Hold"),
    (
        Direction::ConfirmHold,
        "CONFIRM_HOLD",
        "Confirmation of a hold",
    ),
    (Direction::Release, "RELEASE", "Release of a hold"),
    (Direction::Debit, "OWN", "Débito propio"),
    (Direction::Credit, "OF_TOMORROW", "Of tomorrow"),
];
const LINES: u64 = 90;

fn cvu() -> Cvu {
    Cvu::compose(7, 1).unwrap()
}

/// A movement that follows a balance, a hash and an instant.
fn voucher(sequence: u64, before: Balance, hash: Digest, at: Timestamp) -> Voucher {
    let (direction, code, name) = TYPES[usize::try_from(sequence).unwrap() % TYPES.len()];
    let centavos = match direction {
        Direction::Credit => 123_456_789,
        Direction::Hold => 300,
        Direction::ConfirmHold | Direction::Release => 100,
        Direction::Debit => 1,
    };
    let amount = Amount::from_centavos(centavos).unwrap();
    let odd = sequence % 2 == 1;
    let mut voucher = Voucher {
        cvu: cvu(),
        sequence,
        direction,
        amount,
        after: before.after(direction, amount).unwrap(),
        type_code: TypeCode::parse(code).unwrap(),
        type_name: name.to_owned(),
        type_number: None,
        counter_account: None,
        external_id: odd.then(|| ExternalId::parse(&format!("+ref-{sequence}")).unwrap()),
        reference_type: ReferenceType::Adjustment,
        reference_id: None,
        description: (!odd).then(|| NAMED.to_owned()),
        external_date: None,
        external_date_sent: None,
        expires_at: None,
        gives_back: None,
        tag: Tag::default(),
        details: None,
        counterparty: odd.then(|| {
            Box::new(Counterparty {
                cuit: Some("20123456786".to_owned()),
                name: Some(NAMED.to_owned()),
                cbu: Some("0000003100010000000001".to_owned()),
                coelsa_id: Some("XL8H0MVZ6YQJ54YJN31O4D".to_owned()),
                ..Counterparty::default()
            })
        }),
        at: at.plus_millis(61_001),
        hash: Digest::default(),
    };
    voucher.hash = voucher.hash_after(hash);
    voucher
}

/// A statement of October 2026, and its lines.
fn october() -> (Statement, Vec<Voucher>) {
    let begun = Balance {
        available: Money::from_centavos(10_000),
        held: Money::ZERO,
    };
    let at = Timestamp::parse("2026-10-05T12:34:56.789Z").unwrap();
    let first = voucher(1, begun, Digest::default(), at);
    let day = |text| BusinessDay::parse(text).unwrap();
    let period = Period {
        first: day("2026-10-01"),
        last: day("2026-10-31"),
    };
    let mut lines: Vec<Voucher> = Vec::new();
    for sequence in 2..LINES + 2 {
        let last = lines.last().unwrap_or(&first);
        let next = voucher(sequence, last.after, last.hash, last.at);
        lines.push(next);
    }
    let mut tally = StatementCheck::begin(period, Some(&first));
    for line in &lines {
        tally.take(line).unwrap();
    }
    let of = Named {
        account: AccountNo(1),
        cvu: cvu(),
        alias: Some(Alias::parse("ana.uno").unwrap()),
        cuit: "20123456786".to_owned(),
        holder: NAMED.to_owned(),
        provider: NAMED.to_owned(),
        provider_details: Provider {
            cuit: Cuit::parse("30500001735").ok(),
            address: Some(format!("Sarmiento 530 {NAMED}")),
        },
    };
    (tally.end(of, true).unwrap(), lines)
}

#[test]
fn each_format_has_the_bytes_that_were_published() {
    let found = PUBLISHED.map(|(format, _)| {
        let (statement, lines) = october();
        let mut form = format.begin(RealmId(2), statement);
        let mut out = Vec::new();
        form.head(&mut out);
        for line in &lines {
            form.line(line, &mut out);
        }
        form.foot(&mut out);
        let hash = digest(&SHA256, &out);
        let hash: Vec<_> = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
        (format, hash.concat())
    });
    assert_eq!(
        StatementFormat::ALL,
        found.each_ref().map(|(format, _)| *format)
    );
    let published = PUBLISHED.map(|(format, hash)| (format, hash.to_owned()));
    assert_eq!(found, published);
}
