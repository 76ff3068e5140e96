package ratel

// #include "shim.h"
import "C"

import (
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
	Cost       int64     // units to spend; 0: what the rule says
	Time       time.Time // zero: the clock
	Attributes []Attribute
}

const costOfRule = math.MinInt64

// costOf is what Cost stands for.
func costOf(cost int64) int64 {
	if cost == 0 {
		return costOfRule
	}
	return cost
}

// nanoseconds is 0 for the zero time. What lies outside the engine's range becomes a number that it refuses.
func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	if seconds := t.Unix(); seconds < 0 || seconds > math.MaxInt64/int64(time.Second) {
		return math.MaxUint64
	}
	return uint64(t.UnixNano())
}

// clone copies the strings, so that those of the caller need not outlive his stack frame.
func (r Request) clone() Request {
	for _, text := range []*string{&r.Method, &r.Path, &r.User, &r.APIKey, &r.IP, &r.Key} {
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
