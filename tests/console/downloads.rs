//! Downloads: each table of each page as CSV and as a workbook, with the rows of the page and all that follow, for those
//! who may see the page, and on record.

use super::browser::Browser;
use super::pages::told;
use crate::audit::{entries, person};
use crate::exports;
use crate::support::sheets::{csv, workbook};
use crate::support::{Answer, Value, json};

/// A table of a page: the addresses of its files, and its rows as people see them.
struct Shown {
    files: [String; 2],
    rows: Vec<Vec<String>>,
}

/// The text of a piece of a page.
fn text(html: &str) -> String {
    let pieces = html
        .split('<')
        .map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text: String = pieces.collect();
    [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ]
    .iter()
    .fold(text, |text, (from, to)| text.replace(from, to))
}

/// The tables of a page.
fn tables(html: &str) -> Vec<Shown> {
    let cards = html.split("<section class=\"card\">").skip(1);
    let tables = cards.filter(|card| card.contains("<p class=\"files\">"));
    tables
        .map(|card| {
            let links = card.split("<p class=\"files\">").nth(1).unwrap();
            let links = links.split("</p>").next().unwrap();
            let mut links = links.split("href=\"").skip(1);
            let mut link = || {
                links
                    .next()
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .replace("&#38;", "&")
            };
            let body = card.split("<tbody>").nth(1).unwrap_or("");
            let body = body.split("</tbody>").next().unwrap();
            let rows = body.split("<tr>").skip(1);
            let cells = |row: &str| {
                row.split("<td")
                    .skip(1)
                    .map(|cell| text(&format!("<td{cell}")))
                    .collect()
            };
            Shown {
                files: [link(), link()],
                rows: rows.map(cells).collect(),
            }
        })
        .collect()
}

/// The letters and digits of a text: programs and people write the same with other signs between.
fn plain(text: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() && *c != 'T';
    text.chars().filter(kept).collect()
}

/// Reads both files of a table, and checks that they begin with the rows of the page. Returns the rows of the file.
async fn agree(browser: &mut Browser, page: &str, table: &Shown) -> Vec<Vec<String>> {
    let [text, book] = [
        browser.get(&table.files[0]).await,
        browser.get(&table.files[1]).await,
    ];
    for (answer, ending) in [(&text, "csv"), (&book, "xlsx")] {
        let name = answer
            .clone()
            .is(200)
            .header("content-disposition")
            .to_owned();
        let right = name.starts_with("attachment; filename=\"caudal-")
            && name.ends_with(&format!(".{ending}\""));
        assert!(right, "{page}: {name}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let mut rows = csv(&text.text);
    let header = rows.remove(0);
    let (names, found) = workbook(&book.bytes);
    assert_eq!(names, header, "{page}");
    // Each file of the audit log is in the log when the next one is made.
    if page.starts_with("/console/audit") {
        assert!(found.len() >= rows.len() && rows.len() >= table.rows.len());
        return rows;
    }
    assert_eq!(found.len(), rows.len(), "{page}");
    for (shown, row) in table.rows.iter().zip(&rows) {
        assert_eq!(shown.len(), row.len(), "{page}");
        for (shown, cell) in shown.iter().map(|shown| shown.trim()).zip(row) {
            // A link to one thing is its id in a file.
            let agrees =
                plain(cell).starts_with(&plain(shown)) || shown == "Abrir" || is_unit(shown);
            assert!(agrees, "{page}: {shown} is {cell}");
        }
    }
    assert!(rows.len() >= table.rows.len(), "{page}");
    rows
}

/// Whether a figure goes on while the test runs.
fn is_unit(shown: &str) -> bool {
    [" s", " min", " h", " d"]
        .iter()
        .any(|unit| shown.ends_with(unit))
}

#[actix_web::test]
async fn every_table_of_every_page_is_there_as_files_with_the_same_rows() {
    let told = told().await;
    let mut browser = Browser::entered(&told.service).await;
    let (mut files, mut rows) = (0, 0);
    for page in told.pages() {
        let html = browser.get(&page).await.is(200).text;
        let found = tables(&html);
        assert_eq!(
            found.len(),
            html.matches("class=\"files\"").count(),
            "{page}"
        );
        let heads = html.matches("<thead>").count();
        assert!(found.len() >= heads, "{page} has a table without files");
        for table in &found {
            rows += agree(&mut browser, &page, table).await.len();
            files += 1;
        }
    }
    assert!(files > 40 && rows > 40, "{files} files with {rows} rows");
}

#[actix_web::test]
async fn a_file_has_all_pages_under_the_same_filter() {
    let (service, cvu) = exports::service().await;
    let mut browser = Browser::entered(&service).await;
    let realm = "/console/tenants/tnt_first/test";
    let many = usize::try_from(exports::MANY).unwrap();
    for (page, count) in [
        (format!("/console/accounts/{cvu}/movements"), many),
        (format!("{realm}/vouchers?text=many-12"), 1 + 10 + 3),
        (format!("{realm}/vouchers?from=2999-01-01"), 0),
        (format!("{realm}/accounts?status=active"), 1),
    ] {
        let html = browser.get(&page).await.is(200).text;
        let table = tables(&html).remove(0);
        let rows = agree(&mut browser, &page, &table).await;
        assert_eq!(rows.len(), count, "{page}");
    }
    // A page in the middle of a list leads to the whole list, too.
    let page = format!("{realm}/events");
    let first = browser.get(&page).await.is(200).text;
    let next = first.split("class=\"next\" href=\"").nth(1).unwrap();
    let next = next.split('"').next().unwrap().replace("&#38;", "&");
    let later = browser.get(&next).await.is(200).text;
    let file = &tables(&later)[0].files[0];
    let rows = csv(&browser.get(file).await.is(200).text);
    assert!(rows.len() > many, "{}", rows.len());
}

fn is_refused(answer: &Answer, status: u16) {
    let answer = answer.clone().is(status);
    assert!(answer.header("content-type").starts_with("text/html"));
}

#[actix_web::test]
async fn a_file_needs_the_role_of_its_page_and_leaves_an_entry() {
    let (service, cvu) = exports::service().await;
    let (_, mut viewer) = person(&service, "vera", "viewer").await;
    let realm = "/console/tenants/tnt_first/test";
    let audit = viewer
        .get("/console/audit?list=audit-log&download=csv")
        .await;
    is_refused(&audit, 403);
    for (wrong, status) in [
        ("/console/tenants?download=odt", 404),
        ("/console/tenants?list=nothing&download=csv", 404),
        ("/console/accounts/x/movements?download=csv", 404),
    ] {
        is_refused(&viewer.get(wrong).await, status);
    }
    let files = [
        format!("{realm}/accounts?download=xlsx"),
        format!("{realm}/vouchers?text=many&download=csv"),
        "/console/tenants?download=csv".to_owned(),
    ];
    for file in &files {
        viewer.get(file).await.is(200);
    }
    let looks = entries(&service, "operator=vera&action=downloadList").await;
    let of =
        |file: &str| -> Vec<&Value> { looks.iter().filter(|it| it["subject"] == *file).collect() };
    for file in &files {
        assert_eq!(of(file).len(), 1, "{file}: {looks:?}");
    }
    assert_eq!(looks.len(), files.len(), "{looks:?}");
    // All CVUs of a short file, also of one whose bytes are compressed; of a long one the realm besides.
    assert_eq!(of(&files[0])[0]["shown"], json!({&cvu: 1}));
    assert_eq!(
        of(&files[1])[0]["shown"],
        json!({&cvu: 1, "tnt_first/test/*": 1})
    );
    let found = entries(&service, &format!("subject={cvu}&action=downloadList")).await;
    assert_eq!(found.len(), 2);
}
