//! A statement as pages of A4, for people, in Spanish.
//!
//! **Shape.** Texts are as long as they are: what has no room in a line goes on in the next one, and what has none on a
//! page on the next one. Figures that are wider than their column are written smaller. The foot of a page names the
//! number of pages, so feet are written last. Coordinates are whole tenths of a point, and a page is scaled accordingly.
//!
//! **Nothing is cut or replaced.** See [`fonts`] for which characters are drawn, and how all others are shown.
//!
//! **The same for ever.** The file has no date of creation and no id, its pages are not compressed, and its fonts are in
//! it. The names of movements are in [`names`], which is frozen.

mod fonts;
mod names;
mod page;
mod text;

use caudal_ledger::balance::Direction;
use caudal_ledger::money::Money;
use caudal_ledger::statements::Statement;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::vouchers::Voucher;
use pdf_writer::{Finish as _, Pdf as Writer, Rect, Ref, TextStr};

use self::fonts::Font;
use self::page::{Face, LEFT, Pages, RIGHT, TextStyle};
use self::text::{hyphened, pesos};
use super::StatementWriter;

/// Where the first page begins, and each other page.
const TOPS: (i16, i16) = (7880, 7960);
/// The lowest place of a line of text.
const BOTTOM: i16 = 810;
/// How far a line of a movement is below the one before.
const STEP: i16 = 90;
/// The most lines for which a movement begins on a page of its own.
const LINES_MAX: i16 = 30;
/// The right ends of the columns of amounts: debit, credit, balance, available balance.
const COLUMNS: [i16; 4] = [3600, 4250, 4920, RIGHT];
/// How wide an amount may be.
const AMOUNT: i16 = 620;
/// Where the text of a movement begins, and how wide it may be next to the amounts.
const TEXT: (i16, i16) = (1250, 1680);

/// A statement that is being written as a PDF.
pub(super) struct Pdf {
    statement: Statement,
    pages: Pages,
    /// The place of the next line.
    at: i16,
    /// Whether pages begin with the head of the table.
    table: bool,
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
            pages: Pages::new(),
            at: TOPS.0,
            table: false,
        }
    }

    fn period(&self) -> String {
        let period = self.statement.period;
        format!("Del {} al {}", day(period.first), day(period.last))
    }

    /// Begins another page unless this one has room for a part of this height.
    fn need(&mut self, high: i16) {
        if self.at < BOTTOM + high {
            self.pages.turn();
            self.running_title();
        }
    }

    /// Writes a text in as many lines as it needs, on as many pages, each line this far below the one before.
    fn put(&mut self, x: i16, step: i16, style: TextStyle, text: &str, room: i16) {
        for line in self.pages.lines(style, text, room) {
            self.need(0);
            self.pages.left((x, self.at), style, &line);
            self.at -= step;
        }
    }

    /// Writes the head of the first page: the holder and the totals.
    fn title(&mut self) {
        let period = self.period();
        let of = self.statement.of.clone();
        let right = (RIGHT, self.at);
        let name = "Resumen de cuenta";
        self.pages.right(right, (130, Face::Bold), name, 2000);
        let right = (RIGHT, self.at - 170);
        self.pages.right(right, (95, Face::Plain), &period, 2000);
        self.put(LEFT, 170, (150, Face::Bold), of.provider.as_str(), 3000);
        self.need(0);
        self.pages.rule(self.at - 110, 10);
        self.at -= 280;

        let (label, value) = ((70, Face::Light), (100, Face::Plain));
        let alias = of.alias.as_ref().map(ToString::to_string);
        let alias = alias.unwrap_or_else(|| "—".to_owned());
        self.need(130);
        self.pages.left((LEFT, self.at), label, "Titular");
        self.pages.left((3600, self.at), label, "CUIT/CUIL");
        self.at -= 130;
        let cuit = hyphened(&of.cuit);
        self.pages
            .fitted((3600, self.at), value, &cuit, RIGHT - 3600);
        self.put(LEFT, 130, value, of.holder.as_str(), 3100);
        self.at -= 60;
        self.need(130);
        self.pages.left((LEFT, self.at), label, "CVU");
        self.pages.left((3600, self.at), label, "Alias");
        self.at -= 130;
        self.pages.left((LEFT, self.at), value, of.cvu.as_str());
        self.pages
            .fitted((3600, self.at), value, &alias, RIGHT - 3600);
        self.need(1200);
        self.sums();
    }

    /// Writes the box with the sums.
    fn sums(&mut self) {
        let (it, pages, base) = (&self.statement, &mut self.pages, self.at - 580);
        let (credits, debits) = (it.flows.credits(), it.flows.debits());
        pages.shade(base, 430);
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
        let (label, value) = ((70, Face::Light), (110, Face::Bold));
        for (x, (name, sum)) in [460, 1760, 3060, 4360].into_iter().zip(cells) {
            pages.fitted((x, base + 320), label, &name, 1150);
            pages.fitted((x, base + 180), value, &sum, 1150);
        }
        let (available, held) = (it.closing.available, it.closing.held);
        let rest = format!(
            "Del saldo final: disponible {}, retenido {}. Importes en pesos argentinos (ARS).",
            money(available),
            money(held)
        );
        pages.fitted((460, base + 50), label, &rest, RIGHT - 520);
        if !it.is_final {
            let text = "PROVISORIO: todavía pueden agregarse movimientos a este período.";
            pages.left((LEFT, base - 170), (80, Face::Bold), text);
        }
        self.at = base - 340;
    }

    /// Writes the head of every other page.
    fn running_title(&mut self) {
        let text = format!("CVU {} · {}", self.statement.of.cvu, self.period());
        let (pages, style) = (&mut self.pages, (90, Face::Bold));
        let provider = pages.lines(style, &self.statement.of.provider, 2200);
        pages.right((RIGHT, TOPS.1), (80, Face::Plain), &text, 2800);
        self.at = TOPS.1;
        for line in provider {
            pages.left((LEFT, self.at), style, &line);
            self.at -= 100;
        }
        pages.rule(self.at + 30, 5);
        self.at -= 160;
        if self.table {
            self.table_head();
        }
    }

    fn table_head(&mut self) {
        let (top, pages) = (self.at, &mut self.pages);
        pages.shade(top - 50, 160);
        let style = (70, Face::Bold);
        pages.left((LEFT + 40, top), style, "Fecha y hora");
        pages.left((TEXT.0, top), style, "Movimiento");
        let names = ["Débito", "Crédito", "Saldo", "Disponible"];
        for (x, name) in COLUMNS.into_iter().zip(names) {
            pages.right((x - 20, top), style, name, AMOUNT);
        }
        self.at = top - 250;
    }

    fn row(&mut self, voucher: &Voucher) {
        let (bold, light) = ((75, Face::Plain), (62, Face::Light));
        let names = self.pages.lines(bold, &named(voucher), TEXT.1);
        let about = self.pages.lines(light, &about(voucher), RIGHT - TEXT.0);
        let all = names.iter().map(|it| (bold, it));
        let all: Vec<_> = all.chain(about.iter().map(|it| (light, it))).collect();
        // A movement is on one page if it has room there. The number is below the date.
        let below = i16::try_from(all.len()).map_or(LINES_MAX, |lines| lines - 1);
        self.need(below.clamp(1, LINES_MAX) * STEP);

        let (y, pages) = (self.at, &mut self.pages);
        let at = voucher.at.local().format("%d/%m/%Y %H:%M:%S").to_string();
        pages.fitted((LEFT + 40, y), bold, &at, 800);
        let number = format!("N.º {}", voucher.sequence);
        pages.fitted((LEFT + 40, y - STEP), light, &number, 800);
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
                pages.right((x - 20, y), bold, &cell, AMOUNT);
            }
        }
        for (style, line) in &all {
            self.need(0);
            self.pages.left((TEXT.0, self.at), *style, line);
            self.at -= STEP;
        }
        for _ in all.len()..2 {
            self.at -= STEP;
        }
        self.pages.hair(self.at + STEP - 50);
        self.at -= 70;
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

/// The description of a movement: what it reverses, its text, the other side, the tenant's own id.
fn about(voucher: &Voucher) -> String {
    let other = voucher.counterparty.as_deref();
    let cuit = other.and_then(|other| other.cuit.as_deref());
    let reverses = voucher.details.as_ref().and_then(|it| it.reverses);
    let parts = [
        reverses.map(|it| format!("Reversa del movimiento N.º {}", it.sequence)),
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

impl StatementWriter for Pdf {
    fn head(&mut self, _: &mut Vec<u8>) {
        self.title();
        self.table = true;
        self.table_head();
        if self.statement.lines() == 0 {
            let text = "No hubo movimientos en el período.";
            let at = (LEFT + 40, self.at);
            self.pages.left(at, (80, Face::Plain), text);
        }
    }

    fn line(&mut self, voucher: &Voucher, _: &mut Vec<u8>) {
        self.row(voucher);
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        if self.statement.lines() > 0 {
            let (y, total) = (self.at, money(self.statement.closing.total()));
            let text = format!("Saldo final al {}", day(self.statement.period.last));
            let (style, pages) = ((80, Face::Bold), &mut self.pages);
            pages.fitted((TEXT.0, y), style, &text, 2500);
            let [.., x, _] = COLUMNS;
            pages.right((x - 20, y), style, &total, AMOUNT);
        }
        let pages = std::mem::replace(&mut self.pages, Pages::new());
        let pin = match self.statement.last {
            0 => "Sin movimientos hasta el fin del período".to_owned(),
            last => format!(
                "Hasta el movimiento N.º {last} · huella {}",
                self.statement.hash
            ),
        };
        let (pages, fonts) = pages.finish(|pages, number, count| {
            pages.rule(470, 5);
            pages.fitted((LEFT, 370), (60, Face::Light), &pin, 4300);
            let text = format!("Página {number} de {count}");
            pages.right((RIGHT, 370), (70, Face::Plain), &text, 800);
        });
        out.extend(file(&self.statement, &pages, &fonts));
    }
}

/// The file of all pages.
fn file(statement: &Statement, pages: &[Vec<u8>], [plain, bold]: &[Font; 2]) -> Vec<u8> {
    let mut file = Writer::new();
    let mut last = 0;
    let mut id = || {
        last += 1;
        Ref::new(last)
    };
    let (catalog, tree, info) = (id(), id(), id());
    let [of_plain, of_bold] = [(); 2].map(|()| [(); 6].map(|()| id()));
    let pages: Vec<_> = pages.iter().map(|page| (id(), id(), page)).collect();
    let mut root = file.catalog(catalog);
    root.pages(tree).lang(TextStr("es-AR"));
    root.finish();
    let title = format!("Resumen de cuenta {}", statement.of.cvu);
    let mut about = file.document_info(info);
    about.title(TextStr(&title));
    about.author(TextStr(&statement.of.provider));
    about.finish();
    let ([plain_id, ..], [bold_id, ..]) = (of_plain, of_bold);
    plain.write(&mut file, of_plain);
    bold.write(&mut file, of_bold);
    let count = pages.iter().fold(0, |count, _| count + 1);
    let kids = pages.iter().map(|(page, ..)| *page);
    file.pages(tree).kids(kids).count(count);
    for (page, content, bytes) in &pages {
        let mut sheet = file.page(*page);
        sheet.media_box(Rect::new(0.0, 0.0, 595.3, 841.9));
        sheet.parent(tree).contents(*content);
        let mut resources = sheet.resources();
        let mut fonts = resources.fonts();
        fonts.pair(Face::Plain.name(), plain_id);
        fonts.pair(Face::Bold.name(), bold_id);
        fonts.finish();
        resources.finish();
        sheet.finish();
        file.stream(*content, bytes);
    }
    file.finish()
}
