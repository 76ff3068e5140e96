package main

import (
	"context"
	"fmt"
	"sync"
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

// candidate makes a function that asks for one unit of each of some keys, and says how many were admitted.
type candidate struct {
	name string
	size int // keys at once; 0: one
	make func(limit int) func(keys []string) int
}

func (c candidate) batch() int { return max(c.size, 1) }

const batchSize = 16

var candidates = []candidate{
	{name: "ratel Allow", make: ratelAllow("token_bucket")},
	{name: "ratel Allow, sliding_counter", make: ratelAllow("sliding_counter")},
	{name: "ratel AllowRule", make: ratelAllowRule},
	{name: "x/time/rate in a map", make: single(xTimeRate)},
	{name: "sethvargo/go-limiter", make: single(goLimiter)},
	{name: "throttled GCRA", make: single(throttledGCRA)},
	{name: "go-chi/httprate counter", make: single(chiHTTPRate)},
	{name: "ulule/limiter", make: single(uluLimiter)},
}

var (
	manyInto = candidate{name: "ratel AllowManyInto", size: batchSize, make: ratelMany((*ratel.Limiter).AllowManyInto)}
	many     = candidate{name: "ratel AllowMany", size: batchSize, make: ratelMany(func(l *ratel.Limiter, ctx context.Context, requests []ratel.Request, into []ratel.Decision) error {
		decisions, err := l.AllowMany(ctx, requests)
		copy(into, decisions)
		return err
	})}
)

// ends are what ends the candidates that a section has made.
var ends []func()

func endAll() {
	for _, end := range ends {
		end()
	}
	ends = nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newRatel(algorithm string, limit int) *ratel.Limiter {
	limiter := must(ratel.New(ratel.FromText(fmt.Sprintf(rules, algorithm, limit), "rules")))
	ends = append(ends, func() { _ = limiter.Close() })
	return limiter
}

// one is 1 for a yes.
func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// single is a candidate that knows one key at a time.
func single(make func(limit int) func(key string) bool) func(int) func([]string) int {
	return func(limit int) func([]string) int {
		ask := make(limit)
		return func(keys []string) int { return one(ask(keys[0])) }
	}
}

func ratelAllow(algorithm string) func(int) func([]string) int {
	return single(func(limit int) func(string) bool {
		limiter := newRatel(algorithm, limit)
		return func(key string) bool {
			decision, err := limiter.Allow(ctx, ratel.Request{Method: "GET", Path: "/", User: key})
			return err == nil && decision.Allowed
		}
	})
}

func ratelAllowRule(limit int) func([]string) int {
	limiter := newRatel("token_bucket", limit)
	rule := must(limiter.RuleID("d"))
	return func(keys []string) int {
		decision, err := limiter.AllowRule(ctx, rule, keys[0], 1)
		return one(err == nil && decision.Allowed)
	}
}

type manyCall func(*ratel.Limiter, context.Context, []ratel.Request, []ratel.Decision) error

func ratelMany(call manyCall) func(int) func([]string) int {
	return func(limit int) func([]string) int {
		limiter := newRatel("token_bucket", limit)
		return func(keys []string) int {
			var requests [batchSize]ratel.Request
			var decisions [batchSize]ratel.Decision
			for i, key := range keys {
				requests[i].Method, requests[i].Path, requests[i].User = "GET", "/", key
			}
			if call(limiter, ctx, requests[:len(keys)], decisions[:len(keys)]) != nil {
				return -1
			}
			admitted := 0
			for i := range decisions {
				admitted += one(decisions[i].Allowed)
			}
			return admitted
		}
	}
}

func xTimeRate(limit int) func(string) bool {
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

func goLimiter(limit int) func(string) bool {
	store := must(memorystore.New(&memorystore.Config{Tokens: uint64(limit), Interval: window}))
	ends = append(ends, func() { _ = store.Close(ctx) })
	return func(key string) bool {
		_, _, _, ok, err := store.Take(ctx, key)
		return err == nil && ok
	}
}

func throttledGCRA(limit int) func(string) bool {
	store := must(memstore.NewCtx(2000000))
	quota := throttled.RateQuota{MaxRate: throttled.PerHour(limit), MaxBurst: limit - 1}
	limiter := must(throttled.NewGCRARateLimiterCtx(store, quota))
	limiter.SetMaxCASAttemptsLimit(1_000_000) // by default it fails where a few goroutines ask for one key
	return func(key string) bool {
		limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited
	}
}

// A counter that is handed in is looked at in windows of the wall clock, so that both calls mean the same one.
func chiHTTPRate(limit int) func(string) bool {
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

func uluLimiter(limit int) func(string) bool {
	instance := limiter.New(ulule.NewStore(), limiter.Rate{Period: window, Limit: int64(limit)})
	return func(key string) bool {
		answer, err := instance.Get(ctx, key)
		return err == nil && !answer.Reached
	}
}
