package ratel

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"sync"
	"time"
)

// AllowMany answers many questions at one instant, in order, and on a server in one go. Each Decision has its own Err: a request that is refused does
// not hold up the others.
func (l *Limiter) AllowMany(ctx context.Context, requests []Request) ([]Decision, error) {
	return l.allowMany(ctx, requests, nil)
}

// costAt is what the i-th request costs: what costs says, when there are any.
func costAt(requests []Request, costs []int64, i int) int64 {
	if costs != nil {
		return costs[i]
	}
	return costOf(requests[i].Cost)
}

// batch is what is lent to C for one AllowMany, and kept for the next one.
type batch struct {
	asked []C.ratel_asked
	texts packed
	out   []C.rl_decision
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) add(r *Request, cost int64) {
	b.asked = append(b.asked, C.ratel_asked{
		now_ns:          C.uint64_t(nanoseconds(r.Time)),
		cost:            C.int64_t(cost),
		rule:            C.uint32_t(r.Rule),
		attribute_count: C.uint32_t(len(r.Attributes)),
	})
	for _, text := range [...]string{r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID} {
		b.texts.add(text)
	}
	for i := range r.Attributes {
		b.texts.add(r.Attributes[i].Name)
		b.texts.add(r.Attributes[i].Value)
	}
}

func (b *batch) giveBack() {
	if cap(b.texts.bytes) <= maxKept && len(b.asked) <= maxKept/64 {
		b.asked, b.out = b.asked[:0], b.out[:0]
		b.texts.bytes, b.texts.sizes = b.texts.bytes[:0], b.texts.sizes[:0]
		batches.Put(b)
	}
}

func (l *Limiter) allowMany(ctx context.Context, requests []Request, costs []int64) ([]Decision, error) {
	c, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	if c.asked != nil {
		c.release()
		return l.allowEach(ctx, requests, costs)
	}
	defer c.release()
	if len(requests) == 0 {
		return nil, nil
	}
	b := batches.Get().(*batch)
	defer b.giveBack()
	for i := range requests {
		b.add(&requests[i], costAt(requests, costs, i))
	}
	if cap(b.out) < len(requests) {
		b.out = make([]C.rl_decision, len(requests))
	}
	b.out = b.out[:len(requests)]
	bytes, sizes := b.texts.data()
	var detail *C.rl_error
	status := C.ratel_allow_many(c.registry, &b.asked[0], C.uint32_t(len(b.asked)), bytes, sizes, C.uint64_t(len(b.texts.sizes)), &b.out[0], &detail)
	if err := failure(status, detail); err != nil {
		return nil, err
	}
	decisions := make([]Decision, len(requests))
	for i := range decisions {
		decisions[i] = decisionOf(&b.out[i])
		if status := b.out[i].status; status != C.RL_OK {
			decisions[i].Err = c.refused(&requests[i], costAt(requests, costs, i), status)
		}
	}
	return decisions, nil
}

// refused is why a request was refused by a call that has no message of its own.
func (c *core) refused(r *Request, cost int64, status C.rl_status) error {
	if status == C.RL_E_INVALID_ARGUMENT {
		if err := requestError(r, cost); err != nil {
			return err
		}
	}
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status = C.ratel_refusal(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(cost), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, status, &detail)
	return c.host.caused(failure(status, detail))
}

// allowEach is AllowMany where each question waits for a storage. What has an instant is put together with the others and decided in their order;
// the clock's instant is that of the first answer. A Storage in Go is asked one question after the other, since it may answer in any order.
func (l *Limiter) allowEach(ctx context.Context, requests []Request, costs []int64) ([]Decision, error) {
	decisions := make([]Decision, len(requests))
	put := make([]*question, len(requests))
	var now time.Time
	var fatal error
	for i := range requests {
		request, cost := requests[i], costAt(requests, costs, i)
		if request.Time.IsZero() {
			request.Time = now
		}
		var err error
		put[i], err = l.put(ctx, &request, cost)
		if err == nil && (request.Time.IsZero() || put[i].core.host.storage != nil) {
			decisions[i], err = put[i].wait(ctx)
			put[i] = nil
			if err == nil && requests[i].Time.IsZero() {
				now = decisions[i].Time()
			}
		}
		decisions[i].Err = err
		if fatal = endsMany(ctx, err); fatal != nil {
			break
		}
	}
	for i, q := range put {
		if q == nil {
			continue
		}
		decision, err := q.wait(ctx)
		decisions[i], decisions[i].Err = decision, err
		if fatal == nil {
			fatal = endsMany(ctx, err)
		}
	}
	if fatal != nil {
		return nil, fatal
	}
	return decisions, nil
}

// endsMany is the error when it is not about one request but about all.
func endsMany(ctx context.Context, err error) error {
	if err != nil && (ctx == nil || ctx.Err() != nil || errors.Is(err, ErrClosed)) {
		return err
	}
	return nil
}

func (l *Limiter) put(ctx context.Context, request *Request, cost int64) (*question, error) {
	c, err := l.enterWith(ctx, request, cost)
	if err != nil {
		return nil, err
	}
	return c.put(request, cost)
}
