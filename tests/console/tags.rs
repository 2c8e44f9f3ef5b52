//! The tags of a page, read as a browser reads them, and the things that none of them may do.

use std::collections::BTreeSet;

/// A tag: its name, and its attributes with their values as written.
pub struct Tag<'a> {
    pub name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of a text, after its `<`; returns it with the text after it. Every value must
    /// have quotes, as in everything that the templates write.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>')?;
        let (name, mut rest) = text.split_at(end);
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('>') {
                return Some((Self { name, attributes }, after));
            }
            let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '>')?;
            let (name, after) = rest.split_at(end);
            let mut value = "";
            rest = after;
            if let Some(after) = after.strip_prefix('=') {
                let quote = after.chars().next().filter(|c| "\"'".contains(*c))?;
                (value, rest) = after.get(1..)?.split_once(quote)?;
            }
            attributes.push((name, value));
        }
    }

    /// The value of an attribute.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        let mut found = self.attributes.iter().filter(|(it, _)| *it == name);
        found.next().map(|(_, value)| *value)
    }

    /// The reason why the tag may not be on a page of the console: it runs, has a style, or leads elsewhere.
    fn wrong(&self) -> Option<String> {
        let known = |it: &&str| it.eq_ignore_ascii_case(self.name.trim_start_matches('/'));
        if !TAGS.iter().any(known) {
            return Some(format!("<{}>", self.name));
        }
        let bad = self.attributes.iter().find(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let leads = LEADS.contains(&name.as_str());
            let here = HERE.iter().any(|here| value.starts_with(here)) && !value.contains("//");
            let runs = name.starts_with("on") || name.starts_with("hx-on");
            runs || NEVER.contains(&name.as_str()) || (leads && !here)
        });
        bad.map(|(name, value)| format!("{name}=\"{value}\" of <{}>", self.name))
    }
}

/// The tags that the templates use.
const TAGS: &[&str] = &[
    "!doctype",
    "html",
    "head",
    "meta",
    "title",
    "link",
    "body",
    "script",
    "header",
    "footer",
    "main",
    "nav",
    "section",
    "details",
    "summary",
    "figure",
    "figcaption",
    "h1",
    "h2",
    "p",
    "div",
    "span",
    "strong",
    "code",
    "pre",
    "time",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "form",
    "label",
    "input",
    "select",
    "option",
    "textarea",
    "button",
    "a",
    "img",
    "noscript",
];
/// Attributes that link somewhere, or fetch something.
const LEADS: &[&str] = &["href", "src", "action", "hx-get", "sse-connect"];
/// The targets that they may have.
const HERE: &[&str] = &["/console/", "/docs/", "#content"];
/// Attributes that no tag may have.
const NEVER: &[&str] = &[
    "style",
    "srcdoc",
    "srcset",
    "formaction",
    "http-equiv",
    "hx-vals",
    "hx-post",
    "xlink:href",
    "ping",
    "target",
];

/// All tags of a page; panics if the page is not written as the templates write, or if a script has any text.
pub fn tags<'a>(page: &str, html: &'a str) -> Vec<Tag<'a>> {
    let (mut found, mut rest) = (Vec::new(), html);
    while let Some((_, after)) = rest.split_once('<') {
        let read = Tag::read(after);
        let (tag, after) = read.unwrap_or_else(|| panic!("{page}: no tag: {after}"));
        if tag.name == "script" {
            let empty = after.starts_with("</script>");
            assert!(empty && tag.value("src").is_some(), "{page}: {after}");
        }
        rest = after;
        found.push(tag);
    }
    found
}

/// Checks that nothing on a page runs, has a style of its own, or leads out of the service.
pub fn is_tame(page: &str, html: &str) {
    let wrong: BTreeSet<_> = tags(page, html).iter().filter_map(Tag::wrong).collect();
    assert!(wrong.is_empty(), "{page} has {wrong:?}: {html}");
}

#[test]
fn canary_detects_unredacted_values() {
    is_tame(
        "good",
        "<!doctype html><a href=\"/console/x\" title='a>b'>x &#60;b&#62;</a>",
    );
    for bad in [
        "<svg>",
        "<a onclick=\"x()\">",
        "<p style=\"x\">",
        "<a href=\"javascript:x\">",
        "<a href=\"https://x.example/\">",
        "<a href=\"/console//x.example\">",
        "<img src=\"data:x\">",
        "<p hx-on:click=\"x\">",
        "<form action=\"/admin/tenants\">",
        "<script>x</script>",
        "<a href=/console/>",
        "<",
    ] {
        let seen = std::panic::catch_unwind(|| is_tame("bad", bad));
        assert!(seen.is_err(), "{bad}");
    }
}
