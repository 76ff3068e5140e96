package ratel

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func says(t *testing.T, err error, code Code, text string) {
	t.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, not %v with %q", err, code, text)
	}
}

func TestMessagesShowTheValue(t *testing.T) {
	l := newLimiter(t)
	orders := ruleID(t, l, "orders")
	fail := func(_ any, err error) error { return err }
	says(t, fail(l.AllowN(background, Request{Path: "/orders"}, -3)), ErrInvalidArgument, "cost is -3: at least 1")
	says(t, fail(l.AllowRule(background, orders, "k", 0)), ErrInvalidArgument, "cost is 0: at least 1")
	says(t, fail(l.AllowRule(background, 77, "k", 1)), ErrNotFound, "no rule in force has the id 77")
	says(t, fail(l.AllowN(background, Request{Path: "/orders"}, math.MinInt64+2)), ErrInvalidArgument, "cost is -9223372036854775806: at least 1")
	for _, n := range []int64{math.MinInt64, math.MinInt64 + 1} {
		const text = "cost is below -9223372036854775806: it has to be at least 1"
		says(t, fail(l.AllowN(background, Request{Path: "/orders"}, n)), ErrInvalidArgument, text)
		says(t, fail(l.AllowRule(background, orders, "k", n)), ErrInvalidArgument, text)
		says(t, fail(l.WaitN(background, Request{Path: "/orders"}, n)), ErrInvalidArgument, text)
		says(t, fail(l.Peek(background, Request{Path: "/orders", Cost: n})), ErrInvalidArgument, text)
		says(t, fail(l.Explain(background, Request{Path: "/orders", Cost: n}, 0)), ErrInvalidArgument, text)
	}
	says(t, fail(l.EvictIdle(time.Unix(-1, 0))), ErrInvalidArgument, "cutoff is 1969-12-31T23:59:59Z")
	says(t, l.Watch("x", -time.Second), ErrInvalidArgument, "every is -1s")
}

func TestEachOfManySaysWhy(t *testing.T) {
	asked := 0
	l := newLimiter(t, WithClock(clockFunc(func() time.Time { asked++; return time.Unix(1e9, 0) })))
	requests := []Request{
		{Path: "/orders", User: "many"},
		{Path: "/orders", Cost: -3},
		{Path: "/orders", Cost: math.MinInt64},
		{Path: "/orders", Key: "k"},
		{Rule: 77, Key: "k"},
		{Path: "/orders", Time: time.Unix(-1, 0)},
		{Path: "/", Attributes: make([]Attribute, 65)},
	}
	decisions, err := l.AllowMany(background, requests)
	if err != nil || decisions[0].Err != nil || asked != 1 {
		t.Fatalf("%v %v, the clock was asked %d times", err, decisions[0].Err, asked)
	}
	leaf := newLimiter(t) // whose Allow has no message of its own either
	for i, text := range []string{"", "cost is -3: at least 1", "cost is below -9", "key goes with request.rule", "no rule in force has the id 77",
		"Time is 1969-12-31T23:59:59Z", "65, more than 64"} {
		if i == 0 {
			continue
		}
		_, alone := leaf.Allow(background, requests[i])
		for _, err := range []error{decisions[i].Err, alone} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%d: %v, not %q", i, err, text)
			}
		}
	}
}

func TestClockThatFailsIsTheCause(t *testing.T) {
	for text, now := range map[string]func() time.Time{
		"panic in Clock.Now: no battery": func() time.Time { panic("no battery") },
		"Clock.Now told 0001-01-01":      func() time.Time { return time.Time{} },
		"Clock.Now told 2400-01-01":      func() time.Time { return time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		for _, storage := range []Option{WithMemory(0), WithStorage(newMapStorage(&instant{}))} {
			l := newLimiter(t, storage, WithClock(clockFunc(now)), WithLog(func(LogLevel, string) {}))
			for _, ask := range []func() error{
				func() error { _, err := l.Allow(background, Request{Path: "/orders"}); return err },
				func() error { _, err := l.AllowRule(background, ruleID(t, l, "orders"), "k", 1); return err },
				func() error { _, err := l.Peek(background, Request{Path: "/orders"}); return err },
				func() error { _, err := l.Explain(background, Request{Path: "/orders"}, 0); return err },
				func() error { _, err := l.EvictIdle(time.Time{}); return err },
				func() error {
					decisions, err := l.AllowMany(background, []Request{{Path: "/orders"}})
					return errors.Join(err, decisions[0].Err)
				},
			} {
				err := ask()
				says(t, err, ErrInvalidArgument, "the clock callback failed")
				var why *Error
				if !errors.As(err, &why) || why.Cause == nil || !strings.Contains(why.Cause.Error(), text) {
					t.Errorf("%v is caused by %v, not %q", err, why.Cause, text)
				}
			}
			_, err := l.AllowN(background, Request{Path: "/orders", Time: time.Unix(1, 0)}, -1)
			var why *Error
			if !errors.As(err, &why) || why.Cause != nil {
				t.Errorf("%v is caused by %v", err, why.Cause)
			}
		}
	}
}
