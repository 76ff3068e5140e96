package ratel

// #cgo noescape ratel_client_ip
// #cgo nocallback ratel_client_ip
// #cgo noescape ratel_allow_http
// #cgo nocallback ratel_allow_http
// #include "shim.h"
import "C"

import (
	"context"
	"slices"
	"unsafe"
)

// HTTP is where a request came from, and which header fields its answer is to carry.
type HTTP struct {
	Peer          string      // the connection's address, with or without a port
	XForwardedFor []string    // all lines, in order
	Forwarded     []string    // likewise
	Headers       HeaderFlags // 0 is what the rule set says
}

// AllowHTTP is all that a middleware does for a request: ClientIP (unless request.IP is set), Allow, and AppendHeaders to
// dst. With the engine's own store and clock that is one call into C. An error with a Decision that is not zero means that the
// decision stands and its fields could not be told.
func (l *Limiter) AllowHTTP(ctx context.Context, request Request, from HTTP, dst []byte) (Decision, []byte, error) {
	c, err := l.enterWith(ctx, &request, costOf(request.Cost))
	if err != nil {
		return Decision{}, dst, err
	}
	if !c.leaf {
		c.release()
		return l.allowHTTPInSteps(ctx, request, from, dst)
	}
	defer c.release()
	dst = slices.Grow(dst, roomForHeaders)
	free := dst[len(dst):cap(dst)]
	var out C.rl_decision
	var needed C.uint64_t
	var detail *C.rl_error
	attributes, hops := packAttributes(request.Attributes), packHops(from.XForwardedFor, from.Forwarded)
	bytes, sizes, count := attributes.attributes()
	lines, lineSizes := hops.data()
	status := C.ratel_allow_http(c.registry, C.uint64_t(nanoseconds(request.Time)), C.int64_t(costOf(request.Cost)), C.uint32_t(request.Rule),
		request.Method, request.Path, request.User, request.APIKey, request.IP, request.Key, request.IdempotencyID, bytes, sizes, count,
		C.uint32_t(from.Headers), from.Peer, only(from.XForwardedFor), only(from.Forwarded), lines, lineSizes,
		C.uint32_t(len(from.XForwardedFor)), C.uint32_t(len(from.Forwarded)), &out,
		(*C.char)(unsafe.Pointer(unsafe.SliceData(free))), C.uint64_t(len(free)), &needed, &detail)
	attributes.giveBack()
	hops.giveBack()
	if status != C.RL_OK {
		return Decision{}, dst, failure(status, detail)
	}
	decision := decisionOf(&out)
	if int(needed) > len(free) {
		dst, err = c.appendHeaders(dst, &out, from.Headers)
		return decision, dst, err
	}
	return decision, dst[:len(dst)+int(needed)], nil
}

// allowHTTPInSteps is AllowHTTP where the answer has to be waited for, or the engine calls back into Go.
func (l *Limiter) allowHTTPInSteps(ctx context.Context, request Request, from HTTP, dst []byte) (Decision, []byte, error) {
	if request.IP == "" {
		ip, err := l.ClientIP(from.Peer, from.XForwardedFor, from.Forwarded)
		if err != nil {
			return Decision{}, dst, err
		}
		request.IP = ip
	}
	decision, err := l.Allow(ctx, request)
	if err != nil {
		return Decision{}, dst, err
	}
	dst, err = l.AppendHeaders(dst, decision, from.Headers)
	return decision, dst, err
}

// ClientIP is the client behind trusted proxies: peer is the connection's address, the lists are all lines of X-Forwarded-For
// and of Forwarded, in order. Empty when peer is no address.
func (l *Limiter) ClientIP(peer string, xForwardedFor, forwarded []string) (string, error) {
	c, err := l.begin()
	if err != nil {
		return "", err
	}
	defer c.release()
	var room [64]byte // an address is shorter
	var needed C.uint64_t
	var detail *C.rl_error
	hops := packHops(xForwardedFor, forwarded)
	lines, sizes := hops.data()
	status := C.ratel_client_ip(c.registry, peer, only(xForwardedFor), only(forwarded), lines, sizes, C.uint32_t(len(xForwardedFor)),
		C.uint32_t(len(forwarded)), (*C.char)(unsafe.Pointer(&room[0])), C.uint64_t(len(room)), &needed, &detail)
	hops.giveBack()
	text, err := written(room[:0], status, needed, detail)
	return string(text), err
}

// packHops is nil for at most one line of each field, which cross as they are.
func packHops(xForwardedFor, forwarded []string) *packed {
	if len(xForwardedFor) <= 1 && len(forwarded) <= 1 {
		return nil
	}
	p := packs.Get().(*packed)
	for _, line := range xForwardedFor {
		p.add(line)
	}
	for _, line := range forwarded {
		p.add(line)
	}
	return p
}

// only is the line of a field that has one.
func only(lines []string) string {
	if len(lines) != 1 {
		return ""
	}
	return lines[0]
}
