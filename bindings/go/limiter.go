package ratel

// #cgo noescape ratel_allow_leaf
// #cgo nocallback ratel_allow_leaf
// #cgo noescape ratel_allow_rule
// #cgo nocallback ratel_allow_rule
// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Limiter is a rule set in force, with its storage. Make it with New, end it with Close.
type Limiter struct{ core *core }

// core is the part of a Limiter that outlives it until the calls under way have ended.
type core struct {
	registry *C.rl_registry
	host     *host
	leaf     bool
	asked    *asked // nil unless decisions may wait for a network
	users    users
	ended    atomic.Bool
}

// New puts a rule set in force. A rule at fault is an *Error with file, line and column, and all of Faults.
func New(rules RuleSource, options ...Option) (*Limiter, error) {
	b, err := newBuilder()
	if err != nil {
		return nil, err
	}
	defer b.destroy()
	for _, option := range options {
		if option == nil {
			return nil, &Error{Code: ErrInvalidArgument, Message: "New: an option is nil"}
		}
		if err := option(b); err != nil {
			return nil, err
		}
	}
	if err := b.load(rules); err != nil {
		return nil, err
	}
	c := &core{host: b.host, leaf: b.leaf}
	var detail *C.rl_error
	if err := b.fault(C.ratel_create(b.config, &c.registry, &detail), detail); err != nil {
		return nil, err
	}
	if b.async {
		var err error
		if c.asked, err = newAsked(); err != nil {
			C.rl_registry_destroy(c.registry)
			return nil, err
		}
	}
	l := &Limiter{c}
	runtime.AddCleanup(l, (*core).close, c)
	return l, nil
}

// Close ends the limiter. Calls under way are answered, the last of them ends the engine; every later call is ErrClosed. Closing again
// does nothing. A Limiter that is no longer reachable closes itself.
func (l *Limiter) Close() error {
	if l != nil && l.core != nil {
		l.core.close()
	}
	return nil
}

func (c *core) close() {
	if !c.users.close() {
		return
	}
	c.host.cancel()
	c.endUnused()
}

// endUnused ends the engine of a limiter that is closed once no call is under way.
func (c *core) endUnused() {
	if !c.users.none() || !c.ended.CompareAndSwap(false, true) {
		return
	}
	C.rl_registry_destroy(c.registry)
	if c.asked != nil {
		c.asked.shutdown()
	}
}

// begin counts a call in; each is followed by release.
func (l *Limiter) begin() (*core, error) {
	if l == nil || l.core == nil {
		return nil, ErrClosed
	}
	c := l.core
	if !c.users.begin() {
		c.endUnused()
		return nil, ErrClosed
	}
	return c, nil
}

// enter is begin for a call with a context.
func (l *Limiter) enter(ctx context.Context) (*core, error) {
	if err := contextError(ctx); err != nil {
		return nil, err
	}
	return l.begin()
}

// enterWith is enter for a request that costs so much.
func (l *Limiter) enterWith(ctx context.Context, request *Request, cost int64) (*core, error) {
	if err := requestError(request, cost); err != nil {
		return nil, err
	}
	return l.enter(ctx)
}

func (c *core) release() {
	if c.users.end() {
		c.endUnused()
	}
}

// Allow is the whole question: find the rule, decide, and spend when allowed. ctx ends the wait for a storage, not the
// decision: what was asked may still be spent.
func (l *Limiter) Allow(ctx context.Context, request Request) (decision Decision, err error) {
	err = l.allow(ctx, &request, costOf(request.Cost), &decision)
	return decision, err
}

// AllowN is Allow for n units, at least 1, whatever request.Cost is.
func (l *Limiter) AllowN(ctx context.Context, request Request, n int64) (decision Decision, err error) {
	err = l.allow(ctx, &request, unitsOf(n), &decision)
	return decision, err
}

// allow leaves decision, which is zero, as it is unless there is one.
func (l *Limiter) allow(ctx context.Context, request *Request, cost int64, decision *Decision) error {
	c, err := l.enterWith(ctx, request, cost)
	if err != nil {
		return err
	}
	if !c.leaf {
		*decision, err = c.allowWithHost(ctx, request.clone(), cost)
		return err
	}
	defer c.release()
	return c.allowLeaf(request, cost, decision)
}

func contextError(ctx context.Context) error {
	if ctx == nil {
		return &Error{Code: ErrInvalidArgument, Message: "the context is nil"}
	}
	return ctx.Err()
}

func (c *core) allowLeaf(r *Request, cost int64, decision *Decision) error {
	var out C.rl_decision
	attributes := packAttributes(r.Attributes)
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_allow_leaf(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(cost), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, &out)
	attributes.giveBack()
	if status != C.RL_OK {
		return c.refused(r, cost, status)
	}
	decision.read(&out)
	return nil
}

// allowWithHost is allowLeaf for an engine that waits for a storage or calls back into Go. It releases the core.
func (c *core) allowWithHost(ctx context.Context, r Request, cost int64) (Decision, error) {
	if c.asked != nil {
		return c.allowAsync(ctx, r, cost)
	}
	defer c.release()
	var out C.rl_decision
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_allow(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(cost), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, &out, &detail)
	return c.decided(status, &out, detail)
}

// question is one that was put, whose answer comes later.
type question struct {
	core  *core
	tag   uint32
	place chan answer
}

// put asks and does not wait. It keeps the core for the question, and releases it when there is none.
func (c *core) put(r *Request, cost int64) (*question, error) {
	q := &question{core: c}
	q.tag, q.place = c.asked.begin()
	if err := c.ask(r, cost, q.tag); err != nil {
		c.asked.withdraw(q.tag)
		c.release()
		return nil, err
	}
	return q, nil
}

// wait parks this goroutine, and no thread, until the answer comes. To be called once: it releases the core.
func (q *question) wait(ctx context.Context) (Decision, error) {
	select {
	case got := <-q.place:
		answers.Put(q.place)
		q.core.release()
		return got.decision, q.core.host.caused(failure(got.status, nil))
	case <-ctx.Done():
		q.core.asked.giveUp(q.tag, q.place, q.core.release)
		return Decision{}, ctx.Err()
	}
}

// allowAsync puts a question and waits. It releases the core.
func (c *core) allowAsync(ctx context.Context, r Request, cost int64) (Decision, error) {
	q, err := c.put(&r, cost)
	if err != nil {
		return Decision{}, err
	}
	return q.wait(ctx)
}

func (c *core) ask(r *Request, cost int64, tag uint32) error {
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_allow_queued(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(cost), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, c.asked.queue, C.uint64_t(tag), &detail)
	return c.host.caused(failure(status, detail))
}

func (c *core) decided(status C.rl_status, out *C.rl_decision, detail *C.rl_error) (Decision, error) {
	if status != C.RL_OK {
		return Decision{}, c.host.caused(failure(status, detail))
	}
	return decisionOf(out), nil
}

// AllowRule is the short form for a rule that is known: key stands in for the value of every scope but global. n is at least 1.
func (l *Limiter) AllowRule(ctx context.Context, rule RuleID, key string, n int64) (decision Decision, err error) {
	err = l.allowRule(ctx, rule, key, unitsOf(n), &decision)
	return decision, err
}

// allowRule leaves decision, which is zero, as it is unless there is one.
func (l *Limiter) allowRule(ctx context.Context, rule RuleID, key string, cost int64, decision *Decision) error {
	if cost == costTooLow {
		return costError()
	}
	c, err := l.enter(ctx)
	if err != nil {
		return err
	}
	if !c.leaf {
		*decision, err = c.allowWithHost(ctx, Request{Rule: rule, Key: strings.Clone(key)}, cost)
		return err
	}
	defer c.release()
	var out C.rl_decision
	status := C.ratel_allow_rule(c.registry, C.uint32_t(rule), key, C.int64_t(cost), 0, &out)
	if status != C.RL_OK {
		return c.refused(&Request{Rule: rule, Key: key}, cost, status)
	}
	decision.read(&out)
	return nil
}

// Peek is what Allow would answer now; nothing is spent, nothing is counted.
func (l *Limiter) Peek(ctx context.Context, request Request) (Decision, error) {
	return l.peek(ctx, request, costOf(request.Cost))
}

func (l *Limiter) peek(ctx context.Context, r Request, cost int64) (Decision, error) {
	c, err := l.enterWith(ctx, &r, cost)
	if err != nil {
		return Decision{}, err
	}
	defer c.release()
	var out C.rl_decision
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_peek(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(cost), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, &out, &detail)
	return c.decided(status, &out, detail)
}

// Settle charges, after the work, actual units (0 or more) in place of those that decision spent. request is as it was given
// to Allow, its Time that of settling.
func (l *Limiter) Settle(ctx context.Context, request Request, decision Decision, actual int64) (Decision, error) {
	c, err := l.enterWith(ctx, &request, costOf(request.Cost))
	if err != nil {
		return Decision{}, err
	}
	defer c.release()
	r, earlier := &request, decision.back()
	var out C.rl_decision
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_settle(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(costOf(r.Cost)), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, &earlier, C.int64_t(actual), &out, &detail)
	return c.decided(status, &out, detail)
}

// Reset forgets the state of every key that the request reaches: the next one finds them new.
func (l *Limiter) Reset(ctx context.Context, request Request) error {
	c, err := l.enterWith(ctx, &request, costOf(request.Cost))
	if err != nil {
		return err
	}
	defer c.release()
	r := &request
	var detail *C.rl_error
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	status := C.ratel_reset(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(costOf(r.Cost)), C.uint32_t(r.Rule),
		r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, &detail)
	return c.host.caused(failure(status, detail))
}

// RuleID is the id of a rule in force by its name.
func (l *Limiter) RuleID(name string) (RuleID, error) {
	c, err := l.begin()
	if err != nil {
		return 0, err
	}
	defer c.release()
	var id C.uint32_t
	var detail *C.rl_error
	status := C.ratel_rule_id(c.registry, name, &id, &detail)
	return RuleID(id), failure(status, detail)
}

// Rules are the ids of the rules in force, in the order in which they were loaded.
func (l *Limiter) Rules() ([]RuleID, error) {
	c, err := l.begin()
	if err != nil {
		return nil, err
	}
	defer c.release()
	ids := make([]RuleID, 0, C.rl_rule_count(c.registry))
	for i := C.uint32_t(0); ; i++ {
		id := C.rl_rule_at(c.registry, i)
		if id == 0 {
			return ids, nil
		}
		ids = append(ids, RuleID(id))
	}
}

// RuleName is the name of a rule, also of one that is no longer in force. Empty when unknown.
func (l *Limiter) RuleName(id RuleID) string {
	c, err := l.begin()
	if err != nil {
		return ""
	}
	defer c.release()
	return goString(C.rl_rule_name(c.registry, C.uint32_t(id)))
}

// LimitName is the name of a limit likewise.
func (l *Limiter) LimitName(id LimitID) string {
	c, err := l.begin()
	if err != nil {
		return ""
	}
	defer c.release()
	return goString(C.rl_limit_name(c.registry, C.uint32_t(id)))
}

// Generation is the number of the rule set in force: 1 after New, one more with each reload; 0 when closed.
func (l *Limiter) Generation() uint64 {
	c, err := l.begin()
	if err != nil {
		return 0
	}
	defer c.release()
	return uint64(C.rl_registry_generation(c.registry))
}

// Reload replaces the rule set as a whole or, when it has faults, not at all. State survives.
func (l *Limiter) Reload(rules RuleSource) error {
	c, err := l.begin()
	if err != nil {
		return err
	}
	defer c.release()
	b, err := newBuilder()
	if err != nil {
		return err
	}
	defer b.destroy()
	if err := b.load(rules); err != nil {
		return err
	}
	var detail *C.rl_error
	return b.fault(C.ratel_reload(c.registry, b.config, &detail), detail)
}

// ReloadFile reads a file or folder now, as Watch does: a bad one keeps the old rules, is logged and counted.
func (l *Limiter) ReloadFile(path string) error {
	c, err := l.begin()
	if err != nil {
		return err
	}
	defer c.release()
	var detail *C.rl_error
	return failure(C.ratel_reload_file(c.registry, path, &detail), detail)
}

// Watch looks at a file or folder every so often (0: each second; at least 10 ms) and reloads it when it has changed. One watch at
// a time, of a file or of a key; an empty path ends it. The first load has to succeed.
func (l *Limiter) Watch(path string, every time.Duration) error {
	c, err := l.begin()
	if err != nil {
		return err
	}
	defer c.release()
	milliseconds, err := intervalOf("Watch", every, 10*time.Millisecond)
	if err != nil {
		return err
	}
	var detail *C.rl_error
	return failure(C.ratel_watch(c.registry, path, milliseconds, &detail), detail)
}

// intervalOf is how often to look.
func intervalOf(call string, every, least time.Duration) (C.uint32_t, error) {
	milliseconds := every.Milliseconds()
	if every < 0 || milliseconds > math.MaxUint32 || (every > 0 && milliseconds == 0) {
		return 0, &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf("%s: every is %v: it has to be 0 or %v to %v", call, every,
			least, math.MaxUint32*time.Millisecond)}
	}
	return C.uint32_t(milliseconds), nil
}

// WatchRedis is Watch for a key that holds the text of a rule file, in a Redis by its URL (0: every 5 s; at least 100 ms). A server that does
// not answer and a key that is not there are no error: the rules in force stay, it is logged, and the watch goes on. One watch at a time, of
// a file or of a key; an empty url or key ends it.
func (l *Limiter) WatchRedis(url, key string, every time.Duration) error {
	c, err := l.begin()
	if err != nil {
		return err
	}
	defer c.release()
	milliseconds, err := intervalOf("WatchRedis", every, 100*time.Millisecond)
	if err != nil {
		return err
	}
	var detail *C.rl_error
	return failure(C.ratel_watch_redis(c.registry, url, key, milliseconds, &detail), detail)
}

// KeyCount is how many keys the storage holds.
func (l *Limiter) KeyCount() (uint64, error) {
	c, err := l.begin()
	if err != nil {
		return 0, err
	}
	defer c.release()
	var keys C.uint64_t
	var detail *C.rl_error
	status := C.ratel_key_count(c.registry, &keys, &detail)
	return uint64(keys), failure(status, detail)
}

// EvictIdle drops every key whose state has been as new since cutoff (the zero time: now), and says how many. No decision
// changes by it. The built-in storage also has the system put full parts of its table into huge pages, where that is
// allowed: a large table is read faster then.
func (l *Limiter) EvictIdle(cutoff time.Time) (uint64, error) {
	if err := timeError("cutoff", cutoff); err != nil {
		return 0, err
	}
	c, err := l.begin()
	if err != nil {
		return 0, err
	}
	defer c.release()
	var evicted C.uint64_t
	var detail *C.rl_error
	status := C.ratel_evict_idle(c.registry, C.uint64_t(nanoseconds(cutoff)), &evicted, &detail)
	return uint64(evicted), c.host.caused(failure(status, detail))
}
