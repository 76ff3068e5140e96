use super::body::ResponseBody;
use super::fields;
use super::head::{Asked, Head};
use super::layer::{RateLimitLayer, Timer};
use crate::future::Waiting;
use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// The future of a [`RateLimit`](super::RateLimit). Dropped, nothing more happens; what was spent stays spent.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S: Service<Request<B>>, B> {
        #[pin]
        state: State<S, B>,
    }
}

pin_project! {
    #[project = Projection]
    enum State<S: Service<Request<B>>, B> {
        /// The service behind is at work.
        Passed { #[pin] future: S::Future, lines: Bytes },
        /// An answer of the layer's own.
        Own { response: Option<Response<Bytes>> },
        /// A storage is at work.
        Waiting { waiting: Waiting, asked: Option<Box<Asked>>, held: Option<Box<Held<S, B>>>, layer: RateLimitLayer },
        /// Admitted, and held back.
        HeldBack { timer: Timer, lines: Bytes, held: Option<Box<Held<S, B>>> },
    }
}

/// A request, and the service that is ready for it.
struct Held<S, B> {
    request: Request<B>,
    service: S,
}

impl<S: Service<Request<B>>, B> ResponseFuture<S, B> {
    pub(super) fn passed(future: S::Future, lines: Bytes) -> Self {
        Self { state: State::Passed { future, lines } }
    }

    pub(super) fn own(response: Response<Bytes>) -> Self {
        Self { state: State::Own { response: Some(response) } }
    }

    pub(super) fn waiting(
        waiting: Waiting,
        asked: Option<Box<Asked>>,
        request: Request<B>,
        service: S,
        layer: RateLimitLayer,
    ) -> Self {
        Self { state: State::Waiting { waiting, asked, held: Some(Box::new(Held { request, service })), layer } }
    }

    pub(super) fn held_back(timer: Timer, lines: Bytes, request: Request<B>, service: S) -> Self {
        Self { state: State::HeldBack { timer, lines, held: Some(Box::new(Held { request, service })) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                Projection::Passed { future, lines } => {
                    let mut response = ready!(future.poll(context))?.map(ResponseBody::passed);
                    fields::set(response.headers_mut(), lines);
                    return Poll::Ready(Ok(response));
                }
                Projection::Own { response } => {
                    let response = response.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(response.map(ResponseBody::own)));
                }
                Projection::HeldBack { timer, lines, held } => {
                    ready!(timer.as_mut().poll(context));
                    let Held { request, mut service } = *held.take().expect("taken once");
                    State::Passed { future: service.call(request), lines: std::mem::take(lines) }
                }
                Projection::Waiting { waiting, asked, held, layer } => {
                    let answer = ready!(waiting.poll(context));
                    let held = held.take().expect("taken once");
                    let told = answer.and_then(|decision| Ok((decision, layer.lines(&decision)?)));
                    match told {
                        Err(error) => State::Own { response: Some(layer.failure(Head::of(&held.request), &error)) },
                        Ok((decision, lines)) if !decision.allowed() => {
                            let response = layer.refusal(Head::of(&held.request), &decision, &lines);
                            State::Own { response: Some(response) }
                        }
                        Ok((decision, lines)) => {
                            let Held { mut request, mut service } = *held;
                            if let Some(mut asked) = asked.take() {
                                asked.decision = decision;
                                request.extensions_mut().insert(*asked);
                            }
                            match layer.delay(&decision) {
                                Some(timer) => {
                                    State::HeldBack { timer, lines, held: Some(Box::new(Held { request, service })) }
                                }
                                None => State::Passed { future: service.call(request), lines },
                            }
                        }
                    }
                }
            };
            state.set(next);
        }
    }
}

impl<S: Service<Request<B>>, B> std::fmt::Debug for ResponseFuture<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
