package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	ratel "github.com/ratel/ratel/bindings/go"
	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

// Above that a path is refused, as in the gateways of the other languages.
const maxPath = 2048

// newGateway decides on every request before anything else happens to it.
func newGateway(limiter *ratel.Limiter, upstream *url.URL, idempotencyHeader string) http.Handler {
	behind := http.Handler(http.HandlerFunc(answer))
	if upstream != nil {
		behind = newProxy(upstream)
	}
	limited := ratelhttp.New(limiter, ratelhttp.Options{
		User:       user,
		APIKey:     func(r *http.Request) string { return r.Header.Get("X-Api-Key") },
		Cost:       func(r *http.Request) int64 { units, _ := cost(r); return units },
		ExactNames: true,

		IdempotencyHeader: idempotencyHeader,
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if takesBody(r) {
			w.Header().Del("Connection")
		} else {
			r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, 0, nil
		}
		behind.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // nobody reads that body, unless the request is let through
		}
		if !methods[r.Method] {
			text(w, http.StatusBadRequest, "bad request")
		} else if len(r.URL.Path) > maxPath {
			text(w, http.StatusRequestURITooLong, "the path is too long")
		} else if r.URL.Path == "/metrics" {
			metrics(w, limiter)
		} else if _, err := cost(r); err != nil {
			text(w, http.StatusBadRequest, err.Error())
		} else {
			limited.ServeHTTP(w, r)
		}
	})
}

var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

func takesBody(r *http.Request) bool {
	return r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH" || (r.Method == "DELETE" && r.ContentLength > 0)
}

func text(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	fmt.Fprintln(w, line)
}

func metrics(w http.ResponseWriter, limiter *ratel.Limiter) {
	body, err := limiter.Prometheus()
	if err != nil {
		text(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(w, body)
}

// user is a stand-in for authentication: it believes what it is told. A real gateway verifies the token and takes the user from it.
func user(r *http.Request) string {
	if name := r.Header.Get("X-User"); name != "" {
		return name
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return ""
}

// cost is another stand-in: a real gateway works it out from the request. 0 is what the rule says.
func cost(r *http.Request) (int64, error) {
	field := r.Header.Get("X-Cost")
	if field == "" {
		return 0, nil
	}
	units, err := strconv.ParseInt(field, 10, 64)
	if err != nil || units < 1 || field[0] == '+' {
		return 0, errors.New("X-Cost is a whole number, at least 1")
	}
	return units, nil
}

// answer is what the gateway does by itself.
func answer(w http.ResponseWriter, r *http.Request) {
	received, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		text(w, http.StatusBadRequest, "bad request")
		return
	}
	text(w, http.StatusOK, fmt.Sprintf("served %s, %d bytes of body", r.Method, received))
}

type oursKey struct{}

// newProxy passes requests and answers on as they came, piece by piece.
func newProxy(upstream *url.URL) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { rewrite(r, upstream) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: dropFieldsOfOurs,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			text(w, http.StatusBadGateway, "the server behind the gateway gave no answer")
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it net/http ends the request's body as soon as the answer begins, under the hands of who still reads it.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), oursKey{}, w.Header())))
	})
}

func rewrite(r *httputil.ProxyRequest, upstream *url.URL) {
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = upstream.Scheme, upstream.Host, r.In.Host
	r.Out.URL.RawQuery, _, _ = strings.Cut(r.In.URL.RawQuery, "#")
	r.Out.Header.Del("Te")
	// Forwarded stays behind: nobody is added to it here, so the next hop would believe what the client wrote there.
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
		if lines, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = lines
		}
	}
	peer, _, err := net.SplitHostPort(r.In.RemoteAddr)
	if err != nil {
		peer = r.In.RemoteAddr
	}
	chain := append(append([]string{}, r.In.Header["X-Forwarded-For"]...), peer)
	r.Out.Header.Set("X-Forwarded-For", strings.Join(chain, ", "))
}

// dropFieldsOfOurs keeps Ratel's field where the server behind sets one of the same name.
func dropFieldsOfOurs(response *http.Response) error {
	ours, _ := response.Request.Context().Value(oursKey{}).(http.Header)
	for name := range ours {
		delete(response.Header, textproto.CanonicalMIMEHeaderKey(name))
	}
	return nil
}
