//! Objects in a list of a body, counted before anything is parsed.

/// How many objects a list in the body has: the items of a batch, counted in one pass and without parsing them. Of a
/// body that is no JSON it is some figure.
pub fn count(body: &[u8]) -> usize {
    let (mut depth, mut objects) = (0_usize, 0_usize);
    let (mut in_text, mut escaped) = (false, false);
    for byte in body {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        in_text = *byte == b'"';
        if matches!(byte, b'{' | b'[') {
            objects += usize::from(depth == 2 && *byte == b'{');
            depth += 1;
        } else if matches!(byte, b'}' | b']') {
            let Some(outer) = depth.checked_sub(1) else {
                return objects;
            };
            depth = outer;
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_without_parsing_them() {
        for (body, counted) in [
            (r#"{"items":[]}"#, 0),
            (r#"{"items":[{"a":1},{"a":2}]}"#, 2),
            (
                r#"{"mode":"atomic","items":[ {"a":"}]{\"[{"} ,{"a":{"b":[{}]}}, {}]}"#,
                3,
            ),
            (r#"{"items":[{"a":"\\"},{"a":"\\\""}]}"#, 2),
            ("]]}[{[{", 0),
            ("{\"items\":[{\"a", 1),
            ("", 0),
        ] {
            assert_eq!(count(body.as_bytes()), counted, "{body}");
        }
    }
}
