use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Of an answer: of the gateway's own, or as it comes from behind.
pub type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// What of an unread body is still taken in, so that the answer arrives before the connection ends.
const LINGER_BYTES: usize = 256 << 10;
const LINGER: Duration = Duration::from_millis(500);

/// A request's body, until somebody takes it. What nobody has taken is still here after the answer.
#[derive(Clone)]
pub struct Slot(Arc<Mutex<Option<Incoming>>>);

impl Slot {
    pub fn new(body: Incoming) -> Self {
        Self(Arc::new(Mutex::new(Some(body).filter(|body| !body.is_end_stream()))))
    }

    pub fn take(&self) -> Option<Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A body that nobody reads would be taken for the next request: the connection ends with this answer.
pub async fn linger(mut body: Incoming) {
    let read = async {
        let mut left = LINGER_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, read).await;
}

pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub fn text(status: StatusCode, line: &str) -> Response<Body> {
    typed(status, "text/plain", format!("{line}\n"))
}

pub fn typed(status: StatusCode, content_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
