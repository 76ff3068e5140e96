package ratelhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ratel "github.com/ratel/ratel/bindings/go"
	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

const rules = `
version: 1
trusted_proxies: [127.0.0.0/8]
headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}
rules:
  - {name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 2, window: 2d}
  - {name: keys, path: /keys, scope: api_key, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: plans, path: /plans, scope: "attribute:plan", algorithm: token_bucket, limit: 1, window: 2d}
  - {name: slow, path: /slow, scope: global, algorithm: leaky_bucket, limit: 1, window: 1h, burst: 2}
  - {name: internal, path: /internal, action: block}
  - {name: closed, path: /closed, scope: ip, on_store_error: closed, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: open, path: /open, scope: ip, on_store_error: open, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: free, path: /free, action: unlimited}
default: {name: others, scope: ip, algorithm: token_bucket, limit: 3, window: 3d}
`

func newLimiter(t testing.TB, options ...ratel.Option) *ratel.Limiter {
	t.Helper()
	limiter, err := ratel.New(ratel.FromText(rules, "rules"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

var hooks = ratelhttp.Options{
	User:   func(r *http.Request) string { return r.Header.Get("X-User") },
	APIKey: func(r *http.Request) string { return r.Header.Get("X-Api-Key") },
	Attributes: func(r *http.Request) []ratel.Attribute {
		return []ratel.Attribute{{Name: "plan", Value: r.Header.Get("X-Plan")}}
	},
	Skip: func(r *http.Request) bool { return r.URL.Path == "/health" },
}

var served = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })

func ask(h http.Handler, method, path string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
}

func TestFirst429(t *testing.T) {
	h := ratelhttp.New(newLimiter(t), hooks)(served)
	w := ask(h, "POST", "/orders", "X-User", "alice")
	wantStatus(t, w, 200)
	if got := w.Header().Get("X-RateLimit-Remaining"); got != "1" {
		t.Errorf("remaining %q", got)
	}
	ask(h, "POST", "/orders", "X-User", "alice")
	w = ask(h, "POST", "/orders?x=1", "X-User", "alice")
	wantStatus(t, w, 429)
	if got := w.Header().Get("Retry-After"); got != "86400" {
		t.Errorf("Retry-After %q", got)
	}
	if got := w.Header().Get("RateLimit-Policy"); got != `"orders";q=2;w=172800` {
		t.Errorf("policy %q", got)
	}
	var problem struct {
		Status     int    `json:"status"`
		Reason     string `json:"reason"`
		RetryAfter int    `json:"retry_after"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Status != 429 || problem.Reason != "limited" || problem.RetryAfter != 86400 {
		t.Errorf("%+v, %v", problem, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("type %q", got)
	}
	wantStatus(t, ask(h, "POST", "/orders", "X-User", "bob"), 200)
}

func TestHooks(t *testing.T) {
	h := ratelhttp.New(newLimiter(t), hooks)(served)
	wantStatus(t, ask(h, "GET", "/keys", "X-Api-Key", "a"), 200)
	wantStatus(t, ask(h, "GET", "/keys", "X-Api-Key", "a"), 429)
	wantStatus(t, ask(h, "GET", "/keys", "X-Api-Key", "b"), 200)
	wantStatus(t, ask(h, "GET", "/plans", "X-Plan", "pro"), 200)
	wantStatus(t, ask(h, "GET", "/plans", "X-Plan", "pro"), 429)
	wantStatus(t, ask(h, "GET", "/plans", "X-Plan", "free"), 200)
	for range 9 {
		wantStatus(t, ask(h, "GET", "/health"), 200)
	}
}

func TestClientAddress(t *testing.T) {
	h := ratelhttp.New(newLimiter(t), hooks)(served)
	for range 3 {
		wantStatus(t, ask(h, "GET", "/x", "X-Forwarded-For", "1.1.1.1", "X-Forwarded-For", "198.51.100.7"), 200)
	}
	wantStatus(t, ask(h, "GET", "/x", "X-Forwarded-For", "2.2.2.2, 198.51.100.7"), 429)
	wantStatus(t, ask(h, "GET", "/x", "X-Forwarded-For", "198.51.100.8"), 200)
	wantStatus(t, ask(h, "GET", "/x", "Forwarded", "for=198.51.100.7"), 429)
}

func TestNeverFitsHasNoRetryAfter(t *testing.T) {
	options := hooks
	options.Cost = func(*http.Request) int64 { return 9 }
	w := ask(ratelhttp.New(newLimiter(t), options)(served), "POST", "/orders", "X-User", "alice")
	wantStatus(t, w, 429)
	if w.Header().Values("Retry-After") != nil || !strings.Contains(w.Body.String(), "never_fits") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

func TestBlockedAndUnlimited(t *testing.T) {
	h := ratelhttp.New(newLimiter(t), hooks)(served)
	w := ask(h, "GET", "/internal/x")
	wantStatus(t, w, 403)
	if w.Header().Values("X-RateLimit-Limit") != nil {
		t.Error("fields without a limit")
	}
	for range 9 {
		wantStatus(t, ask(h, "GET", "/free"), 200)
	}
}

type brokenStorage struct{}

func (brokenStorage) Apply(context.Context, *ratel.Op) error { return errors.New("no connection") }

func TestStoreTroubleFollowsTheRule(t *testing.T) {
	h := ratelhttp.New(newLimiter(t, ratel.WithStorage(brokenStorage{}), ratel.WithLog(func(ratel.LogLevel, string) {})), hooks)(served)
	wantStatus(t, ask(h, "GET", "/closed"), 503)
	wantStatus(t, ask(h, "GET", "/open"), 200)
	wantStatus(t, ask(h, "GET", "/open"), 200)
	wantStatus(t, ask(h, "GET", "/other"), 200)
}

type brokenClock struct{}

func (brokenClock) Now() time.Time { return time.Time{} }

func TestNoDecision(t *testing.T) {
	options := hooks
	options.Cost = func(*http.Request) int64 { return -1 }
	limiter := newLimiter(t)
	w := ask(ratelhttp.New(limiter, options)(served), "GET", "/x")
	wantStatus(t, w, 400)
	if !strings.HasPrefix(w.Body.String(), "cost is -1: at least 1") {
		t.Errorf("body %q", w.Body)
	}
	wantStatus(t, ask(ratelhttp.New(newLimiter(t, ratel.WithClock(brokenClock{})), hooks)(served), "GET", "/x"), 503)
	options.Failed = func(w http.ResponseWriter, _ *http.Request, err error) { http.Error(w, err.Error(), 500) }
	wantStatus(t, ask(ratelhttp.New(limiter, options)(served), "GET", "/x"), 500)
	_ = limiter.Close()
	wantStatus(t, ask(ratelhttp.New(limiter, hooks)(served), "GET", "/x"), 503)
	wantStatus(t, ask(ratelhttp.New(nil, hooks)(served), "GET", "/x"), 503)
}

func TestDeniedHook(t *testing.T) {
	options := hooks
	options.Denied = func(w http.ResponseWriter, _ *http.Request, d ratel.Decision) {
		http.Error(w, d.Reason.String(), http.StatusTeapot)
	}
	w := ask(ratelhttp.New(newLimiter(t), options)(served), "GET", "/internal")
	wantStatus(t, w, 418)
	if w.Body.String() != "blocked\n" {
		t.Error(w.Body)
	}
}

func TestExactNamesReplaceWhatWasThere(t *testing.T) {
	options := hooks
	options.ExactNames = true
	h := ratelhttp.New(newLimiter(t), options)(served)
	before := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "99")
		h.ServeHTTP(w, r)
	})
	header, exact := ask(before, "GET", "/x").Header(), "X-RateLimit-Limit"
	if got := header[exact]; len(got) != 1 || got[0] != "3" || header.Values("X-RateLimit-Limit") != nil {
		t.Errorf("%v", header)
	}
}

func TestSettleFromTheHandler(t *testing.T) {
	options := hooks
	options.KeepDecision = true
	limiter := newLimiter(t)
	h := ratelhttp.New(limiter, options)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked, ok := ratelhttp.DecisionOf(r.Context())
		if !ok {
			t.Fatal("no decision")
		}
		if _, err := limiter.Settle(r.Context(), asked.Request, asked.Decision, 0); err != nil {
			t.Fatal(err)
		}
	}))
	for range 9 {
		wantStatus(t, ask(h, "POST", "/orders", "X-User", "alice"), 200)
		wantStatus(t, ask(h, "GET", "/x", "X-Forwarded-For", "198.51.100.7"), 200)
	}
	if _, ok := ratelhttp.DecisionOf(context.Background()); ok {
		t.Error("a decision out of nowhere")
	}
}

func TestDelayEndsWhenTheClientGoes(t *testing.T) {
	var reached atomic.Int32
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	h := ratelhttp.New(newLimiter(t), hooks)(next)
	ask(h, "GET", "/slow")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/slow", nil).WithContext(ctx))
	}()
	cancel()
	<-done
	if reached.Load() != 1 {
		t.Errorf("reached %d times", reached.Load())
	}
}

// A real server: HTTP/2, a body that comes while it is read, an answer that is flushed, a client that leaves.
func TestServer(t *testing.T) {
	released, left := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/free/echo", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		line, _ := bufio.NewReader(r.Body).ReadString('\n')
		_, _ = io.WriteString(w, r.Proto+" "+line)
	})
	mux.HandleFunc("/free/stream", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		select {
		case <-released:
		case <-r.Context().Done():
			close(left)
		}
	})
	server := httptest.NewUnstartedServer(ratelhttp.New(newLimiter(t), hooks)(mux))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	defer close(released)

	reader, writer := io.Pipe()
	request, _ := http.NewRequest("POST", server.URL+"/free/echo", reader)
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(writer, "piece\n")
	body, _ := io.ReadAll(response.Body)
	_ = writer.Close()
	if string(body) != "HTTP/2.0 piece\n" {
		t.Errorf("%q", body)
	}

	ctx, cancel := context.WithCancel(context.Background())
	request, _ = http.NewRequestWithContext(ctx, "GET", server.URL+"/free/stream", nil)
	response, err = server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(response.Body).ReadString('\n'); line != "first\n" {
		t.Errorf("%q", line)
	}
	cancel()
	<-left
}

func TestParallelRequestsAdmitExactlyTheLimit(t *testing.T) {
	server := httptest.NewServer(ratelhttp.New(newLimiter(t), hooks)(served))
	defer server.Close()
	var allowed atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 10 {
				response, err := server.Client().Get(server.URL + "/x")
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
				if response.StatusCode == 200 {
					allowed.Add(1)
				}
			}
		}()
	}
	group.Wait()
	if allowed.Load() != 3 {
		t.Errorf("%d allowed", allowed.Load())
	}
}

func TestHostileRequests(t *testing.T) {
	server := httptest.NewServer(ratelhttp.New(newLimiter(t), hooks)(served))
	defer server.Close()
	for _, raw := range []string{
		"GET /%00%ff HTTP/1.1\r\nHost: x\r\nX-User: \xff\xfe\r\nX-Forwarded-For: ,,,\x80\r\nConnection: close\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"GET http://x/y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Forwarded-For: 1.2.3.4\r\n", 5000) + "Connection: close\r\n\r\n",
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(connection, raw)
		answer, _ := io.ReadAll(connection)
		_ = connection.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 ") || strings.HasPrefix(string(answer), "HTTP/1.1 5") {
			t.Errorf("%.60q: %.200q", raw, answer)
		}
	}
}
