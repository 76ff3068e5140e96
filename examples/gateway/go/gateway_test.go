package main

import (
	"net/http/httptest"
	"testing"

	ratel "github.com/ratel/ratel/bindings/go"
)

// The rest is tests/gateway, which drives the gateways of all languages.
func TestSharedRules(t *testing.T) {
	limiter, err := ratel.New(ratel.FromFile("../rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	gateway := newGateway(limiter, nil, "")
	for i, want := range []int{200, 200, 200, 200, 200, 429} {
		request := httptest.NewRequest("POST", "/orders", nil)
		request.Header.Set("X-User", "alice")
		answer := httptest.NewRecorder()
		if gateway.ServeHTTP(answer, request); answer.Code != want {
			t.Errorf("request %d: %d, want %d", i, answer.Code, want)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--rules", "r", "--upstream", "http://127.0.0.1:80"})
	if err != nil || o.upstream.Host != "127.0.0.1:80" || o.listen != "127.0.0.1:0" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, upstream := range []string{"127.0.0.1:80", "https://x:1", "http://x", "http://x:1/path", "http://x:a"} {
		if _, err := parseOptions([]string{"--rules", "r", "--upstream", upstream}); err == nil {
			t.Error(upstream)
		}
	}
}
