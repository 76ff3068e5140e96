package ratel

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Attribute is a named fact about a request, for `when` conditions and for the scope attribute:<name>.
type Attribute struct{ Name, Value string }

// RuleID names a rule for the life of a Limiter, across reloads. 0 is none.
type RuleID uint32

// LimitID names a limit likewise.
type LimitID uint32

// Request is one request to decide on. What is not known stays empty. Strings are any bytes.
type Request struct {
	Method     string
	Path       string // as it came: normalised inside
	User       string // the authenticated user
	APIKey     string
	IP         string    // the client's address, see Limiter.ClientIP
	Key        string    // with Rule set: stands in for the value of every scope but global
	Rule       RuleID    // 0: found by method and path
	Cost       int64     // units to spend, at least 1; 0: what the rule says
	Time       time.Time // the zero time.Time: the clock; else after 1970-01-01T00:00:00Z
	Attributes []Attribute
	// A repeat with the same id, keys and cost is answered as before and charged once. Redis alone looks at it.
	IdempotencyID string
}

const (
	costOfRule = math.MinInt64
	costTooLow = math.MinInt64 + 1 // also what stands for a stated cost that means costOfRule to the engine
	maxTime    = C.RL_NOW_MAX_NS
)

func costError() error {
	return &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf("cost is below %d: it has to be at least 1", costTooLow+1)}
}

// costOf is what Cost stands for.
func costOf(cost int64) int64 {
	if cost == 0 {
		return costOfRule
	}
	return unitsOf(cost)
}

// unitsOf is a number of units that the caller states.
func unitsOf(n int64) int64 {
	return max(n, costTooLow)
}

// nanoseconds is 0 for the zero time. What lies outside the engine's range, the Unix epoch itself included, becomes a number that it
// refuses.
func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	if seconds := t.Unix(); seconds < 0 || seconds > math.MaxInt64/int64(time.Second) {
		return math.MaxUint64
	}
	if ns := t.UnixNano(); ns > 0 {
		return uint64(ns)
	}
	return math.MaxUint64
}

// requestError tells of what cannot be said to the engine. In AllowMany the engine refuses what stands for it.
func requestError(r *Request, cost int64) error {
	if cost == costTooLow {
		return costError()
	}
	return timeError("Time", r.Time)
}

// timeError tells of an instant that the engine does not take.
func timeError(name string, t time.Time) error {
	if nanoseconds(t) <= maxTime {
		return nil
	}
	return &Error{Code: ErrInvalidArgument, Message: name + " is " + t.UTC().Format(time.RFC3339Nano) + ": it has to be after " +
		"1970-01-01T00:00:00Z and not after " + time.Unix(0, maxTime).UTC().Format(time.RFC3339) + ", or the zero time.Time for the clock"}
}

// clone copies the strings, so that those of the caller need not outlive his stack frame.
func (r Request) clone() Request {
	for _, text := range []*string{&r.Method, &r.Path, &r.User, &r.APIKey, &r.IP, &r.Key, &r.IdempotencyID} {
		*text = strings.Clone(*text)
	}
	return r
}

// packed is a list of strings in a row, the only form in which a list crosses without being pinned.
type packed struct {
	bytes []byte
	sizes []C.uint64_t
}

var packs = sync.Pool{New: func() any { return new(packed) }}

// Above that a buffer is not kept for the next call.
const maxKept = 1 << 16

func (p *packed) add(text string) {
	p.bytes = append(p.bytes, text...)
	p.sizes = append(p.sizes, C.uint64_t(len(text)))
}

func (p *packed) data() (*C.char, *C.uint64_t) {
	if p == nil {
		return nil, nil
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(p.bytes))), unsafe.SliceData(p.sizes)
}

func (p *packed) giveBack() {
	if p != nil && cap(p.bytes) <= maxKept {
		p.bytes, p.sizes = p.bytes[:0], p.sizes[:0]
		packs.Put(p)
	}
}

// packAttributes is nil when there are none.
func packAttributes(attributes []Attribute) *packed {
	if len(attributes) == 0 {
		return nil
	}
	p := packs.Get().(*packed)
	for i := range attributes {
		p.add(attributes[i].Name)
		p.add(attributes[i].Value)
	}
	return p
}

func (p *packed) attributes() (*C.char, *C.uint64_t, C.uint32_t) {
	if p == nil {
		return nil, nil, 0
	}
	bytes, sizes := p.data()
	return bytes, sizes, C.uint32_t(len(p.sizes) / 2)
}
