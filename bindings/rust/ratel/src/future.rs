use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::limiter::{Limiter, asked};
use crate::request::Request;
use crate::trouble;
use ratel_sys as sys;
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

impl Limiter {
    /// [`allow`](Limiter::allow) without holding a thread while a storage works. Asks when it is first polled, and
    /// works with any executor. Dropped before, nothing is asked; dropped later, the decision is made all the same, and
    /// may spend.
    ///
    /// With the embedded store it is ready at once, and costs what `allow` does.
    pub fn allow_async<'a>(&'a self, request: &Request<'a>) -> AllowAsync<'a> {
        AllowAsync { limiter: self, state: State::New(*request) }
    }

    /// Asks now. The request's bytes are not needed afterwards.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Asked> {
        if !self.waits() {
            return self.allow(request).map(Asked::Answered);
        }
        let waiting = Waiting::default();
        let ticket = Box::into_raw(Box::new(Ticket { waiting: waiting.clone(), limiter: self.clone() }));
        // SAFETY: on RL_OK the callback takes the ticket, exactly once; else it is taken back here.
        let begun =
            asked(|err| unsafe { sys::rl_allow_async(self.raw(), &request.raw, Some(told), ticket.cast(), err) });
        if let Err(error) = begun {
            // SAFETY: the callback never runs.
            drop(unsafe { Box::from_raw(ticket) });
            return Err(request.blame(error));
        }
        Ok(Asked::Waiting(waiting))
    }
}

/// A question that was put.
pub(crate) enum Asked {
    Answered(Decision),
    Waiting(Waiting),
}

/// The place where the answer will be.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<Place>>);

#[derive(Default)]
struct Place {
    answer: Option<Decision>,
    waker: Option<Waker>,
}

impl Waiting {
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Decision>> {
        let waker = context.waker().clone();
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match place.answer {
            Some(answer) => return Poll::Ready(answer.answered().map(|()| answer)),
            None => place.waker.replace(waker),
        };
        drop(place);
        drop(old);
        Poll::Pending
    }

    fn answer(&self, decision: Decision) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.answer = Some(decision);
        let waker = place.waker.take();
        drop(place);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What the engine holds for a question. The limiter in it keeps the registry until its last question is answered.
struct Ticket {
    waiting: Waiting,
    limiter: Limiter,
}

unsafe extern "C" fn told(user: *mut c_void, decision: *const sys::rl_decision) {
    // SAFETY: called exactly once, with the ticket and a decision that is lent for the call.
    let (ticket, decision) = unsafe { (Box::from_raw(user.cast::<Ticket>()), Decision(*decision)) };
    // An executor's waker may panic; nobody is left to hear of it.
    let _ = trouble::contain("a waker", move || {
        let Ticket { waiting, limiter } = *ticket;
        waiting.answer(decision);
        drop(waiting);
        drop(limiter);
    });
}

/// The future of [`Limiter::allow_async`].
#[must_use = "nothing is asked until it is polled"]
pub struct AllowAsync<'a> {
    limiter: &'a Limiter,
    state: State<'a>,
}

enum State<'a> {
    New(Request<'a>),
    Waiting(Waiting),
    Done,
}

impl Future for AllowAsync<'_> {
    type Output = Result<Decision>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Decision>> {
        if let State::New(request) = self.state {
            self.state = State::Done;
            match self.limiter.ask(&request) {
                Ok(Asked::Answered(decision)) => return Poll::Ready(Ok(decision)),
                Ok(Asked::Waiting(waiting)) => self.state = State::Waiting(waiting),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let State::Waiting(waiting) = &self.state else {
            return Poll::Ready(Err(Error::of_status(sys::RL_E_STATE))); // polled after it was ready
        };
        let answer = waiting.poll(context);
        if answer.is_ready() {
            self.state = State::Done;
        }
        answer
    }
}

impl std::fmt::Debug for AllowAsync<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AllowAsync").finish_non_exhaustive()
    }
}
