// Package bench compares decisions per key with what Go programs would pick instead, all in one process and in memory.
// README.md says how to run it and how to read it.
package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	ratel "github.com/ratel/ratel/bindings/go"
)

var keyCounts = []int{1, 100_000, 1_000_000}

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
	for _, count := range keyCounts {
		keys := keysOf(count)
		for _, one := range candidates {
			b.Run(fmt.Sprintf("%s/keys=%d", one.name, count), func(b *testing.B) {
				ask := one.make(b, plenty)
				for _, key := range keys {
					if !ask(key) {
						b.Fatal("denied")
					}
				}
				b.Run("serial", func(b *testing.B) {
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						if !ask(keys[i]) {
							b.Fatal("denied")
						}
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
							if !ask(keys[i]) {
								b.Error("denied")
							}
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

// One op is one decision of 16, on keys that follow each other.
func BenchmarkBatchOf16(b *testing.B) {
	const size = 16
	for _, count := range keyCounts {
		keys := keysOf(count)
		limiter := newRatel(b, "token_bucket", plenty)
		batch := make([]ratel.Request, size)
		for i := range batch {
			batch[i] = ratel.Request{Method: "GET", Path: "/"}
		}
		next := 0
		fill := func() {
			for i := range batch {
				batch[i].User = keys[next]
				if next++; next == count {
					next = 0
				}
			}
		}
		for range keys {
			fill()
			if _, err := limiter.AllowMany(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("ratel AllowMany/keys=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += size {
				fill()
				decisions, err := limiter.AllowMany(ctx, batch)
				if err != nil || len(decisions) != size {
					b.Fatal(err)
				}
				for i := range decisions {
					if !decisions[i].Allowed {
						b.Fatal("denied")
					}
				}
			}
		})
		b.Run(fmt.Sprintf("ratel Allow/keys=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += size {
				fill()
				for i := range batch {
					if decision, err := limiter.Allow(ctx, batch[i]); err != nil || !decision.Allowed {
						b.Fatal("denied", err)
					}
				}
			}
		})
	}
}

// What of each decision is the crossing into C: a call of the engine that does nothing.
func BenchmarkCrossing(b *testing.B) {
	b.Run("a bare cgo call", func(b *testing.B) {
		for b.Loop() {
			ratel.Features()
		}
	})
	b.Run("a bare cgo call, parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ratel.Features()
			}
		})
	})
}
