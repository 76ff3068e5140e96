package ratel

// #include <ratel/rl.h>
import "C"

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/cgo"
	"sync/atomic"
	"time"
)

// Clock tells the time. It may be asked from many goroutines at once, at most once per request.
type Clock interface {
	Now() time.Time
}

// LogLevel of a message.
type LogLevel int32

// The levels.
const (
	LogError   LogLevel = C.RL_LOG_ERROR
	LogWarning LogLevel = C.RL_LOG_WARNING
	LogInfo    LogLevel = C.RL_LOG_INFO
)

// host is what a Limiter supplies to its engine.
type host struct {
	clock   Clock
	log     func(LogLevel, string)
	storage Storage
	ctx     context.Context // ends with the limiter
	cancel  context.CancelFunc

	clockFault atomic.Pointer[error] // what the clock last failed with
}

func hostOf(self C.uintptr_t) *host { return cgo.Handle(self).Value().(*host) }

// panicked tells of a panic in a callback; a log that panics itself is left alone.
func (h *host) panicked(where string, what any) {
	defer func() { _ = recover() }()
	text := fmt.Sprintf("panic in %s: %v", where, what)
	if h.log == nil {
		slog.Error("ratel: " + text)
		return
	}
	h.log(LogError, text)
}

//export ratelGoRelease
func ratelGoRelease(self C.uintptr_t) { cgo.Handle(self).Delete() }

// caused adds what the clock failed with to the error of a call that it was asked in.
func (h *host) caused(err error) error {
	if e, ok := err.(*Error); ok && e.Code == ErrInvalidArgument && h.clock != nil {
		if cause := h.clockFault.Swap(nil); cause != nil {
			e.Cause = *cause
		}
	}
	return err
}

func (h *host) clockFailed(format string, what any) C.uint64_t {
	err := fmt.Errorf(format, what)
	h.clockFault.Store(&err)
	return math.MaxUint64
}

// A clock that fails tells an instant that the engine refuses: the request fails with ErrInvalidArgument.
//
//export ratelGoNow
func ratelGoNow(self C.uintptr_t) (now C.uint64_t) {
	h := hostOf(self)
	defer func() {
		if what := recover(); what != nil {
			h.panicked("Clock.Now", what)
			now = h.clockFailed("ratel: panic in Clock.Now: %v", what)
		}
	}()
	t := h.clock.Now()
	if ns := nanoseconds(t); ns != 0 && ns <= maxTime {
		return C.uint64_t(ns)
	}
	return h.clockFailed("ratel: Clock.Now told %v, which lies outside of 1970 to 2255", t)
}

//export ratelGoLog
func ratelGoLog(self C.uintptr_t, level C.int32_t, text *C.char, size C.uint64_t) {
	defer func() { _ = recover() }()
	hostOf(self).log(LogLevel(level), C.GoStringN(text, C.int(size)))
}

// apply runs the user's code; whatever it does, panics and runtime.Goexit included, it becomes a status.
func (h *host) apply(op *Op, end func(C.rl_status)) {
	status := C.rl_status(C.RL_E_STORE)
	defer func() {
		if what := recover(); what != nil {
			h.panicked("Storage.Apply", what)
		}
		op.end(func() { end(status) })
	}()
	if err := h.storage.Apply(h.ctx, op); err == nil {
		status = C.RL_OK
	}
}

// A goroutine of its own also when the engine waits, since runtime.Goexit may not pass through C.
//
//export ratelGoApply
func ratelGoApply(self C.uintptr_t, raw *C.rl_op, cells *C.rl_cell, count C.uint32_t) C.rl_status {
	h, done := hostOf(self), make(chan C.rl_status, 1)
	go h.apply(newOp(raw, cells, count), func(status C.rl_status) { done <- status })
	return <-done
}

//export ratelGoApplyAsync
func ratelGoApplyAsync(self C.uintptr_t, raw *C.rl_op, cells *C.rl_cell, count C.uint32_t, done *C.rl_completion) C.rl_status {
	h := hostOf(self)
	go h.apply(newOp(raw, cells, count), func(status C.rl_status) { C.rl_completion_finish(done, status) })
	return C.RL_OK
}

// guarded runs one of the small duties of a storage.
func (h *host) guarded(where string, duty func() error) C.rl_status {
	done := make(chan C.rl_status, 1)
	go func() {
		status := C.rl_status(C.RL_E_STORE)
		defer func() {
			if what := recover(); what != nil {
				h.panicked(where, what)
			}
			done <- status
		}()
		if duty() == nil {
			status = C.RL_OK
		}
	}()
	return <-done
}

//export ratelGoForget
func ratelGoForget(self C.uintptr_t, key *C.char, size C.uint64_t) C.rl_status {
	h, name := hostOf(self), C.GoStringN(key, C.int(size))
	return h.guarded("Storage.Forget", func() error { return h.storage.(Forgetter).Forget(h.ctx, name) })
}

//export ratelGoSweep
func ratelGoSweep(self C.uintptr_t, cutoff C.uint64_t, dropped *C.uint64_t) C.rl_status {
	h := hostOf(self)
	var count uint64
	status := h.guarded("Storage.Sweep", func() (err error) {
		count, err = h.storage.(Sweeper).Sweep(h.ctx, time.Unix(0, int64(cutoff)))
		return err
	})
	*dropped = C.uint64_t(count)
	return status
}

//export ratelGoCount
func ratelGoCount(self C.uintptr_t, keys *C.uint64_t) C.rl_status {
	h := hostOf(self)
	var count uint64
	status := h.guarded("Storage.Count", func() (err error) {
		count, err = h.storage.(Counter).Count(h.ctx)
		return err
	})
	*keys = C.uint64_t(count)
	return status
}
