//! A statement as ISO 20022 camt.053.001.08 (bank to customer statement), as accounting programs read it.
//!
//! **Shape.** The booked balance of camt is the total. So credits are `CRDT` entries, debits and confirmed holds
//! `DBIT` entries, and `OPBD + CRDT − DBIT = CLBD`. Holds and their releases do not change the total: they are no
//! entries, and `AddtlStmtInf` says how many there are. `CLAV` is the available balance at the end. While movements can
//! still enter the period, both balances at the end are interim ones (`ITBD`, `ITAV`).
//!
//! **Days.** An entry is booked (`BookgDt`) and valued (`ValDt`) on its business day in Buenos Aires. Instants are
//! written with the offset of Buenos Aires, so a reader that takes the day from their text takes the business day, too. None
//! is in the future: while movements can still enter the period, the statement reports up to the last one and says
//! that it was created then, since nothing in a statement depends on when it is requested.
//!
//! **Texts.** `RmtInf/Ustrd` is the description of a movement, in pieces of the length that the schema allows;
//! `AddtlNtryInf` is the name of its type with the description, for readers that look there.
//!
//! **Who keeps the account.** `Svcr` is the payment service provider: its name, its address, and its code as CVUs have it
//! (`PSP`); its CUIT is in `AddtlStmtInf`, because the schema has one id only.
//!
//! **Of the schema.** Characters that XML cannot have are left out. No text is cut: an id has 35 characters there at
//! most, so that of a voucher is written without its `cmp_`, and a longer one of somebody else is in `AddtlTxInf`.

use caudal_ledger::balance::Direction;
use caudal_ledger::chain::Canonical;
use caudal_ledger::counterparty::Counterparty;
use caudal_ledger::cuit::{Cuit, PersonType};
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::{Flow, Statement};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;
use caudal_ledger::vouchers::Voucher;
use quick_xml::escape::escape;

use super::StatementWriter;

/// The name of the message.
const NAMESPACE: &str = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08";
/// The longest id, in characters.
const ID_MAX: usize = 35;
/// The longest name of a person, in characters.
const NAME_MAX: usize = 140;
/// The longest free text, in characters.
const TEXT_MAX: usize = 500;
/// The longest piece of a remittance text, in characters.
const PIECE_MAX: usize = 140;
/// The longest line of an address, in characters.
const ADDRESS_LINE_MAX: usize = 70;
/// The longest id of an account, in characters.
const ACCOUNT_MAX: usize = ID_MAX - 1;
/// The prefix of the id of a voucher.
const PREFIX: &str = "cmp_";

/// A statement that is being written as camt.053.
pub(super) struct Camt {
    realm: RealmId,
    statement: Statement,
}

/// An XML element that is being written.
struct Xml<'a>(&'a mut Vec<u8>);

impl Xml<'_> {
    fn raw(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Writes an element with others in it.
    fn within(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        self.raw(&format!("<{name}>"));
        inner(self);
        self.raw(&format!("</{name}>"));
    }

    /// Writes nested elements, with a text of at most this many characters in the innermost; nothing without a text.
    fn text(&mut self, names: &[&str], text: &str, max: usize) {
        let clean = cleaned(text, max);
        if clean.is_empty() {
            return;
        }
        let open: String = names.iter().map(|name| format!("<{name}>")).collect();
        let shut = names.iter().rev().map(|name| format!("</{name}>"));
        let shut: String = shut.collect();
        self.raw(&format!("{open}{}{shut}", escape(clean.as_str())));
    }

    fn amount(&mut self, centavos: Sum) {
        self.raw(&format!("<Amt Ccy=\"ARS\">{centavos}</Amt>"));
    }

    fn flow(&mut self, name: &str, flow: Flow) {
        self.within(name, |it| {
            it.text(&["NbOfNtries"], &flow.count.to_string(), ID_MAX);
            it.text(&["Sum"], &flow.amount.to_string(), ID_MAX);
        });
    }

    fn balance(&mut self, code: &str, centavos: Sum, day: BusinessDay) {
        self.within("Bal", |it| {
            it.text(&["Tp", "CdOrPrtry", "Cd"], code, ID_MAX);
            it.amount(centavos);
            it.raw("<CdtDbtInd>CRDT</CdtDbtInd>");
            it.text(&["Dt", "Dt"], &day.to_string(), ID_MAX);
        });
    }

    /// Writes the name and tax id of a person or firm.
    fn party(&mut self, name: &str, cuit: Option<&str>) {
        self.text(&["Nm"], name, NAME_MAX);
        let Some(cuit) = cuit.filter(|cuit| fits(cuit, ID_MAX)) else {
            return;
        };
        let known = Cuit::parse_relaxed(cuit).map(|it| it.person_type());
        let kind = match known {
            Ok(PersonType::Legal) => "OrgId",
            Ok(PersonType::Human) | Err(_) => "PrvtId",
        };
        self.within("Id", |it| {
            it.within(kind, |it| {
                it.within("Othr", |it| {
                    it.text(&["Id"], cuit, ID_MAX);
                    it.text(&["SchmeNm", "Prtry"], "CUIT", ID_MAX);
                });
            });
        });
    }

    /// Writes the other side of an entry: the payer or the payee.
    fn other(&mut self, other: &Counterparty, adds: bool) {
        let (party, account) = if adds {
            ("Dbtr", "DbtrAcct")
        } else {
            ("Cdtr", "CdtrAcct")
        };
        let told = |text: &Option<String>, max| {
            let text = text.as_deref();
            text.filter(|text| fits(text, max)).map(str::to_owned)
        };
        let (name, cuit) = (told(&other.name, NAME_MAX), told(&other.cuit, ID_MAX));
        let cbu = told(&other.cbu, ACCOUNT_MAX);
        if name.is_none() && cuit.is_none() && cbu.is_none() {
            return;
        }
        self.within("RltdPties", |it| {
            if name.is_some() || cuit.is_some() {
                it.within(party, |it| {
                    it.within("Pty", |it| {
                        it.party(name.as_deref().unwrap_or(""), cuit.as_deref());
                    });
                });
            }
            if let Some(cbu) = cbu {
                it.within(account, |it| {
                    it.text(&["Id", "Othr", "Id"], &cbu, ACCOUNT_MAX);
                });
            }
        });
    }
}

/// A text without characters that XML cannot have, of at most this many characters.
fn cleaned(text: &str, max: usize) -> String {
    let has = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let clean: String = text.chars().filter(has).take(max).collect();
    clean.trim().to_owned()
}

/// Whether there is something to write, and it has at most this many characters.
fn fits(text: &str, max: usize) -> bool {
    let clean = cleaned(text, usize::MAX);
    (1..=max).contains(&clean.chars().count())
}

/// A text in pieces of at most this many characters: parted at spaces where it has some, so that the pieces joined by
/// spaces are the text again.
fn pieces(text: &str, max: usize) -> Vec<String> {
    let clean = cleaned(text, usize::MAX);
    let (mut pieces, mut rest) = (Vec::new(), clean.as_str());
    while let Some((end, _)) = rest.char_indices().nth(max) {
        let (within, _) = rest.split_at(end);
        let cut = within.rfind(' ').filter(|cut| *cut > 0).unwrap_or(end);
        let (piece, more) = rest.split_at(cut);
        pieces.push(piece.to_owned());
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

impl Camt {
    /// Begins a statement.
    pub(super) const fn new(realm: RealmId, statement: Statement) -> Self {
        Self { realm, statement }
    }

    /// The id of the statement: other lines or other days give another id.
    fn id(&self) -> String {
        let it = &self.statement;
        let digest = Canonical::after(it.hash)
            .text(&it.period.first.to_string())
            .text(&it.period.last.to_string())
            .text(if it.is_final { "final" } else { "provisional" })
            .digest()
            .to_string();
        format!("{}-{digest}", it.of.cvu)
            .chars()
            .take(ID_MAX)
            .collect()
    }

    fn account(&self, xml: &mut Xml<'_>) {
        let of = &self.statement.of;
        xml.within("Acct", |xml| {
            xml.within("Id", |xml| {
                xml.within("Othr", |xml| {
                    xml.text(&["Id"], of.cvu.as_str(), ID_MAX - 1);
                    xml.text(&["SchmeNm", "Prtry"], "CVU", ID_MAX);
                });
            });
            xml.raw("<Ccy>ARS</Ccy>");
            xml.within("Ownr", |xml| xml.party(&of.holder, Some(&of.cuit)));
            xml.within("Svcr", |xml| {
                xml.within("FinInstnId", |xml| {
                    xml.text(&["Nm"], &of.provider, NAME_MAX);
                    let address = of.provider_details.address.as_deref();
                    let lines = pieces(address.unwrap_or(""), ADDRESS_LINE_MAX);
                    if !lines.is_empty() {
                        xml.within("PstlAdr", |xml| {
                            for line in &lines {
                                xml.text(&["AdrLine"], line, ADDRESS_LINE_MAX);
                            }
                        });
                    }
                    xml.within("Othr", |xml| {
                        xml.text(&["Id"], of.cvu.psp(), ID_MAX);
                        xml.text(&["SchmeNm", "Prtry"], "PSP", ID_MAX);
                    });
                });
            });
        });
    }

    fn summary(&self, xml: &mut Xml<'_>) {
        let flows = &self.statement.flows;
        let (credits, debits) = (flows.credits(), flows.debits());
        xml.within("TxsSummry", |xml| {
            xml.flow("TtlNtries", credits.plus(debits));
            xml.flow("TtlCdtNtries", credits);
            xml.flow("TtlDbtNtries", debits);
        });
    }

    fn entry(&self, voucher: &Voucher, adds: bool, xml: &mut Xml<'_>) {
        let id = voucher
            .id(self.realm, self.statement.of.account)
            .to_string();
        let id = id.strip_prefix(PREFIX).unwrap_or(&id);
        xml.text(&["NtryRef"], &voucher.sequence.to_string(), ID_MAX);
        xml.amount(voucher.amount.into());
        xml.text(&["CdtDbtInd"], if adds { "CRDT" } else { "DBIT" }, ID_MAX);
        xml.raw("<Sts><Cd>BOOK</Cd></Sts>");
        let day = voucher.at.business_day().to_string();
        xml.text(&["BookgDt", "Dt"], &day, ID_MAX);
        xml.text(&["ValDt", "Dt"], &day, ID_MAX);
        xml.text(&["AcctSvcrRef"], id, ID_MAX);
        xml.within("BkTxCd", |xml| {
            xml.within("Prtry", |xml| {
                xml.text(&["Cd"], voucher.reference_type.as_str(), ID_MAX);
                xml.raw("<Issr>Caudal</Issr>");
            });
        });
        xml.within("NtryDtls", |xml| {
            xml.within("TxDtls", |xml| self.details(voucher, (id, adds), xml));
        });
        let name = voucher.type_name.as_str();
        let text = match voucher.description.as_deref() {
            Some(text) => format!("{name}: {text}"),
            None => name.to_owned(),
        };
        xml.text(&["AddtlNtryInf"], &text, TEXT_MAX);
    }

    fn details(&self, voucher: &Voucher, (id, adds): (&str, bool), xml: &mut Xml<'_>) {
        let own = voucher.external_id.as_ref().map(ToString::to_string);
        let rail = voucher.coelsa_id();
        let other = voucher.counterparty.as_deref();
        xml.within("Refs", |xml| {
            xml.text(&["AcctSvcrRef"], id, ID_MAX);
            for (name, id) in [("EndToEndId", own.as_deref()), ("ClrSysRef", rail)] {
                if let Some(id) = id.filter(|id| fits(id, ID_MAX)) {
                    xml.text(&[name], id, ID_MAX);
                }
            }
        });
        if let Some(other) = other {
            xml.other(other, adds);
        }
        let pieces = pieces(voucher.description.as_deref().unwrap_or(""), PIECE_MAX);
        if !pieces.is_empty() {
            xml.within("RmtInf", |xml| {
                for piece in &pieces {
                    xml.text(&["Ustrd"], piece, PIECE_MAX);
                }
            });
        }
        xml.text(&["RltdDts", "TxDtTm"], &voucher.at.zoned(), ID_MAX);
        let long = [
            ("idExterno", own.as_deref(), ID_MAX),
            ("COELSA", rail, ID_MAX),
            ("CUIT", other.and_then(|it| it.cuit.as_deref()), ID_MAX),
            (
                "CBU/CVU",
                other.and_then(|it| it.cbu.as_deref()),
                ACCOUNT_MAX,
            ),
        ];
        let long = long.into_iter().filter_map(|(name, text, max)| {
            let text = text.filter(|text| text.chars().count() > max)?;
            Some(format!("{name} {text}"))
        });
        let long: Vec<String> = long.collect();
        xml.text(&["AddtlTxInf"], &long.join(" · "), TEXT_MAX);
    }
}

impl StatementWriter for Camt {
    fn head(&mut self, out: &mut Vec<u8>) {
        let mut xml = Xml(out);
        let (it, id) = (&self.statement, self.id());
        let (from, until) = (it.period.start().zoned(), it.as_of.zoned());
        xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml.raw(&format!("<Document xmlns=\"{NAMESPACE}\"><BkToCstmrStmt>"));
        xml.within("GrpHdr", |xml| {
            xml.text(&["MsgId"], &id, ID_MAX);
            xml.text(&["CreDtTm"], &until, ID_MAX);
        });
        xml.raw("<Stmt>");
        xml.text(&["Id"], &id, ID_MAX);
        xml.text(&["CreDtTm"], &until, ID_MAX);
        xml.within("FrToDt", |xml| {
            xml.text(&["FrDtTm"], &from, ID_MAX);
            xml.text(&["ToDtTm"], &until, ID_MAX);
        });
        self.account(&mut xml);
        let (first, last) = (it.period.first, it.period.last);
        xml.balance("OPBD", it.opening.total().into(), first);
        let (booked, available) = if it.is_final {
            ("CLBD", "CLAV")
        } else {
            ("ITBD", "ITAV")
        };
        xml.balance(booked, it.closing.total().into(), last);
        xml.balance(available, it.closing.available.into(), last);
        self.summary(&mut xml);
        xml.raw("\n");
    }

    fn line(&mut self, voucher: &Voucher, out: &mut Vec<u8>) {
        let adds = match voucher.direction {
            Direction::Credit => true,
            Direction::Debit | Direction::ConfirmHold => false,
            Direction::Hold | Direction::Release => return,
        };
        let mut xml = Xml(out);
        xml.within("Ntry", |xml| self.entry(voucher, adds, xml));
        xml.raw("\n");
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        let mut xml = Xml(out);
        let it = &self.statement;
        let mut text = format!(
            "{} retenciones y liberaciones no cambian el saldo contable y no son asientos. Hasta el movimiento {}, \
             huella {}.",
            it.flows.within().count,
            it.last,
            it.hash
        );
        if let Some(cuit) = it.of.provider_details.cuit {
            text.push_str(" CUIT del proveedor: ");
            text.push_str(cuit.as_str());
        }
        if !it.is_final {
            text.insert_str(0, "Provisorio: pueden agregarse movimientos al período. ");
        }
        xml.text(&["AddtlStmtInf"], &text, TEXT_MAX);
        xml.raw("</Stmt></BkToCstmrStmt></Document>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_text_are_the_text() {
        let words = "palabra ".repeat(60);
        let words = words.trim();
        let solid = "ñ".repeat(300);
        for (text, count) in [
            ("", 0),
            ("a", 1),
            (words, 4),
            (&*solid, 3),
            (&*"x".repeat(140), 1),
        ] {
            let found = pieces(text, PIECE_MAX);
            assert_eq!(found.len(), count, "{text}");
            assert!(
                found
                    .iter()
                    .all(|it| (1..=PIECE_MAX).contains(&it.chars().count()))
            );
            let between = if text == words { " " } else { "" };
            assert_eq!(found.join(between), text);
        }
    }
}
