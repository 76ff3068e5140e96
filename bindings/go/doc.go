// Package ratel limits rates: it decides, for each request, whether it may pass, by rules that are read from a file, a
// text or Go values. It is a thin binding of the Ratel engine (libratel) through its C ABI; every decision, wait and
// header is computed there.
//
//	limiter, err := ratel.New(ratel.FromFile("rules.yaml"))
//	if err != nil {
//		return err // an *ratel.Error with file, line and column when a rule is at fault
//	}
//	defer limiter.Close()
//
//	decision, err := limiter.Allow(ctx, ratel.Request{Method: "POST", Path: "/orders", User: "alice"})
//	if err != nil {
//		return err // the question was not answered
//	}
//	if !decision.Allowed {
//		return tryAgain(decision.RetryAfter()) // a denial is an answer, not an error
//	}
//
// Package ratelhttp has the middleware for net/http. The modules ratelgrpc and ratelprom, beside this one, serve gRPC and
// the Prometheus client.
//
// # Linking
//
// The engine is found by pkg-config under the name ratel. The build tag ratel_static links its archive in place of the
// shared library.
//
// # Threads
//
// A Limiter may be used from any number of goroutines. With the engine's own store a decision is a short call into C that
// allocates nothing and blocks on nothing. A Storage in Go runs on goroutines of its own: Allow, AllowN, AllowRule, AllowMany,
// AllowManyInto, AllowHTTP and Wait park the goroutine and hold no thread while it works. Peek, Settle, Reset, Explain, EvictIdle and KeyCount hold one.
package ratel
