use super::ask::{Answer, Told};
use super::body::ResponseBody;
use super::fields;
use super::future::ResponseFuture;
use super::head::Head;
use super::layer::RateLimitLayer;
use crate::{Decision, Error, Reason, Result};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use std::error::Error as _;
use std::task::{Context, Poll};

/// The service of a [`RateLimitLayer`].
#[derive(Clone, Debug)]
pub struct RateLimit<S> {
    pub(super) inner: S,
    pub(super) layer: RateLimitLayer,
}

/// The status that a denial is answered with: 429, 403 or 503, as `docs/headers.md` says.
pub fn status_of(decision: &Decision) -> StatusCode {
    match decision.reason() {
        Reason::Blocked => StatusCode::FORBIDDEN,
        Reason::Store => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::TOO_MANY_REQUESTS,
    }
}

impl<S, B, R> tower_service::Service<Request<B>> for RateLimit<S>
where
    S: tower_service::Service<Request<B>, Response = Response<R>> + Clone,
    R: http_body::Body<Data = Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let head = Head::of(&request);
        if self.layer.hooks.skip.as_ref().is_some_and(|skip| skip(head)) {
            return ResponseFuture::passed(self.inner.call(request), Bytes::new());
        }
        match self.layer.ask(head) {
            Err(error) => ResponseFuture::own(self.layer.failure(head, &error)),
            Ok(Answer::Later { waiting, asked }) => {
                ResponseFuture::waiting(waiting, asked, request, self.take_ready(), self.layer.clone())
            }
            Ok(Answer::Now(told)) if !told.decision.allowed() => {
                ResponseFuture::own(self.layer.refusal(head, &told.decision, &told.lines))
            }
            Ok(Answer::Now(told)) => self.pass(told, request),
        }
    }
}

impl<S> RateLimit<S> {
    /// The service that `poll_ready` has made ready, to be called later. A clone stays, which is made ready anew.
    fn take_ready(&mut self) -> S
    where
        S: Clone,
    {
        let clone = self.inner.clone();
        std::mem::replace(&mut self.inner, clone)
    }

    fn pass<B>(&mut self, told: Told, mut request: Request<B>) -> ResponseFuture<S, B>
    where
        S: tower_service::Service<Request<B>> + Clone,
    {
        if let Some(asked) = told.asked {
            request.extensions_mut().insert(*asked);
        }
        match self.layer.delay(&told.decision) {
            Some(timer) => ResponseFuture::held_back(timer, told.lines, request, self.take_ready()),
            None => ResponseFuture::passed(self.inner.call(request), told.lines),
        }
    }
}

impl RateLimitLayer {
    pub(super) fn delay(&self, decision: &Decision) -> Option<super::layer::Timer> {
        let delay = decision.delay();
        (!delay.is_zero() && !self.hooks.ignore_delay).then(|| (self.hooks.sleep)(delay))
    }

    pub(super) fn refusal(&self, head: Head<'_>, decision: &Decision, lines: &Bytes) -> Response<Bytes> {
        let mut response = match &self.hooks.denied {
            Some(denied) => denied(head, decision),
            None => match self.limiter.problem(decision) {
                Ok(body) => answer(status_of(decision), "application/problem+json", body.into()),
                Err(error) => return self.failure(head, &error),
            },
        };
        fields::set(response.headers_mut(), lines);
        response
    }

    pub(super) fn failure(&self, head: Head<'_>, error: &Error) -> Response<Bytes> {
        if let Some(failed) = &self.hooks.failed {
            return failed(head, error);
        }
        let (status, text) = match error {
            // Without a cause it is not the clock's fault.
            Error::InvalidArgument(detail) if error.source().is_none() => {
                (StatusCode::BAD_REQUEST, format!("{}\n", detail.message()).into())
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, Bytes::from_static(b"the limits could not be checked\n")),
        };
        answer(status, "text/plain; charset=utf-8", text)
    }
}

fn answer(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
