// Package ratelhttp puts a ratel.Limiter in front of net/http handlers.
package ratelhttp

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"time"

	ratel "github.com/ratel/ratel/bindings/go"
)

// IdempotencyKey is the field that requests name themselves by (draft-ietf-httpapi-idempotency-key-header): see
// Options.IdempotencyHeader.
const IdempotencyKey = "Idempotency-Key"

// Options are the hooks of the middleware. Each may be nil.
type Options struct {
	User       func(*http.Request) string            // the authenticated user
	APIKey     func(*http.Request) string            // the API key
	Attributes func(*http.Request) []ratel.Attribute // for `when` and attribute scopes
	Cost       func(*http.Request) int64             // units, 0: what the rule says
	Skip       func(*http.Request) bool              // true: neither asked nor counted

	// IdempotencyHeader is the field that a request's id is taken from, mostly IdempotencyKey; empty: none. With a store on Redis an
	// allowed request that comes again is then answered as before and not charged: right only where what lies behind does not do the
	// work again either (docs/redis.md). A field that comes twice, is longer than 255 bytes or not printable ASCII is ignored.
	IdempotencyHeader string

	// Denied answers a denial in place of the problem body. The header fields are set already.
	Denied func(http.ResponseWriter, *http.Request, ratel.Decision)

	// Failed answers when there is no decision: a cost below 1, a limiter that is closed. By default that is 400 for what the
	// request is to blame for, else 503. A storage that fails is not such a case: the rule's on_store_error decides.
	Failed func(http.ResponseWriter, *http.Request, error)

	// Headers chooses the header fields; 0 is what the rule set says.
	Headers ratel.HeaderFlags

	// ExactNames writes field names letter by letter as the engine has them (X-RateLimit-Limit) in place of net/http's
	// canonical form (X-Ratelimit-Limit), which http.Header.Get needs. On the wire both mean the same.
	ExactNames bool

	// KeepDecision lets handlers have the decision: see DecisionOf.
	KeepDecision bool

	// IgnoreDelay passes on at once what a leaky_bucket would hold back.
	IgnoreDelay bool
}

// New is a middleware: it asks for each request, sets the header fields of the decision, and answers denials by itself: 429, 403
// for action: block, 503 when the store failed and the rule is closed, with an RFC 9457 body.
func New(limiter *ratel.Limiter, options Options) func(http.Handler) http.Handler {
	options.IdempotencyHeader = textproto.CanonicalMIMEHeaderKey(options.IdempotencyHeader)
	return func(next http.Handler) http.Handler {
		return &middleware{limiter: limiter, options: options, next: next}
	}
}

type middleware struct {
	limiter *ratel.Limiter
	options Options
	next    http.Handler
}

// Asked is a request as it was put to the limiter, and the answer.
type Asked struct {
	Request  ratel.Request
	Decision ratel.Decision
}

type askedKey struct{}

// DecisionOf is what was asked and answered for a request that came through a middleware with KeepDecision, for example to
// settle its cost once that is known.
func DecisionOf(ctx context.Context) (Asked, bool) {
	asked, ok := ctx.Value(askedKey{}).(Asked)
	return asked, ok
}

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.options.Skip != nil && m.options.Skip(r) {
		m.next.ServeHTTP(w, r)
		return
	}
	question, decision, err := m.ask(w.Header(), r)
	switch {
	case err != nil:
		m.failed(w, r, err)
	case !decision.Allowed:
		m.denied(w, r, decision)
	case m.options.IgnoreDelay || hold(r.Context(), decision.Delay()):
		if m.options.KeepDecision {
			r = r.WithContext(context.WithValue(r.Context(), askedKey{}, Asked{question, decision}))
		}
		m.next.ServeHTTP(w, r)
	}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// ask puts the request to the limiter and sets the fields of the decision.
func (m *middleware) ask(header http.Header, r *http.Request) (ratel.Request, ratel.Decision, error) {
	question := m.question(r)
	from := ratel.HTTP{
		Peer:          r.RemoteAddr,
		XForwardedFor: r.Header["X-Forwarded-For"],
		Forwarded:     r.Header["Forwarded"],
		Headers:       m.options.Headers,
	}
	if m.options.KeepDecision { // who settles needs the question whole
		ip, err := m.limiter.ClientIP(from.Peer, from.XForwardedFor, from.Forwarded)
		if err != nil {
			return question, ratel.Decision{}, err
		}
		question.IP = ip
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	decision, lines, err := m.limiter.AllowHTTP(r.Context(), question, from, (*buffer)[:0])
	if err != nil {
		return question, decision, err
	}
	*buffer = lines
	m.setFields(header, string(lines))
	return question, decision, nil
}

func (m *middleware) question(r *http.Request) ratel.Request {
	question := ratel.Request{Method: r.Method, Path: r.RequestURI}
	if question.Path == "" {
		question.Path = r.URL.RequestURI()
	}
	if m.options.User != nil {
		question.User = m.options.User(r)
	}
	if m.options.APIKey != nil {
		question.APIKey = m.options.APIKey(r)
	}
	if m.options.Attributes != nil {
		question.Attributes = m.options.Attributes(r)
	}
	if m.options.Cost != nil {
		question.Cost = m.options.Cost(r)
	}
	if m.options.IdempotencyHeader != "" {
		question.IdempotencyID = idempotencyID(r.Header[m.options.IdempotencyHeader])
	}
	return question
}

const maxIdempotencyID = 255

// idempotencyID is the id that the lines of a field tell; empty when they tell none.
func idempotencyID(lines []string) string {
	if len(lines) != 1 || len(lines[0]) > maxIdempotencyID {
		return ""
	}
	for _, b := range []byte(lines[0]) {
		if b < ' ' || b > '~' {
			return ""
		}
	}
	return lines[0]
}

// setFields puts the engine's lines, "Name: value\r\n" each, into a header, in place of fields of the same name.
func (m *middleware) setFields(header http.Header, lines string) {
	values := make([]string, strings.Count(lines, "\n")) // one allocation for all fields
	for i := range values {
		colon, end := strings.IndexByte(lines, ':'), strings.IndexByte(lines, '\r')
		name := lines[:colon]
		values[i] = lines[colon+len(": ") : end]
		lines = lines[end+len("\r\n"):]
		key := canonical(name)
		if m.options.ExactNames {
			delete(header, key)
			key = name
		}
		header[key] = values[i : i+1 : i+1]
	}
}

// canonical is net/http's form of a name. Those of the engine are known, so that they are not worked out for each request.
func canonical(name string) string {
	switch name {
	case "X-RateLimit-Limit":
		return "X-Ratelimit-Limit"
	case "X-RateLimit-Remaining":
		return "X-Ratelimit-Remaining"
	case "X-RateLimit-Reset":
		return "X-Ratelimit-Reset"
	case "Retry-After":
		return "Retry-After"
	case "RateLimit":
		return "Ratelimit"
	case "RateLimit-Policy":
		return "Ratelimit-Policy"
	case "RateLimit-Limit":
		return "Ratelimit-Limit"
	case "RateLimit-Remaining":
		return "Ratelimit-Remaining"
	case "RateLimit-Reset":
		return "Ratelimit-Reset"
	default:
		return textproto.CanonicalMIMEHeaderKey(name)
	}
}

func (m *middleware) denied(w http.ResponseWriter, r *http.Request, decision ratel.Decision) {
	if m.options.Denied != nil {
		m.options.Denied(w, r, decision)
		return
	}
	body, err := m.limiter.Problem(decision)
	if err != nil {
		m.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(StatusOf(decision))
	_, _ = w.Write([]byte(body))
}

// StatusOf is the status that a denial is answered with: 429, 403 or 503, as docs/headers.md says.
func StatusOf(decision ratel.Decision) int {
	switch decision.Reason {
	case ratel.ReasonBlocked:
		return http.StatusForbidden
	case ratel.ReasonStore:
		return http.StatusServiceUnavailable
	default:
		return http.StatusTooManyRequests
	}
}

func (m *middleware) failed(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil: // the client has gone: nobody reads an answer
	case m.options.Failed != nil:
		m.options.Failed(w, r, err)
	case blames(err):
		http.Error(w, strings.TrimPrefix(err.Error(), "ratel: "), http.StatusBadRequest)
	default:
		http.Error(w, "the limits could not be checked", http.StatusServiceUnavailable)
	}
}

// blames tells whether it is the request that an error is about, and not the host's clock.
func blames(err error) bool {
	var why *ratel.Error
	return errors.As(err, &why) && why.Code == ratel.ErrInvalidArgument && why.Cause == nil
}

// hold waits; false when the client has gone meanwhile.
func hold(ctx context.Context, delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
