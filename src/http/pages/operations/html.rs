//! Parts of the document as parts of HTML.

use std::borrow::Cow;

use serde_json::Value;

/// The mark of a field or parameter that has to be there.
pub(super) const fn required(required: bool) -> &'static str {
    if required { " <em>required</em>" } else { "" }
}

/// A field of an object that is a text; empty if it is not there.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    let text = object.get(name).and_then(Value::as_str);
    text.map_or("", |text| text)
}

/// The entries of an object.
pub(super) fn entries(object: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    let object = object.and_then(Value::as_object).into_iter().flatten();
    object.map(|(name, value)| (name.as_str(), value))
}

/// An address within the page.
pub(super) fn anchor(words: &str) -> String {
    let kept = |c: char| match c {
        '_' => c,
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    words.chars().map(kept).collect()
}

/// A text as it may stand in HTML.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    Cow::Owned(text.replace('>', "&gt;").replace('"', "&quot;"))
}
