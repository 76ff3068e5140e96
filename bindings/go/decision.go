package ratel

// #include <ratel/rl.h>
import "C"

import (
	"math"
	"time"
)

// Source tells how an answer was reached.
type Source uint8

// The sources.
const (
	SourceExact         Source = C.RL_SOURCE_EXACT          // decided on the store's state
	SourceLeased        Source = C.RL_SOURCE_LEASED         // from tokens that were paid for in advance
	SourceCachedDenial  Source = C.RL_SOURCE_CACHED_DENIAL  // a denial whose end is known
	SourceLocalFallback Source = C.RL_SOURCE_LOCAL_FALLBACK // the store failed, a local limit decided
	SourceFailOpen      Source = C.RL_SOURCE_FAIL_OPEN      // the store failed, on_store_error: open
	SourceFailClosed    Source = C.RL_SOURCE_FAIL_CLOSED    // the store failed, on_store_error: closed
	SourceNoRule        Source = C.RL_SOURCE_NO_RULE        // no rule covers the request
	SourceAction        Source = C.RL_SOURCE_ACTION         // action: block or unlimited decided
)

var sourceNames = [...]string{"exact", "leased", "cached_denial", "local_fallback", "fail_open", "fail_closed", "no_rule", "action"}

func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown"
}

// Reason tells why a request was denied.
type Reason uint8

// The reasons.
const (
	ReasonNone      Reason = C.RL_REASON_NONE       // it was allowed
	ReasonLimited   Reason = C.RL_REASON_LIMITED    // over the limit now; RetryAfter cures it
	ReasonNeverFits Reason = C.RL_REASON_NEVER_FITS // the cost is above the capacity: waiting does not help
	ReasonBlocked   Reason = C.RL_REASON_BLOCKED    // action: block
	ReasonStore     Reason = C.RL_REASON_STORE      // the store failed and the rule says closed
)

var reasonNames = [...]string{"none", "limited", "never_fits", "blocked", "store"}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Never is a RetryAfter that waiting does not end, and what longer times than a Duration can hold become.
const Never time.Duration = math.MaxInt64

// Decision is the answer. From Limit on it describes the binding limit, and is 0 when no limit was asked.
type Decision struct {
	Allowed      bool
	Source       Source
	Reason       Reason
	ShadowDenied bool // a shadow limit would have denied it
	Peeked       bool // nothing was spent: an answer of Peek
	Rule         RuleID
	LimitID      LimitID
	LimitCount   int    // how many limits were asked
	Generation   uint64 // of the rule set that answered
	Cost         int64  // units spent when allowed
	Limit        uint64 // units per window
	Capacity     uint64 // units one request is measured against: burst, or the limit
	Remaining    uint64 // whole units still to spend now, after this decision

	// Err is why this one of AllowMany has no answer; nil everywhere else.
	Err error

	nowNS, windowNS, retryAfterNS, resetAfterNS, delayNS uint64
}

// Time is the instant that it was decided at.
func (d Decision) Time() time.Time { return time.Unix(0, int64(d.nowNS)) }

// Window is the binding limit's.
func (d Decision) Window() time.Duration { return duration(d.windowNS) }

// RetryAfter is the time until the same request is admitted if nothing else comes: 0 when it was allowed, Never when
// waiting does not help.
func (d Decision) RetryAfter() time.Duration { return duration(d.retryAfterNS) }

// ResetAfter is the time until the binding limit is as new.
func (d Decision) ResetAfter() time.Duration { return duration(d.resetAfterNS) }

// Delay is how long to hold an admitted request back (leaky_bucket).
func (d Decision) Delay() time.Duration { return duration(d.delayNS) }

func duration(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}

func decisionOf(d *C.rl_decision) (out Decision) {
	out.read(d)
	return out
}

// read takes the engine's answer over, field by field: a Decision that is made and copied costs as much again.
func (d *Decision) read(from *C.rl_decision) {
	d.Allowed = from.allowed == 1
	d.Source = Source(from.source)
	d.Reason = Reason(from.reason)
	d.ShadowDenied = from.flags&C.RL_DECISION_SHADOW_DENIED != 0
	d.Peeked = from.flags&C.RL_DECISION_PEEKED != 0
	d.Rule = RuleID(from.rule)
	d.LimitID = LimitID(from.limit_id)
	d.LimitCount = int(from.limit_count)
	d.Generation = uint64(from.generation)
	d.Cost = int64(from.cost)
	d.Limit = uint64(from.limit)
	d.Capacity = uint64(from.capacity)
	d.Remaining = uint64(from.remaining)
	d.Err = nil
	d.nowNS = uint64(from.now_ns)
	d.windowNS = uint64(from.window_ns)
	d.retryAfterNS = uint64(from.retry_after_ns)
	d.resetAfterNS = uint64(from.reset_after_ns)
	d.delayNS = uint64(from.delay_ns)
}

// back is the decision as the engine gave it. Fields that were changed meanwhile are the engine's to refuse.
func (d *Decision) back() C.rl_decision {
	out := C.rl_decision{
		struct_size:    C.sizeof_rl_decision,
		source:         C.uint8_t(d.Source),
		reason:         C.uint8_t(d.Reason),
		rule:           C.uint32_t(d.Rule),
		limit_id:       C.uint32_t(d.LimitID),
		limit_count:    C.uint32_t(d.LimitCount),
		generation:     C.uint64_t(d.Generation),
		now_ns:         C.uint64_t(d.nowNS),
		cost:           C.int64_t(d.Cost),
		limit:          C.uint64_t(d.Limit),
		window_ns:      C.uint64_t(d.windowNS),
		capacity:       C.uint64_t(d.Capacity),
		remaining:      C.uint64_t(d.Remaining),
		retry_after_ns: C.uint64_t(d.retryAfterNS),
		reset_after_ns: C.uint64_t(d.resetAfterNS),
		delay_ns:       C.uint64_t(d.delayNS),
	}
	if d.Allowed {
		out.allowed = 1
	}
	if d.ShadowDenied {
		out.flags |= C.RL_DECISION_SHADOW_DENIED
	}
	if d.Peeked {
		out.flags |= C.RL_DECISION_PEEKED
	}
	if d.Err != nil {
		out.status = C.RL_E_INVALID_ARGUMENT
	}
	return out
}
