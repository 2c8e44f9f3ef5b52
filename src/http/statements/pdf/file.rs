//! The file of all pages: PDF/A-2u, whose texts every program can read, and which looks the same everywhere.
//!
//! **What conforms.** Fonts are embedded and map each code to its character, grey is defined by a profile, the
//! metadata names the standard, and the structure says what each text is.

use aws_lc_rs::digest::{SHA256, digest};
use caudal_ledger::statements::Statement;
use pdf_writer::types::OutputIntentSubtype;
use pdf_writer::{Finish as _, Name, Pdf as Writer, Rect, Ref, Settings, TextStr};
use quick_xml::escape::escape;

use super::page::{Face, Written};

/// Width and height of A4, in points.
const A4: [f32; 2] = [595.3, 841.9];
/// What grey means: an ICC profile of version 2.1 with the white point D50 and a gamma of 2.2.
const GREY: &[u8] = include_bytes!("grey.icc");
/// The name of that profile.
const GREY_NAME: &str = "Grey, gamma 2.2";
/// How many bytes the id of a file has.
const ID: usize = 16;

/// A text as XML has it: without characters that it cannot have.
fn xml(text: &str) -> String {
    let has = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let clean: String = text.chars().filter(has).collect();
    escape(clean.as_str()).into_owned()
}

/// The metadata of a file.
fn metadata(title: &str, author: &str) -> String {
    let (title, author) = (xml(title), xml(author));
    format!(
        "<?xpacket begin=\"\u{feff}\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n\
         <x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\
         <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\
         <rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
         xmlns:pdfaid=\"http://www.aiim.org/pdfa/ns/id/\">\
         <pdfaid:part>2</pdfaid:part><pdfaid:conformance>U</pdfaid:conformance>\
         <dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">{title}</rdf:li></rdf:Alt></dc:title>\
         <dc:creator><rdf:Seq><rdf:li>{author}</rdf:li></rdf:Seq></dc:creator>\
         <dc:language><rdf:Bag><rdf:li>es-AR</rdf:li></rdf:Bag></dc:language>\
         </rdf:Description></rdf:RDF></x:xmpmeta>\n\
         <?xpacket end=\"r\"?>"
    )
}

/// The file of a statement's pages.
pub(super) fn file(statement: &Statement, written: &Written) -> Vec<u8> {
    // Without line breaks, which would be a tenth of the bytes of a long statement.
    let mut file = Writer::with_settings(Settings { pretty: false });
    let mut last = 0;
    let mut id = || {
        last += 1;
        Ref::new(last)
    };
    let [catalog, tree, info, about, structure, grey] = [(); 6].map(|()| id());
    let [of_plain, of_bold] = [(); 2].map(|()| [(); 6].map(|()| id()));
    let sheets: Vec<Ref> = written.pages.iter().map(|_| id()).collect();
    let contents: Vec<Ref> = written.pages.iter().map(|_| id()).collect();
    let title = format!("Resumen de cuenta {}", statement.of.cvu);
    let author = &statement.of.provider;

    let mut root = file.catalog(catalog);
    root.pages(tree).lang(TextStr("es-AR")).metadata(about);
    root.mark_info().marked(true);
    root.viewer_preferences().display_doc_title(true);
    root.pair(Name(b"StructTreeRoot"), structure);
    let mut intents = root.output_intents();
    let mut intent = intents.push();
    intent.subtype(OutputIntentSubtype::PDFA);
    intent.output_condition_identifier(TextStr(GREY_NAME));
    intent.info(TextStr(GREY_NAME)).dest_output_profile(grey);
    intent.finish();
    intents.finish();
    root.finish();
    let mut named = file.document_info(info);
    named.title(TextStr(&title)).author(TextStr(author));
    named.finish();
    let metadata = metadata(&title, author);
    file.metadata(about, metadata.as_bytes());
    file.icc_profile(grey, GREY).n(1);
    let ([plain, bold], [plain_id, ..], [bold_id, ..]) = (&written.fonts, of_plain, of_bold);
    plain.write(&mut file, of_plain);
    bold.write(&mut file, of_bold);
    written.tags.write(&mut file, (structure, &sheets), &mut id);
    let count = sheets.iter().fold(0, |count, _| count + 1);
    file.pages(tree).kids(sheets.iter().copied()).count(count);
    let mut all = Vec::new();
    for (number, ((sheet, content), bytes)) in
        (0..).zip(sheets.iter().zip(&contents).zip(&written.pages))
    {
        let mut page = file.page(*sheet);
        let [wide, high] = A4;
        page.media_box(Rect::new(0.0, 0.0, wide, high));
        page.parent(tree).contents(*content);
        page.struct_parents(number);
        let mut resources = page.resources();
        let mut fonts = resources.fonts();
        fonts.pair(Face::Plain.name(), plain_id);
        fonts.pair(Face::Bold.name(), bold_id);
        fonts.finish();
        resources.finish();
        page.finish();
        file.stream(*content, bytes);
        all.extend(digest(&SHA256, bytes).as_ref());
    }
    let hash = digest(&SHA256, &all);
    let hash: Vec<u8> = hash.as_ref().iter().copied().take(ID).collect();
    file.set_file_id((hash.clone(), hash));
    file.finish()
}
