use crate::decision::Decision;
use crate::error::Result;
use crate::limiter::{Limiter, asked};
use crate::request::Request;
use ratel_sys as sys;
use std::ptr::NonNull;
use std::time::Duration;

/// Answers to collect, many at a time, for programs without an executor. Any threads.
///
/// ```
/// use ratel::{CompletionQueue, Limiter, Request, Rules};
///
/// # let limiter = Limiter::new(Rules::text("{version: 1, default: {name: d, action: unlimited}}", "r"))?;
/// let queue = CompletionQueue::new(1000)?;
/// limiter.allow_queued(&Request::new("POST", "/orders").user("alice"), &queue, 7)?;
/// let mut answers = Vec::new();
/// queue.drain(&mut answers, 64, None)?;
/// assert_eq!(answers[0].tag, 7);
/// assert!(answers[0].decision.allowed());
/// # Ok::<(), ratel::Error>(())
/// ```
pub struct CompletionQueue {
    raw: NonNull<sys::rl_completion_queue>,
}

// SAFETY: rl.h lets any threads use a queue at once; rl_completion_queue_destroy is the last call, as Drop sees to.
unsafe impl Send for CompletionQueue {}
// SAFETY: likewise.
unsafe impl Sync for CompletionQueue {}

/// An answer from a [`CompletionQueue`].
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// What the question was given.
    pub tag: u64,
    /// [`answered`](Decision::answered) says whether it is one.
    pub decision: Decision,
}

impl CompletionQueue {
    /// `capacity` is how many questions may be asked and not drained at once; 0 is no bound.
    pub fn new(capacity: u32) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: pointers to what lives for the call; so in all of these.
        asked(|err| unsafe { sys::rl_completion_queue_create(capacity, None, std::ptr::null_mut(), &mut raw, err) })?;
        Ok(Self { raw: NonNull::new(raw).expect("RL_OK gives a queue") })
    }

    /// Takes up to `most` answers into `answers`, which is emptied before. Waits for the first until `timeout` is over
    /// (`None`: without end). [`Error::Cancelled`](crate::Error::Cancelled): the queue is shut down and every answer has been taken.
    pub fn drain(&self, answers: &mut Vec<Answer>, most: u32, timeout: Option<Duration>) -> Result<()> {
        answers.clear();
        let milliseconds = timeout.map_or(sys::RL_WAIT_FOREVER, milliseconds);
        let mut tags = vec![0; most as usize];
        let mut decisions = vec![Decision::EMPTY; most as usize];
        let mut count = 0;
        let (to, out) = (tags.as_mut_ptr(), decisions.as_mut_ptr().cast());
        // SAFETY: both are `most` long.
        asked(|err| unsafe {
            sys::rl_completion_queue_drain(self.raw.as_ptr(), to, out, most, milliseconds, &mut count, err)
        })?;
        let taken = tags.into_iter().zip(decisions).take(count as usize);
        answers.extend(taken.map(|(tag, decision)| Answer { tag, decision }));
        Ok(())
    }

    /// No more questions. What was asked still comes.
    pub fn shutdown(&self) {
        // SAFETY: a live queue.
        unsafe { sys::rl_completion_queue_shutdown(self.raw.as_ptr()) };
    }
}

impl Drop for CompletionQueue {
    /// Answers that were not drained, and those on their way, are dropped with it.
    fn drop(&mut self) {
        // SAFETY: nobody else holds it.
        unsafe { sys::rl_completion_queue_destroy(self.raw.as_ptr()) }
    }
}

impl std::fmt::Debug for CompletionQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionQueue").finish_non_exhaustive()
    }
}

impl Limiter {
    /// [`allow`](Limiter::allow) with the answer in a queue: after `Ok` it is drained exactly once, with `tag`. A limiter
    /// that ends before answers what is still open by [`Error::Cancelled`](crate::Error::Cancelled). [`Error::State`](crate::Error::State): the queue is full.
    pub fn allow_queued(&self, request: &Request<'_>, queue: &CompletionQueue, tag: u64) -> Result<()> {
        // SAFETY: the request's bytes are lent for the call, and the queue lives longer than it.
        asked(|err| unsafe { sys::rl_allow_queued(self.raw(), &request.raw, queue.raw.as_ptr(), tag, err) })
    }
}

/// Rounded up: a wait is never shorter than it was asked for.
fn milliseconds(timeout: Duration) -> u32 {
    let whole = timeout.as_nanos().div_ceil(1_000_000);
    u32::try_from(whole).unwrap_or(sys::RL_WAIT_FOREVER)
}
