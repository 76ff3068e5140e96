//go:build !race

package ratel

import (
	"slices"
	"testing"
)

// The race detector allocates on its own account, so this is not looked at with it.
func TestAllowAllocatesNothing(t *testing.T) {
	l := newLimiter(t)
	orders := ruleID(t, l, "orders")
	request := Request{Method: "POST", Path: "/orders", User: "alice", IP: "192.0.2.1"}
	attributed := Request{Path: "/plans", Attributes: []Attribute{{"plan", "pro"}, {"region", "eu"}}}
	decision := mustAllow(t, l, request)
	room := make([]byte, 0, 1024)
	peer := HTTP{Peer: "192.0.2.1:1234"}
	proxied := HTTP{Peer: "192.0.2.1:1234", XForwardedFor: []string{"198.51.100.7"}, Forwarded: []string{"for=198.51.100.7"}}
	chain := HTTP{Peer: "192.0.2.1:1234", XForwardedFor: []string{"198.51.100.7, 10.0.0.1", "10.0.0.2"}}
	requests, decisions := slices.Repeat([]Request{request, attributed}, 8), make([]Decision, 16)
	for name, call := range map[string]func(){
		"Allow":            func() { _, _ = l.Allow(background, request) },
		"AllowN":           func() { _, _ = l.AllowN(background, request, 2) },
		"AllowRule":        func() { _, _ = l.AllowRule(background, orders, "alice", 1) },
		"AppendHeaders":    func() { _, _ = l.AppendHeaders(room, decision, 0) },
		"Allow attributes": func() { _, _ = l.Allow(background, attributed) },
		"AllowManyInto":    func() { _ = l.AllowManyInto(background, requests, decisions) },
		"AllowHTTP":        func() { _, _, _ = l.AllowHTTP(background, request, peer, room) },
		"AllowHTTP proxy":  func() { _, _, _ = l.AllowHTTP(background, request, proxied, room) },
		"AllowHTTP chain":  func() { _, _, _ = l.AllowHTTP(background, attributed, chain, room) },
	} {
		if allocations := testing.AllocsPerRun(1000, call); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

func BenchmarkAllow(b *testing.B) {
	l := newLimiter(b)
	request := Request{Method: "POST", Path: "/orders", User: "alice"}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.Allow(background, request)
	}
}

func BenchmarkAllowRule(b *testing.B) {
	l := newLimiter(b)
	orders := ruleID(b, l, "orders")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.AllowRule(background, orders, "alice", 1)
	}
}

func BenchmarkAllowHTTP(b *testing.B) {
	l := newLimiter(b)
	request := Request{Method: "POST", Path: "/orders", User: "alice"}
	from := HTTP{Peer: "192.0.2.1:1234", XForwardedFor: []string{"198.51.100.7"}}
	room := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = l.AllowHTTP(background, request, from, room)
	}
}

func BenchmarkAllowParallel(b *testing.B) {
	l := newLimiter(b)
	request := Request{Method: "POST", Path: "/orders", User: "alice"}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = l.Allow(background, request)
		}
	})
}
