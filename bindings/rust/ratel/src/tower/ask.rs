//! A request, put to the limiter.

use super::head::{Asked, Head, Peer};
use super::layer::RateLimitLayer;
use crate::future::Asked as Put;
use crate::future::Waiting;
use crate::request::{bytes_of, lend};
use crate::tell::Lines;
use crate::{Attribute, Decision, Request, Result};
use bytes::Bytes;
use http::header::{FORWARDED, HeaderName};
use std::borrow::Cow;
use std::io::Write;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Longer ids are none, in bytes.
const MAX_ID: usize = 255;

/// Room for the header fields of all but very long names.
const ROOM: usize = 1024;

/// What the limiter said.
pub(super) enum Answer {
    Now(Told),
    Later { waiting: Waiting, asked: Option<Box<Asked>> },
}

/// A decision, its header fields as lines, and what was asked, if that is kept.
pub(super) struct Told {
    pub decision: Decision,
    pub lines: Bytes,
    pub asked: Option<Box<Asked>>,
}

impl RateLimitLayer {
    pub(super) fn ask(&self, head: Head<'_>) -> Result<Answer> {
        let hooks = &*self.hooks;
        let user = hooks.user.as_ref().and_then(|user| user(head)).unwrap_or_default();
        let api_key = hooks.api_key.as_ref().and_then(|api_key| api_key(head)).unwrap_or_default();
        let path = hooks.path.as_ref().and_then(|path| path(head)).unwrap_or_else(|| path_of(head));
        let facts = hooks.attributes.as_ref().map(|attributes| attributes(head)).unwrap_or_default();
        let attributes: Vec<Attribute> = facts.iter().map(|(name, value)| Attribute::new(name, value)).collect();
        let cost = hooks.cost.as_ref().and_then(|cost| cost(head));
        let request = Request::new(head.method.as_str(), &path).user(&user).api_key(&api_key);
        let request = request.idempotency_id(self.idempotency_id(head));
        self.put(head, request.attributes(&attributes).cost(cost))
    }

    fn put(&self, head: Head<'_>, request: Request<'_>) -> Result<Answer> {
        let mut peer = [0; 48];
        let peer = write_address(self.peer_of(head), &mut peer);
        let lines = |name| Lines::of(head.headers.get_all(name).iter().map(|value| value.as_bytes()));
        let (x_forwarded_for, forwarded) = (lines(X_FORWARDED_FOR), lines(FORWARDED));
        if self.limiter.waits() || self.hooks.keep_decision {
            let ip = self.limiter.client_ip_raw(lend(peer), &x_forwarded_for, &forwarded)?;
            return self.put_later(request.ip(&ip));
        }
        let mut room = [MaybeUninit::<u8>::uninit(); ROOM];
        let (decision, needed) = self.limiter.allow_http_raw(
            &request,
            lend(peer),
            (&x_forwarded_for, &forwarded),
            self.hooks.fields,
            &mut room,
        )?;
        let lines = match room.get(..needed) {
            // SAFETY: the engine has written so many bytes.
            Some(text) => Bytes::copy_from_slice(unsafe { &*(text as *const [_] as *const [u8]) }),
            None => self.lines(&decision)?,
        };
        Ok(Answer::Now(Told { decision, lines, asked: None }))
    }

    /// By single calls, where the address has to be known here or the storage may take its time.
    fn put_later(&self, request: Request<'_>) -> Result<Answer> {
        let keep = |decision| self.hooks.keep_decision.then(|| Box::new(self.asked(&request, decision)));
        match self.limiter.ask(&request)? {
            Put::Answered(decision) => {
                let (lines, asked) = (self.lines(&decision)?, keep(decision));
                Ok(Answer::Now(Told { decision, lines, asked }))
            }
            Put::Waiting(waiting) => Ok(Answer::Later { waiting, asked: keep(Decision::EMPTY) }),
        }
    }

    pub(super) fn lines(&self, decision: &Decision) -> Result<Bytes> {
        let mut out = Vec::new();
        self.limiter.headers_into(decision, self.hooks.fields, &mut out)?;
        Ok(out.into())
    }

    fn asked(&self, request: &Request<'_>, decision: Decision) -> Asked {
        let raw = &request.raw;
        // SAFETY: borrowed by `request`.
        let copy = |text| unsafe { bytes_of(text) }.into();
        Asked {
            limiter: self.limiter.clone(),
            strings: [raw.method, raw.path, raw.user, raw.api_key, raw.ip].map(copy),
            attributes: request.attribute_list().map(|(name, value)| (name.into(), value.into())).collect(),
            cost: request.stated_cost(),
            decision,
        }
    }

    /// The id that a request tells; empty when it tells none.
    fn idempotency_id<'a>(&self, head: Head<'a>) -> &'a [u8] {
        let Some(name) = &self.hooks.idempotency_header else { return b"" };
        let mut lines = head.headers.get_all(name).iter().map(|line| line.as_bytes());
        match (lines.next(), lines.next()) {
            (Some(id), None) if id.len() <= MAX_ID && id.iter().all(|byte| matches!(byte, b' '..=b'~')) => id,
            _ => b"",
        }
    }

    fn peer_of(&self, head: Head<'_>) -> Option<IpAddr> {
        if let Some(peer) = &self.hooks.peer {
            return peer(head);
        }
        head.extensions.get::<Peer>().map(|peer| peer.0).or_else(|| connect_info(head))
    }
}

#[cfg(feature = "axum")]
fn connect_info(head: Head<'_>) -> Option<IpAddr> {
    let info = head.extensions.get::<axum::extract::ConnectInfo<std::net::SocketAddr>>();
    info.map(|info| info.0.ip())
}

#[cfg(not(feature = "axum"))]
fn connect_info(_: Head<'_>) -> Option<IpAddr> {
    None
}

/// The target as the engine takes it: it cuts what is no path.
fn path_of(head: Head<'_>) -> Cow<'_, [u8]> {
    #[cfg(feature = "axum")]
    let uri = head.extensions.get::<axum::extract::OriginalUri>().map_or(head.uri, |original| &original.0);
    #[cfg(not(feature = "axum"))]
    let uri = head.uri;
    Cow::Borrowed(uri.path_and_query().map_or(uri.path(), |path| path.as_str()).as_bytes())
}

fn write_address(address: Option<IpAddr>, room: &mut [u8; 48]) -> &[u8] {
    let size = match address {
        None => 0,
        Some(IpAddr::V4(address)) => write_v4(address, room),
        Some(IpAddr::V6(address)) => {
            let mut rest = &mut room[..];
            let _ = write!(rest, "{address}"); // 45 bytes at most
            let left = rest.len();
            room.len() - left
        }
    };
    &room[..size]
}

/// What formatting would write, many times as fast.
fn write_v4(address: Ipv4Addr, room: &mut [u8; 48]) -> usize {
    let mut size = 0;
    let mut put = |byte| {
        room[size] = byte;
        size += 1;
    };
    for (i, octet) in address.octets().into_iter().enumerate() {
        if i > 0 {
            put(b'.');
        }
        if octet >= 100 {
            put(b'0' + octet / 100);
        }
        if octet >= 10 {
            put(b'0' + octet / 10 % 10);
        }
        put(b'0' + octet % 10);
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for text in ["0.0.0.0", "1.2.3.4", "9.10.99.100", "192.0.2.255", "255.255.255.255", "::1", "2001:db8::1"] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(write_address(Some(address), &mut [0; 48]), text.as_bytes());
        }
        assert_eq!(write_address(None, &mut [0; 48]), b"");
    }
}
