package main

import (
	"fmt"
	"net"
	"net/http"
	"testing"
)

// All of them answer the same question: so many units of each key, and no more.
func TestCandidates(t *testing.T) {
	const limit, keys = 5, 3
	for _, one := range append(candidates, manyInto) {
		ask := one.make(limit)
		for i := range 2 * limit * keys {
			key, want := fmt.Sprintf("user-%d", i%keys), i < limit*keys
			if got := ask([]string{key}); (got == 1) != want {
				t.Errorf("%s: request %d of %s: %d", one.name, i/keys, key, got)
			}
		}
	}
}

// The middlewares admit the same requests, and say the same in their fields.
func TestMiddlewares(t *testing.T) {
	const limit = 3
	for _, one := range middlewares[1:] {
		listener := listen()
		defer listener.Close()
		go serve(listener, one.make(limit)(hello))
		c := dial(listener.Addr().String())
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

func serve(listener net.Listener, handler http.Handler) { _ = http.Serve(listener, handler) }

// A smoke run: every row comes to an answer.
func TestRows(t *testing.T) {
	told := report{}
	told.decide(settings{rounds: 1, block: 1, most: 1000})
	told.crossing(settings{rounds: 1, block: 1})
	told.middleware(settings{rounds: 1, block: 1})
	for _, row := range told.Rows {
		if len(row.NS) != 1 || row.NS[0] <= 0 {
			t.Errorf("%+v", row)
		}
	}
	if len(told.Rows) < 40 {
		t.Errorf("%d rows", len(told.Rows))
	}
}
