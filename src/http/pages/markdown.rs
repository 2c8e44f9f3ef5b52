//! The project's documents as HTML: headings have anchors, links lead to pages, wide tables scroll by themselves.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A document rendered for a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    /// The body.
    pub html: String,
    /// Its sections, in order.
    pub sections: Vec<Section>,
}

/// A heading with the text below it, up to the next heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The address within the page.
    pub anchor: String,
    /// The words of the heading.
    pub heading: String,
    /// Whether it is one of the main sections, which the page lists.
    pub is_main: bool,
    /// The text below it, without marks.
    pub text: String,
}

/// Renders a document.
pub(super) fn render(text: &str) -> Rendered {
    let mut writer = Writer::default();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        writer.take(event);
    }
    let mut body = String::with_capacity(text.len() * 2);
    html::push_html(&mut body, writer.events.into_iter());
    // This way code that is wider than the page can be scrolled with the keyboard, too.
    let body = body.replace("<pre>", r#"<pre tabindex="0">"#);
    Rendered {
        html: body,
        sections: writer.sections,
    }
}

/// The events of a document on their way to HTML, and the sections found so far.
#[derive(Default)]
struct Writer<'a> {
    events: Vec<Event<'a>>,
    sections: Vec<Section>,
    /// The place in `events` where the current heading began.
    heading: Option<usize>,
}

impl<'a> Writer<'a> {
    fn take(&mut self, event: Event<'a>) {
        self.collect(&event);
        match event {
            Event::Start(Tag::Heading { .. }) => {
                self.heading = Some(self.events.len());
                self.events.push(event);
            }
            Event::End(TagEnd::Heading(level)) => {
                self.head(level == pulldown_cmark::HeadingLevel::H2);
                self.events.push(event);
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => self.events.push(Event::Start(Tag::Link {
                link_type,
                dest_url: page(dest_url),
                title,
                id,
            })),
            Event::Start(Tag::Table(_)) => {
                let scrolls = Event::Html(r#"<div class="wide" tabindex="0">"#.into());
                self.events.extend([scrolls, event]);
            }
            Event::End(TagEnd::Table) => {
                self.events.extend([event, Event::Html("</div>".into())]);
            }
            other => self.events.push(other),
        }
    }

    /// Adds what an event says to the text of its section.
    fn collect(&mut self, event: &Event<'a>) {
        let Some(section) = self.sections.last_mut().filter(|_| self.heading.is_none()) else {
            return;
        };
        section.text.push_str(match event {
            Event::Text(text) | Event::Code(text) => text,
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::Item | TagEnd::TableCell,
            ) => " ",
            _ => "",
        });
    }

    /// Ends a heading: it gets its anchor, and begins a section.
    fn head(&mut self, is_main: bool) {
        let start = self.heading.take().map_or(self.events.len(), |start| start);
        let words: String = self.events.iter().skip(start).filter_map(word).collect();
        let anchor = slug(&words);
        if let Some(Event::Start(Tag::Heading { id, .. })) = self.events.get_mut(start) {
            *id = Some(anchor.clone().into());
        }
        self.sections.push(Section {
            anchor,
            heading: words,
            is_main,
            text: String::new(),
        });
    }
}

fn word<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// The anchor of a heading, as the hosts of repositories make it.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let heading = heading.trim().to_lowercase();
    heading
        .chars()
        .filter(kept)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Turns a link to another document into one to its page. The README of a folder is the page of that name.
fn page(link: CowStr<'_>) -> CowStr<'_> {
    let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
    let name = path
        .strip_suffix("/README.md")
        .or_else(|| path.strip_suffix(".md"));
    let beside = |name: &&str| !name.strip_prefix("/docs/").unwrap_or(name).contains('/');
    match name.filter(beside) {
        Some(name) if anchor.is_empty() => name.to_owned().into(),
        Some(name) => format!("{name}#{anchor}").into(),
        None => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_links_and_tables_become_those_of_a_page() {
        let text = "# A `b`\n\nOne *two*\nthree.\n\n## What: the rest!\n\n[x](events.md#the-feed) \
                    [y](https://a.example/b.md) [z](python/README.md) [home](/docs/guide.md)\n\n\
                    | a | b |\n| --- | --- |\n| 1 | <2> |\n\n```sh\necho 1 > x\n```\n";
        let made = render(text);
        let sections = made.sections.iter();
        let sections = sections.map(|it| (&*it.anchor, &*it.heading, it.is_main, it.text.trim()));
        assert_eq!(
            sections.collect::<Vec<_>>(),
            [
                ("a-b", "A b", false, "One two three."),
                (
                    "what-the-rest",
                    "What: the rest!",
                    true,
                    "x y z home a b 1 <2> echo 1 > x"
                )
            ]
        );
        for part in [
            r#"<h1 id="a-b">A <code>b</code></h1>"#,
            r#"<h2 id="what-the-rest">"#,
            r#"href="events#the-feed""#,
            r#"href="https://a.example/b.md""#,
            r#"href="python""#,
            r#"href="/docs/guide""#,
            r#"<div class="wide" tabindex="0"><table>"#,
            r#"<pre tabindex="0"><code class="language-sh">echo 1 &gt; x"#,
        ] {
            assert!(made.html.contains(part), "{part}: {}", made.html);
        }
    }
}
