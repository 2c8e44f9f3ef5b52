//! Rows as Apache Parquet: a file whose columns have types, for programs of analysis.
//!
//! **Shape.** The columns are those of the same table as CSV, under the same names, each with a type that follows
//! from its name ([`Type::of`]). Amounts are `DECIMAL(18,2)` kept as whole centavos in 64 bits: exact, summed without
//! conversion, and read as pesos by programs that know decimals. Instants are milliseconds since 1970 in UTC. A cell
//! that CSV leaves empty is null. Texts stay as they are: no program takes a cell of Parquet for a formula.
//!
//! **Bounds.** A group of rows is kept until it has [`GROUP_ROWS`] rows or [`GROUP_BYTES`] of values; then it is
//! packed and sent. The file's own list of groups stays in memory as well, some hundred bytes for each column of each
//! group.
//!
//! **Failure.** The end of a file says where everything is, so a file that was cut off cannot be read at all. A value
//! that is not of its column's type breaks the file off: it could only be written as another value.

use std::sync::Arc;

use caudal_ledger::time::{BusinessDay, Timestamp};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as Field;
use serde_json::Value;

use super::{Kind, found};

/// Its media type.
pub const MEDIA: &str = "application/vnd.apache.parquet";
/// The most rows of a group.
pub const GROUP_ROWS: usize = 10_000;
/// About how many bytes of values a group may have: 8 MiB.
pub const GROUP_BYTES: usize = 8 << 20;
/// The digits of an amount: all, and those behind the point.
const DIGITS: (i32, i32) = (18, 2);
/// The largest amount of this many digits, in centavos.
const CENTAVOS_MAX: i64 = 999_999_999_999_999_999;
/// The bytes that a value counts besides its text.
const VALUE_BYTES: usize = 8;

/// Why a file cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// A value is not of the type of its column.
    #[error("a value of the column {0} is not of its type")]
    Value(&'static str),
    /// The library refuses to write it.
    #[error("{0}")]
    Library(#[from] ParquetError),
}

/// The type of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Text,
    Whole,
    Money,
    Instant,
    Day,
    Flag,
}

impl Type {
    /// The type of a column: its name determines it in every table.
    fn of(column: &str) -> Self {
        match column.rsplit('.').next().map_or(column, |last| last) {
            "walletAccountId" | "sequence" => Self::Whole,
            "amount" | "tax" | "reversed" | "availableAfter" | "heldAfter" | "totalAfter"
            | "available" | "held" | "total" | "confirmed" | "released" | "remaining"
            | "bankBalance" | "outgoing" | "incoming" | "pspFees" | "freeBalance" => Self::Money,
            "createdAt" | "updatedAt" | "closedAt" | "expiresAt" | "timestamp" | "asOf"
            | "bankAsOf" | "bankAt" | "lastMovementAt" => Self::Instant,
            "date" => Self::Day,
            "enabled" | "shared" | "covered" | "contradicted" => Self::Flag,
            _ => Self::Text,
        }
    }

    fn field(self, column: &str) -> Result<Field, ParquetError> {
        let (physical, logical) = match self {
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Whole => (Physical::INT64, None),
            Self::Money => {
                let (precision, scale) = DIGITS;
                (
                    Physical::INT64,
                    Some(LogicalType::decimal(scale, precision)),
                )
            }
            Self::Instant => {
                let logical = LogicalType::timestamp(true, TimeUnit::MILLIS);
                (Physical::INT64, Some(logical))
            }
            Self::Day => (Physical::INT32, Some(LogicalType::Date)),
            Self::Flag => (Physical::BOOLEAN, None),
        };
        let (digits, point) = match self {
            Self::Money => DIGITS,
            _ => (-1, -1),
        };
        Field::primitive_type_builder(column, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .with_precision(digits)
            .with_scale(point)
            .build()
    }
}

/// The values of a column, and for each row whether it has one.
#[derive(Debug)]
struct Column {
    name: &'static str,
    kind: Type,
    values: Values,
    there: Vec<i16>,
}

#[derive(Debug)]
enum Values {
    Texts(Vec<ByteArray>),
    Longs(Vec<i64>),
    Days(Vec<i32>),
    Flags(Vec<bool>),
}

/// Reads `12.34` as 1234; `None` for a text without exactly two decimals.
fn centavos(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (pesos, cents) = digits.split_once('.')?;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if pesos.is_empty() || cents.len() != 2 || !plain(pesos) || !plain(cents) {
        return None;
    }
    let all = format!("{pesos}{cents}").parse::<i64>().ok()?;
    (all <= CENTAVOS_MAX).then_some(all.checked_mul(sign)?)
}

fn days(text: &str) -> Option<i32> {
    Some(BusinessDay::parse(text)?.date().to_epoch_days())
}

fn instant(text: &str) -> Option<i64> {
    i64::try_from(Timestamp::parse(text)?.millis()).ok()
}

impl Column {
    fn new(name: &'static str) -> Self {
        let kind = Type::of(name);
        let values = match kind {
            Type::Text => Values::Texts(Vec::new()),
            Type::Whole | Type::Money | Type::Instant => Values::Longs(Vec::new()),
            Type::Day => Values::Days(Vec::new()),
            Type::Flag => Values::Flags(Vec::new()),
        };
        Self {
            name,
            kind,
            values,
            there: Vec::new(),
        }
    }

    /// Takes the value of a row, and returns how many bytes it counts.
    fn take(&mut self, body: &Value) -> Result<usize, Broken> {
        let value = found(body, self.name);
        self.there.push(i16::from(value.is_some()));
        let Some(value) = value else {
            return Ok(0);
        };
        let wrong = || Broken::Value(self.name);
        let text = value.as_str();
        match (&mut self.values, self.kind) {
            (Values::Texts(texts), _) => {
                let text = text.map_or_else(|| value.to_string(), str::to_owned);
                let bytes = text.len().checked_add(VALUE_BYTES).ok_or_else(wrong)?;
                texts.push(ByteArray::from(text.into_bytes()));
                return Ok(bytes);
            }
            (Values::Longs(longs), kind) => {
                let long = match kind {
                    Type::Money => text.and_then(centavos),
                    Type::Instant => text.and_then(instant),
                    _ => value.as_i64(),
                };
                longs.push(long.ok_or_else(wrong)?);
            }
            (Values::Days(all), _) => all.push(text.and_then(days).ok_or_else(wrong)?),
            (Values::Flags(flags), _) => flags.push(value.as_bool().ok_or_else(wrong)?),
        }
        Ok(VALUE_BYTES)
    }

    /// Writes the column's values and empties it.
    fn write(&mut self, mut to: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let there = std::mem::take(&mut self.there);
        let there = Some(there.as_slice());
        match &mut self.values {
            Values::Texts(all) => {
                let all = std::mem::take(all);
                to.typed::<ByteArrayType>().write_batch(&all, there, None)?
            }
            Values::Longs(all) => {
                let all = std::mem::take(all);
                to.typed::<Int64Type>().write_batch(&all, there, None)?
            }
            Values::Days(all) => {
                let all = std::mem::take(all);
                to.typed::<Int32Type>().write_batch(&all, there, None)?
            }
            Values::Flags(all) => {
                let all = std::mem::take(all);
                to.typed::<BoolType>().write_batch(&all, there, None)?
            }
        };
        to.close()
    }
}

/// A file that is being written.
pub struct Table {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl Table {
    /// An empty file.
    ///
    /// # Errors
    /// When the library refuses its columns.
    pub fn new(kind: Kind) -> Result<Self, Broken> {
        let columns: Vec<_> = kind.columns.iter().map(|name| Column::new(name)).collect();
        let fields: Result<Vec<_>, _> = columns
            .iter()
            .map(|column| column.kind.field(column.name).map(Arc::new))
            .collect();
        let schema = Field::group_type_builder(kind.name).with_fields(fields?);
        let settings = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("caudal".to_owned())
            .build();
        let file =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema.build()?), Arc::new(settings))?;
        Ok(Self {
            file,
            columns,
            rows: 0,
            bytes: 0,
        })
    }

    /// Takes a row, and writes the bytes of a full group to `out`.
    ///
    /// # Errors
    /// When a value is not of its column's type.
    pub fn put(&mut self, body: &Value, out: &mut Vec<u8>) -> Result<(), Broken> {
        for column in &mut self.columns {
            self.bytes += column.take(body)?;
        }
        self.rows += 1;
        match self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            true => self.pack(out),
            false => Ok(()),
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Broken> {
        if self.rows > 0 {
            self.pack(out)?;
        }
        self.file.finish()?;
        self.leave(out)
    }

    /// Packs the waiting rows into a group.
    fn pack(&mut self, out: &mut Vec<u8>) -> Result<(), Broken> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let to = group.next_column()?;
            let to = to.ok_or_else(|| ParquetError::General("a column is missing".into()))?;
            column.write(to)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        self.leave(out)
    }

    fn leave(&mut self, out: &mut Vec<u8>) -> Result<(), Broken> {
        self.file.flush().map_err(ParquetError::from)?;
        out.append(self.file.inner_mut());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::{Field as Found, Row};
    use serde_json::json;

    use super::super::columns::{self, VOUCHERS};
    use super::*;

    fn written(kind: Kind, bodies: impl Iterator<Item = Value>) -> (Vec<u8>, usize) {
        let (mut out, mut most) = (Vec::new(), 0);
        let mut table = Table::new(kind).unwrap();
        for body in bodies {
            table.put(&body, &mut out).unwrap();
            most = most.max(table.rows);
        }
        table.end(&mut out).unwrap();
        (out, most)
    }

    fn read(bytes: Vec<u8>) -> (usize, Vec<Row>) {
        let file = SerializedFileReader::new(actix_web::web::Bytes::from(bytes)).unwrap();
        let rows = file.get_row_iter(None).unwrap();
        (file.num_row_groups(), rows.map(Result::unwrap).collect())
    }

    fn value(row: &Row, column: &str) -> Found {
        let mut columns = row.get_column_iter();
        columns.find(|(name, _)| *name == column).unwrap().1.clone()
    }

    #[test]
    fn what_was_written_is_read_back_with_its_types() {
        let body = json!({
            "walletAccountId": 7, "id": "cmp_1", "cvu": "0000003100000000000017", "sequence": 1,
            "ledgerType": "credit", "amount": "999999999999999.99", "availableAfter": "-0.01",
            "heldAfter": "0.00", "description": "=1+1", "counterparty": {"name": "Ñandú"},
            "createdAt": "2026-11-23T12:34:56.789Z", "idExterno": null,
        });
        let (bytes, _) = written(VOUCHERS, [body].into_iter());
        let (groups, rows) = read(bytes);
        assert_eq!((groups, rows.len()), (1, 1));
        let row = &rows[0];
        assert_eq!(row.len(), VOUCHERS.columns.len());
        assert_eq!(value(row, "walletAccountId"), Found::Long(7));
        assert_eq!(value(row, "description"), Found::Str("=1+1".into()));
        assert_eq!(value(row, "counterparty.name"), Found::Str("Ñandú".into()));
        assert_eq!(value(row, "counterparty.cuit"), Found::Null);
        assert_eq!(value(row, "idExterno"), Found::Null);
        let at = Timestamp::parse("2026-11-23T12:34:56.789Z")
            .unwrap()
            .millis();
        let at = Found::TimestampMillis(i64::try_from(at).unwrap());
        assert_eq!(value(row, "createdAt"), at);
        for (column, text) in [
            ("amount", "999999999999999.99"),
            ("availableAfter", "-0.01"),
            ("heldAfter", "0.00"),
        ] {
            assert_eq!(value(row, column).to_string(), text, "{column}");
        }
    }

    #[test]
    fn groups_are_bounded_and_no_row_is_lost_between_them() {
        let count = i64::try_from(GROUP_ROWS).unwrap() * 2 + 3;
        let bodies = (0..count).map(|n| json!({"walletAccountId": n, "id": "x"}));
        let (bytes, most) = written(VOUCHERS, bodies);
        assert!(most < GROUP_ROWS);
        let (groups, rows) = read(bytes);
        assert_eq!(groups, 3);
        let numbers = rows.iter().map(|row| value(row, "walletAccountId"));
        assert!(numbers.eq((0..count).map(Found::Long)));
        // Long texts end a group before it has all its rows.
        let text = "x".repeat(GROUP_BYTES / 2);
        let bodies = (0..4).map(|_| json!({"description": text}));
        let (bytes, most) = written(VOUCHERS, bodies);
        assert_eq!((read(bytes).0, most), (2, 1));
        let (bytes, _) = written(VOUCHERS, std::iter::empty());
        assert_eq!(read(bytes), (0, Vec::new()));
    }

    #[test]
    fn what_is_not_of_its_type_breaks_the_file_off() {
        for body in [
            json!({"amount": "1.5"}),
            json!({"amount": "1.555"}),
            json!({"amount": "99999999999999999.00"}),
            json!({"amount": "+1.00"}),
            json!({"amount": 1}),
            json!({"createdAt": "yesterday"}),
            json!({"sequence": "1"}),
        ] {
            let mut table = Table::new(VOUCHERS).unwrap();
            let done = table.put(&body, &mut Vec::new());
            assert!(matches!(done, Err(Broken::Value(_))), "{body}");
        }
    }

    #[test]
    fn every_column_of_every_table_has_the_type_that_is_meant() {
        let all = [
            columns::ACCOUNTS,
            columns::VOUCHERS,
            columns::HOLDS,
            columns::TRANSFERS,
            columns::LISTED_ACCOUNTS,
            columns::POSITIONS,
            columns::EVENTS,
            columns::TREASURY,
            columns::COLLECTORS,
            columns::RECONCILED,
        ];
        let texts = all
            .iter()
            .flat_map(|kind| kind.columns)
            .filter(|column| Type::of(column) == Type::Text);
        let texts: std::collections::BTreeSet<_> = texts
            .map(|column| column.rsplit('.').next().unwrap())
            .collect();
        // A new column is text only if it is listed here.
        let known = "alias bank bankTransferId by cbu code coelsaId concept coverageRatio cuit currency cvu data \
            description email externalId fromCvu holderName id idExterno kind ledgerType metadata name originId \
            personType phone realms reason referenceId referenceType result direction reversal state status \
            transferId type voucherTypeCode voucherTypeName";
        let known: std::collections::BTreeSet<_> = known.split_whitespace().collect();
        assert_eq!(texts, known);
        for kind in all {
            Table::new(kind).unwrap();
        }
    }
}
