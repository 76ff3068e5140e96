package ratel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ratel/ratel/bindings/go/internal/redistest"
)

// redisURL is that of a redis-server for this test alone.
func redisURL(t testing.TB) string {
	t.Helper()
	if Features()&FeatureRedis == 0 {
		t.Skip("built without Redis")
	}
	return redistest.URL(t)
}

func newRedisLimiter(t testing.TB, url string) *Limiter {
	t.Helper()
	return newLimiter(t, WithRedis(url), WithSecret("sixteen bytes or more"))
}

// goIn is WaitGroup.Go, which Go 1.24 does not have.
func goIn(group *sync.WaitGroup, work func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		work()
	}()
}

func TestRedis(t *testing.T) {
	url := redisURL(t)
	gateways := []*Limiter{newRedisLimiter(t, url), newRedisLimiter(t, url)}
	var allowed, exact atomic.Int64
	var group sync.WaitGroup
	for n := range 200 {
		goIn(&group, func() {
			d, err := gateways[n%2].Allow(background, Request{Path: "/orders", User: "alice"})
			if err != nil {
				t.Error(err)
			}
			if d.Allowed {
				allowed.Add(1)
			}
			if d.Source == SourceExact {
				exact.Add(1)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 5 || exact.Load() != 200 {
		t.Errorf("%d allowed, %d exact", allowed.Load(), exact.Load())
	}
	many, err := gateways[0].AllowMany(background, []Request{{Path: "/orders", User: "bob"}, {Path: "/orders", User: "alice"}})
	if err != nil || !many[0].Allowed || many[1].Allowed {
		t.Errorf("%+v, %v", many, err)
	}
}

func TestRedisIdempotencyID(t *testing.T) {
	url := redisURL(t)
	gateways := []*Limiter{newRedisLimiter(t, url), newRedisLimiter(t, url)}
	for i, want := range []uint64{4, 4, 4, 4} {
		request := Request{Path: "/orders", User: "alice", IdempotencyID: "order-1"}
		if d := mustAllow(t, gateways[i%2], request); !d.Allowed || d.Remaining != want {
			t.Errorf("%d: %+v", i, d)
		}
	}
	many, err := gateways[0].AllowMany(background, []Request{
		{Path: "/orders", User: "alice", IdempotencyID: "order-1"}, {Path: "/orders", User: "alice", IdempotencyID: "\x00"}})
	if err != nil || many[0].Remaining != 4 || many[1].Remaining != 3 {
		t.Errorf("%+v, %v", many, err)
	}
}

func TestRedisAllowManyIsDecidedInOrder(t *testing.T) {
	l := newRedisLimiter(t, redisURL(t))
	for name, at := range map[string]time.Time{"clock": {}, "stated": time.Now()} {
		requests := make([]Request, 7)
		for i := range requests {
			requests[i] = Request{Method: "POST", Path: "/orders", User: name, Time: at}
		}
		requests[3].Cost = -1
		many, err := l.AllowMany(background, requests)
		if err != nil {
			t.Fatal(err)
		}
		for i, remaining := range []uint64{4, 3, 2, 0, 1, 0, 0} {
			wantErr, allowed := i == 3, i != 3 && i != 6
			if (many[i].Err != nil) != wantErr || many[i].Allowed != allowed || many[i].Remaining != remaining {
				t.Errorf("%s, %d: %+v", name, i, many[i])
			}
		}
	}
}

func TestRedisAllowManyPutsAllAtOnce(t *testing.T) {
	l := newRedisLimiter(t, strings.Replace(silentURL(t), "=300", "=20000", 1))
	requests := make([]Request, 50)
	for i := range requests {
		requests[i] = Request{Path: "/orders", Time: time.Now()}
	}
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := l.AllowMany(ctx, requests)
		ended <- err
	}()
	for n := 0; n < 6000 && l.core.asked.open() < len(requests); n++ {
		time.Sleep(time.Millisecond)
	}
	if open := l.core.asked.open(); open != len(requests) {
		t.Errorf("%d questions are on the way", open)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// put writes a text under a key of the server behind a URL of redisURL.
func put(t *testing.T, url, key, text string) {
	t.Helper()
	socket, _, _ := strings.Cut(strings.TrimPrefix(url, "unix://"), "?")
	connection, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_, _ = fmt.Fprintf(connection, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(text), text)
	answer := make([]byte, 5)
	if _, err := io.ReadFull(connection, answer); err != nil || string(answer) != "+OK\r\n" {
		t.Fatalf("%q, %v", answer, err)
	}
}

func TestWatchRedis(t *testing.T) {
	url, log := redisURL(t), &messages{}
	l := newLimiter(t, WithLog(log.write))
	if err := l.WatchRedis(url, "rules", 100*time.Millisecond); err != nil || !strings.Contains(log.String(), "no such key") {
		t.Fatalf("%v, log %q", err, log)
	}
	put(t, url, "rules", strings.Replace(testRules, "limit: 5", "limit: 7", 1))
	for n := 0; n < 6000 && l.Generation() == 1; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	if d, err := l.Peek(background, Request{Path: "/orders", User: "alice"}); err != nil || d.Limit != 7 {
		t.Errorf("%+v, %v", d, err)
	}
	wantError(t, l.WatchRedis("nonsense", "rules", 0), ErrInvalidArgument)
	wantError(t, l.WatchRedis(url, "rules", -1), ErrInvalidArgument)
	put(t, url, "rules", "rules: [{name: x}]")
	wantError(t, l.WatchRedis(url, "rules", 0), ErrConfig)
	if err := l.WatchRedis("", "", 0); err != nil {
		t.Error(err)
	}
}

// silentURL is a server that takes connections and never answers.
func silentURL(t *testing.T) string {
	t.Helper()
	if Features()&FeatureRedis == 0 {
		t.Skip("built without Redis")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "redis://" + listener.Addr().String() + "?deadline_ms=300"
}

func TestRedisCallerGivesUp(t *testing.T) {
	l := newRedisLimiter(t, silentURL(t))
	var group sync.WaitGroup
	for range 20 {
		goIn(&group, func() {
			ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
			defer cancel()
			if _, err := l.Allow(ctx, Request{Path: "/orders"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
	group.Wait()
	// The places of those who gave up are free again once their answers have come.
	for range 1000 {
		if l.core.asked.open() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if open := l.core.asked.open(); open != 0 {
		t.Errorf("%d places are not free", open)
	}
	d, err := l.Allow(background, Request{Path: "/orders", User: "bob"})
	if err != nil || d.Source != SourceLocalFallback {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRedisCloseEndsTheDrain(t *testing.T) {
	l := newRedisLimiter(t, silentURL(t))
	c := l.core
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := l.Allow(ctx, Request{Path: "/orders"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d, err := l.Allow(background, Request{Path: "/orders"}); err != nil || d.Source != SourceLocalFallback {
		t.Errorf("%+v, %v", d, err)
	}
	_ = l.Close()
	select {
	case <-c.asked.ended:
	case <-time.After(time.Minute):
		t.Error("the goroutine that drains is still there")
	}
	if _, err := l.Allow(background, Request{Path: "/orders"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func BenchmarkRedisAllow(b *testing.B) {
	url := redisURL(b)
	for name, goroutines := range map[string]int{"1": 1, "64": 64, "1024": 1024} {
		b.Run(name, func(b *testing.B) {
			l := newRedisLimiter(b, url)
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			used := cpuTime()
			left.Store(int64(b.N))
			var group sync.WaitGroup
			for range goroutines {
				goIn(&group, func() {
					for left.Add(-1) >= 0 {
						_, _ = l.Allow(background, Request{Method: "POST", Path: "/orders", User: "alice"})
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(cpuTime()-used)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is what this process has used, so that a busy machine does not blur the comparison.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
