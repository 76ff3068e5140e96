package ratel

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

const httpRules = `
version: 1
trusted_proxies: [127.0.0.0/8]
headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}
rules:
  - {name: internal, path: /internal, action: block}
  - {name: %s, path: /long, scope: ip, algorithm: fixed_window, limit: 1, window: 3650d}
default: {name: clients, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}
`

// The three ways in which a decision is had: in one call into C, with calls back, and without holding a thread.
func httpLimiters(t *testing.T) map[string]*Limiter {
	at := time.Unix(1_700_000_000, 0)
	limiters := map[string]*Limiter{}
	for name, options := range map[string][]Option{
		"engine":  {WithMemory(0)},
		"clock":   {WithClock(clockFunc(func() time.Time { return at }))},
		"storage": {WithStorage(newMapStorage(&instant{}))},
	} {
		limiter, err := New(FromText(fmt.Sprintf(httpRules, strings.Repeat("n", 128)), "test"), options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = limiter.Close() })
		limiters[name] = limiter
	}
	return limiters
}

// AllowHTTP says what ClientIP, Allow and AppendHeaders say one after the other, whatever the limiter stands on.
func TestAllowHTTP(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	loopback := HTTP{Peer: "127.0.0.1:4321"}
	from := func(lines ...string) HTTP { return HTTP{Peer: "127.0.0.1:4321", XForwardedFor: lines} }
	for name, l := range httpLimiters(t) {
		for i, one := range []struct {
			request   Request
			from      HTTP
			allowed   bool
			remaining uint64
		}{
			{Request{Path: "/x"}, loopback, true, 1},
			{Request{Path: "/x"}, HTTP{Peer: "127.0.0.1"}, true, 0},
			{Request{Path: "/x"}, loopback, false, 0},
			{Request{Path: "/x"}, from("198.51.100.7"), true, 1},
			{Request{Path: "/x"}, from("1.1.1.1", "198.51.100.7, 127.0.0.2"), true, 0},
			{Request{Path: "/x"}, from("198.51.100.7", ""), false, 0},
			{Request{Path: "/x"}, HTTP{Peer: "127.0.0.1:1", Forwarded: []string{"for=198.51.100.8"}}, true, 1},
			{Request{Path: "/x"}, HTTP{Peer: "127.0.0.1:1", Forwarded: []string{"for=1.1.1.1", "for=198.51.100.8"}}, true, 0},
			{Request{Path: "/x", IP: "198.51.100.9"}, from("198.51.100.7"), true, 1},
			{Request{Path: "/x", IP: "198.51.100.9", Cost: 3}, loopback, false, 1},
			{Request{Path: "/x"}, HTTP{Peer: "nowhere"}, true, 1},
			{Request{Path: "/x"}, HTTP{Peer: "198.51.100.10", Headers: HeadersDraft6}, true, 1},
			{Request{Path: "/x"}, HTTP{Peer: "198.51.100.10", Headers: HeadersNone}, true, 0},
			{Request{Path: "/internal"}, loopback, false, 0},
			{Request{Path: "/long", IP: "198.51.100.7"}, loopback, true, 0},
		} {
			one.request.Time = at
			decision, text, err := l.AllowHTTP(background, one.request, one.from, []byte("before|"))
			if err != nil || decision.Allowed != one.allowed || decision.Remaining != one.remaining {
				t.Fatalf("%s %d: %+v, %v", name, i, decision, err)
			}
			want, err := l.Headers(decision, one.from.Headers)
			if err != nil || string(text) != "before|"+want {
				t.Errorf("%s %d: %q, not %q, %v", name, i, text, want, err)
			}
		}
	}
}

// Fields that are longer than the room they are given, at every length.
func TestAllowHTTPGrowsItsBuffer(t *testing.T) {
	for name, l := range httpLimiters(t) {
		long := Request{Path: "/long"}
		_, want, err := l.AllowHTTP(background, long, HTTP{Peer: "192.0.2.1"}, nil)
		if err != nil || !bytes.Contains(want, []byte("X-RateLimit-Remaining: 0\r\n")) || len(want) <= roomForHeaders {
			t.Fatalf("%s: %d bytes: %q, %v", name, len(want), want, err)
		}
		metrics, _ := l.Metrics()
		for room := range 16 {
			long.IP = fmt.Sprintf("198.51.100.%d", room)
			_, got, err := l.AllowHTTP(background, long, HTTP{}, make([]byte, 0, room*64))
			if err != nil || len(got) != len(want) {
				t.Errorf("%s, %d: %q, %v", name, room*64, got, err)
			}
		}
		if after, _ := l.Metrics(); after.Requests != metrics.Requests+16 {
			t.Errorf("%s: %d requests, each of 16 counts once", name, after.Requests-metrics.Requests)
		}
	}
}

func TestAllowHTTPFails(t *testing.T) {
	for name, l := range httpLimiters(t) {
		fails := func(ctx context.Context, want error, request Request, from HTTP) {
			t.Helper()
			decision, text, err := l.AllowHTTP(ctx, request, from, []byte("before"))
			wantError(t, err, want)
			if string(text) != "before" || decision.Allowed && from.Headers == 0 {
				t.Errorf("%s: %+v %q", name, decision, text)
			}
		}
		fails(background, ErrInvalidArgument, Request{Cost: -1}, HTTP{})
		fails(background, ErrInvalidArgument, Request{Cost: math.MinInt64}, HTTP{})
		fails(background, ErrInvalidArgument, Request{}, HTTP{Headers: 1 << 31})
		fails(background, ErrNotFound, Request{Rule: 99}, HTTP{})
		fails(nil, ErrInvalidArgument, Request{}, HTTP{}) //nolint:staticcheck // a nil context is what is tested
		ended, cancel := context.WithCancel(background)
		cancel()
		fails(ended, context.Canceled, Request{}, HTTP{})
		_ = l.Close()
		fails(background, ErrClosed, Request{}, HTTP{})
	}
}
