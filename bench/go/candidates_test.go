package bench

import (
	"context"
	"fmt"
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
)

// Each key has so many units per window. Benchmarks never reach `plenty`: what is measured is the admission.
const (
	window = time.Hour
	plenty = 1<<31 - 1
)

var ctx = context.Background()

const rules = `
version: 1
max_keys: 2000000
default: {name: d, scope: user, algorithm: %s, limit: %d, window: 1h}
`

// candidate makes a function that asks for one unit of a key.
type candidate struct {
	name string
	make func(tb testing.TB, limit int) func(key string) bool
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

func newRatel(tb testing.TB, algorithm string, limit int) *ratel.Limiter {
	limiter, err := ratel.New(ratel.FromText(fmt.Sprintf(rules, algorithm, limit), "rules"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

func ratelAllow(algorithm string) func(testing.TB, int) func(string) bool {
	return func(tb testing.TB, limit int) func(string) bool {
		limiter := newRatel(tb, algorithm, limit)
		return func(key string) bool {
			decision, err := limiter.Allow(ctx, ratel.Request{Method: "GET", Path: "/", User: key})
			return err == nil && decision.Allowed
		}
	}
}

func ratelAllowRule(tb testing.TB, limit int) func(string) bool {
	limiter := newRatel(tb, "token_bucket", limit)
	rule, err := limiter.RuleID("d")
	if err != nil {
		tb.Fatal(err)
	}
	return func(key string) bool {
		decision, err := limiter.AllowRule(ctx, rule, key, 1)
		return err == nil && decision.Allowed
	}
}

func xTimeRate(_ testing.TB, limit int) func(string) bool {
	var mu sync.RWMutex
	limiters := map[string]*rate.Limiter{}
	every := rate.Limit(float64(limit) / window.Seconds())
	return func(key string) bool {
		mu.RLock()
		limiter := limiters[key]
		mu.RUnlock()
		if limiter == nil {
			mu.Lock()
			if limiter = limiters[key]; limiter == nil {
				limiter = rate.NewLimiter(every, limit)
				limiters[key] = limiter
			}
			mu.Unlock()
		}
		return limiter.Allow()
	}
}

func goLimiter(tb testing.TB, limit int) func(string) bool {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(limit), Interval: window})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close(ctx) })
	return func(key string) bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return err == nil && ok
	}
}

func throttledGCRA(tb testing.TB, limit int) func(string) bool {
	store, err := memstore.NewCtx(2000000)
	if err != nil {
		tb.Fatal(err)
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerHour(limit), MaxBurst: limit - 1}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		tb.Fatal(err)
	}
	limiter.SetMaxCASAttemptsLimit(1_000_000) // by default it fails where a few goroutines ask for one key
	return func(key string) bool {
		limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited
	}
}

// A counter that is handed in is looked at in windows of the wall clock, so that both calls mean the same one.
func chiHTTPRate(_ testing.TB, limit int) func(string) bool {
	counter := httprate.NewLocalLimitCounter(window)
	limiter := httprate.NewRateLimiter(limit, window, httprate.WithLimitCounter(counter))
	return func(key string) bool {
		_, used, err := limiter.Status(key)
		if err != nil || used+1 > float64(limit) {
			return false
		}
		return counter.IncrementBy(key, time.Now().UTC().Truncate(window), 1) == nil
	}
}

func uluLimiter(_ testing.TB, limit int) func(string) bool {
	instance := limiter.New(ulule.NewStore(), limiter.Rate{Period: window, Limit: int64(limit)})
	return func(key string) bool {
		answer, err := instance.Get(ctx, key)
		return err == nil && !answer.Reached
	}
}

// All of them answer the same question: so many units of each key, and no more.
func TestCandidates(t *testing.T) {
	const limit, keys = 5, 3
	for _, one := range candidates {
		ask := one.make(t, limit)
		for i := range 2 * limit * keys {
			key, want := fmt.Sprintf("user-%d", i%keys), i < limit*keys
			if got := ask(key); got != want {
				t.Errorf("%s: request %d of %s: %v", one.name, i/keys, key, got)
			}
		}
	}
}
