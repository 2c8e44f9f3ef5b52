//! Reads lists from their first row to their last, by every kind of paging.

use std::collections::BTreeSet;

use crate::support::{Answer, Client, Value};

/// The way in which the pages of a list are requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// `limit` and `offset`.
    Offset,
    /// `pageNumber` or `page`, and `pageSize`.
    Page,
}

/// The rows of a page.
fn rows(page: &Answer) -> Vec<Value> {
    let rows = page.json.as_array().or(page["items"].as_array());
    rows.unwrap_or_else(|| panic!("{}", page.text)).clone()
}

/// The number of rows of the whole list, according to a page.
fn total(page: &Answer) -> usize {
    let said = page["total"].as_u64().or(page["totalRecords"].as_u64());
    let said = said.unwrap_or_else(|| page.header("x-total-count").parse().unwrap());
    usize::try_from(said).unwrap()
}

/// A list that is read page by page.
pub struct List<'a> {
    client: &'a Client,
    path: String,
    paging: Paging,
    size: usize,
}

impl<'a> List<'a> {
    /// A list in pages of so many rows; its path may have a query.
    pub fn of(client: &'a Client, path: &str, paging: Paging, size: usize) -> Self {
        let mark = if path.contains('?') { '&' } else { '?' };
        Self {
            client,
            path: format!("{path}{mark}"),
            paging,
            size,
        }
    }

    async fn get(&self, rest: &str) -> Answer {
        let size = match self.paging {
            Paging::Offset => "limit",
            Paging::Page => "pageSize",
        };
        let path = format!("{}{size}={}&{rest}", self.path, self.size);
        self.client.get(&path).await.is(200)
    }

    async fn by_number(&self) -> Vec<Value> {
        let (mut seen, mut number) = (Vec::new(), 0);
        loop {
            let page = match self.paging {
                Paging::Offset => format!("offset={}", number * self.size),
                Paging::Page if number % 2 == 0 => format!("pageNumber={}", number + 1),
                Paging::Page => format!("page={}", number + 1),
            };
            let page = self.get(&page).await;
            let (found, total) = (rows(&page), total(&page));
            if let Some(pages) = page["totalPages"].as_u64() {
                assert_eq!(usize::try_from(pages).unwrap(), total.div_ceil(self.size));
            }
            seen.extend(found.iter().cloned());
            number += 1;
            assert!(seen.len() <= total, "{} {}", self.path, page.text);
            if found.is_empty() {
                assert_eq!(seen.len(), total, "{}", self.path);
                return seen;
            }
        }
    }

    async fn by_cursor(&self) -> Vec<Value> {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("cursor={cursor}")).await;
            seen.extend(rows(&page));
            assert!(seen.len() <= total(&page), "{} {}", self.path, page.text);
            cursor = page.header("x-next-cursor").to_owned();
            if cursor.is_empty() {
                return seen;
            }
        }
    }

    /// All rows; checks that numbered pages and cursors return the same, each row once.
    pub async fn all(&self) -> Vec<Value> {
        let all = self.by_number().await;
        assert_eq!(all, self.by_cursor().await, "{}", self.path);
        let texts: BTreeSet<_> = all.iter().map(Value::to_string).collect();
        assert_eq!(texts.len(), all.len(), "{}: a row comes twice", self.path);
        all
    }
}
