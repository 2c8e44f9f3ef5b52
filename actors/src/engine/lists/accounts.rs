//! The list of accounts: a page of the account sets or of the sorted rows; with a text, a scan of the directory.

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::text::folded;
use caudal_storage::{Index, SortOrder, StoreError};

use super::SCAN_PAGE;
use super::bounded_scan::{ACCOUNT, BoundedScan, ScanBudget};
use super::pages::{CursorMark, ListCursor, ListPage, Listing, Range, ScannedPart, each_row};
use crate::failure::Failure;
use crate::records::account_sets::{Among, Members};
use crate::records::keys::Sorted;
use crate::records::projection::Listed;
use crate::records::{account_sets, decode, keys, reads};
use caudal_ledger::treasury::Census;

/// The order of accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccountSort {
    /// In the order in which they were registered.
    #[default]
    CreatedAt,
    /// By the holder's name.
    HolderName,
    /// By the digits of the CVU; accounts without one come before all others.
    Cvu,
    /// By the alias in lower case; accounts without one come before all others.
    Alias,
    /// By the tenant's own code.
    Code,
    /// By the holder's CUIT.
    Cuit,
}

impl AccountSort {
    /// The sorted rows of the order, if it has any. The CUIT has rows of its own.
    const fn texts(self) -> Option<Sorted> {
        match self {
            Self::HolderName => Some(Sorted::Name),
            Self::Cvu => Some(Sorted::Cvu),
            Self::Alias => Some(Sorted::Alias),
            Self::Code => Some(Sorted::Code),
            Self::CreatedAt | Self::Cuit => None,
        }
    }

    /// The prefix of the keys that list all accounts in this order.
    fn rows(self, realm: RealmId) -> Vec<u8> {
        match (self, self.texts()) {
            (_, Some(by)) => keys::sorted(realm, by),
            (Self::Cuit, None) => keys::of_cuits(realm),
            (_, None) => keys::directory(realm),
        }
    }

    /// The key of an account in this order.
    fn row(self, realm: RealmId, number: AccountNo, row: &Listed) -> Vec<u8> {
        match (self, self.texts()) {
            (_, Some(by)) => keys::sorted_of(realm, by, row.sorted_by(by).as_bytes(), number),
            (Self::Cuit, None) => keys::account_of_cuit(realm, row.cuit, number),
            (_, None) => keys::directory_of(realm, number),
        }
    }

    /// The letter of the order in cursors. The order by number needs none, because numbers never change.
    const fn letter(self) -> Option<u8> {
        match self {
            Self::HolderName => Some(b'n'),
            Self::Cvu => Some(b'v'),
            Self::Alias => Some(b'a'),
            Self::Code => Some(b'c'),
            Self::Cuit => Some(b'u'),
            Self::CreatedAt => None,
        }
    }

    /// The cursor after the account of a key.
    fn cursor(self, realm: RealmId, number: AccountNo, key: &[u8]) -> ListCursor {
        let value = key.strip_prefix(self.rows(realm).as_slice());
        let value = value.and_then(|rest| rest.split_last_chunk::<{ size_of::<u64>() }>());
        let value = value.map(|(value, _)| match self.texts() {
            Some(_) => value.strip_suffix(&[0]).unwrap_or(value),
            None => value,
        });
        let mark = self.letter().zip(value);
        ListCursor {
            number: number.0,
            mark: mark.and_then(|(by, value)| CursorMark::new(by, value)),
        }
    }

    /// The first and last keys of a page.
    fn behind_cursor(
        self,
        store: &dyn Index,
        realm: RealmId,
        page: &ListPage,
    ) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        let prefix = self.rows(realm);
        let (mut from, mut to) = (prefix.clone(), keys::after_prefix(&prefix));
        let behind = page.cursor.map(|cursor| self.behind(store, realm, cursor));
        match (behind.transpose()?.flatten(), page.order) {
            (Some(key), SortOrder::Ascending) => from = [key.as_slice(), &[0]].concat(),
            (Some(key), SortOrder::Descending) => to = key,
            (None, _) => {}
        }
        Ok((from, to))
    }

    /// The key after which a page begins. It is made of the value that the last shown account had then, so that a
    /// renamed account is not shown twice or skipped. A cursor without a mark, or with the mark of another order,
    /// continues after the account's present value.
    fn behind(
        self,
        store: &dyn Index,
        realm: RealmId,
        cursor: ListCursor,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let number = AccountNo(cursor.number);
        let own = |mark: &CursorMark| Some(mark.by()) == self.letter();
        let of_mark = |mark: CursorMark| {
            let text = || Cuit::parse(std::str::from_utf8(mark.value()).ok()?).ok();
            match self.texts() {
                Some(by) => Some(keys::sorted_of(realm, by, mark.value(), number)),
                None => Some(keys::account_of_cuit(realm, text()?, number)),
            }
        };
        if let Some(key) = cursor.mark.filter(own).and_then(of_mark) {
            return Ok(Some(key));
        }
        let row = reads::listed(store, realm, number)?;
        Ok(row.map(|row| self.row(realm, number, &row)))
    }
}

/// The accounts that a list covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccountScope {
    /// Accounts with a CVU; a text is searched for in CVU, alias, holder's name and CUIT.
    #[default]
    WithCvu,
    /// All accounts; a text is searched for in CUIT, e-mail, names, code and number.
    Everyone,
    /// All accounts; a text is searched for in the fields of both other scopes.
    ByAnything,
}

/// Which accounts are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccountFilter {
    /// This text in the fields of the scope.
    pub text: Option<String>,
    /// Only in this state.
    pub status: Option<Status>,
    /// Only enabled, or only disabled.
    pub enabled: Option<bool>,
    /// The accounts that the list covers, and the fields in which `text` is searched for.
    pub scope: AccountScope,
}

impl AccountFilter {
    /// How many accounts match, if the census knows: it counts them by state only.
    fn total(&self, census: &Census) -> Option<u64> {
        let counted = Self {
            scope: self.scope,
            status: self.status,
            ..Self::default()
        };
        let total = match (self.status, self.scope) {
            (None, AccountScope::WithCvu) => census.with_cvu(),
            (None, AccountScope::Everyone | AccountScope::ByAnything) => census.everyone(),
            (Some(Status::Active), _) => census.active,
            (Some(Status::Suspended), _) => census.suspended,
            (Some(Status::Closed), _) => census.closed,
            (Some(Status::Registered), AccountScope::Everyone | AccountScope::ByAnything) => {
                census.registered
            }
            (Some(Status::Registered | Status::Void), _) => 0,
        };
        (*self == counted).then_some(total)
    }

    /// The accounts of the account sets that match, apart from the text.
    fn among(&self) -> Among {
        Among {
            everyone: self.scope != AccountScope::WithCvu,
            status: self.status,
            enabled: self.enabled,
            alive: false,
        }
    }

    /// The filter with its text folded, as the rows are.
    pub(in crate::engine) fn folded(&self) -> Self {
        Self {
            text: self.text.as_deref().map(folded),
            ..self.clone()
        }
    }

    pub(in crate::engine) fn lets(&self, number: AccountNo, row: &Listed) -> bool {
        let listed = match self.scope {
            AccountScope::WithCvu => row.cvu.is_some(),
            AccountScope::Everyone | AccountScope::ByAnything => row.status != Status::Void,
        };
        let text = |wanted: &String| match self.scope {
            AccountScope::WithCvu => names_account(row, wanted),
            AccountScope::Everyone => names_wallet(number, row, wanted),
            AccountScope::ByAnything => {
                names_account(row, wanted) || names_wallet(number, row, wanted)
            }
        };
        listed
            && self.status.is_none_or(|wanted| wanted == row.status)
            && self.enabled.is_none_or(|wanted| wanted == row.enabled)
            && self.text.as_ref().is_none_or(text)
    }
}

fn names_account(row: &Listed, wanted: &str) -> bool {
    let alias = |alias: &caudal_ledger::alias::Alias| alias.folded().contains(wanted);
    row.name.contains(wanted)
        || row.cuit.as_str().contains(wanted)
        || row.cvu.is_some_and(|cvu| cvu.as_str().contains(wanted))
        || row.alias.as_ref().is_some_and(alias)
}

fn names_wallet(number: AccountNo, row: &Listed, wanted: &str) -> bool {
    let part = |text: &Option<String>| {
        let found = |text: &String| folded(text).contains(wanted);
        text.as_ref().is_some_and(found)
    };
    // People write a CUIT with dashes between its three parts.
    let digits = wanted.replace('-', "");
    let cuit = !digits.is_empty() && row.cuit.as_str().contains(&digits);
    number.to_string() == wanted
        || cuit
        || row.name.contains(wanted)
        || part(&row.email)
        || part(&row.code)
        || part(&row.names.given)
        || part(&row.names.family)
        || part(&row.names.business)
}

/// A page of accounts. Without a text it comes from the account sets or from the sorted rows; with a text the directory
/// is scanned.
pub(super) fn accounts(
    store: &dyn Index,
    realm: RealmId,
    filter: &AccountFilter,
    sort: AccountSort,
    page: &ListPage,
    bound: u64,
) -> Result<Listing<Account>, Failure> {
    let all = Range::to(reads::last_account(store, realm)?);
    let look = BoundedScan {
        page,
        bound,
        cost: (ACCOUNT, ACCOUNT),
        rows: rows(store, realm, bound.div_euclid(ACCOUNT))?,
    };
    let listing = match (&filter.text, sort) {
        (Some(_), AccountSort::CreatedAt) => {
            let filter = filter.folded();
            look.over(
                all,
                |rest, size, _| directory(store, realm, *rest, page.order, size),
                |number, row, _| {
                    let number = AccountNo(number);
                    Ok(filter.lets(number, &row).then_some(number))
                },
                |number| Ok(reads::listed(store, realm, AccountNo(number))?.map(|it| it.created_at)),
            )?
        }
        (Some(_), _) if look.fits(all) => searched(store, realm, filter, sort, page)?,
        (None, AccountSort::CreatedAt) => {
            let known = filter.total(&reads::totals(store, realm)?.census);
            listed(store, realm, &filter.among(), known, page)?
        }
        (_, _) => in_order(store, realm, filter, sort, &look)?,
    };
    Ok(listing.try_with(|numbers| profiles(store, realm, numbers))?)
}

/// The accounts with these numbers, without their movements.
pub(in crate::engine) fn profiles(
    store: &dyn Index,
    realm: RealmId,
    numbers: Vec<AccountNo>,
) -> Result<Vec<Account>, StoreError> {
    let found = numbers.into_iter();
    let found = found.map(|number| reads::profile(store, realm, number));
    found.filter_map(Result::transpose).collect()
}

/// How many rows the directory of a realm has, if they are at most this many: account numbers have gaps.
pub(in crate::engine) fn rows(
    store: &dyn Index,
    realm: RealmId,
    most: u64,
) -> Result<Option<u64>, StoreError> {
    // The census does not count accounts that the bank refused, so it only tells quickly that there are more.
    if reads::totals(store, realm)?.census.everyone() > most {
        return Ok(None);
    }
    let mut count = 0_u64;
    each_row(store, &keys::directory(realm), |_, _| {
        count = count.strict_add(1);
        Ok(count <= most)
    })?;
    Ok((count <= most).then_some(count))
}

/// At most `size` rows of the directory with numbers in a range.
pub(in crate::engine) fn directory(
    store: &dyn Index,
    realm: RealmId,
    rest: Range,
    order: SortOrder,
    size: usize,
) -> Result<Vec<(u64, Listed)>, StoreError> {
    let from = keys::directory_of(realm, AccountNo(rest.first));
    let to = keys::after_prefix(&keys::directory_of(realm, AccountNo(rest.last)));
    let rows = store.scan(&from, &to, order, size)?;
    let read = |(key, row): &(Vec<u8>, Vec<u8>)| Ok((keys::number_of(key)?, decode(row)?));
    rows.iter().map(read).collect()
}

/// A page of the account sets, in the order of registration. Its total is counted unless it is known.
pub(in crate::engine) fn listed(
    store: &dyn Index,
    realm: RealmId,
    among: &Among,
    known: Option<u64>,
    page: &ListPage,
) -> Result<Listing<AccountNo>, StoreError> {
    let skip = u64::try_from(page.offset).unwrap_or(u64::MAX);
    let cut = (page.order, page.after().map(AccountNo), skip, page.limit);
    let (items, more) = account_sets::page(store, realm, among, cut)?;
    let total = known.map_or_else(|| account_sets::count(store, realm, among), Ok)?;
    let next = items.last().filter(|_| more);
    let next = next.map(|number| number.0.into());
    Ok(Listing::of(items, total, next))
}

/// A page of the sorted rows. It also walks over the keys of accounts that do not match or that the offset skips, up to
/// the bound of its look.
fn in_order(
    store: &dyn Index,
    realm: RealmId,
    filter: &AccountFilter,
    sort: AccountSort,
    look: &BoundedScan<'_>,
) -> Result<Listing<AccountNo>, Failure> {
    let (page, filter) = (look.page, filter.folded());
    let members = Members::read(store, realm, &filter.among())?;
    let mut left = ScanBudget::of(look.bound);
    let lets = |number, left: &mut ScanBudget| {
        left.spend(1);
        if filter.text.is_none() || !members.has(number) {
            return Ok::<_, StoreError>(members.has(number));
        }
        left.spend(ACCOUNT);
        let row = reads::listed(store, realm, number)?;
        Ok(row.is_some_and(|row| filter.lets(number, &row)))
    };
    let (mut from, mut to) = sort.behind_cursor(store, realm, page)?;
    let mut skip = page.cursor.map_or(page.offset, |_| 0);
    let (mut items, mut matched) = (Vec::with_capacity(page.limit), 0_u64);
    let (mut looked, mut last, mut next) = (0_u64, None, None);
    let mut size = page.limit.saturating_add(1).min(SCAN_PAGE);
    'pages: loop {
        size = size.min(left.rows(1));
        let rows = store.scan(&from, &to, page.order, size)?;
        for (key, _) in &rows {
            let number = keys::account_of(key)?;
            if left.is_spent() {
                next = last;
                break 'pages;
            }
            looked += 1;
            if lets(number, &mut left)? {
                matched += 1;
                if skip > 0 {
                    skip -= 1;
                } else if items.len() < page.limit {
                    items.push(number);
                } else {
                    next = last;
                    break 'pages;
                }
            }
            last = Some(sort.cursor(realm, number, key));
        }
        match rows.last() {
            Some((key, _)) if rows.len() == size => match page.order {
                SortOrder::Ascending => from = [key.as_slice(), &[0]].concat(),
                SortOrder::Descending => to.clone_from(key),
            },
            Some(_) | None => break,
        }
        size = SCAN_PAGE;
    }
    if left.is_spent() && skip > 0 && next.is_some() {
        return Err(Failure::PageTooFar);
    }
    let short = left.is_spent() && items.len() < page.limit && next.is_some();
    let part = ScannedPart {
        rows: looked,
        until: None,
    };
    Ok(Listing {
        items,
        total: filter.text.as_ref().map_or(members.len(), |_| matched),
        next,
        looked: (short || filter.text.is_some()).then_some(part),
    })
}

/// A page of the accounts that match a text: the whole directory is scanned.
fn searched(
    store: &dyn Index,
    realm: RealmId,
    filter: &AccountFilter,
    sort: AccountSort,
    page: &ListPage,
) -> Result<Listing<AccountNo>, StoreError> {
    let filter = filter.folded();
    let mut found = Vec::new();
    each_row(store, &keys::directory(realm), |key, row| {
        let number = keys::account_of(key)?;
        let row: Listed = decode(row)?;
        if filter.lets(number, &row) {
            found.push((sort.row(realm, number, &row), number));
        }
        Ok(true)
    })?;
    let behind = page.cursor.map(|cursor| sort.behind(store, realm, cursor));
    let behind = behind.transpose()?.flatten();
    let cursor = |key: &[u8], number| sort.cursor(realm, number, key);
    Ok(cut(found, behind.as_ref(), page, cursor))
}

/// Sorts all matches by their place, and cuts out the page after a place or an offset.
fn cut(
    mut found: Vec<(Vec<u8>, AccountNo)>,
    behind: Option<&Vec<u8>>,
    page: &ListPage,
    cursor: impl Fn(&[u8], AccountNo) -> ListCursor,
) -> Listing<AccountNo> {
    found.sort_unstable();
    let total = u64::try_from(found.len()).unwrap_or(u64::MAX);
    let skip = behind.map_or(page.offset, |behind| match page.order {
        SortOrder::Ascending => found.partition_point(|(place, _)| place <= behind),
        SortOrder::Descending => {
            let before = found.partition_point(|(place, _)| place < behind);
            found.len().saturating_sub(before)
        }
    });
    if page.order == SortOrder::Descending {
        found.reverse();
    }
    let more = found.len() > skip.saturating_add(page.limit);
    let shown: Vec<_> = found.into_iter().skip(skip).take(page.limit).collect();
    let last = shown.last().filter(|_| more);
    let next = last.map(|(key, number)| cursor(key, *number));
    let items = shown.into_iter().map(|(_, number)| number).collect();
    Listing::of(items, total, next)
}
