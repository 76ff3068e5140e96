use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Puts the engine's lines "Name: value\r\n" into a header, in place of fields of the same name. Values share the
/// memory of `lines`.
pub(super) fn set(headers: &mut HeaderMap, lines: &Bytes) {
    let mut start = 0;
    while let Some(colon) = find(b':', lines, start) {
        let Some(end) = find(b'\r', lines, colon) else { return };
        let value = HeaderValue::from_maybe_shared(lines.slice((colon + 2).min(end)..end));
        if let (Some(name), Ok(value)) = (name(&lines[start..colon]), value) {
            headers.insert(name, value);
        }
        start = end + 2;
    }
}

fn find(byte: u8, lines: &[u8], from: usize) -> Option<usize> {
    lines.get(from..)?.iter().position(|&one| one == byte).map(|at| from + at)
}

fn name(bytes: &[u8]) -> Option<HeaderName> {
    Some(match bytes {
        b"X-RateLimit-Limit" => X_LIMIT,
        b"X-RateLimit-Remaining" => X_REMAINING,
        b"X-RateLimit-Reset" => X_RESET,
        b"Retry-After" => http::header::RETRY_AFTER,
        b"RateLimit-Policy" => POLICY,
        b"RateLimit" => RATELIMIT,
        b"RateLimit-Limit" => LIMIT,
        b"RateLimit-Remaining" => REMAINING,
        b"RateLimit-Reset" => RESET,
        other => HeaderName::from_bytes(other).ok()?,
    })
}
