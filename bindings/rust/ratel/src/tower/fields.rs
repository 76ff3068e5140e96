use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// What the engine's lines begin with. Looked for by themselves, names need not be searched for their ends.
static NAMES: [(&[u8], HeaderName); 9] = [
    (b"X-RateLimit-Limit: ", HeaderName::from_static("x-ratelimit-limit")),
    (b"X-RateLimit-Remaining: ", HeaderName::from_static("x-ratelimit-remaining")),
    (b"X-RateLimit-Reset: ", HeaderName::from_static("x-ratelimit-reset")),
    (b"Retry-After: ", http::header::RETRY_AFTER),
    (b"RateLimit-Policy: ", HeaderName::from_static("ratelimit-policy")),
    (b"RateLimit: ", HeaderName::from_static("ratelimit")),
    (b"RateLimit-Limit: ", HeaderName::from_static("ratelimit-limit")),
    (b"RateLimit-Remaining: ", HeaderName::from_static("ratelimit-remaining")),
    (b"RateLimit-Reset: ", HeaderName::from_static("ratelimit-reset")),
];

/// Puts the engine's lines "Name: value\r\n" into a header, in place of fields of the same name. Values share the
/// memory of `lines`.
pub(super) fn set(headers: &mut HeaderMap, lines: &Bytes) {
    let mut start = 0;
    while let Some((name, value)) = name_of(&lines[start..]) {
        let value = start + value;
        let Some(end) = find(b'\r', lines, value) else { return };
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_maybe_shared(lines.slice(value..end))) {
            headers.insert(name, value);
        }
        start = (end + 2).min(lines.len());
    }
}

/// The name that a line begins with, if it is one, and where its value begins; nothing when there is no line.
fn name_of(line: &[u8]) -> Option<(Option<HeaderName>, usize)> {
    for (known, name) in &NAMES {
        if line.starts_with(known) {
            return Some((Some(name.clone()), known.len()));
        }
    }
    let colon = find(b':', line, 0)?;
    Some((HeaderName::from_bytes(&line[..colon]).ok(), (colon + 2).min(line.len())))
}

fn find(byte: u8, lines: &[u8], from: usize) -> Option<usize> {
    lines.get(from..)?.iter().position(|&one| one == byte).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit", HeaderValue::from_static("of the handler"));
        let text =
            "X-RateLimit-Limit: 3\r\nRateLimit: \"a\";r=2;t=60\r\nX-New: b: c\r\nBad name: x\r\nRetry-After: 7\r\n";
        set(&mut headers, &Bytes::from_static(text.as_bytes()));
        let of = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
        assert_eq!(of("x-ratelimit-limit"), Some("3"));
        assert_eq!(of("ratelimit"), Some("\"a\";r=2;t=60"));
        assert_eq!(of("x-new"), Some("b: c"));
        assert_eq!(of("retry-after"), Some("7"));
        assert_eq!(headers.len(), 4);
        for broken in ["", "X", "X:", "X-RateLimit-Limit: 3", "X-RateLimit-Limit: ", "\r\n", "Retry-After: 8\r"] {
            let before = headers.len();
            set(&mut headers, &Bytes::from_static(broken.as_bytes()));
            assert_eq!(headers.len(), before, "{broken}");
        }
    }
}
