package ratel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Whatever happens at once, the end comes once: after close, when no call is under way, and no call begins afterwards.
func TestUsers(t *testing.T) {
	for range 200 {
		var u users
		var inside, ended atomic.Int64
		end := func() {
			if u.none() && ended.CompareAndSwap(0, 1) && inside.Load() != 0 {
				t.Error("ended under a call")
			}
		}
		var done sync.WaitGroup
		for range 8 {
			done.Add(1)
			go func() {
				defer done.Done()
				for {
					if !u.begin() {
						end()
						return
					}
					inside.Add(1)
					if ended.Load() != 0 {
						t.Error("a call after the end")
					}
					runtime.Gosched()
					inside.Add(-1)
					if u.end() {
						end()
					}
				}
			}()
		}
		runtime.Gosched()
		if !u.close() {
			t.Error("closed before")
		}
		end()
		done.Wait()
		if u.close() || ended.Load() != 1 || !u.none() {
			t.Errorf("ended %d times", ended.Load())
		}
	}
}

// A call that is counted in on one stack may be counted out on another: it is one call all the same.
func TestUsersOnOtherStacks(t *testing.T) {
	var u users
	const calls = 500
	for range calls {
		u.begin()
	}
	u.close()
	for i := range calls {
		if u.none() {
			t.Fatal("none after", i)
		}
		ended := make(chan bool)
		go func() { ended <- u.end() }()
		if !<-ended {
			t.Fatal("not closed")
		}
	}
	if !u.none() {
		t.Error("a call is left")
	}
}
