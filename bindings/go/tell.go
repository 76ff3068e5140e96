package ratel

// #cgo noescape ratel_headers
// #cgo nocallback ratel_headers
// #include "shim.h"
import "C"

import (
	"context"
	"slices"
	"unsafe"
)

// HeaderFlags choose header fields; 0 is what the rule set's `headers` says.
type HeaderFlags uint32

// The fields, see docs/headers.md. At most one of the drafts.
const (
	HeadersX          HeaderFlags = C.RL_HEADERS_X
	HeadersResetDelta HeaderFlags = C.RL_HEADERS_RESET_DELTA
	HeadersRetryAfter HeaderFlags = C.RL_HEADERS_RETRY_AFTER
	HeadersDraft11    HeaderFlags = C.RL_HEADERS_DRAFT_11
	HeadersDraft8     HeaderFlags = C.RL_HEADERS_DRAFT_8
	HeadersDraft7     HeaderFlags = C.RL_HEADERS_DRAFT_7
	HeadersDraft6     HeaderFlags = C.RL_HEADERS_DRAFT_6
	HeadersNone       HeaderFlags = C.RL_HEADERS_NONE
)

// TextFlags choose the form of Explain and Diff.
type TextFlags uint32

// TextJSON asks for JSON in place of lines.
const TextJSON TextFlags = C.RL_TEXT_JSON

type writer func(buffer *C.char, capacity C.uint64_t, needed *C.uint64_t, detail **C.rl_error) C.rl_status

// newText calls until the text fits.
func (l *Limiter) newText(with func(c *core) writer) (string, error) {
	c, err := l.begin()
	if err != nil {
		return "", err
	}
	defer c.release()
	write := with(c)
	var text []byte
	for room := C.uint64_t(2048); ; {
		text = slices.Grow(text, int(room))
		var detail *C.rl_error
		status := write((*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.uint64_t(cap(text)), &room, &detail)
		if status != C.RL_E_BUFFER_TOO_SMALL {
			text, err = written(text, status, room, detail)
			return string(text), c.host.caused(err)
		}
		C.free(unsafe.Pointer(detail))
	}
}

// roomForHeaders holds the fields of a decision unless names are long.
const roomForHeaders = 256

// AppendHeaders adds the header fields of a decision to dst as lines "Name: value\r\n"; nothing when it has none.
func (l *Limiter) AppendHeaders(dst []byte, decision Decision, flags HeaderFlags) ([]byte, error) {
	c, err := l.begin()
	if err != nil {
		return dst, err
	}
	defer c.release()
	raw := decision.back()
	return c.appendHeaders(dst, &raw, flags)
}

func (c *core) appendHeaders(dst []byte, raw *C.rl_decision, flags HeaderFlags) ([]byte, error) {
	for room := C.uint64_t(roomForHeaders); ; {
		dst = slices.Grow(dst, int(room))
		free := dst[len(dst):cap(dst)]
		var detail *C.rl_error
		status := C.ratel_headers(c.registry, raw, C.uint32_t(flags), (*C.char)(unsafe.Pointer(unsafe.SliceData(free))),
			C.uint64_t(len(free)), &room, &detail)
		if status != C.RL_E_BUFFER_TOO_SMALL {
			return written(dst, status, room, detail)
		}
		C.free(unsafe.Pointer(detail))
	}
}

// written is dst with what C has put behind its end.
func written(dst []byte, status C.rl_status, size C.uint64_t, detail *C.rl_error) ([]byte, error) {
	if status != C.RL_OK {
		return dst, failure(status, detail)
	}
	return dst[:len(dst)+int(size)], nil
}

// Headers is AppendHeaders as a string.
func (l *Limiter) Headers(decision Decision, flags HeaderFlags) (string, error) {
	text, err := l.AppendHeaders(nil, decision, flags)
	return string(text), err
}

// Problem is an RFC 9457 body (application/problem+json) for a denial.
func (l *Limiter) Problem(decision Decision) (string, error) {
	raw := decision.back()
	return l.newText(func(c *core) writer {
		return func(buffer *C.char, capacity C.uint64_t, needed *C.uint64_t, detail **C.rl_error) C.rl_status {
			return C.ratel_problem(c.registry, &raw, buffer, capacity, needed, detail)
		}
	})
}

// Explain tells why the answer is what it is. Nothing is spent.
func (l *Limiter) Explain(ctx context.Context, request Request, flags TextFlags) (string, error) {
	if err := contextError(ctx); err != nil {
		return "", err
	}
	r := &request
	if err := requestError(r, costOf(r.Cost)); err != nil {
		return "", err
	}
	attributes := packAttributes(r.Attributes)
	defer attributes.giveBack()
	bytes, sizes, count := attributes.attributes()
	return l.newText(func(c *core) writer {
		return func(buffer *C.char, capacity C.uint64_t, needed *C.uint64_t, detail **C.rl_error) C.rl_status {
			return C.ratel_explain(c.registry, C.uint64_t(nanoseconds(r.Time)), C.int64_t(costOf(r.Cost)), C.uint32_t(r.Rule),
				r.Method, r.Path, r.User, r.APIKey, r.IP, r.Key, r.IdempotencyID, bytes, sizes, count, C.uint32_t(flags), buffer, capacity, needed, detail)
		}
	})
}

// Diff tells what a reload with these rules would change.
func (l *Limiter) Diff(rules RuleSource, flags TextFlags) (string, error) {
	b, err := newBuilder()
	if err != nil {
		return "", err
	}
	defer b.destroy()
	if err := b.load(rules); err != nil {
		return "", err
	}
	return l.newText(func(c *core) writer {
		return func(buffer *C.char, capacity C.uint64_t, needed *C.uint64_t, detail **C.rl_error) C.rl_status {
			return C.ratel_diff(c.registry, b.config, C.uint32_t(flags), buffer, capacity, needed, detail)
		}
	})
}

// Prometheus is all metrics in Prometheus' text format 0.0.4.
func (l *Limiter) Prometheus() (string, error) {
	return l.newText(func(c *core) writer {
		return func(buffer *C.char, capacity C.uint64_t, needed *C.uint64_t, detail **C.rl_error) C.rl_status {
			return C.ratel_prometheus(c.registry, buffer, capacity, needed, detail)
		}
	})
}

// Metrics are counters since New. Each request is counted once: Requests = Allowed + Denied.
type Metrics struct {
	Requests       uint64
	Allowed        uint64
	Denied         uint64
	NeverFits      uint64 // of Denied: cost above the capacity
	Blocked        uint64 // of Denied: action: block
	ShadowDenied   uint64 // of Requests: a shadow limit would have denied it
	NoRule         uint64 // of Allowed
	LocalFallback  uint64 // of Requests
	FailOpen       uint64 // of Allowed
	FailClosed     uint64 // of Denied
	StoreErrors    uint64 // times the storage could not answer
	UnknownClient  uint64 // requests whose ip scope had no usable address
	EvictedLive    uint64 // keys dropped with state that was not as new
	EvictedIdle    uint64 // keys dropped by EvictIdle
	Keys           uint64 // held now; 0 when the storage cannot tell
	Reloads        uint64 // that succeeded
	ReloadFailures uint64 // that kept the old rule set
	Generation     uint64
	Leased         uint64 // of Allowed: from units that were paid for in advance
	CachedDenial   uint64 // of Denied: the store was not asked again
	ReportedBack   uint64 // units admitted while the store failed that it was charged for afterwards
	Unreported     uint64 // units admitted while the store failed that it could not be charged for
}

// Metrics reads the counters.
func (l *Limiter) Metrics() (Metrics, error) {
	c, err := l.begin()
	if err != nil {
		return Metrics{}, err
	}
	defer c.release()
	var m C.rl_metrics
	var detail *C.rl_error
	if err := failure(C.ratel_metrics(c.registry, &m, &detail), detail); err != nil {
		return Metrics{}, err
	}
	return Metrics{
		Requests: uint64(m.requests), Allowed: uint64(m.allowed), Denied: uint64(m.denied), NeverFits: uint64(m.never_fits),
		Blocked: uint64(m.blocked), ShadowDenied: uint64(m.shadow_denied), NoRule: uint64(m.no_rule),
		LocalFallback: uint64(m.local_fallback), FailOpen: uint64(m.fail_open), FailClosed: uint64(m.fail_closed),
		StoreErrors: uint64(m.store_errors), UnknownClient: uint64(m.unknown_client), EvictedLive: uint64(m.evicted_live),
		EvictedIdle: uint64(m.evicted_idle), Keys: uint64(m.keys), Reloads: uint64(m.reloads),
		ReloadFailures: uint64(m.reload_failures), Generation: uint64(m.generation),
		Leased: uint64(m.leased), CachedDenial: uint64(m.cached_denial), ReportedBack: uint64(m.reported_back),
		Unreported: uint64(m.unreported),
	}, nil
}

// RuleMetrics are counters of one rule; they go on when a reload keeps it.
type RuleMetrics struct {
	Rule         RuleID
	Allowed      uint64
	Denied       uint64
	NeverFits    uint64 // of Denied
	ShadowDenied uint64 // would have been denied
	CostAllowed  uint64 // units spent
}

// RuleMetrics reads the counters of a rule.
func (l *Limiter) RuleMetrics(rule RuleID) (RuleMetrics, error) {
	c, err := l.begin()
	if err != nil {
		return RuleMetrics{}, err
	}
	defer c.release()
	var m C.rl_rule_metrics
	var detail *C.rl_error
	if err := failure(C.ratel_rule_metrics(c.registry, C.uint32_t(rule), &m, &detail), detail); err != nil {
		return RuleMetrics{}, err
	}
	return RuleMetrics{RuleID(m.rule), uint64(m.allowed), uint64(m.denied), uint64(m.never_fits), uint64(m.shadow_denied), uint64(m.cost_allowed)}, nil
}

func structSize(name string) uint64 {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return uint64(C.rl_struct_size(text))
}
