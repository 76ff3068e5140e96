package ratelprom

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	ratel "github.com/ratel/ratel/bindings/go"
)

const rules = `
version: 1
rules:
  - {name: a, path: /a, scope: user, algorithm: token_bucket, limit: 2, window: 2d}
  - {name: b, path: /b, scope: user, algorithm: token_bucket, limit: 2, window: 2d}
`

func newLimiter(t *testing.T) *ratel.Limiter {
	limiter, err := ratel.New(ratel.FromText(rules, "rules"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	for range 3 {
		if _, err := limiter.Allow(context.Background(), ratel.Request{Path: "/a", User: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	return limiter
}

var sample = regexp.MustCompile(`(?m)^ratel_[^ ]+ [0-9]+$`)

// withHelp replaces the engine's help texts by ours: what they say may differ, the samples may not.
func withHelp(text string, families []*dto.MetricFamily) string {
	for _, family := range families {
		line := regexp.MustCompile(`(?m)^# HELP ` + family.GetName() + ` .*$`)
		text = line.ReplaceAllLiteralString(text, "# HELP "+family.GetName()+" "+family.GetHelp())
	}
	return text
}

// The collector has the samples of the engine's own text, no more and no fewer.
func TestSameAsTheEnginesText(t *testing.T) {
	limiter := newLimiter(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(limiter))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	text, err := limiter.Prometheus()
	if err != nil {
		t.Fatal(err)
	}
	if len(sample.FindAllString(text, -1)) < 20 {
		t.Fatalf("%q", text)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(withHelp(text, families)), names...); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	limiter := newLimiter(t)
	_ = limiter.Close()
	if count := testutil.CollectAndCount(New(limiter)); count != 0 {
		t.Errorf("%d metrics", count)
	}
}

func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(New(newLimiter(t)))
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
