use crate::{Attribute, Decision, Limiter, Request, Result};
use http::{Extensions, HeaderMap, Method, Uri, Version};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

/// What a hook sees of a request: all but its body.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub uri: &'a Uri,
    /// HTTP/1.1, HTTP/2, ...
    pub version: Version,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// What other layers have left.
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    pub(super) fn of<B>(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The first field of a name, as a hook returns it.
    pub fn field(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        self.headers.get(name).map(|value| Cow::Borrowed(value.as_bytes()))
    }
}

/// An extension of a request: the address of the connection it came by. Whoever accepts connections inserts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self(address.ip())
    }
}

type Text = Box<[u8]>;

/// An extension of a request that came through a layer with [`keep_decision`](super::RateLimitLayer::keep_decision):
/// what was asked, and the answer.
#[derive(Clone, Debug)]
pub struct Asked {
    pub(super) limiter: Limiter,
    pub(super) strings: [Text; 5],
    pub(super) attributes: Vec<(Text, Text)>,
    pub(super) cost: Option<i64>,
    pub(super) decision: Decision,
}

impl Asked {
    /// The answer.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// As [`Limiter::settle`]: `actual` units in place of those that were spent.
    pub fn settle(&self, actual: i64) -> Result<Decision> {
        let [method, path, user, api_key, ip] = &self.strings;
        let attributes: Vec<_> = self.attributes.iter().map(|(name, value)| Attribute::new(name, value)).collect();
        let request = Request::new(method, path).user(user).api_key(api_key).ip(ip).attributes(&attributes);
        self.limiter.settle(&request.cost(self.cost), &self.decision, actual)
    }
}
