package ratel

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time { return f() }

type storageFunc func(context.Context, *Op) error

func (f storageFunc) Apply(ctx context.Context, op *Op) error { return f(ctx, op) }

// duties is a storage whose small duties misbehave.
type duties struct {
	mapStorage
	duty func() error
}

func (d *duties) Forget(context.Context, string) error             { return d.duty() }
func (d *duties) Sweep(context.Context, time.Time) (uint64, error) { return 0, d.duty() }
func (d *duties) Count(context.Context) (uint64, error)            { return 0, d.duty() }

// messages is a log that remembers.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

func (m *messages) write(_ LogLevel, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text.WriteString(text + "\n")
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

func TestClockThatMisbehaves(t *testing.T) {
	for name, now := range map[string]func() time.Time{
		"panics":        func() time.Time { panic("no battery") },
		"zero":          func() time.Time { return time.Time{} },
		"before 1970":   func() time.Time { return time.Unix(-5, 0) },
		"far in future": func() time.Time { return time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		log := &messages{}
		l := newLimiter(t, WithClock(clockFunc(now)), WithLog(log.write))
		if _, err := l.Allow(background, Request{Path: "/orders"}); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.AllowRule(background, ruleID(t, l, "orders"), "k", 1); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "panics" && !strings.Contains(log.String(), "panic in Clock.Now: no battery") {
			t.Errorf("log: %q", log)
		}
	}
}

func TestClockThatAsksItsLimiter(t *testing.T) {
	var l *Limiter
	depth := 0
	l = newLimiter(t, WithClock(clockFunc(func() time.Time {
		if depth++; depth < 5 {
			_, _ = l.Allow(background, Request{Path: "/orders", User: "alice"})
			_, _ = l.Metrics()
		}
		return time.Unix(1700000000, 0)
	})))
	if d := mustAllow(t, l, Request{Path: "/orders", User: "alice"}); d.Remaining != 0 || !d.Allowed {
		t.Errorf("%+v", d)
	}
}

func TestStorageThatMisbehaves(t *testing.T) {
	var kept *Op
	for name, apply := range map[string]storageFunc{
		"fails":       func(context.Context, *Op) error { return errors.New("no connection") },
		"panics":      func(context.Context, *Op) error { panic("broken") },
		"panics nil":  func(context.Context, *Op) error { panic(nil) },
		"ends":        func(context.Context, *Op) error { runtime.Goexit(); return nil },
		"never steps": func(context.Context, *Op) error { return nil },
		"takes cells": func(_ context.Context, op *Op) error { op.Cells = nil; return op.Step() },
		"more cells":  func(_ context.Context, op *Op) error { op.Cells = make([]Cell, 1000); return op.Step() },
		"keeps the op": func(_ context.Context, op *Op) error {
			kept = op
			return errors.New("later")
		},
	} {
		log := &messages{}
		l := newLimiter(t, WithStorage(apply), WithLog(log.write))
		if d, err := l.Allow(background, Request{Path: "/closed"}); err != nil || d.Source != SourceFailClosed || d.Reason != ReasonStore {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d, err := l.Peek(background, Request{Path: "/closed"}); err != nil || d.Source != SourceFailClosed {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d := mustAllow(t, l, Request{Path: "/orders"}); d.Source != SourceLocalFallback {
			t.Errorf("%s: %+v", name, d)
		}
		if name == "panics" && !strings.Contains(log.String(), "panic in Storage.Apply: broken") {
			t.Errorf("log: %q", log)
		}
		if _, err := l.KeyCount(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, kept.Step(), ErrState)
}

func TestStorageThatReturnsGarbage(t *testing.T) {
	for _, state := range [][]byte{{}, {1, 2, 3}, []byte(strings.Repeat("\xff", 1<<16))} {
		l := newLimiter(t, WithStorage(storageFunc(func(_ context.Context, op *Op) error {
			for range 3 { // as one that retries
				op.Cells[0].State = state
				if err := op.Step(); err != nil {
					return err
				}
			}
			return nil
		})))
		if d := mustAllow(t, l, Request{Path: "/orders"}); d.Source != SourceExact || d.Remaining != 4 {
			t.Errorf("%.9q: %+v", state, d)
		}
	}
}

func TestDutiesThatMisbehave(t *testing.T) {
	for _, duty := range []func() error{
		func() error { return errors.New("no") },
		func() error { panic("no") },
		func() error { runtime.Goexit(); return nil },
	} {
		storage := &duties{mapStorage{now: &instant{}, held: map[string]heldState{}}, duty}
		l := newLimiter(t, WithStorage(storage), WithLog(func(LogLevel, string) { panic("the log, too") }))
		mustAllow(t, l, Request{Path: "/orders"})
		wantError(t, l.Reset(background, Request{Path: "/orders"}), ErrStore)
		_, err := l.EvictIdle(time.Time{})
		wantError(t, err, ErrStore)
		_, err = l.KeyCount()
		wantError(t, err, ErrStore)
	}
}

func TestStorageThatAsksItsLimiter(t *testing.T) {
	var l *Limiter
	storage := newMapStorage(&instant{})
	var depth atomic.Int32
	l = newLimiter(t, WithStorage(storageFunc(func(ctx context.Context, op *Op) error {
		if depth.Add(1) == 1 {
			_, _ = l.Allow(ctx, Request{Path: "/orders", User: "other"})
			_, _ = l.Peek(ctx, Request{Path: "/orders", User: "other"})
			_ = l.Reload(FromText(testRules, "x"))
		}
		return storage.Apply(ctx, op)
	})))
	if d := mustAllow(t, l, Request{Path: "/orders", User: "alice"}); !d.Allowed || d.Source != SourceExact {
		t.Errorf("%+v", d)
	}
	if d, err := l.Peek(background, Request{Path: "/orders", User: "other"}); err != nil || d.Remaining != 4 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Closing from within is no deadlock: the last call that is under way ends the engine.
func TestStorageThatClosesItsLimiter(t *testing.T) {
	var l *Limiter
	storage := newMapStorage(&instant{})
	l = newLimiter(t, WithStorage(storageFunc(func(ctx context.Context, op *Op) error {
		_ = l.Close()
		<-ctx.Done()
		return storage.Apply(ctx, op)
	})))
	if d, err := l.Allow(background, Request{Path: "/orders"}); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	_, err := l.Allow(background, Request{Path: "/orders"})
	wantError(t, err, ErrClosed)
}

// While a storage works, Allow holds no thread: thousands wait at once, on the threads that were there.
func TestWaitingHoldsNoThread(t *testing.T) {
	const callers = 2000
	storage := newMapStorage(&instant{})
	release := make(chan struct{})
	var inside atomic.Int32
	l := newLimiter(t, WithStorage(storageFunc(func(ctx context.Context, op *Op) error {
		inside.Add(1)
		<-release
		return storage.Apply(ctx, op)
	})))
	var group sync.WaitGroup
	var allowed atomic.Int32
	for range callers {
		group.Add(1)
		go func() {
			defer group.Done()
			if d, err := l.Allow(background, Request{Path: "/orders", User: "alice"}); err == nil && d.Allowed {
				allowed.Add(1)
			}
		}()
	}
	eventually(t, func() bool { return inside.Load() == callers })
	if threads := threadCount(t); threads > 200 {
		t.Errorf("%d threads for %d waiting goroutines", threads, callers)
	}
	close(release)
	group.Wait()
	if allowed.Load() != 5 {
		t.Errorf("%d allowed", allowed.Load())
	}
}

// Who gives up gets the context's error; the decision is made all the same, and the limiter still ends well.
func TestCallerThatGivesUp(t *testing.T) {
	storage := newMapStorage(&instant{})
	release, applied := make(chan struct{}), make(chan struct{}, 1)
	l := newLimiter(t, WithStorage(storageFunc(func(ctx context.Context, op *Op) error {
		<-release
		defer func() { applied <- struct{}{} }()
		return storage.Apply(ctx, op)
	})))
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err := l.Allow(ctx, Request{Path: "/orders", User: "alice"})
	wantError(t, err, context.DeadlineExceeded)
	close(release)
	<-applied
	if d := mustAllow(t, l, Request{Path: "/orders", User: "alice"}); d.Remaining != 3 {
		t.Errorf("%+v", d)
	}
}

func TestReadableKeys(t *testing.T) {
	storage := newMapStorage(&instant{})
	l := newLimiter(t, WithStorage(storage), WithReadableKeys())
	mustAllow(t, l, Request{Path: "/orders", User: "alice"})
	for key := range storage.held {
		if !strings.Contains(key, "alice") {
			t.Errorf("%q", key)
		}
	}
	if keys, err := l.KeyCount(); err != nil || keys != 1 {
		t.Errorf("%d, %v", keys, err)
	}
}

// threadCount asks the kernel, where there is one that tells.
func threadCount(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(tasks)
}
