// Package bench compares decisions per key with what Go programs would pick instead, all in one process and in memory.
// README.md says how to run it and how to read it.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	ratel "github.com/ratel/ratel/bindings/go"
	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

// All of them limit to this much per key, which is never reached: what is measured is the admission.
const (
	units  = 1<<31 - 1
	window = time.Hour
)

var ctx = context.Background()

const rules = `
version: 1
max_keys: 2000000
default: {name: d, scope: user, algorithm: %s, limit: 2147483647, window: 1h}
`

// candidate makes a function that asks for one unit of a key.
type candidate struct {
	name string
	make func(tb testing.TB) func(key string) bool
}

func newRatel(tb testing.TB, algorithm string) *ratel.Limiter {
	limiter, err := ratel.New(ratel.FromText(fmt.Sprintf(rules, algorithm), "rules"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

func ratelAllow(algorithm string) func(testing.TB) func(string) bool {
	return func(tb testing.TB) func(string) bool {
		limiter := newRatel(tb, algorithm)
		return func(key string) bool {
			decision, err := limiter.Allow(ctx, ratel.Request{Method: "GET", Path: "/", User: key})
			return err == nil && decision.Allowed
		}
	}
}

func ratelAllowRule(tb testing.TB) func(string) bool {
	limiter := newRatel(tb, "token_bucket")
	rule, err := limiter.RuleID("d")
	if err != nil {
		tb.Fatal(err)
	}
	return func(key string) bool {
		decision, err := limiter.AllowRule(ctx, rule, key, 1)
		return err == nil && decision.Allowed
	}
}

func xTimeRate(testing.TB) func(string) bool {
	var mu sync.RWMutex
	limiters := map[string]*rate.Limiter{}
	return func(key string) bool {
		mu.RLock()
		limiter := limiters[key]
		mu.RUnlock()
		if limiter == nil {
			mu.Lock()
			if limiter = limiters[key]; limiter == nil {
				limiter = rate.NewLimiter(rate.Every(window/units+1), units)
				limiters[key] = limiter
			}
			mu.Unlock()
		}
		return limiter.Allow()
	}
}

func goLimiter(tb testing.TB) func(string) bool {
	store, err := memorystore.New(&memorystore.Config{Tokens: units, Interval: window})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close(ctx) })
	return func(key string) bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return err == nil && ok
	}
}

func throttledGCRA(tb testing.TB) func(string) bool {
	store, err := memstore.NewCtx(2000000)
	if err != nil {
		tb.Fatal(err)
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(1000000), MaxBurst: 1 << 30})
	if err != nil {
		tb.Fatal(err)
	}
	return func(key string) bool {
		limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited
	}
}

func chiHTTPRate(testing.TB) func(string) bool {
	limiter := httprate.NewRateLimiter(units, window)
	return func(key string) bool {
		ok, _, err := limiter.Status(key)
		if err != nil || !ok {
			return false
		}
		return limiter.Counter().IncrementBy(key, time.Now().UTC().Truncate(window), 1) == nil
	}
}

func uluLimiter(testing.TB) func(string) bool {
	instance := limiter.New(ulule.NewStore(), limiter.Rate{Period: window, Limit: units})
	return func(key string) bool {
		answer, err := instance.Get(ctx, key)
		return err == nil && !answer.Reached
	}
}

var candidates = []candidate{
	{"ratel Allow token_bucket", ratelAllow("token_bucket")},
	{"ratel Allow sliding_counter", ratelAllow("sliding_counter")},
	{"ratel AllowRule token_bucket", ratelAllowRule},
	{"x/time/rate in a map", xTimeRate},
	{"sethvargo/go-limiter", goLimiter},
	{"throttled GCRA", throttledGCRA},
	{"go-chi/httprate counter", chiHTTPRate},
	{"ulule/limiter", uluLimiter},
}

// keysOf are made before the clock runs, and asked in an order that no cache knows.
func keysOf(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%09d", i)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func BenchmarkDecide(b *testing.B) {
	for _, count := range []int{1, 100_000, 1_000_000} {
		keys := keysOf(count)
		for _, one := range candidates {
			b.Run(fmt.Sprintf("%s/keys=%d", one.name, count), func(b *testing.B) {
				ask := one.make(b)
				for _, key := range keys {
					if !ask(key) {
						b.Fatal("denied")
					}
				}
				b.Run("serial", func(b *testing.B) {
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						ask(keys[i])
						if i++; i == count {
							i = 0
						}
					}
				})
				b.Run("parallel", func(b *testing.B) {
					b.ReportAllocs()
					b.RunParallel(func(pb *testing.PB) {
						i := rand.IntN(count)
						for pb.Next() {
							ask(keys[i])
							if i++; i == count {
								i = 0
							}
						}
					})
				})
			})
		}
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// What a middleware adds to a request: `none` is the handler alone.
func BenchmarkMiddleware(b *testing.B) {
	handler := http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	byUser := ratelhttp.Options{User: func(r *http.Request) string { return r.Header.Get("X-User") }}
	for _, one := range []struct {
		name    string
		handler http.Handler
	}{
		{"none", handler},
		{"ratelhttp", ratelhttp.New(newRatel(b, "token_bucket"), byUser)(handler)},
		{"go-chi/httprate", httprate.Limit(units, window, httprate.WithKeyFuncs(func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }))(handler)},
	} {
		b.Run(one.name, func(b *testing.B) {
			request := httptest.NewRequest("GET", "/some/path", nil)
			request.Header.Set("X-User", "alice")
			b.ReportAllocs()
			for b.Loop() {
				one.handler.ServeHTTP(&discard{http.Header{}}, request)
			}
		})
	}
}

// BenchmarkRatel is what one call costs where its parts are known.
func BenchmarkRatel(b *testing.B) {
	limiter := newRatel(b, "token_bucket")
	requests := make([]ratel.Request, 16)
	for i := range requests {
		requests[i] = ratel.Request{Method: "GET", Path: "/", User: "alice"}
	}
	b.Run("AllowMany of 16, each", func(b *testing.B) {
		for i := 0; i < b.N; i += len(requests) {
			_, _ = limiter.AllowMany(ctx, requests)
		}
	})
	b.Run("an empty crossing", func(b *testing.B) {
		for b.Loop() {
			ratel.Features()
		}
	})
}
