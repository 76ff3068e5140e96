package ratel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const testRules = `
version: 1
rules:
  - {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 5d}
  - {name: fast, path: /fast, scope: user, algorithm: token_bucket, limit: 1, window: 20ms}
  - {name: shaped, path: /shaped, scope: global, algorithm: leaky_bucket, limit: 1, window: 20ms, burst: 3}
  - {name: hours, path: /hours, scope: global, algorithm: leaky_bucket, limit: 1, window: 1h, burst: 3}
  - {name: internal, path: /internal, action: block}
  - {name: plans, path: /plans, scope: "attribute:plan", algorithm: sliding_log, limit: 2, window: 5d}
  - {name: closed, path: /closed, scope: user, on_store_error: closed, algorithm: token_bucket, limit: 1, window: 5d}
`

var background = context.Background()

func newLimiter(t testing.TB, options ...Option) *Limiter {
	t.Helper()
	limiter, err := New(FromText(testRules, "test"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

func ruleID(t testing.TB, l *Limiter, name string) RuleID {
	t.Helper()
	id, err := l.RuleID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustAllow(t testing.TB, l *Limiter, request Request) Decision {
	t.Helper()
	decision, err := l.Allow(background, request)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func TestAllow(t *testing.T) {
	l := newLimiter(t)
	alice := Request{Path: "/orders", User: "alice"}
	for left := uint64(5); left > 0; left-- {
		if d := mustAllow(t, l, alice); !d.Allowed || d.Remaining != left-1 || d.Window() != 5*24*time.Hour || d.Limit != 5 {
			t.Fatalf("%+v", d)
		}
	}
	d := mustAllow(t, l, alice)
	if d.Allowed || d.Reason != ReasonLimited || d.RetryAfter() <= 23*time.Hour || d.RetryAfter() > 24*time.Hour {
		t.Errorf("%+v", d)
	}
	if l.RuleName(d.Rule) != "orders" || time.Since(d.Time()) > time.Minute {
		t.Errorf("%s at %v", l.RuleName(d.Rule), d.Time())
	}
	if d, _ := l.AllowN(background, Request{Path: "/orders", User: "bob"}, 6); d.Reason != ReasonNeverFits || d.RetryAfter() != Never {
		t.Errorf("%+v", d)
	}
	if err := l.Reset(background, alice); err != nil || !mustAllow(t, l, alice).Allowed {
		t.Errorf("after a reset: %v", err)
	}
	if d, err := l.AllowRule(background, ruleID(t, l, "orders"), "carol", 2); err != nil || d.Remaining != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.Peek(background, Request{Path: "/orders", User: "carol"}); err != nil || !d.Peeked || d.Remaining != 3 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAttributes(t *testing.T) {
	l := newLimiter(t)
	with := func(value string, more int) Request {
		attributes := []Attribute{{"plan", value}}
		for range more {
			attributes = append(attributes, Attribute{"other", strings.Repeat("x", 2000)})
		}
		return Request{Path: "/plans", Attributes: attributes}
	}
	for i, want := range []bool{true, true, false} {
		if d := mustAllow(t, l, with("pro", i*31)); d.Allowed != want {
			t.Errorf("%d: %+v", i, d)
		}
	}
	if !mustAllow(t, l, with("", 0)).Allowed {
		t.Error("an empty plan is a plan of its own")
	}
	_, err := l.Allow(background, with("pro", 64))
	wantError(t, err, ErrInvalidArgument)
}

func TestAllowMany(t *testing.T) {
	for name, option := range map[string]Option{"memory": WithMemory(0), "storage": WithStorage(newMapStorage(&instant{}))} {
		l := newLimiter(t, option)
		decisions, err := l.AllowMany(background, []Request{
			{Path: "/orders", User: "a", Cost: 4}, {Path: "/orders", User: "a", Cost: -1}, {Path: "/orders", User: "a", Cost: 2},
			{Path: "/plans", Attributes: []Attribute{{"plan", "pro"}}},
		})
		if err != nil || len(decisions) != 4 {
			t.Fatal(name, err)
		}
		wantError(t, decisions[1].Err, ErrInvalidArgument)
		if !decisions[0].Allowed || decisions[2].Allowed || decisions[2].Err != nil || !decisions[3].Allowed {
			t.Errorf("%s: %+v", name, decisions)
		}
		if !decisions[0].Time().Equal(decisions[2].Time()) {
			t.Errorf("%s: two instants", name)
		}
		if decisions, err := l.AllowMany(background, nil); err != nil || len(decisions) != 0 {
			t.Error(decisions, err)
		}
	}
}

// What lay in the caller's room before is no answer, whatever comes of the call.
func TestAllowManyInto(t *testing.T) {
	stale := Decision{Allowed: true, Remaining: 99, Err: ErrDenied}
	requests := []Request{{Path: "/orders", User: "a", Cost: 4}, {Path: "/orders", User: "a", Cost: -1}, {Path: "/orders", User: "a", Cost: 2}}
	for name, option := range map[string]Option{"memory": WithMemory(0), "storage": WithStorage(newMapStorage(&instant{}))} {
		l := newLimiter(t, option)
		room := []Decision{stale, stale, stale, stale}
		if err := l.AllowManyInto(background, requests, room[:3]); err != nil {
			t.Fatal(name, err)
		}
		wantError(t, room[1].Err, ErrInvalidArgument)
		if !room[0].Allowed || room[0].Err != nil || room[0].Remaining != 1 || room[1].Allowed || room[2].Allowed || room[2].Err != nil || room[3] != stale {
			t.Errorf("%s: %+v", name, room)
		}
		wantError(t, l.AllowManyInto(background, requests, room), ErrInvalidArgument)
		ctx, cancel := context.WithCancel(background)
		cancel()
		room[0] = stale
		if err := l.AllowManyInto(ctx, requests, room[:3]); !errors.Is(err, context.Canceled) || room[0] != (Decision{}) {
			t.Errorf("%s: %v, %+v", name, err, room[0])
		}
		if err := l.AllowManyInto(background, nil, nil); err != nil {
			t.Error(name, err)
		}
	}
}

// Batches of every size, one after the other, over what the ones before have left in the buffers: each request keeps its own strings.
func TestAllowManyKeepsRequestsApart(t *testing.T) {
	l := newLimiter(t)
	for _, size := range []int{1, 100, 3, 5000, 2, 17} {
		requests := make([]Request, size)
		for i := range requests {
			name := strings.Repeat("x", i%50) + strconv.Itoa(size) + "-" + strconv.Itoa(i)
			requests[i] = Request{Path: "/orders", User: name, Cost: int64(i%5 + 1)}
			if i%3 == 0 {
				requests[i] = Request{Path: "/plans", Attributes: []Attribute{{"plan", name}, {"region", ""}}}
			}
		}
		decisions, err := l.AllowMany(background, requests)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range decisions {
			rule, left := "orders", uint64(5-requests[i].Cost)
			if i%3 == 0 {
				rule, left = "plans", 1
			}
			if d.Err != nil || !d.Allowed || d.Remaining != left || l.RuleName(d.Rule) != rule {
				t.Fatalf("%d of %d: %+v", i, size, d)
			}
		}
	}
}

// What a request has in common with the one before crosses once: each is told by its own all the same.
func TestAllowManyTellsMethodAndPathOfEach(t *testing.T) {
	methods, paths := []string{"GET", "PUT", "POST"}, []string{"/a", "/b", "/" + strings.Repeat("c", 300)}
	name := func(method, path int) string { return methods[method] + strconv.Itoa(path) }
	rules := "version: 1\nrules:\n"
	for method := range methods {
		for path := range paths {
			rules += "  - {name: " + name(method, path) + ", method: " + methods[method] + ", path: " + paths[path] +
				", scope: user, algorithm: token_bucket, limit: 100000, window: 5d}\n"
		}
	}
	l, err := New(FromText(rules, "rules"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		requests, names := make([]Request, random.IntN(40)), make([]string, 0, 40)
		method, path := 0, 0
		for i := range requests {
			if random.IntN(3) == 0 {
				method = random.IntN(len(methods))
			}
			if random.IntN(3) == 0 {
				path = random.IntN(len(paths))
			}
			requests[i] = Request{Method: methods[method], Path: paths[path], User: "alice"}
			switch random.IntN(6) {
			case 0: // the same bytes in another place
				requests[i].Method, requests[i].Path = strings.Clone(methods[method]), strings.Clone(paths[path])
			case 1:
				requests[i].Attributes = []Attribute{{"plan", "pro"}}
			case 2: // by its rule, without either
				requests[i] = Request{Rule: ruleID(t, l, name(method, path)), Key: "alice"}
			}
			names = append(names, name(method, path))
		}
		decisions, err := l.AllowMany(background, requests)
		if err != nil {
			t.Fatal(err)
		}
		for i, decision := range decisions {
			if got := l.RuleName(decision.Rule); decision.Err != nil || got != names[i] {
				t.Fatalf("request %d: rule %q, not %q: %v", i, got, names[i], decision.Err)
			}
		}
	}
}

func TestSettle(t *testing.T) {
	l := newLimiter(t)
	request := Request{Path: "/orders", User: "alice", Cost: 4}
	d := mustAllow(t, l, request)
	if after, err := l.Settle(background, request, d, 1); err != nil || after.Remaining != 4 {
		t.Errorf("%+v, %v", after, err)
	}
	for _, wrong := range []Decision{{}, {Allowed: true, Source: 99}, {Allowed: true, Cost: 1, Rule: 4711}} {
		_, err := l.Settle(background, request, wrong, 1)
		wantError(t, err, ErrInvalidArgument)
	}
	_, err := l.Settle(background, request, d, -1)
	wantError(t, err, ErrInvalidArgument)
}

func TestWait(t *testing.T) {
	l := newLimiter(t)
	start := time.Now()
	for range 3 {
		if d, err := l.Wait(background, Request{Path: "/fast", User: "a"}); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	for range 3 {
		if _, err := l.WaitN(background, Request{Path: "/shaped"}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if since := time.Since(start); since < 80*time.Millisecond {
		t.Errorf("two refills and two delays took %v", since)
	}
	_, err := l.Wait(background, Request{Path: "/internal"})
	wantError(t, err, ErrDenied)
	_, err = l.WaitN(background, Request{Path: "/fast"}, 2)
	wantError(t, err, ErrDenied)
}

func TestWaitHonoursTheContext(t *testing.T) {
	l := newLimiter(t)
	soon, cancel := context.WithTimeout(background, 20*time.Minute)
	defer cancel()
	alice := Request{Path: "/orders", User: "alice", Cost: 5}
	mustAllow(t, l, alice)
	_, err := l.Wait(soon, alice) // a day away: says so now, or this test does not end
	wantError(t, err, context.DeadlineExceeded)

	mustAllow(t, l, Request{Path: "/hours"})
	_, err = l.Wait(soon, Request{Path: "/hours"}) // admitted, but to be held back for an hour
	wantError(t, err, context.DeadlineExceeded)
	if d := mustAllow(t, l, Request{Path: "/hours"}); d.Remaining != 1 {
		t.Errorf("what nobody waited for was not given back: %+v", d)
	}

	ending, end := context.WithCancel(background)
	time.AfterFunc(10*time.Millisecond, end)
	_, err = l.Wait(ending, alice)
	wantError(t, err, context.Canceled)
	_, err = l.Allow(ending, alice)
	wantError(t, err, context.Canceled)
}

func TestRulesInCode(t *testing.T) {
	l, err := New(FromRules(
		Rule{Name: "api", Method: "GET", Path: "/api", PathMatch: MatchExact, OnStoreError: OnErrorOpen, Cost: 2, LocalTier: LocalTierDenials,
			When:   []Attribute{{"plan", "pro"}, {"region", "eu"}},
			Limits: []Limit{{Name: "mine", Scope: "user", Algorithm: SlidingCounter, Limit: 4, Window: time.Hour}, {Scope: "global", Algorithm: TokenBucket, Limit: 100, Window: time.Second, Burst: 10}}},
		Rule{Name: "rest", Default: true, Action: ActionBlock},
	))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pro := Request{Method: "GET", Path: "/api", User: "u", Attributes: []Attribute{{"region", "eu"}, {"plan", "pro"}}}
	d := mustAllow(t, l, pro)
	if d.Cost != 2 || d.Remaining != 2 || d.LimitCount != 2 || l.LimitName(d.LimitID) != "mine" || d.Window() != time.Hour {
		t.Errorf("%+v", d)
	}
	if told, err := l.Explain(background, pro, 0); err != nil || !strings.Contains(told, "local tier denials") {
		t.Errorf("%s, %v", told, err)
	}
	if d := mustAllow(t, l, Request{Method: "GET", Path: "/api/x", User: "u"}); d.Reason != ReasonBlocked {
		t.Errorf("%+v", d)
	}
	if ids, err := l.Rules(); err != nil || len(ids) != 2 || l.RuleName(ids[0]) != "api" || l.RuleName(ids[1]) != "rest" {
		t.Errorf("%v, %v", ids, err)
	}
	_, err = New(FromRules(Rule{Name: "bad", Limits: []Limit{{Scope: "user", Algorithm: FixedWindow, Limit: 1, Window: time.Second, Burst: 3}}}))
	var fault *Error
	if !errors.As(err, &fault) || fault.Code != ErrConfig || fault.File != "<rule>" || fault.Path == "" || fault.Line != 0 {
		t.Errorf("%+v", fault)
	}
	_, err = New(FromRules(Rule{Name: "bad", Limits: []Limit{{Scope: "user", Algorithm: FixedWindow, Limit: 1, Window: -1}}}))
	wantError(t, err, ErrConfig)
	_, err = New(FromRules())
	wantError(t, err, ErrConfig)
}

func TestFaultsTellTheirPlace(t *testing.T) {
	text := "version: 1\nrules:\n  - name: a\n    limit: 0\n    window: 1x\n    scope: user\n    algorithm: token_bucket\n"
	_, err := New(FromText(text, "mine.yaml"))
	var fault *Error
	if !errors.As(err, &fault) {
		t.Fatal(err)
	}
	if fault.File != "mine.yaml" || fault.Line != 4 || fault.Column == 0 || fault.FaultCount != 2 || len(fault.Faults) != 2 {
		t.Errorf("%+v", fault)
	}
	if second := fault.Faults[1]; second.Line != 5 || second.Message == "" || second.Path == "" {
		t.Errorf("%+v", second)
	}
	if !strings.HasPrefix(err.Error(), "ratel: mine.yaml:4:") || !strings.HasSuffix(err.Error(), "(and 1 more)") {
		t.Error(err)
	}
	_, err = New(FromFile("no/such/file.yaml"))
	wantError(t, err, ErrIO)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloadAndWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, testRules)
	var messages atomic.Int32
	l, err := New(FromFile(file), WithLog(func(LogLevel, string) { messages.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	alice := Request{Path: "/orders", User: "alice"}
	mustAllow(t, l, alice)
	if err := l.Reload(FromText(strings.Replace(testRules, "limit: 5", "limit: 7", 1), "x")); err != nil || l.Generation() != 2 {
		t.Fatal(err, l.Generation())
	}
	if d := mustAllow(t, l, alice); d.Limit != 7 || d.Remaining != 3 {
		t.Errorf("%+v", d)
	}
	wantError(t, l.Reload(FromText("version: 2", "x")), ErrConfig)
	wantError(t, l.Reload(nil), ErrInvalidArgument)
	if text, err := l.Diff(FromFile(file), 0); err != nil || !strings.Contains(text, "orders") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := l.Diff(FromFile(file), TextJSON); err != nil || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		t.Errorf("%q, %v", text, err)
	}
	if err := l.ReloadFile(file); err != nil || l.Generation() != 3 {
		t.Fatal(err, l.Generation())
	}
	wantError(t, l.Watch(file, time.Nanosecond), ErrInvalidArgument)
	wantError(t, l.Watch(file, -time.Second), ErrInvalidArgument)
	if err := l.Watch(file, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	before := l.Generation()
	write(t, file, strings.Replace(testRules, "limit: 5", "limit: 9", 1))
	eventually(t, func() bool { return l.Generation() > before && mustAllow(t, l, alice).Limit == 9 })
	write(t, file, "rules: nonsense")
	eventually(t, func() bool {
		m, err := l.Metrics()
		return err == nil && m.ReloadFailures > 0 && messages.Load() > 0
	})
	if err := l.Watch("", 0); err != nil {
		t.Error(err)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("did not happen")
}

func TestTexts(t *testing.T) {
	l := newLimiter(t)
	request := Request{Path: "/orders", User: "alice"}
	d := mustAllow(t, l, request)
	if lines, err := l.Headers(d, HeadersX|HeadersResetDelta); err != nil || !strings.HasPrefix(lines, "X-RateLimit-Limit: 5\r\n") {
		t.Errorf("%q, %v", lines, err)
	}
	if lines, err := l.AppendHeaders([]byte("before"), d, HeadersDraft11); err != nil || !strings.HasPrefix(string(lines), "beforeRateLimit-Policy: ") {
		t.Errorf("%q, %v", lines, err)
	}
	_, err := l.Headers(d, HeadersDraft11|HeadersDraft6)
	wantError(t, err, ErrInvalidArgument)
	_, err = l.Problem(d)
	wantError(t, err, ErrInvalidArgument)
	if text, err := l.Explain(background, request, 0); err != nil || !strings.Contains(text, "orders") {
		t.Errorf("%q, %v", text, err)
	}
	long := Request{Path: "/" + strings.Repeat("a/", 3000), Attributes: []Attribute{{"a", "b"}}}
	if text, err := l.Explain(background, long, TextJSON); err != nil || !strings.HasPrefix(text, "{") {
		t.Errorf("%.100q, %v", text, err)
	}
	if text, err := l.Prometheus(); err != nil || !strings.Contains(text, "\nratel_allowed_total 1\n") {
		t.Errorf("%q, %v", text, err)
	}
	if ip, err := l.ClientIP("[::ffff:192.0.2.1]:80", []string{"1.1.1.1"}, nil); err != nil || ip != "192.0.2.1" {
		t.Errorf("%q, %v", ip, err)
	}
	if ip, err := l.ClientIP("nowhere", make([]string, 100), make([]string, 100)); err != nil || ip != "" {
		t.Errorf("%q, %v", ip, err)
	}
	if keys, err := l.KeyCount(); err != nil || keys != 1 {
		t.Errorf("%d, %v", keys, err)
	}
	if evicted, err := l.EvictIdle(time.Time{}); err != nil || evicted != 0 {
		t.Errorf("%d, %v", evicted, err)
	}
}

// Every method of a limiter that is closed, empty or nil.
func TestClosed(t *testing.T) {
	l := newLimiter(t)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, l := range map[string]*Limiter{"closed": l, "empty": {}, "nil": nil} {
		fail := func(_ any, err error) error { return err }
		calls := []error{
			fail(l.Allow(background, Request{})), fail(l.AllowN(background, Request{}, 1)), fail(l.AllowRule(background, 1, "k", 1)),
			fail(l.AllowMany(background, []Request{{}})), l.AllowManyInto(background, []Request{{}}, make([]Decision, 1)), fail(l.Peek(background, Request{})), fail(l.Settle(background, Request{}, Decision{}, 1)),
			l.Reset(background, Request{}), fail(l.Wait(background, Request{})), fail(l.Explain(background, Request{}, 0)),
			l.Reload(FromText(testRules, "x")), l.ReloadFile("x"), l.Watch("x", 0), fail(l.Diff(FromText(testRules, "x"), 0)),
			fail(l.Metrics()), fail(l.RuleMetrics(1)), fail(l.Prometheus()), fail(l.ClientIP("", nil, nil)), fail(l.EvictIdle(time.Time{})),
			fail(l.KeyCount()), fail(l.RuleID("x")), fail(l.Rules()), fail(l.Headers(Decision{}, 0)), fail(l.Problem(Decision{})),
		}
		for i, err := range calls {
			if !errors.Is(err, ErrClosed) || !errors.Is(err, ErrState) {
				t.Errorf("%s, call %d: %v", name, i, err)
			}
		}
		if l.Generation() != 0 || l.RuleName(1) != "" || l.LimitName(1) != "" || l.Close() != nil {
			t.Error(name)
		}
	}
}

func TestInstantsThatTheEngineDoesNotTake(t *testing.T) {
	l := newLimiter(t)
	fail := func(_ any, err error) error { return err }
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-1, 0), time.Unix(0, maxTime+1), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		request := Request{Path: "/orders", User: "alice", Time: at}
		_, _, byHTTP := l.AllowHTTP(background, request, HTTP{}, nil)
		for i, err := range []error{
			fail(l.Allow(background, request)), fail(l.AllowN(background, request, 1)), fail(l.Peek(background, request)),
			fail(l.Settle(background, request, Decision{Allowed: true}, 1)), l.Reset(background, request), byHTTP,
			fail(l.Explain(background, request, 0)), fail(l.Wait(background, request)),
		} {
			if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "Time is "+at.UTC().Format(time.RFC3339Nano)) {
				t.Errorf("%v, call %d: %v", at, i, err)
			}
		}
	}
	if keys, err := l.KeyCount(); keys != 0 || err != nil {
		t.Errorf("%d keys, %v: what is refused leaves nothing", keys, err)
	}
	for _, at := range []time.Time{time.Unix(0, 1), time.Unix(0, maxTime)} {
		if d := mustAllow(t, l, Request{Path: "/orders", User: at.String(), Time: at}); !d.Time().Equal(at) {
			t.Errorf("%v instead of %v", d.Time(), at)
		}
	}
	if d := mustAllow(t, l, Request{Path: "/orders", User: "bob"}); time.Since(d.Time()) > time.Minute {
		t.Errorf("the clock says %v", d.Time())
	}
}

func TestBadArguments(t *testing.T) {
	l := newLimiter(t)
	orders := ruleID(t, l, "orders")
	var noContext context.Context
	fail := func(_ any, err error) error { return err }
	first := func(decisions []Decision, err error) error { return errors.Join(err, decisions[0].Err) }
	for i, err := range []error{
		fail(l.AllowN(background, Request{Path: "/orders"}, 0)),
		fail(l.AllowN(background, Request{Path: "/orders"}, -1)),
		fail(l.Allow(background, Request{Path: "/orders", Cost: -7})),
		fail(l.AllowRule(background, orders, "k", 0)),
		fail(l.AllowN(background, Request{Path: "/orders"}, math.MinInt64)),
		fail(l.AllowRule(background, orders, "k", math.MinInt64)),
		fail(l.WaitN(background, Request{Path: "/orders"}, math.MinInt64)),
		fail(l.Wait(background, Request{Path: "/orders", Cost: math.MinInt64})),
		fail(l.Allow(background, Request{Path: "/orders", Cost: math.MinInt64})),
		fail(l.Peek(background, Request{Path: "/orders", Cost: math.MinInt64})),
		fail(l.Explain(background, Request{Path: "/orders", Cost: math.MinInt64}, 0)),
		first(l.AllowMany(background, []Request{{Path: "/orders", Cost: math.MinInt64}})),
		first(l.AllowMany(background, []Request{{Path: "/orders", Time: time.Unix(0, 0)}})),
		fail(l.Allow(background, Request{Path: "/orders", Time: time.Unix(-1, 0)})),
		fail(l.Allow(background, Request{Path: "/orders", Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})),
		fail(l.Allow(background, Request{Path: "/orders", Key: "k"})),
		fail(l.Allow(noContext, Request{Path: "/orders"})),
		fail(New(nil)),
		fail(New(FromText(testRules, "x"), nil)),
		fail(New(FromText(testRules, "x"), WithMemory(0), nil)),
		fail(New(FromText(testRules, "x"), WithClock(nil))),
		fail(New(FromText(testRules, "x"), WithLog(nil))),
		fail(New(FromText(testRules, "x"), WithStorage(nil))),
		fail(New(FromText(testRules, "x"), WithSecret("short"))),
		fail(New(FromFile("nul\x00inside"))),
	} {
		if !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%d: %v", i, err)
		}
	}
	_, err := l.Allow(background, Request{Rule: 4711, Key: "k"})
	wantError(t, err, ErrNotFound)
	_, err = l.AllowRule(background, 4711, "k", 1)
	wantError(t, err, ErrNotFound)
	_, err = l.RuleID("no such")
	wantError(t, err, ErrNotFound)
	_, err = New(FromText("", ""))
	wantError(t, err, ErrConfig)
	if Features()&FeatureRedis == 0 {
		_, err = New(FromText(testRules, "x"), WithRedis("redis://localhost"))
		wantError(t, err, ErrUnsupported)
	}
	for _, text := range []string{"\xff\xfe", "a\x00b", "", strings.Repeat("k", 10<<20), "\xed\xa0\x80"} {
		request := Request{Method: text, Path: "/orders/" + text, User: text, APIKey: text, IP: text, Attributes: []Attribute{{text, text}}}
		if d := mustAllow(t, l, request); d.Rule != orders {
			t.Errorf("%.9q: %+v", text, d)
		}
		if d, err := l.AllowRule(background, orders, "key"+text, 1); err != nil || !d.Allowed {
			t.Errorf("%.9q: %+v, %v", text, d, err)
		}
	}
}

// A limiter that nobody holds any more ends its engine, and with it its callbacks.
func TestCleanup(t *testing.T) {
	gone := make(chan struct{})
	func() {
		storage := newMapStorage(&instant{})
		runtime.AddCleanup(storage, func(c chan struct{}) { close(c) }, gone)
		l, err := New(FromText(testRules, "x"), WithStorage(storage))
		if err != nil {
			t.Fatal(err)
		}
		mustAllow(t, l, Request{Path: "/orders"})
	}()
	eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
}

// Exactly the limit, over reloads, with every other call going on meanwhile, and a Close in the midst of it.
func TestRace(t *testing.T) {
	l := newLimiter(t)
	var allowed atomic.Int64
	var deciders, others sync.WaitGroup
	ended := make(chan struct{})
	for i, work := range []func(){
		func() { _ = l.Reload(FromText(testRules, "x")) },
		func() { _, _ = l.Metrics(); _, _ = l.Prometheus() },
		func() { _, _ = l.Peek(background, Request{Path: "/orders", User: "alice"}) },
		func() { _, _ = l.EvictIdle(time.Time{}); _, _ = l.KeyCount() },
		func() { _, _ = l.Diff(FromText(testRules, "x"), 0) },
	} {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				select {
				case <-ended:
					return
				default:
					work()
					if i == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			}
		}()
	}
	for range 8 {
		deciders.Add(1)
		go func() {
			defer deciders.Done()
			for range 2000 {
				if d, err := l.Allow(background, Request{Path: "/orders", User: "alice"}); err != nil {
					t.Error(err)
					return
				} else if d.Allowed {
					allowed.Add(1)
				}
			}
		}()
	}
	deciders.Wait()
	if allowed.Load() != 5 {
		t.Errorf("%d allowed", allowed.Load())
	}
	_ = l.Close()
	close(ended)
	others.Wait()
	_, err := l.Metrics()
	wantError(t, err, ErrClosed)
}

func TestRegion(t *testing.T) {
	rules := FromText("regions: {eu: 3, us: 2}\n"+testRules, "test")
	for region, want := range map[string]uint64{"": 5, "eu": 3, "us": 2} {
		l, err := New(rules, WithRegion(region))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := l.Peek(background, Request{Path: "/orders", User: "alice"}); err != nil || d.Limit != want {
			t.Errorf("%s: %+v, %v", region, d, err)
		}
		_ = l.Close()
	}
	_, err := New(rules, WithRegion("ap"))
	wantError(t, err, ErrConfig)
}
