//! Documents as pages of the manual, section 7.

use caudal_http::pages::DocumentPage;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use roff::{Inline, Roff, bold, italic, roman};

/// The indent of code and of the items of lists.
const INDENT: &str = "4";

/// The page of a document, named `caudal-` and the document's path.
pub(super) fn page(document: &DocumentPage) -> String {
    let name = format!("caudal-{}", document.path);
    let mut writer = Writer::default();
    writer.roff.control("TH", [name.as_str(), "7"]);
    writer.roff.control("SH", ["NAME"]);
    let about = document.about.replace('`', "");
    writer.roff.text([roman(format!("{name} - {about}"))]);
    for event in Parser::new_ext(document.text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(tag) => writer.start(tag),
            Event::End(tag) => writer.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                let styled = writer.style.last().map_or(roman(&*text), |of| of(&text));
                writer.line.push(styled);
            }
            Event::Code(text) => writer.line.push(bold(&*text)),
            Event::SoftBreak => writer.line.push(roman(" ")),
            Event::HardBreak => {
                writer.write();
                writer.roff.control("br", []);
            }
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    writer.roff.render()
}

/// A page that is being written.
#[derive(Default)]
struct Writer<'a> {
    roff: Roff,
    /// What is not written yet.
    line: Vec<Inline>,
    /// The styles that hold here, the innermost last.
    style: Vec<fn(&str) -> Inline>,
    /// The lists around this place, each with its next number if it has numbers.
    lists: Vec<Option<u64>>,
    /// Whether an item has begun, and nothing of it is written.
    item_begins: bool,
    /// The targets of the links around this place.
    links: Vec<pulldown_cmark::CowStr<'a>>,
    /// The heads of the table's columns.
    columns: Vec<Vec<Inline>>,
    /// The cells of the row.
    cells: Vec<Vec<Inline>>,
}

impl<'a> Writer<'a> {
    fn start(&mut self, tag: Tag<'a>) {
        match tag {
            Tag::Paragraph if self.lists.is_empty() => {
                self.roff.control("PP", []);
            }
            Tag::Paragraph if !self.item_begins => {
                self.roff.control("IP", []);
            }
            Tag::List(first) => {
                self.write();
                if !self.lists.is_empty() {
                    self.roff.control("RS", [INDENT]);
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::CodeBlock(_) => {
                self.write();
                self.roff.control("RS", [INDENT]).control("sp", []);
                self.roff.control("EX", []);
            }
            Tag::Emphasis => self.style.push(|text| italic(text)),
            Tag::Strong => self.style.push(|text| bold(text)),
            Tag::Link { dest_url, .. } => self.links.push(dest_url),
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Image { .. }
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(HeadingLevel::H1) => {
                self.line.clear();
                self.roff.control("SH", ["DESCRIPTION"]);
            }
            TagEnd::Heading(level) => {
                let is_main = level == HeadingLevel::H2;
                let kind = if is_main { "SH" } else { "SS" };
                self.roff.control(kind, []);
                self.write();
            }
            TagEnd::Paragraph | TagEnd::Item => self.write(),
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.roff.control("RE", []);
                }
            }
            TagEnd::CodeBlock => {
                self.write();
                self.roff.control("EE", []).control("RE", []);
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.style.pop();
            }
            TagEnd::Link => {
                let target = self.links.pop();
                let target = target.filter(|it| it.starts_with("https://"));
                self.line.extend(target.map(|it| roman(format!(" <{it}>"))));
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.line)),
            TagEnd::TableHead => self.columns = std::mem::take(&mut self.cells),
            TagEnd::TableRow => self.row(),
            TagEnd::BlockQuote(_)
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Table
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Image
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Begins an item of a list.
    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}.");
                *number += 1;
                mark
            }
            Some(None) | None => r"\(bu".to_owned(),
        };
        self.roff.control("IP", [mark.as_str(), INDENT]);
        self.item_begins = true;
    }

    /// Writes a row: its first cell, and the others below it. Columns after the second are told apart by their heads.
    fn row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        self.roff.control("TP", []);
        self.roff.text(cells.next().map_or(Vec::new(), |it| it));
        let several = self.columns.len() > 2;
        let heads = self.columns.iter().skip(1);
        for (place, (head, cell)) in heads.zip(cells).enumerate() {
            if cell.is_empty() {
                continue;
            }
            if place > 0 {
                self.roff.control("br", []);
            }
            let mut line = Vec::new();
            if several && !head.is_empty() {
                line.extend(head.iter().cloned());
                line.push(roman(": "));
            }
            line.extend(cell);
            self.roff.text(line);
        }
    }

    /// Writes what has come so far.
    fn write(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.item_begins = false;
            self.roff.text(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_page_of_the_manual() {
        let text = "# Title\n\nOne `-x` *two*\n[three](a.md) [four](https://a.example).\n\n## Part\n\n\
                    1. first\n\n   more\n2. second\n   - inner\n\n### Small\n\n\
                    | a | b |\n| --- | --- |\n| `x` | what |\n\n\
                    | a | b | c |\n| --- | --- | --- |\n| x | y | z |\n\n```sh\n.a\nb 'c'\n```\n";
        let made = page(&DocumentPage {
            path: "test",
            name: "Test",
            about: "a `test`",
            text,
        });
        let (_, body) = made.split_once(".TH").unwrap();
        assert_eq!(
            body,
            " caudal-test 7\n.SH NAME\ncaudal\\-test \\- a test\n.SH DESCRIPTION\n.PP\n\
             One \\fB\\-x\\fR \\fItwo\\fR three four <https://a.example>.\n.SH\nPart\n\
             .IP 1. 4\nfirst\n.IP\nmore\n.IP 2. 4\nsecond\n.RS 4\n.IP \\(bu 4\ninner\n.RE\n.SS\nSmall\n\
             .TP\n\\fBx\\fR\nwhat\n.TP\nx\nb: y\n.br\nc: z\n\
             .RS 4\n.sp\n.EX\n\\&.a\nb \\*(Aqc\\*(Aq\n\n.EE\n.RE\n"
        );
    }
}
