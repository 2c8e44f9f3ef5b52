//! The pages: texts at places, lines and shaded boxes, in tenths of a point from the lower left.

use pdf_writer::types::StructRole;
use pdf_writer::{Content, Name, Str, TextStr};
use unicode_bidi::{BidiInfo, Level};

use super::fonts::Font;
use super::tags::Tags;

/// The left margin.
pub(super) const LEFT: i16 = 400;
/// The right margin.
pub(super) const RIGHT: i16 = 5553;
/// How light letters, small print, shaded boxes and hairlines are: 0 is black, 1 is white.
const BLACK: f32 = 0.0;
const PRINT: f32 = 0.4;
const SHADE: f32 = 0.93;
const HAIR: f32 = 0.75;

/// What is no part of the text: lines, boxes, and what every page repeats.
const ARTIFACT: Name<'static> = Name(b"Artifact");

/// The typeface of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Face {
    /// Regular.
    Plain,
    /// Regular, and lighter than black.
    Light,
    /// Bold.
    Bold,
}

impl Face {
    /// The name by which pages refer to its font.
    pub(super) const fn name(self) -> Name<'static> {
        match self {
            Self::Plain | Self::Light => Name(b"F1"),
            Self::Bold => Name(b"F2"),
        }
    }
}

/// The size and typeface of letters.
pub(super) type TextStyle = (i16, Face);

/// Pages that are being written: those that are full, and one more.
pub(super) struct Pages {
    full: Vec<Content>,
    page: Content,
    plain: Font,
    bold: Font,
    /// The element that each text belongs to.
    pub tags: Tags,
}

/// Pages that are written: their bytes, the fonts and the structure of their texts.
pub(super) struct Written {
    /// The bytes of each page.
    pub pages: Vec<Vec<u8>>,
    /// The regular and the bold font.
    pub fonts: [Font; 2],
    /// The element that each text belongs to.
    pub tags: Tags,
}

/// An empty page.
fn blank() -> Content {
    let mut content = Content::new();
    content.transform([0.1, 0.0, 0.0, 0.1, 0.0, 0.0]);
    content
}

impl Pages {
    /// An empty page.
    pub(super) fn new() -> Self {
        Self {
            full: Vec::new(),
            page: blank(),
            plain: Font::plain(),
            bold: Font::bold(),
            tags: Tags::new(),
        }
    }

    /// Begins another page.
    pub(super) fn turn(&mut self) {
        self.full.push(std::mem::replace(&mut self.page, blank()));
        self.tags.turn();
    }

    /// Adds to each page what depends on its number and on how many there are.
    pub(super) fn finish(mut self, foot: impl Fn(&mut Self, usize, usize)) -> Written {
        self.turn();
        let (full, mut bytes) = (std::mem::take(&mut self.full), Vec::new());
        let count = full.len();
        for (number, page) in (1..).zip(full) {
            self.page = page;
            foot(&mut self, number, count);
            let page = std::mem::replace(&mut self.page, blank());
            bytes.push(page.finish().into_vec());
        }
        Written {
            pages: bytes,
            fonts: [self.plain, self.bold],
            tags: self.tags,
        }
    }

    /// Writes texts as an element of their own.
    pub(super) fn tagged(&mut self, role: StructRole, write: impl FnOnce(&mut Self)) {
        self.tags.open(role);
        write(self);
        self.tags.close();
    }

    fn font(&mut self, face: Face) -> &mut Font {
        match face {
            Face::Plain | Face::Light => &mut self.plain,
            Face::Bold => &mut self.bold,
        }
    }

    /// A text in lines that fit into the room: parted at spaces, and only where there is none inside a word.
    pub(super) fn lines(&mut self, (size, face): TextStyle, text: &str, room: i16) -> Vec<String> {
        let font = self.font(face);
        let most = i32::from(room) * 1000 / i32::from(size).max(1);
        let (mut lines, mut line, mut wide) = (Vec::new(), String::new(), 0);
        for c in text.chars() {
            let more = font.width_of(c);
            if wide + more > most && !line.is_empty() {
                if c == ' ' {
                    lines.push(std::mem::take(&mut line));
                    wide = 0;
                    continue;
                }
                let word = line.rfind(' ').filter(|at| *at > 0);
                let rest = word.map_or_else(String::new, |at| line.split_off(at));
                lines.push(std::mem::replace(&mut line, rest.trim_start().to_owned()));
                wide = font.width(&line);
            }
            line.push(c);
            wide += more;
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// Writes a text that begins at a place.
    pub(super) fn left(&mut self, (x, y): (i16, i16), style: TextStyle, text: &str) {
        self.show((x, y), style, text);
    }

    /// Writes a text that begins at a place, in letters so small that it fits into the room.
    pub(super) fn fitted(&mut self, at: (i16, i16), style: TextStyle, text: &str, room: i16) {
        let (size, _) = self.fits(style, text, room);
        self.show(at, (size, style.1), text);
    }

    /// Writes a text that ends at a place, in letters so small that it fits into the room.
    pub(super) fn right(&mut self, (x, y): (i16, i16), style: TextStyle, text: &str, room: i16) {
        let (size, wide) = self.fits(style, text, room);
        self.show((x - wide, y), (size, style.1), text);
    }

    /// The size in which a text fits into the room, and how wide it then is.
    fn fits(&mut self, (size, face): TextStyle, text: &str, room: i16) -> (i16, i16) {
        let wide = self.font(face).width(text);
        let (room, asked) = (i32::from(room), i32::from(size));
        let fits = if wide * asked > room * 1000 {
            room * 1000 / wide.max(1)
        } else {
            asked
        };
        let number = |value: i32| i16::try_from(value).map_or(i16::MAX, |it| it.max(1));
        (number(fits), number(wide * fits / 1000))
    }

    /// Draws a line over the whole width.
    pub(super) fn rule(&mut self, y: i16, thick: i16) {
        self.area(LEFT, y, RIGHT - LEFT, thick, PRINT);
    }

    /// Draws a hairline over the whole width.
    pub(super) fn hair(&mut self, y: i16) {
        self.area(LEFT, y, RIGHT - LEFT, 3, HAIR);
    }

    /// Draws a shaded box over the whole width.
    pub(super) fn shade(&mut self, y: i16, high: i16) {
        self.area(LEFT, y, RIGHT - LEFT, high, SHADE);
    }

    fn area(&mut self, x: i16, y: i16, wide: i16, high: i16, tone: f32) {
        let [x, y, wide, high] = [x, y, wide, high].map(f32::from);
        self.page.begin_marked_content(ARTIFACT);
        self.page.set_fill_gray(tone);
        self.page.rect(x, y, wide, high).fill_nonzero();
        self.page.set_fill_gray(BLACK);
        self.page.end_marked_content();
    }

    fn show(&mut self, (x, y): (i16, i16), (size, face): TextStyle, text: &str) {
        let pieces = self.font(face).encoded(&from_left(text));
        let mark = self.tags.mark();
        let page = &mut self.page;
        if let Some((role, number)) = mark {
            let mut mark = page.begin_marked_content_with_properties(role.to_name());
            mark.properties().identify(number);
        } else {
            page.begin_marked_content(ARTIFACT);
        }
        if face == Face::Light {
            page.set_fill_gray(PRINT);
        }
        page.begin_text();
        page.set_font(face.name(), f32::from(size));
        page.next_line(f32::from(x), f32::from(y));
        for (codes, stands_for) in pieces {
            if let Some(c) = stands_for {
                let text = c.to_string();
                let mut span = page.begin_marked_content_with_properties(Name(b"Span"));
                span.properties().actual_text(TextStr(&text));
            }
            page.show(Str(&codes));
            if stands_for.is_some() {
                page.end_marked_content();
            }
        }
        page.end_text();
        if face == Face::Light {
            page.set_fill_gray(BLACK);
        }
        page.end_marked_content();
    }
}

/// The characters of a line from the left to the right: parts in scripts that are written from the right are turned
/// around.
fn from_left(line: &str) -> String {
    let order = BidiInfo::new(line, Some(Level::ltr()));
    // Characters that part paragraphs cannot be seen, so that a line with them has the order in which it was written.
    match order.paragraphs.as_slice() {
        [only] => order.reorder_line(only, only.range.clone()).into_owned(),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_room_and_lose_nothing() {
        let mut pages = Pages::new();
        let style = (100, Face::Plain);
        let solid = "ñ".repeat(500);
        let words = "uno dos tres cuatro ".repeat(40);
        let signs = "李".repeat(40);
        for text in [solid.as_str(), words.trim(), &signs, "", "a", "  a  b"] {
            let lines = pages.lines(style, text, 1000);
            let all: String = lines.concat();
            let bare = |text: &str| text.replace(' ', "");
            assert_eq!(bare(&all), bare(text));
            for line in &lines {
                assert!(pages.plain.width(line) <= 10_000, "{line}");
                assert!(text == words.trim() || !line.is_empty());
            }
            let inside = lines.iter().any(|it| it.ends_with("cuatr"));
            assert!(!inside, "{lines:?}");
        }
        // A character that is wider than the room has a line of its own.
        assert_eq!(pages.lines(style, "李李", 100), ["李", "李"]);
    }

    #[test]
    fn text_that_does_not_fit_is_shrunk() {
        let mut pages = Pages::new();
        assert_eq!(pages.fits((75, Face::Plain), "1,00", 620).0, 75);
        let (size, wide) = pages.fits((75, Face::Bold), "92.233.720.368.547.758,07", 620);
        assert!((30..75).contains(&size) && wide <= 620, "{size} {wide}");
    }

    #[test]
    fn hebrew_is_drawn_from_its_right() {
        assert_eq!(from_left("Ana 12"), "Ana 12");
        assert_eq!(from_left("de שלום a"), "de םולש a");
    }
}
