package ratel

// #cgo noescape ratel_allow_many_leaf
// #cgo nocallback ratel_allow_many_leaf
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// AllowMany answers many questions at one instant, in order, and on a server in one go. Each Decision has its own Err: a request that is refused does
// not hold up the others.
func (l *Limiter) AllowMany(ctx context.Context, requests []Request) ([]Decision, error) {
	return l.allowMany(ctx, requests, nil)
}

// AllowManyInto is AllowMany into room of the caller's, as long as requests, so that nothing is allocated. After an error no decision there is an
// answer.
func (l *Limiter) AllowManyInto(ctx context.Context, requests []Request, decisions []Decision) error {
	if len(decisions) != len(requests) {
		return &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf("AllowManyInto: %d decisions for %d requests", len(decisions), len(requests))}
	}
	err := l.allowManyInto(ctx, requests, nil, decisions)
	if err != nil {
		clear(decisions)
	}
	return err
}

func (l *Limiter) allowMany(ctx context.Context, requests []Request, costs []int64) ([]Decision, error) {
	var decisions []Decision
	if len(requests) > 0 {
		decisions = make([]Decision, len(requests))
	}
	if err := l.allowManyInto(ctx, requests, costs, decisions); err != nil {
		return nil, err
	}
	return decisions, nil
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
	asked      []C.ratel_asked
	texts      []byte // of all requests in a row
	attributes packed
	out        []C.rl_decision
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// hold makes room for so many.
func (b *batch) hold(count int) {
	b.asked = slices.Grow(b.asked[:0], count)[:count]
	b.out = slices.Grow(b.out[:0], count)[:count]
}

// put writes the i-th request, in place: a struct that is made and copied costs more than all of it. Method and path are often those of the request
// before, by a constant or a router, and then not copied again.
func (b *batch) put(i int, before, r *Request, cost int64) {
	asked := &b.asked[i]
	asked.now_ns = C.uint64_t(nanoseconds(r.Time))
	asked.cost = C.int64_t(cost)
	asked.rule = C.uint32_t(r.Rule)
	asked.attribute_count = C.uint32_t(len(r.Attributes))
	// One line for each: a loop over them costs as much again. Most requests have two or three.
	texts := b.texts
	asked.same = 0
	if isSame(r.Method, before.Method) {
		asked.same = C.RATEL_SAME_METHOD
	} else {
		texts = append(texts, r.Method...)
	}
	if isSame(r.Path, before.Path) {
		asked.same |= C.RATEL_SAME_PATH
	} else {
		texts = append(texts, r.Path...)
	}
	if r.User != "" {
		texts = append(texts, r.User...)
	}
	if r.APIKey != "" {
		texts = append(texts, r.APIKey...)
	}
	if r.IP != "" {
		texts = append(texts, r.IP...)
	}
	if r.Key != "" {
		texts = append(texts, r.Key...)
	}
	if r.IdempotencyID != "" {
		texts = append(texts, r.IdempotencyID...)
	}
	b.texts = texts
	asked.sizes = [...]C.uint64_t{C.uint64_t(len(r.Method)), C.uint64_t(len(r.Path)), C.uint64_t(len(r.User)), C.uint64_t(len(r.APIKey)),
		C.uint64_t(len(r.IP)), C.uint64_t(len(r.Key)), C.uint64_t(len(r.IdempotencyID))}
	for i := range r.Attributes {
		b.attributes.add(r.Attributes[i].Name)
		b.attributes.add(r.Attributes[i].Value)
	}
}

// isSame is whether two strings are the same bytes in memory.
func isSame(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

func (b *batch) giveBack() {
	if cap(b.texts) <= maxKept && cap(b.attributes.bytes) <= maxKept && len(b.asked) <= maxKept/64 {
		b.texts = b.texts[:0]
		b.attributes.bytes, b.attributes.sizes = b.attributes.bytes[:0], b.attributes.sizes[:0]
		batches.Put(b)
	}
}

func (l *Limiter) allowManyInto(ctx context.Context, requests []Request, costs []int64, decisions []Decision) error {
	c, err := l.enter(ctx)
	if err != nil {
		return err
	}
	if c.asked != nil {
		c.release()
		return l.allowEach(ctx, requests, costs, decisions)
	}
	defer c.release()
	if len(requests) == 0 {
		return nil
	}
	b := batches.Get().(*batch)
	defer b.giveBack()
	b.hold(len(requests))
	before := &Request{}
	for i := range requests {
		b.put(i, before, &requests[i], costAt(requests, costs, i))
		before = &requests[i]
	}
	if err := c.askMany(b); err != nil {
		return err
	}
	for i := range decisions {
		decisions[i].read(&b.out[i])
		if status := b.out[i].status; status != C.RL_OK {
			decisions[i].Err = c.refused(&requests[i], costAt(requests, costs, i), status)
		}
	}
	return nil
}

// askMany is the call itself; the _leaf twin never calls back into Go.
func (c *core) askMany(b *batch) error {
	texts := (*C.char)(unsafe.Pointer(unsafe.SliceData(b.texts)))
	bytes, sizes := b.attributes.data()
	asked, count, out := &b.asked[0], C.uint32_t(len(b.asked)), &b.out[0]
	strings := C.uint64_t(len(b.attributes.sizes))
	if c.leaf {
		var detail *C.rl_error
		return failure(C.ratel_allow_many_leaf(c.registry, asked, count, texts, bytes, sizes, strings, out, &detail), detail)
	}
	var detail *C.rl_error
	return failure(C.ratel_allow_many(c.registry, asked, count, texts, bytes, sizes, strings, out, &detail), detail)
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
func (l *Limiter) allowEach(ctx context.Context, requests []Request, costs []int64, decisions []Decision) error {
	clear(decisions)
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
	return fatal
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
