//! One page: texts at places, lines and shaded boxes, in tenths of a point from the lower left.

use pdf_writer::{Content, Name, Str};

use super::text::{clipped, encoded, width};

/// The left margin.
pub(super) const LEFT: i16 = 400;
/// The right margin.
pub(super) const RIGHT: i16 = 5553;
/// How light letters, small print, shaded boxes and hairlines are: 0 is black, 1 is white.
const BLACK: f32 = 0.0;
const PRINT: f32 = 0.4;
const SHADE: f32 = 0.93;
const HAIR: f32 = 0.75;

/// The typeface of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Face {
    /// Helvetica.
    Plain,
    /// Helvetica Bold.
    Bold,
}

impl Face {
    /// The name by which pages refer to it.
    pub(super) const fn name(self) -> Name<'static> {
        match self {
            Self::Plain => Name(b"F1"),
            Self::Bold => Name(b"F2"),
        }
    }
}

/// The size and typeface of letters.
type Style = (i16, Face);

/// A page that is being written.
pub(super) struct Page(Content);

impl Page {
    /// An empty page.
    pub(super) fn new() -> Self {
        let mut content = Content::new();
        content.transform([0.1, 0.0, 0.0, 0.1, 0.0, 0.0]);
        Self(content)
    }

    /// The bytes of the page.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0.finish().into_vec()
    }

    /// Writes a text that begins at a place and is cut where it has no more room.
    pub(super) fn left(&mut self, x: i16, y: i16, (size, face): Style, text: &str, room: i16) {
        // Bold letters are up to a tenth wider than the regular ones, whose widths are known.
        let known = match face {
            Face::Plain => room,
            Face::Bold => room - room / 10,
        };
        self.show(x, y, (size, face), &clipped(text, size, known));
    }

    /// Writes a short text that ends at a place. Bold figures are as wide as regular ones, bold letters a little
    /// wider.
    pub(super) fn right(&mut self, x: i16, y: i16, (size, face): Style, text: &str) {
        let bytes = encoded(text);
        let letters: i32 = match face {
            Face::Plain => 0,
            Face::Bold => text.chars().filter(|c| c.is_alphabetic()).map(|_| 1).sum(),
        };
        let wide = width(&bytes, size) + letters * i32::from(size) / 22;
        // A text that is wider than any page does not fit on one.
        let Ok(wide) = i16::try_from(wide) else {
            return;
        };
        self.show(x - wide, y, (size, face), &bytes);
    }

    /// Writes small print.
    pub(super) fn grey(&mut self, x: i16, y: i16, size: i16, text: &str, room: i16) {
        self.tone(PRINT);
        self.left(x, y, (size, Face::Plain), text, room);
        self.tone(BLACK);
    }

    /// Draws a line over the whole width.
    pub(super) fn rule(&mut self, y: i16, thick: i16) {
        self.tone(PRINT);
        self.area(LEFT, y, RIGHT - LEFT, thick);
        self.tone(BLACK);
    }

    /// Draws a hairline over the whole width.
    pub(super) fn hair(&mut self, y: i16) {
        self.tone(HAIR);
        self.area(LEFT, y, RIGHT - LEFT, 3);
        self.tone(BLACK);
    }

    /// Draws a shaded box.
    pub(super) fn shade(&mut self, x: i16, y: i16, wide: i16, high: i16) {
        self.tone(SHADE);
        self.area(x, y, wide, high);
        self.tone(BLACK);
    }

    fn area(&mut self, x: i16, y: i16, wide: i16, high: i16) {
        let [x, y, wide, high] = [x, y, wide, high].map(f32::from);
        self.0.rect(x, y, wide, high).fill_nonzero();
    }

    fn tone(&mut self, tone: f32) {
        self.0.set_fill_gray(tone);
    }

    fn show(&mut self, x: i16, y: i16, (size, face): Style, text: &[u8]) {
        let content = &mut self.0;
        content.begin_text();
        content.set_font(face.name(), f32::from(size));
        content.next_line(f32::from(x), f32::from(y));
        content.show(Str(text));
        content.end_text();
    }
}
