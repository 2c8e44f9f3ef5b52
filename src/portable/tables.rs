//! A realm written down for people: accounts, vouchers, holds and transfers, as lines of JSON or as CSV.
//!
//! **Shape.** A folder with one file for each of the four and `summary.json`. A line of JSON is the API's answer for
//! the item; a row of CSV has the same values in fixed columns, with those of an inner object as `outer.inner`. Amounts
//! are text with two decimals, instants are RFC 3339.
//!
//! **Bounds.** One account is in memory at a time, and a page of its vouchers.
//!
//! **Order.** Accounts by number, and an account's items by sequence. The folder has a temporary name until all of it
//! is on disk.
//!
//! **Failure.** The sums of the rows are compared with the ledger's totals and the treasury's; if they differ, no
//! folder is made. In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front.

use std::fs::{DirBuilder, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use caudal_actors::accounts::{HoldView, Placed, TransferView};
use caudal_actors::records::projection::Place;
use caudal_actors::records::{keys, reads};
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, SortOrder};
use serde::Serialize;
use serde_json::{Value, json};

use super::file::{failed, taken};
use crate::backup::BackupError;
use crate::bodies::accounts::AccountSummary;
use crate::bodies::holds::hold;
use crate::bodies::transfers::transfer;
use crate::bodies::vouchers::voucher;
use crate::sheets::columns::{ACCOUNTS, HOLDS, TRANSFERS, VOUCHERS};
use crate::sheets::{Kind, cell};

/// How many vouchers are read at once.
const PAGE: usize = 1000;

/// The format of the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A line of JSON.
    Ndjson,
    /// A row of CSV.
    Csv,
}

/// The number of rows, and their sums.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Written {
    /// Accounts, without those that the bank refused to open.
    pub accounts: u64,
    /// Vouchers of all accounts.
    pub vouchers: u64,
    /// Holds, open or over.
    pub holds: u64,
    /// Transfers, open or over.
    pub transfers: u64,
    /// The sum that clients can spend.
    pub available: Sum,
    /// The sum that is set aside but still belongs to clients.
    pub held: Sum,
}

impl Written {
    /// The summary for people and programs; `of` names the realm and the point up to which it was exported.
    pub fn summary(&self, of: &Value) -> Value {
        let mut all = json!({
            "accounts": self.accounts,
            "vouchers": self.vouchers,
            "holds": self.holds,
            "transfers": self.transfers,
            "available": self.available.to_string(),
            "held": self.held.to_string(),
            "total": self.available.plus(self.held).to_string(),
        });
        if let (Some(all), Some(of)) = (all.as_object_mut(), of.as_object()) {
            all.extend(of.clone());
        }
        all
    }
}

/// The temporary path of part of an export until it is complete: beside the target, under a name that nothing else
/// uses.
pub fn beside(to: &Path, what: &str) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!(".{name}.caudal-export-{what}"))
}

/// Writes the summary durably.
fn summarized(half: &Path, summary: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(half.join("summary.json"))?;
    file.write_all(summary)?;
    file.sync_all()?;
    File::open(half)?.sync_all()
}

/// Makes the name of a folder durable.
fn named(to: &Path) -> std::io::Result<()> {
    let above = to.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(above.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a realm of a store that is not in use into the new folder `to`; `of` goes into its summary, and `done`
/// receives the number of vouchers written.
///
/// # Errors
/// When the folder exists, the store cannot be read, or the rows do not add up to the ledger's totals.
pub fn write(
    (store, realm): (&dyn Index, RealmId),
    to: &Path,
    style: Style,
    of: &Value,
    done: &mut dyn FnMut(u64),
) -> Result<Written, BackupError> {
    let fail = |why| failed("making", to, why);
    if to.try_exists().map_err(fail)? {
        return Err(BackupError::Refused(taken(to)));
    }
    let half = beside(to, "tables");
    if half.try_exists().map_err(fail)? {
        std::fs::remove_dir_all(&half).map_err(fail)?;
    }
    DirBuilder::new().mode(0o700).create(&half).map_err(fail)?;
    let mut tables = Tables::begin(&half, style)?;
    let written = tables.realm(store, realm, done);
    let written = written.and_then(|it| {
        agrees(store, realm, &it)?;
        tables.end(&half)?;
        let summary = serde_json::to_vec_pretty(&it.summary(of)).map_err(unwritable)?;
        summarized(&half, &summary).map_err(fail)?;
        std::fs::rename(&half, to).map_err(fail)?;
        named(to).map_err(fail)?;
        Ok(it)
    });
    if written.is_err() {
        std::fs::remove_dir_all(&half).ok();
    }
    written
}

fn unwritable(why: impl ToString) -> BackupError {
    BackupError::depot("writing a row", why)
}

/// Checks that the rows add up to the ledger's totals.
fn agrees(store: &dyn Index, realm: RealmId, written: &Written) -> Result<(), BackupError> {
    let kept = reads::totals(store, realm)?;
    let accounts = kept.census.everyone();
    let transfers = keys::count_in(store.get(&keys::transfer_count(realm))?.as_deref())?;
    if transfers != written.transfers {
        return Err(BackupError::Refused(format!(
            "the rows have {} transfers, and the ledger {transfers}: verify the store",
            written.transfers
        )));
    }
    let ledger = (accounts, kept.sequence, kept.available, kept.held);
    let rows = (
        written.accounts,
        written.vouchers,
        written.available,
        written.held,
    );
    match ledger == rows {
        true => Ok(()),
        false => Err(BackupError::Refused(format!(
            "the rows have {} accounts, {} vouchers, {} available and {} held, and the ledger {}, {}, {} and {}: \
             verify the store",
            rows.0, rows.1, rows.2, rows.3, ledger.0, ledger.1, ledger.2, ledger.3
        ))),
    }
}

/// The files while they are being written.
struct Tables {
    accounts: Table,
    vouchers: Table,
    holds: Table,
    transfers: Table,
    written: Written,
}

impl Tables {
    fn begin(folder: &Path, style: Style) -> Result<Self, BackupError> {
        let table = |kind| Table::begin(folder, kind, style);
        Ok(Self {
            accounts: table(ACCOUNTS)?,
            vouchers: table(VOUCHERS)?,
            holds: table(HOLDS)?,
            transfers: table(TRANSFERS)?,
            written: Written::default(),
        })
    }

    fn realm(
        &mut self,
        store: &dyn Index,
        realm: RealmId,
        done: &mut dyn FnMut(u64),
    ) -> Result<Written, BackupError> {
        let mut next = reads::account_after(store, realm, AccountNo(0))?;
        while let Some(number) = next {
            next = reads::account_after(store, realm, number)?;
            let Some((account, _)) = reads::account(store, realm, number)? else {
                continue;
            };
            if account.status == Status::Void {
                continue;
            }
            self.account(&account)?;
            self.movements(store, realm, number)?;
            done(self.written.vouchers);
        }
        Ok(self.written)
    }

    fn account(&mut self, account: &Account) -> Result<(), BackupError> {
        let balance = account.balance;
        let mut body = serde_json::to_value(AccountSummary::from(account)).map_err(unwritable)?;
        if let Some(body) = body.as_object_mut() {
            let balance = json!({
                "available": balance.available.to_string(),
                "held": balance.held.to_string(),
                "total": balance.total().to_string(),
                "sequence": account.sequence,
            });
            body.insert("balance".to_owned(), balance);
        }
        self.accounts.put(body)?;
        let written = &mut self.written;
        written.accounts += 1;
        written.available = written.available.plus(balance.available.into());
        written.held = written.held.plus(balance.held.into());
        Ok(())
    }

    /// The vouchers of an account, with the holds and transfers that begin with one of them.
    fn movements(
        &mut self,
        store: &dyn Index,
        realm: RealmId,
        account: AccountNo,
    ) -> Result<(), BackupError> {
        let mut next = 1;
        loop {
            let from = (next, u64::MAX);
            let page = reads::vouchers(store, realm, account, from, SortOrder::Ascending, PAGE)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            next = last.sequence + 1;
            for found in page {
                let sequence = found.sequence;
                if Hold::opened(&found).is_some()
                    && let Some(hold_of) = reads::money::hold(store, realm, account, sequence)?
                {
                    let view = HoldView {
                        account,
                        hold: hold_of,
                    };
                    self.holds.put(of(account, &hold(realm, &view))?)?;
                    self.written.holds += 1;
                }
                let place = Place { account, sequence };
                if let Some(found) = reads::money::transfer(store, realm, place)? {
                    let view = TransferView {
                        account,
                        transfer: found,
                    };
                    self.transfers.put(of(account, &transfer(realm, &view))?)?;
                    self.written.transfers += 1;
                }
                let placed = Placed {
                    account,
                    voucher: Arc::new(found),
                };
                self.vouchers.put(of(account, &voucher(realm, &placed))?)?;
                self.written.vouchers += 1;
            }
        }
    }

    fn end(self, folder: &Path) -> Result<(), BackupError> {
        for table in [self.accounts, self.vouchers, self.holds, self.transfers] {
            table.end()?;
        }
        let synced = File::open(folder).and_then(|it| it.sync_all());
        synced.map_err(|why| failed("writing", folder, why))
    }
}

/// An item with the number of its account.
fn of(account: AccountNo, body: &impl Serialize) -> Result<Value, BackupError> {
    let mut body = serde_json::to_value(body).map_err(unwritable)?;
    if let Some(body) = body.as_object_mut() {
        body.insert("walletAccountId".to_owned(), account.0.into());
    }
    Ok(body)
}

/// One of the files.
enum Table {
    Lines(PathBuf, BufWriter<File>),
    Rows(PathBuf, Box<csv::Writer<File>>, Kind),
}

impl Table {
    fn begin(folder: &Path, kind: Kind, style: Style) -> Result<Self, BackupError> {
        let ending = match style {
            Style::Ndjson => "ndjson",
            Style::Csv => "csv",
        };
        let path = folder.join(format!("{}.{ending}", kind.name));
        let file = File::create_new(&path).map_err(|why| failed("making", &path, why))?;
        match style {
            Style::Ndjson => Ok(Self::Lines(path, BufWriter::new(file))),
            Style::Csv => {
                let mut rows = Box::new(csv::Writer::from_writer(file));
                rows.write_record(kind.columns).map_err(unwritable)?;
                Ok(Self::Rows(path, rows, kind))
            }
        }
    }

    fn put(&mut self, body: Value) -> Result<(), BackupError> {
        match self {
            Self::Lines(path, out) => {
                let line = format!("{body}\n");
                let written = out.write_all(line.as_bytes());
                written.map_err(|why| failed("writing", path, why))
            }
            Self::Rows(_, rows, kind) => {
                let cells = kind.columns.iter().map(|column| cell(&body, column));
                let cells: Vec<String> = cells.collect();
                rows.write_record(&cells).map_err(unwritable)
            }
        }
    }

    fn end(self) -> Result<(), BackupError> {
        let (path, file) = match self {
            Self::Lines(path, out) => (path, out.into_inner().map_err(|why| why.into_error())),
            Self::Rows(path, rows, _) => (
                path,
                rows.into_inner()
                    .map_err(|why| std::io::Error::other(why.to_string())),
            ),
        };
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(|why| failed("writing", &path, why))
    }
}
