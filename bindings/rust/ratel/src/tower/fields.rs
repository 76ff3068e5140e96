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
    let mut from = 0;
    while let Some(length) = lines[from..].windows(2).position(|two| two == b"\r\n") {
        let line = &lines[from..from + length];
        if let Some(colon) = line.windows(2).position(|two| two == b": ") {
            let value = lines.slice(from + colon + 2..from + length);
            if let (Some(name), Ok(value)) = (name(&line[..colon]), HeaderValue::from_maybe_shared(value)) {
                headers.insert(name, value);
            }
        }
        from += length + 2;
    }
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
