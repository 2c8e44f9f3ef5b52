//! The structure of a PDF: the element that each text belongs to, for programs that read it aloud or extract its table.
//!
//! **Shape.** Elements are opened and closed in pairs, and a text belongs to the innermost one that is open. A text
//! that is written while none is open, or while the structure is suspended, is an artifact, such as what every page
//! repeats.

use pdf_writer::types::{StructRole, TableHeaderScope};
use pdf_writer::writers::StructTreeRoot;
use pdf_writer::{Finish as _, Pdf as Writer, Ref};

/// An element, by its place in the list of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag(usize);

/// The first element, which holds all others.
const DOCUMENT: Tag = Tag(0);

/// A part of an element.
enum Kid {
    Element(Tag),
    /// The text with this number on a page.
    Text {
        page: usize,
        number: i32,
    },
}

struct Element {
    role: StructRole,
    /// `None` of the document.
    parent: Option<Tag>,
    kids: Vec<Kid>,
}

/// The structure of the pages that are being written.
pub(super) struct Tags {
    elements: Vec<Element>,
    open: Vec<Tag>,
    suspended: bool,
    /// The elements of the texts of each full page, by the numbers of the texts.
    full: Vec<Vec<Tag>>,
    /// The same of the page that is being written.
    page: Vec<Tag>,
}

impl Tags {
    /// The structure of an empty document.
    pub(super) fn new() -> Self {
        let document = Element {
            role: StructRole::Document,
            parent: None,
            kids: Vec::new(),
        };
        Self {
            elements: vec![document],
            open: Vec::new(),
            suspended: false,
            full: Vec::new(),
            page: Vec::new(),
        }
    }

    /// Opens a new element inside the one that is open.
    pub(super) fn open(&mut self, role: StructRole) -> Tag {
        let parent = self.open.last().copied().unwrap_or(DOCUMENT);
        if self.suspended {
            return parent;
        }
        let tag = Tag(self.elements.len());
        if let Some(parent) = self.elements.get_mut(parent.0) {
            parent.kids.push(Kid::Element(tag));
        }
        self.elements.push(Element {
            role,
            parent: Some(parent),
            kids: Vec::new(),
        });
        self.open.push(tag);
        tag
    }

    /// Opens an element again that was closed.
    pub(super) fn reopen(&mut self, tag: Tag) {
        self.open.push(tag);
    }

    /// Closes the element that was opened last.
    pub(super) fn close(&mut self) {
        if !self.suspended {
            self.open.pop();
        }
    }

    /// Whether texts are artifacts from here on, whatever is open.
    pub(super) fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// The role and the number of the next text; `None` if it is an artifact.
    pub(super) fn mark(&mut self) -> Option<(StructRole, i32)> {
        let tag = *self.open.last().filter(|_| !self.suspended)?;
        let number = i32::try_from(self.page.len()).ok()?;
        let element = self.elements.get_mut(tag.0)?;
        let page = self.full.len();
        element.kids.push(Kid::Text { page, number });
        self.page.push(tag);
        Some((element.role, number))
    }

    /// Begins another page.
    pub(super) fn turn(&mut self) {
        self.full.push(std::mem::take(&mut self.page));
    }

    /// Writes the structure of the pages with these ids; `root` is its own id, `id` gives new ones.
    pub(super) fn write(
        &self,
        file: &mut Writer,
        (root, sheets): (Ref, &[Ref]),
        id: &mut impl FnMut() -> Ref,
    ) {
        let ids: Vec<Ref> = self.elements.iter().map(|_| id()).collect();
        let of = |tag: Tag| ids.get(tag.0).copied().unwrap_or(root);
        let lists: Vec<Ref> = self.full.iter().map(|_| id()).collect();
        let mut tree = file.indirect(root).start::<StructTreeRoot>();
        tree.child(of(DOCUMENT));
        let mut parents = tree.parent_tree();
        let mut numbers = parents.nums();
        for (page, list) in (0..).zip(&lists) {
            numbers.insert(page, *list);
        }
        numbers.finish();
        parents.finish();
        tree.finish();
        for (list, texts) in lists.iter().zip(&self.full) {
            let texts = texts.iter().map(|tag| of(*tag));
            file.indirect(*list).array().items(texts);
        }
        for (element, id) in self.elements.iter().zip(&ids) {
            let mut it = file.struct_element(*id);
            it.kind(element.role);
            it.parent(element.parent.map_or(root, of));
            if element.role == StructRole::TH {
                let mut attributes = it.attributes();
                attributes.push().table().scope(TableHeaderScope::Column);
                attributes.finish();
            }
            if element.kids.is_empty() {
                continue;
            }
            let pages = element.kids.iter().filter_map(|kid| match kid {
                Kid::Element(_) => None,
                Kid::Text { page, .. } => Some(*page),
            });
            let first = pages.min();
            if let Some(sheet) = first.and_then(|page| sheets.get(page)) {
                it.page(*sheet);
            }
            let mut kids = it.children();
            for kid in &element.kids {
                match kid {
                    Kid::Element(tag) => {
                        kids.struct_element(of(*tag));
                    }
                    Kid::Text { page, number } if Some(*page) == first => {
                        kids.marked_content_id(*number);
                    }
                    Kid::Text { page, number } => {
                        let mut text = kids.marked_content_ref();
                        if let Some(sheet) = sheets.get(*page) {
                            text.page(*sheet);
                        }
                        text.marked_content_id(*number);
                    }
                }
            }
        }
    }
}
