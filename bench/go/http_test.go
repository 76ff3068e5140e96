package bench

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/httprate"

	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

func userOf(r *http.Request) string { return r.Header.Get("X-User") }

// middlewares limit by user and send X-RateLimit fields; `none` is the handler alone.
var middlewares = []struct {
	name string
	make func(tb testing.TB, limit int) func(http.Handler) http.Handler
}{
	{"none", func(testing.TB, int) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler { return next }
	}},
	{"ratelhttp", func(tb testing.TB, limit int) func(http.Handler) http.Handler {
		return ratelhttp.New(newRatel(tb, "token_bucket", limit), ratelhttp.Options{User: userOf})
	}},
	{"ratelhttp sliding_counter", func(tb testing.TB, limit int) func(http.Handler) http.Handler {
		return ratelhttp.New(newRatel(tb, "sliding_counter", limit), ratelhttp.Options{User: userOf})
	}},
	{"go-chi/httprate", func(_ testing.TB, limit int) func(http.Handler) http.Handler {
		return httprate.LimitBy(limit, window, func(r *http.Request) (string, error) { return userOf(r), nil })
	}},
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello, world\n") })

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// What a middleware adds to a handler, without the server around it.
func BenchmarkMiddleware(b *testing.B) {
	for _, one := range middlewares {
		b.Run(one.name, func(b *testing.B) {
			handler := one.make(b, plenty)(hello)
			request := httptest.NewRequest("GET", "/some/path", nil)
			request.Header.Set("X-User", "alice")
			b.ReportAllocs()
			for b.Loop() {
				answer := discard{header: http.Header{}}
				handler.ServeHTTP(&answer, request)
				if answer.status != 0 {
					b.Fatal(answer.status)
				}
			}
		})
	}
}

// client is one kept connection: nothing but the bytes of a request, and the answer read to its end.
type client struct {
	connection net.Conn
	reader     *bufio.Reader
}

func dial(tb testing.TB, server *httptest.Server) *client {
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return &client{connection, bufio.NewReader(connection)}
}

const helloRequest = "GET /some/path HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: bench\r\nX-User: alice\r\n\r\n"

func (c *client) ask() (*http.Response, error) {
	if _, err := io.WriteString(c.connection, helloRequest); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer, err
}

// One whole HTTP request of a hello world over kept connections, the client's part included.
func BenchmarkServer(b *testing.B) {
	for _, one := range middlewares {
		b.Run(one.name, func(b *testing.B) {
			server := httptest.NewServer(one.make(b, plenty)(hello))
			defer server.Close()
			check := func(b *testing.B, c *client) {
				if answer, err := c.ask(); err != nil || answer.StatusCode != http.StatusOK {
					b.Error(answer, err)
				}
			}
			b.Run("serial", func(b *testing.B) {
				c := dial(b, server)
				defer c.connection.Close()
				b.ReportAllocs()
				for b.Loop() {
					check(b, c)
				}
			})
			b.Run("parallel", func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					c := dial(b, server)
					defer c.connection.Close()
					for pb.Next() {
						check(b, c)
					}
				})
			})
		})
	}
}

// The middlewares admit the same requests, and say the same in their fields.
func TestMiddlewares(t *testing.T) {
	const limit = 3
	for _, one := range middlewares[1:] {
		server := httptest.NewServer(one.make(t, limit)(hello))
		defer server.Close()
		c := dial(t, server)
		defer c.connection.Close()
		for i, want := range []struct {
			status    int
			remaining string
		}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}} {
			answer, err := c.ask()
			if err != nil {
				t.Fatal(one.name, err)
			}
			remaining, total := answer.Header.Get("X-RateLimit-Remaining"), answer.Header.Get("X-RateLimit-Limit")
			if answer.StatusCode != want.status || remaining != want.remaining || total != "3" {
				t.Errorf("%s: request %d: %d, %q left of %q", one.name, i, answer.StatusCode, remaining, total)
			}
		}
	}
}
