//! A statement as pages of A4, for people, in Spanish.
//!
//! **Shape.** Each movement has two lines of fixed height, so the number of pages follows from the number of lines,
//! and each page can be written when it is full. Coordinates are whole tenths of a point, and a page is scaled
//! accordingly.
//!
//! **The same for ever.** The file has no date of creation and no id, its pages are not compressed, and its fonts are
//! the standard ones that every reader has (see [`text`]). The names of movements are in [`names`], which is frozen.

mod names;
mod page;
mod text;

use caudal_ledger::balance::Direction;
use caudal_ledger::money::Money;
use caudal_ledger::statements::Statement;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::vouchers::Voucher;
use pdf_writer::{Finish as _, Name, Pdf as Writer, Rect, Ref, TextStr};

use self::page::{Face, LEFT, Page, RIGHT};
use self::text::{hyphened, pesos};
use super::Form;

/// The height of a movement.
const ROW: i16 = 250;
/// Where the table begins on the first page, and on each other page.
const TABLES: (i16, i16) = (6060, 7700);
/// The lowest place of a movement.
const BOTTOM: i16 = 900;
/// The right ends of the columns of amounts: debit, credit, balance, available balance.
const COLUMNS: [i16; 4] = [3600, 4250, 4920, RIGHT];
/// Where the text of a movement begins, and how wide it may be beside the amounts.
const TEXT: (i16, i16) = (1250, 1680);

/// A statement that is being written as a PDF.
pub(super) struct Pdf {
    statement: Statement,
    pages: Vec<Vec<u8>>,
    page: Page,
    /// The place of the next movement.
    at: i16,
}

/// How many movements the first page holds, and each other page.
const fn rows_of_pages() -> (u64, u64) {
    let (mut first, mut other) = (0, 0);
    let mut at = TABLES.0 - ROW;
    while at >= BOTTOM {
        (first, at) = (first + 1, at - ROW);
    }
    at = TABLES.1 - ROW;
    while at >= BOTTOM {
        (other, at) = (other + 1, at - ROW);
    }
    (first, other)
}

fn day(day: BusinessDay) -> String {
    day.date().format("%d/%m/%Y").to_string()
}

fn money(money: Money) -> String {
    pesos(&money.to_string())
}

impl Pdf {
    /// Begins a statement.
    pub(super) fn new(statement: Statement) -> Self {
        Self {
            statement,
            pages: Vec::new(),
            page: Page::new(),
            at: 0,
        }
    }

    /// How many pages there will be.
    fn page_count(&self) -> u64 {
        let (first, other) = rows_of_pages();
        let beyond = self.statement.lines().checked_sub(first);
        1 + beyond.map_or(0, |lines| lines.div_ceil(other))
    }

    fn period(&self) -> String {
        let period = self.statement.period;
        format!("Del {} al {}", day(period.first), day(period.last))
    }

    /// Writes the head of the first page: the holder and the totals.
    fn title(&mut self) {
        let period = self.period();
        let (it, page) = (&self.statement, &mut self.page);
        let of = &it.of;
        page.left(LEFT, 7880, (150, Face::Bold), &of.provider, 3000);
        page.right(RIGHT, 7880, (130, Face::Bold), "Resumen de cuenta");
        page.right(RIGHT, 7710, (95, Face::Plain), &period);
        page.rule(7600, 10);
        let cuit = hyphened(&of.cuit);
        let alias = of.alias.as_ref().map(ToString::to_string);
        let alias = alias.unwrap_or_else(|| "—".to_owned());
        let cells = [
            (LEFT, 7430, "Titular", of.holder.as_str()),
            (3600, 7430, "CUIT/CUIL", &cuit),
            (LEFT, 7110, "CVU", of.cvu.as_str()),
            (3600, 7110, "Alias", &alias),
        ];
        for (x, y, label, value) in cells {
            page.grey(x, y, 70, label, 1000);
            let room = if x == LEFT { 3100 } else { RIGHT - x };
            page.left(x, y - 130, (100, Face::Plain), value, room);
        }
        self.sums();
        if !self.statement.is_final {
            let text = "PROVISORIO: todavía pueden agregarse movimientos a este período.";
            self.page
                .left(LEFT, 6230, (80, Face::Bold), text, RIGHT - LEFT);
        }
    }

    /// Writes the box with the sums.
    fn sums(&mut self) {
        let (it, page) = (&self.statement, &mut self.page);
        let (credits, debits) = (it.flows.credits(), it.flows.debits());
        page.shade(LEFT, 6400, RIGHT - LEFT, 430);
        let cells = [
            ("Saldo inicial".to_owned(), money(it.opening.total())),
            (
                format!("Créditos ({})", credits.count),
                pesos(&credits.amount.to_string()),
            ),
            (
                format!("Débitos ({})", debits.count),
                pesos(&debits.amount.to_string()),
            ),
            ("Saldo final".to_owned(), money(it.closing.total())),
        ];
        for (x, (label, value)) in [460, 1760, 3060, 4360].into_iter().zip(cells) {
            page.grey(x, 6720, 70, &label, 1250);
            page.left(x, 6580, (110, Face::Bold), &value, 1250);
        }
        let (available, held) = (it.closing.available, it.closing.held);
        let rest = format!(
            "Del saldo final: disponible {}, retenido {}. Importes en pesos argentinos (ARS).",
            money(available),
            money(held)
        );
        page.grey(460, 6450, 70, &rest, RIGHT - 520);
    }

    /// Writes the head of every other page.
    fn running_title(&mut self) {
        let text = format!("CVU {} · {}", self.statement.of.cvu, self.period());
        let page = &mut self.page;
        let provider = &self.statement.of.provider;
        page.left(LEFT, 7960, (90, Face::Bold), provider, 2200);
        page.right(RIGHT, 7960, (80, Face::Plain), &text);
        page.rule(7890, 5);
    }

    fn table_head(&mut self, top: i16) {
        let page = &mut self.page;
        page.shade(LEFT, top - 50, RIGHT - LEFT, 160);
        let size = (70, Face::Bold);
        page.left(LEFT + 40, top, size, "Fecha y hora", 800);
        page.left(TEXT.0, top, size, "Movimiento", 1000);
        let names = ["Débito", "Crédito", "Saldo", "Disponible"];
        for (x, name) in COLUMNS.into_iter().zip(names) {
            page.right(x - 20, top, size, name);
        }
        self.at = top - ROW;
    }

    /// Writes the foot of a page, and ends the page.
    fn footer(&mut self) {
        let number = self.pages.len() + 1;
        let count = self.page_count();
        let (it, page) = (&self.statement, &mut self.page);
        page.rule(470, 5);
        let pin = match it.last {
            0 => "Sin movimientos hasta el fin del período".to_owned(),
            last => format!("Hasta el movimiento N.º {last} · huella {}", it.hash),
        };
        page.grey(LEFT, 370, 60, &pin, 4300);
        page.right(
            RIGHT,
            370,
            (70, Face::Plain),
            &format!("Página {number} de {count}"),
        );
        let done = std::mem::replace(page, Page::new());
        self.pages.push(done.finish());
    }

    fn row(&mut self, voucher: &Voucher) {
        let (y, page) = (self.at, &mut self.page);
        let at = voucher.at.local().format("%d/%m/%Y %H:%M:%S").to_string();
        page.left(LEFT + 40, y, (75, Face::Plain), &at, 800);
        let number = format!("N.º {}", voucher.sequence);
        page.grey(LEFT + 40, y - 90, 62, &number, 800);
        page.left(TEXT.0, y, (75, Face::Plain), &named(voucher), TEXT.1);
        page.grey(TEXT.0, y - 90, 62, &about(voucher), RIGHT - TEXT.0);
        let amount = money(voucher.amount.money());
        let (debit, credit) = match voucher.direction {
            Direction::Credit => (None, Some(amount)),
            Direction::Debit | Direction::ConfirmHold => (Some(amount), None),
            Direction::Hold | Direction::Release => (None, None),
        };
        let (total, available) = (voucher.after.total(), voucher.after.available);
        let cells = [debit, credit, Some(money(total)), Some(money(available))];
        for (x, cell) in COLUMNS.into_iter().zip(cells) {
            if let Some(cell) = cell {
                page.right(x - 20, y, (75, Face::Plain), &cell);
            }
        }
        page.hair(y - 140);
        self.at = y - ROW;
    }
}

/// The name of a movement; with its amount, if it does not change the total.
fn named(voucher: &Voucher) -> String {
    let name = names::of_type(&voucher.type_code, &voucher.type_name);
    let amount = || money(voucher.amount.money());
    match voucher.direction {
        Direction::Hold => format!("{name} (retiene {})", amount()),
        Direction::Release => format!("{name} (libera {})", amount()),
        Direction::Credit | Direction::Debit | Direction::ConfirmHold => name,
    }
}

/// The description of a movement: its text, the other side, the tenant's own id.
fn about(voucher: &Voucher) -> String {
    let other = voucher.counterparty.as_deref();
    let cuit = other.and_then(|other| other.cuit.as_deref());
    let parts = [
        voucher.description.clone(),
        other.and_then(|other| other.name.clone()),
        cuit.map(|cuit| format!("CUIT {}", hyphened(cuit))),
        other
            .and_then(|other| other.cbu.as_ref())
            .map(|key| format!("CBU/CVU {key}")),
        voucher.external_id.as_ref().map(|id| format!("Ref. {id}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

impl Form for Pdf {
    fn head(&mut self, _: &mut Vec<u8>) {
        self.title();
        self.table_head(TABLES.0);
        if self.statement.lines() == 0 {
            let text = "No hubo movimientos en el período.";
            let y = self.at;
            self.page.left(LEFT + 40, y, (80, Face::Plain), text, 4000);
        }
    }

    fn line(&mut self, voucher: &Voucher, _: &mut Vec<u8>) {
        if self.at < BOTTOM {
            self.footer();
            self.running_title();
            self.table_head(TABLES.1);
        }
        self.row(voucher);
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        if self.statement.lines() > 0 {
            let (y, total) = (self.at, money(self.statement.closing.total()));
            let text = format!("Saldo final al {}", day(self.statement.period.last));
            let (size, page) = ((80, Face::Bold), &mut self.page);
            page.left(TEXT.0, y, size, &text, 2500);
            let [.., x, _] = COLUMNS;
            page.right(x - 20, y, size, &total);
        }
        self.footer();
        out.extend(self.file());
    }
}

impl Pdf {
    /// The file of all pages.
    fn file(&self) -> Vec<u8> {
        let mut file = Writer::new();
        let mut last = 0;
        let mut id = || {
            last += 1;
            Ref::new(last)
        };
        let (catalog, tree, info, plain, bold) = (id(), id(), id(), id(), id());
        let pages: Vec<_> = self.pages.iter().map(|page| (id(), id(), page)).collect();
        let mut root = file.catalog(catalog);
        root.pages(tree).lang(TextStr("es-AR"));
        root.finish();
        let title = format!("Resumen de cuenta {}", self.statement.of.cvu);
        let mut about = file.document_info(info);
        about.title(TextStr(&title));
        about.author(TextStr(&self.statement.of.provider));
        about.finish();
        for (font, name) in [(plain, "Helvetica"), (bold, "Helvetica-Bold")] {
            let mut font = file.type1_font(font);
            font.base_font(Name(name.as_bytes()));
            font.encoding_predefined(Name(b"WinAnsiEncoding"));
        }
        let count = pages.iter().fold(0, |count, _| count + 1);
        let kids = pages.iter().map(|(page, ..)| *page);
        file.pages(tree).kids(kids).count(count);
        for (page, content, bytes) in &pages {
            let mut sheet = file.page(*page);
            sheet.media_box(Rect::new(0.0, 0.0, 595.3, 841.9));
            sheet.parent(tree).contents(*content);
            let mut resources = sheet.resources();
            let mut fonts = resources.fonts();
            fonts.pair(Face::Plain.name(), plain);
            fonts.pair(Face::Bold.name(), bold);
            fonts.finish();
            resources.finish();
            sheet.finish();
            file.stream(*content, bytes);
        }
        file.finish()
    }
}
