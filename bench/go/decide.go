package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	ratel "github.com/ratel/ratel/bindings/go"
)

// settings are what the command line says.
type settings struct {
	rounds int
	block  int // milliseconds of each candidate's turn in a round
	most   int // keys
	only   *regexp.Regexp
}

func (s settings) wants(name string) bool { return s.only == nil || s.only.MatchString(name) }

var keyCounts = []int{1, 1000, 100_000, 1_000_000}

const deniedKeys = 1000

// keysOf are made before the clock runs, and asked in an order that no cache knows.
func keysOf(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%09d", i)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// runner is what takes its turn in each round.
type runner struct {
	row     *row
	threads int
	calls   int
	run     func(thread, calls int) // so many decisions
}

// turn is one turn's nanoseconds per decision: of one thread its processor time, so that what else runs on the machine is not in it; of
// several, which are about each other, the time that passed.
func (r *runner) turn() float64 {
	if r.threads == 1 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := threadTime()
		r.run(0, r.calls)
		return float64(threadTime()-begin) / float64(r.calls)
	}
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(r.threads)
	done.Add(r.threads)
	for thread := range r.threads {
		go func() {
			ready.Done()
			<-start
			r.run(thread, r.calls)
			done.Done()
		}()
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return float64(time.Since(begin)) / float64(r.calls*r.threads)
}

// threadTime is the processor time of this thread in nanoseconds.
func threadTime() int64 {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var told syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&told)), 0); err != 0 {
		panic(err)
	}
	return told.Nano()
}

// calibrate finds how many decisions fill a turn.
func (r *runner) calibrate(block int) {
	want := float64(block) * 1e6
	for r.calls = 64; ; {
		ns := r.turn() * float64(r.calls)
		if ns > want/4 || r.calls >= 1<<24 {
			r.calls = max(64, int(float64(r.calls)*want/ns)) &^ 63
			return
		}
		r.calls *= 4
	}
}

// measure gives each its turn, round after round, so that what disturbs one disturbs the others. Garbage is collected between rounds.
func measure(s settings, runners []*runner) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, r := range runners {
		r.calibrate(s.block)
	}
	for range s.rounds {
		runtime.GC()
		for _, r := range runners {
			r.row.NS = append(r.row.NS, r.turn())
		}
	}
}

// asking is a candidate that is asked for the keys in turn, `size` of them at once; each answer has to be `want`.
func asking(one candidate, ask func([]string) int, keys []string, want bool) func(thread, calls int) {
	size := one.batch()
	var places [2]struct {
		at int
		_  [56]byte
	}
	places[1].at = len(keys) / 2 / size * size
	expected := 0
	if want {
		expected = size
	}
	return func(thread, calls int) {
		at := places[thread].at
		for range calls / size {
			if at+size > len(keys) {
				at = 0
			}
			if ask(keys[at:at+size]) != expected {
				panic(one.name + ": not the answer that was expected")
			}
			at += size
		}
		places[thread].at = at
	}
}

// decide is one decision: a key's first request is made before the clock runs.
func (told *report) decide(s settings) {
	for _, count := range keyCounts {
		if count <= s.most {
			told.section(s, "allowed", candidates, count, plenty)
		}
	}
	for _, count := range keyCounts {
		if count <= s.most {
			told.section(s, fmt.Sprintf("batch of %d", batchSize), []candidate{manyInto, many}, max(count, batchSize), plenty)
		}
	}
	if s.most >= deniedKeys {
		told.section(s, "denied", append(slices.Clone(candidates), manyInto), deniedKeys, 1)
	}
}

func (told *report) section(s settings, section string, list []candidate, count, limit int) {
	keys := keysOf(count)
	var runners []*runner
	for _, one := range list {
		if !s.wants(one.name) {
			continue
		}
		ask := one.make(limit)
		size := one.batch()
		for at := 0; at < len(keys); at += size {
			ask(keys[at:min(at+size, len(keys))])
		}
		run := asking(one, ask, keys, limit == plenty)
		for _, threads := range []int{1, 2} {
			row := told.row(section, one.name, count, threads)
			runners = append(runners, &runner{row: row, threads: threads, run: run})
		}
	}
	measure(s, runners)
	told.print(section, count)
	endAll()
}

// crossing is what of each decision is the way into C and back: a call of the engine that does nothing.
func (told *report) crossing(s settings) {
	if !s.wants("a bare cgo call") {
		return
	}
	bare := func(_, calls int) {
		for range calls {
			ratel.Features()
		}
	}
	var runners []*runner
	for _, threads := range []int{1, 2} {
		runners = append(runners, &runner{row: told.row("crossing", "a bare cgo call", 0, threads), threads: threads, run: bare})
	}
	measure(s, runners)
	told.print("crossing", 0)
}
