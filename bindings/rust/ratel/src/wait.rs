use crate::decision::{Decision, Reason};
use crate::error::{Error, Result};
use crate::limiter::Limiter;
use crate::request::Request;
use std::future::Future;
use std::time::{Duration, Instant};

impl Limiter {
    /// Asks until the request is admitted, with this thread asleep for what each denial tells, and then holds it back
    /// for its delay.
    ///
    /// A wait that would end after `timeout` is [`TooLong`](Error::TooLong) at once, and nothing is spent. A denial
    /// that waiting does not cure is [`Denied`](Error::Denied).
    pub fn wait(&self, request: &Request<'_>, timeout: Option<Duration>) -> Result<Decision> {
        let deadline = Deadline::new(request, timeout)?;
        loop {
            let decision = self.allow(request)?;
            match deadline.next(decision) {
                Next::Go => return Ok(decision),
                Next::Again(wait) => std::thread::sleep(wait),
                Next::HoldBack(delay) => {
                    std::thread::sleep(delay);
                    return Ok(decision);
                }
                Next::Fail(error) => return Err(self.give_back(request, &decision, error)),
            }
        }
    }

    /// The same with no thread asleep: `sleep` is the executor's, such as `tokio::time::sleep`. Dropped while it holds
    /// back what was admitted, the units stay spent.
    pub async fn wait_async<F: Future>(
        &self,
        request: &Request<'_>,
        timeout: Option<Duration>,
        sleep: impl Fn(Duration) -> F,
    ) -> Result<Decision> {
        let deadline = Deadline::new(request, timeout)?;
        loop {
            let decision = self.allow_async(request).await?;
            match deadline.next(decision) {
                Next::Go => return Ok(decision),
                Next::Again(wait) => drop(sleep(wait).await),
                Next::HoldBack(delay) => {
                    sleep(delay).await;
                    return Ok(decision);
                }
                Next::Fail(error) => return Err(self.give_back(request, &decision, error)),
            }
        }
    }

    /// What was admitted and yet will not be done is not spent.
    fn give_back(&self, request: &Request<'_>, decision: &Decision, error: Error) -> Error {
        if decision.allowed() {
            let _ = self.settle(request, decision, 0);
        }
        error
    }
}

struct Deadline(Option<Instant>);

enum Next {
    Go,
    Again(Duration),
    HoldBack(Duration),
    Fail(Error),
}

impl Deadline {
    fn new(request: &Request<'_>, timeout: Option<Duration>) -> Result<Self> {
        if request.raw.now_ns != 0 {
            return Err(Error::invalid("wait: the request states its instant, which waiting does not change"));
        }
        Ok(Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout))))
    }

    fn next(&self, decision: Decision) -> Next {
        let wait = match decision.retry_after() {
            Some(_) if decision.allowed() => decision.delay(),
            Some(wait) if decision.reason() == Reason::Limited => wait,
            _ => return Next::Fail(Error::Denied(decision)),
        };
        if wait.is_zero() {
            return if decision.allowed() { Next::Go } else { Next::Again(wait) };
        }
        match self.0 {
            Some(deadline) if deadline.saturating_duration_since(Instant::now()) < wait => {
                Next::Fail(Error::TooLong(decision))
            }
            _ if decision.allowed() => Next::HoldBack(wait),
            _ => Next::Again(wait),
        }
    }
}
