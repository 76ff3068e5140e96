package ratelhttp

import (
	"net/textproto"
	"testing"
)

func TestNamesAreNetHTTPs(t *testing.T) {
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit",
		"RateLimit-Remaining", "RateLimit-Reset", "X-Some-Other",
	} {
		if got, want := canonical(name), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
