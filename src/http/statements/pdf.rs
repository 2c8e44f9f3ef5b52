//! A statement as pages of A4, for people, in Spanish.
//!
//! **Shape.** Texts are as long as they are: what has no room in a line goes on in the next one, and what has none on a
//! page on the next one. Figures that are wider than their column are written smaller. The foot of a page names the
//! number of pages, so feet are written last. Coordinates are whole tenths of a point, and a page is scaled accordingly.
//!
//! **Nothing is cut or replaced.** See [`fonts`] for which characters are drawn, and how all others are shown.
//!
//! **The same for ever.** The file has no date of creation, its id follows from its pages, these are not compressed, and
//! its fonts are in it. The names of movements are in [`names`], which is frozen.

mod file;
mod fonts;
mod names;
mod page;
mod tags;
mod text;

use caudal_ledger::balance::Direction;
use caudal_ledger::money::Money;
use caudal_ledger::statements::Statement;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::vouchers::Voucher;
use pdf_writer::types::StructRole;

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
/// The letters of a value below its name.
const VALUE: TextStyle = (100, Face::Plain);

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

    /// Writes a text at the left as a paragraph.
    fn paragraph(&mut self, step: i16, style: TextStyle, text: &str, room: i16) {
        self.pages.tags.open(StructRole::P);
        self.put(LEFT, step, style, text, room);
        self.pages.tags.close();
    }

    /// Writes what something is called, and below it what it is.
    fn field(&mut self, x: i16, name: &str, value: &str) {
        let at = self.at;
        self.pages.tagged(StructRole::P, |pages| {
            pages.left((x, at), (70, Face::Light), name);
            pages.fitted((x, at - 130), VALUE, value, RIGHT - x);
        });
    }

    /// Writes the head of the first page: the holder and the totals.
    fn title(&mut self) {
        let period = self.period();
        let of = self.statement.of.clone();
        let at = self.at;
        self.pages.tagged(StructRole::H1, |pages| {
            pages.right((RIGHT, at), (130, Face::Bold), "Resumen de cuenta", 2000);
        });
        self.pages.tagged(StructRole::P, |pages| {
            pages.right((RIGHT, at - 170), (95, Face::Plain), &period, 2000);
        });
        self.paragraph(170, (150, Face::Bold), &of.provider, 3000);
        let details = of.provider_details;
        let cuit = details
            .cuit
            .map(|it| format!("CUIT {}", hyphened(it.as_str())));
        for text in [cuit, details.address].into_iter().flatten() {
            self.paragraph(110, (80, Face::Plain), &text, 3000);
        }
        self.need(0);
        self.pages.rule(self.at - 110, 10);
        self.at -= 280;

        self.need(130);
        let label = (70, Face::Light);
        let holder = self.pages.tags.open(StructRole::P);
        self.pages.left((LEFT, self.at), label, "Titular");
        self.pages.tags.close();
        self.field(3600, "CUIT/CUIL", &hyphened(&of.cuit));
        self.at -= 130;
        self.pages.tags.reopen(holder);
        self.put(LEFT, 130, VALUE, &of.holder, 3100);
        self.pages.tags.close();
        self.at -= 60;
        self.need(130);
        self.field(LEFT, "CVU", of.cvu.as_str());
        let alias = of.alias.as_ref().map(ToString::to_string);
        self.field(3600, "Alias", alias.as_deref().unwrap_or("—"));
        self.at -= 130;
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
            pages.tagged(StructRole::P, |pages| {
                pages.fitted((x, base + 320), label, &name, 1150);
                pages.fitted((x, base + 180), value, &sum, 1150);
            });
        }
        let (available, held) = (it.closing.available, it.closing.held);
        let rest = format!(
            "Del saldo final: disponible {}, retenido {}. Importes en pesos argentinos (ARS).",
            money(available),
            money(held)
        );
        pages.tagged(StructRole::P, |pages| {
            pages.fitted((460, base + 50), label, &rest, RIGHT - 520);
        });
        if !it.is_final {
            let text = "PROVISORIO: todavía pueden agregarse movimientos a este período.";
            pages.tagged(StructRole::P, |pages| {
                pages.left((LEFT, base - 170), (80, Face::Bold), text);
            });
        }
        self.at = base - 340;
    }

    /// Writes the head of every other page, which repeats what the first one says.
    fn running_title(&mut self) {
        self.pages.tags.suspend(true);
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
        self.pages.tags.suspend(false);
    }

    fn table_head(&mut self) {
        let (top, pages) = (self.at, &mut self.pages);
        pages.shade(top - 50, 160);
        let style = (70, Face::Bold);
        pages.tags.open(StructRole::TR);
        for (x, name) in [(LEFT + 40, "Fecha y hora"), (TEXT.0, "Movimiento")] {
            pages.tagged(StructRole::TH, |pages| pages.left((x, top), style, name));
        }
        let names = ["Débito", "Crédito", "Saldo", "Disponible"];
        for (x, name) in COLUMNS.into_iter().zip(names) {
            pages.tagged(StructRole::TH, |pages| {
                pages.right((x - 20, top), style, name, AMOUNT);
            });
        }
        pages.tags.close();
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
        let number = format!("N.º {}", voucher.sequence);
        pages.tags.open(StructRole::TR);
        pages.tagged(StructRole::TD, |pages| {
            pages.fitted((LEFT + 40, y), bold, &at, 800);
            pages.fitted((LEFT + 40, y - STEP), light, &number, 800);
        });
        let text = pages.tags.open(StructRole::TD);
        pages.tags.close();
        let amount = money(voucher.amount.money());
        let (debit, credit) = match voucher.direction {
            Direction::Credit => (None, Some(amount)),
            Direction::Debit | Direction::ConfirmHold => (Some(amount), None),
            Direction::Hold | Direction::Release => (None, None),
        };
        let (total, available) = (voucher.after.total(), voucher.after.available);
        let cells = [debit, credit, Some(money(total)), Some(money(available))];
        for (x, cell) in COLUMNS.into_iter().zip(cells) {
            pages.tagged(StructRole::TD, |pages| {
                if let Some(cell) = cell {
                    pages.right((x - 20, y), bold, &cell, AMOUNT);
                }
            });
        }
        pages.tags.reopen(text);
        for (style, line) in &all {
            self.need(0);
            self.pages.left((TEXT.0, self.at), *style, line);
            self.at -= STEP;
        }
        self.pages.tags.close();
        self.pages.tags.close();
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
        voucher.coelsa_id().map(|id| format!("COELSA {id}")),
        voucher.external_id.as_ref().map(|id| format!("Ref. {id}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

impl StatementWriter for Pdf {
    fn head(&mut self, _: &mut Vec<u8>) {
        self.title();
        self.table = true;
        self.pages.tags.open(StructRole::Table);
        self.table_head();
    }

    fn line(&mut self, voucher: &Voucher, _: &mut Vec<u8>) {
        self.row(voucher);
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        self.pages.tags.close();
        self.pages.tags.open(StructRole::P);
        if self.statement.lines() == 0 {
            let text = "No hubo movimientos en el período.";
            let at = (LEFT + 40, self.at);
            self.pages.left(at, (80, Face::Plain), text);
        } else {
            let (y, total) = (self.at, money(self.statement.closing.total()));
            let text = format!("Saldo final al {}", day(self.statement.period.last));
            let (style, pages) = ((80, Face::Bold), &mut self.pages);
            pages.fitted((TEXT.0, y), style, &text, 2500);
            let [.., x, _] = COLUMNS;
            pages.right((x - 20, y), style, &total, AMOUNT);
        }
        self.pages.tags.close();
        let pages = std::mem::replace(&mut self.pages, Pages::new());
        let pin = match self.statement.last {
            0 => "Sin movimientos hasta el fin del período".to_owned(),
            last => format!(
                "Hasta el movimiento N.º {last} · huella {}",
                self.statement.hash
            ),
        };
        let written = pages.finish(|pages, number, count| {
            pages.rule(470, 5);
            pages.fitted((LEFT, 370), (60, Face::Light), &pin, 4300);
            let text = format!("Página {number} de {count}");
            pages.right((RIGHT, 370), (70, Face::Plain), &text, 800);
        });
        out.extend(file::file(&self.statement, &written));
    }
}
