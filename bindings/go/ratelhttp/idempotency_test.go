package ratelhttp_test

import (
	"net/http"
	"strings"
	"testing"

	ratel "github.com/ratel/ratel/bindings/go"
	"github.com/ratel/ratel/bindings/go/internal/redistest"
	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

// remaining asks and returns what is left of three.
func remaining(t *testing.T, h http.Handler, fields ...string) string {
	t.Helper()
	w := ask(h, "GET", "/x", fields...)
	wantStatus(t, w, 200)
	return w.Header().Get("X-RateLimit-Remaining")
}

func TestIdempotencyHeader(t *testing.T) {
	if ratel.Features()&ratel.FeatureRedis == 0 {
		t.Skip("built without Redis")
	}
	url := redistest.URL(t)
	gateway := func(header string) http.Handler {
		limiter := newLimiter(t, ratel.WithRedis(url), ratel.WithSecret("sixteen bytes or more"))
		return ratelhttp.New(limiter, ratelhttp.Options{IdempotencyHeader: header})(served)
	}
	one, other, own, off := gateway(ratelhttp.IdempotencyKey), gateway("idempotency-key"), gateway("X-Request-Id"), gateway("")
	from := func(address string, fields ...string) []string { return append(fields, "X-Forwarded-For", address) }
	for _, h := range []http.Handler{one, other, one} {
		if got := remaining(t, h, from("198.51.100.1", "Idempotency-Key", `"8e03978e"`)...); got != "2" {
			t.Errorf("a repeat leaves %s", got)
		}
	}
	if got := remaining(t, own, from("198.51.100.1", "X-Request-Id", `"8e03978e"`)...); got != "2" {
		t.Errorf("by a field of another name: %s", got)
	}
	if got := remaining(t, off, from("198.51.100.1", "Idempotency-Key", `"8e03978e"`)...); got != "1" {
		t.Errorf("nobody asked for it: %s", got)
	}
	if got := remaining(t, one, from("198.51.100.2", "Idempotency-Key", `"8e03978e"`)...); got != "2" {
		t.Errorf("of another client: %s", got)
	}
	long := strings.Repeat("i", 255)
	for range 2 {
		if got := remaining(t, one, from("198.51.100.3", "Idempotency-Key", long)...); got != "2" {
			t.Errorf("255 bytes: %s", got)
		}
	}
	for i, bad := range [][]string{
		{"Idempotency-Key", long + "i"}, {"Idempotency-Key", ""}, {"Idempotency-Key", "a\tb"}, {"Idempotency-Key", "\xe4"},
		{"Idempotency-Key", "a", "Idempotency-Key", "a"},
	} {
		address := "203.0.113." + string(rune('1'+i))
		for _, want := range []string{"2", "1"} {
			if got := remaining(t, one, from(address, bad...)...); got != want {
				t.Errorf("%.20q leaves %s, want %s", bad, got, want)
			}
		}
	}
}
