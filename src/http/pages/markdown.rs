//! The project's documents as HTML: headings have anchors, links lead to pages, wide tables scroll by themselves.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A document rendered for a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    /// The body.
    pub html: String,
    /// Its sections: anchor and heading, in order.
    pub sections: Vec<(String, String)>,
}

/// Renders a document.
pub(super) fn render(text: &str) -> Rendered {
    let mut sections = Vec::new();
    let mut events: Vec<Event<'_>> = Vec::new();
    // The place in `events` where the current heading began.
    let mut heading = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(events.len());
                events.push(event);
            }
            Event::End(TagEnd::Heading(level)) => {
                let words: String = events
                    .iter()
                    .skip(heading.take().map_or(events.len(), |start| start + 1))
                    .filter_map(word)
                    .collect();
                let anchor = slug(&words);
                let opened = events.iter_mut().rev().find_map(|event| match event {
                    Event::Start(Tag::Heading { id, .. }) => Some(id),
                    _ => None,
                });
                if let Some(id) = opened {
                    *id = Some(anchor.clone().into());
                }
                if level == pulldown_cmark::HeadingLevel::H2 {
                    sections.push((anchor, words));
                }
                events.push(event);
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => events.push(Event::Start(Tag::Link {
                link_type,
                dest_url: page(dest_url),
                title,
                id,
            })),
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html(r#"<div class="wide" tabindex="0">"#.into()));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html("</div>".into()));
            }
            other => events.push(other),
        }
    }
    let mut body = String::with_capacity(text.len() * 2);
    html::push_html(&mut body, events.into_iter());
    // This way code that is wider than the page can be scrolled with the keyboard, too.
    let body = body.replace("<pre>", r#"<pre tabindex="0">"#);
    Rendered {
        html: body,
        sections,
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

/// Turns a link to another document into one to its page.
fn page(link: CowStr<'_>) -> CowStr<'_> {
    let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
    match path.strip_suffix(".md") {
        Some(name) if !path.contains('/') && anchor.is_empty() => name.to_owned().into(),
        Some(name) if !path.contains('/') => format!("{name}#{anchor}").into(),
        _ => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_links_and_tables_become_those_of_a_page() {
        let text = "# A `b`\n\n## What: the rest!\n\n[x](events.md#the-feed) [y](https://a.example/b.md)\n\n\
                    | a | b |\n| --- | --- |\n| 1 | <2> |\n\n```sh\necho 1 > x\n```\n";
        let made = render(text);
        assert_eq!(
            made.sections,
            [("what-the-rest".to_owned(), "What: the rest!".to_owned())]
        );
        for part in [
            r#"<h1 id="a-b">A <code>b</code></h1>"#,
            r#"<h2 id="what-the-rest">"#,
            r#"href="events#the-feed""#,
            r#"href="https://a.example/b.md""#,
            r#"<div class="wide" tabindex="0"><table>"#,
            r#"<pre tabindex="0"><code class="language-sh">echo 1 &gt; x"#,
        ] {
            assert!(made.html.contains(part), "{part}: {}", made.html);
        }
    }
}
