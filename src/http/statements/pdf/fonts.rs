//! The fonts of a PDF: DejaVu Sans Condensed, of which a file has the characters that it shows.
//!
//! **Shape.** A [`Font`] gives each character that is drawn a code of its own, in the order in which they come. So what a
//! reader finds, searches and copies is exactly what was written, also where two characters look the same.
//!
//! **What is drawn.** The font has the letters of the Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew and Arabic
//! scripts and many symbols. A character that it lacks, and one that cannot be seen, is drawn as its code point
//! (`[U+4E2D]`), and copied as itself. Nothing is replaced by another character, and nothing is left out.
//!
//! **The same for ever.** The bytes follow from the font files in `fonts/`, from the crates that read and cut them, whose
//! versions are fixed, and from the characters shown.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};
use caudal_ledger::text::is_printable;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Finish as _, Name, Pdf as Writer, Rect, Ref, Str};
use subsetter::{GlyphRemapper, subset};
use ttf_parser::Face;

const PLAIN: &[u8] = include_bytes!("fonts/DejaVuSansCondensed.ttf");
const BOLD: &[u8] = include_bytes!("fonts/DejaVuSansCondensed-Bold.ttf");
/// How codes are mapped: each to itself, in two bytes.
const ENCODING: Name<'static> = Name(b"Identity-H");
/// The characters of the font that its codes stand for: only those of this file.
const SYSTEM: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

/// The ids of the objects of a font: itself, its part with the glyphs, their measures, the file, two tables of codes.
pub(super) type Ids = [Ref; 6];

/// A font, with the characters of it that a file shows.
pub(super) struct Font {
    name: &'static str,
    data: &'static [u8],
    face: Option<Face<'static>>,
    codes: HashMap<char, u16>,
    /// The characters by their codes, the first of which is 1, each with its glyph in the font.
    shown: Vec<(char, u16)>,
}

/// How a character is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drawn {
    /// As this glyph of the font.
    Glyph(u16),
    /// As its code point.
    Point,
}

/// The code point of a character, as it is drawn.
fn point(c: char) -> String {
    format!("[U+{:04X}]", u32::from(c))
}

impl Font {
    /// The regular font.
    pub(super) fn plain() -> Self {
        Self::of("DejaVuSansCondensed", PLAIN)
    }

    /// The bold font.
    pub(super) fn bold() -> Self {
        Self::of("DejaVuSansCondensed-Bold", BOLD)
    }

    fn of(name: &'static str, data: &'static [u8]) -> Self {
        Self {
            name,
            data,
            face: Face::parse(data, 0).ok(),
            codes: HashMap::new(),
            shown: Vec::new(),
        }
    }

    fn drawn(&self, c: char) -> Drawn {
        let glyph = self.face.as_ref().and_then(|face| face.glyph_index(c));
        match glyph {
            Some(glyph) if is_printable(c) => Drawn::Glyph(glyph.0),
            _ => Drawn::Point,
        }
    }

    /// A measure of the font in thousandths of its size.
    fn thousandths(&self, measure: i32) -> i32 {
        let unit = self.face.as_ref().map_or(1000, Face::units_per_em);
        measure * 1000 / i32::from(unit).max(1)
    }

    fn advance(&self, glyph: u16) -> i32 {
        let face = self.face.as_ref();
        let advance = face.and_then(|face| face.glyph_hor_advance(ttf_parser::GlyphId(glyph)));
        self.thousandths(advance.map_or(0, i32::from))
    }

    /// The width of a character as it is drawn, in thousandths of its size.
    pub(super) fn width_of(&self, c: char) -> i32 {
        match self.drawn(c) {
            Drawn::Glyph(glyph) => self.advance(glyph),
            Drawn::Point => {
                let glyphs = point(c);
                let glyphs = glyphs.chars().filter_map(|c| match self.drawn(c) {
                    Drawn::Glyph(glyph) => Some(self.advance(glyph)),
                    Drawn::Point => None,
                });
                glyphs.sum()
            }
        }
    }

    /// The width of a text as it is drawn, in thousandths of its size.
    pub(super) fn width(&self, text: &str) -> i32 {
        text.chars().map(|c| self.width_of(c)).sum()
    }

    /// The codes of a text in pieces: each as it is drawn, and the character that it stands for if it is drawn otherwise.
    pub(super) fn encoded(&mut self, text: &str) -> Vec<(Vec<u8>, Option<char>)> {
        let mut pieces: Vec<(Vec<u8>, Option<char>)> = Vec::new();
        for c in text.chars() {
            match (self.drawn(c), pieces.last_mut()) {
                (Drawn::Glyph(glyph), Some((codes, None))) => codes.extend(self.code(c, glyph)),
                (Drawn::Glyph(glyph), _) => pieces.push((self.code(c, glyph).to_vec(), None)),
                (Drawn::Point, _) => {
                    let mut codes = Vec::new();
                    for part in point(c).chars() {
                        if let Drawn::Glyph(glyph) = self.drawn(part) {
                            codes.extend(self.code(part, glyph));
                        }
                    }
                    pieces.push((codes, Some(c)));
                }
            }
        }
        pieces
    }

    fn code(&mut self, c: char, glyph: u16) -> [u8; 2] {
        // The font has fewer glyphs than there are codes.
        let next = u16::try_from(self.shown.len() + 1).map_or(u16::MAX, |it| it);
        let code = *self.codes.entry(c).or_insert(next);
        if code == next {
            self.shown.push((c, glyph));
        }
        code.to_be_bytes()
    }

    /// Writes the font as the objects with these ids.
    pub(super) fn write(&self, file: &mut Writer, ids: Ids) {
        let [font, glyphs, measures, data, map, unicode] = ids;
        let mut remapper = GlyphRemapper::new();
        let places: Vec<u16> = self
            .shown
            .iter()
            .map(|(_, glyph)| remapper.remap(*glyph))
            .collect();
        let (part, places) = match subset(self.data, 0, &remapper) {
            Ok(part) => (part, places),
            // The font is one of two that the tests cut.
            Err(_) => {
                let whole = self.shown.iter().map(|(_, glyph)| *glyph);
                (self.data.to_vec(), whole.collect())
            }
        };
        // A part of a font has six letters before its name, other ones for another part.
        let tag = digest(&SHA256, &part);
        let letters = tag.as_ref().iter().take(6);
        let tag: String = letters.map(|byte| char::from(b'A' + byte % 26)).collect();
        let name = format!("{tag}+{}", self.name);

        let mut it = file.type0_font(font);
        it.base_font(Name(name.as_bytes()));
        it.encoding_predefined(ENCODING);
        it.descendant_font(glyphs).to_unicode(unicode);
        it.finish();

        let mut it = file.cid_font(glyphs);
        it.subtype(CidFontType::Type2);
        it.base_font(Name(name.as_bytes()));
        it.system_info(SYSTEM);
        it.font_descriptor(measures).default_width(0.0);
        it.cid_to_gid_map_stream(map);
        let widths = self.shown.iter();
        let widths = widths.map(|(_, glyph)| measure(self.advance(*glyph)));
        it.widths().consecutive(1, widths);
        it.finish();

        self.measures(file, measures, data, &name);
        file.stream(data, &part).pair(
            Name(b"Length1"),
            i32::try_from(part.len()).map_or(0, |it| it),
        );
        let places: Vec<u8> = [0]
            .into_iter()
            .chain(places)
            .flat_map(u16::to_be_bytes)
            .collect();
        file.stream(map, &places);
        let mut table = UnicodeCmap::<u16>::new(Name(b"Caudal"), SYSTEM);
        for (code, (c, _)) in (1_u16..).zip(&self.shown) {
            table.pair(code, *c);
        }
        file.cmap(unicode, &table.finish());
    }

    fn measures(&self, file: &mut Writer, id: Ref, data: Ref, name: &str) {
        let mut it = file.font_descriptor(id);
        it.name(Name(name.as_bytes())).flags(FontFlags::SYMBOLIC);
        it.italic_angle(0.0).font_file2(data);
        if let Some(face) = &self.face {
            let of = |value: i16| measure(self.thousandths(i32::from(value)));
            let bounds = face.global_bounding_box();
            it.bbox(Rect::new(
                of(bounds.x_min),
                of(bounds.y_min),
                of(bounds.x_max),
                of(bounds.y_max),
            ));
            it.ascent(of(face.ascender())).descent(of(face.descender()));
            it.cap_height(of(face.capital_height().unwrap_or(face.ascender())));
        }
        it.stem_v(if self.name.ends_with("Bold") {
            140.0
        } else {
            80.0
        });
        it.finish();
    }
}

/// A measure as PDF writes it.
fn measure(thousandths: i32) -> f32 {
    i16::try_from(thousandths).map_or(0.0, f32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_drawn_as_itself_or_as_its_code_point() {
        for mut font in [Font::plain(), Font::bold()] {
            let text = "Ñandú Łukasz Kovačević Ελένη Иванов שלום محمد €·—…Nguyễn";
            for c in text.chars() {
                assert_ne!(font.drawn(c), Drawn::Point, "{c}");
            }
            assert_eq!(font.encoded(text).len(), 1);
            for c in [
                '李',
                '🎉',
                '\u{fe0f}',
                '\u{202e}',
                '\u{ad}',
                '\u{e000}',
                '\u{10fffe}',
                '\n',
            ] {
                let drawn = font.encoded(&c.to_string());
                let codes = font.encoded(&point(c));
                assert_eq!(drawn, [(codes[0].0.clone(), Some(c))]);
                assert_eq!(font.width_of(c), font.width(&point(c)));
            }
            assert_eq!(font.encoded("a李b").len(), 3);
            // Characters that look the same are told apart.
            assert_ne!(font.encoded("A"), font.encoded("Α"));
            assert_eq!(font.width("111"), font.width("909"));
        }
    }

    #[test]
    fn a_file_has_the_part_of_the_font_that_it_shows() {
        let mut font = Font::plain();
        font.encoded("Ana");
        let written = |font: &Font| {
            let mut file = Writer::new();
            font.write(&mut file, [1, 2, 3, 4, 5, 6].map(Ref::new));
            file.finish()
        };
        let small = written(&font);
        assert!(small.len() < 40_000, "{}", small.len());
        assert_eq!(written(&font), small);
        font.encoded("ñ");
        assert!(written(&font).len() > small.len());
    }
}
