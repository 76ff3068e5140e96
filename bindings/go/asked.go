package ratel

// #include "shim.h"
import "C"

import (
	"sync"
)

// asked holds the questions whose answers come later, from a queue that one goroutine drains.
type asked struct {
	queue *C.rl_completion_queue
	ended chan struct{} // closed when the drain is over
	mu    sync.Mutex
	slots []chan answer // by tag; nil is free
	free  []uint32
	gone  map[uint32]func() // who gave up, and what is left to do when the answer comes
}

// answer is what an asynchronous decision comes to.
type answer struct {
	decision Decision
	status   C.rl_status
}

// drained is how many answers are taken at once.
const drained = 128

var answers = sync.Pool{New: func() any { return make(chan answer, 1) }}

func newAsked() (*asked, error) {
	a := &asked{ended: make(chan struct{}), gone: map[uint32]func(){}}
	var detail *C.rl_error
	if err := failure(C.ratel_queue_create(&a.queue, &detail), detail); err != nil {
		return nil, err
	}
	go a.drain()
	return a, nil
}

// begin gives a question its tag, and the place where its answer will be.
func (a *asked) begin() (tag uint32, place chan answer) {
	place = answers.Get().(chan answer)
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.free) - 1; last >= 0 {
		tag, a.free = a.free[last], a.free[:last]
		a.slots[tag] = place
		return tag, place
	}
	a.slots = append(a.slots, place)
	return uint32(len(a.slots) - 1), place
}

// withdraw is for a question that was not put.
func (a *asked) withdraw(tag uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers.Put(a.end(tag))
}

// end frees a tag; with the lock.
func (a *asked) end(tag uint32) chan answer {
	place := a.slots[tag]
	a.slots[tag] = nil
	a.free = append(a.free, tag)
	return place
}

// giveUp is for a caller that does not wait any longer: then runs when the answer has come, which may be now.
func (a *asked) giveUp(tag uint32, place chan answer, then func()) {
	a.mu.Lock()
	if a.slots[tag] == place {
		a.gone[tag] = then
		a.mu.Unlock()
		return
	}
	a.mu.Unlock()
	<-place
	answers.Put(place)
	then()
}

func (a *asked) open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.slots) - len(a.free)
}

// drain hands answers on until the queue is shut down and empty. While it waits it holds one thread, for all questions.
func (a *asked) drain() {
	defer close(a.ended)
	tags := make([]C.uint64_t, drained)
	decisions := make([]C.rl_decision, drained)
	for {
		var count C.uint32_t
		if C.ratel_drain(a.queue, &tags[0], &decisions[0], drained, &count) != C.RL_OK {
			break
		}
		for i := range decisions[:count] {
			a.arrived(uint32(tags[i]), &decisions[i])
		}
	}
	C.rl_completion_queue_destroy(a.queue)
}

func (a *asked) arrived(tag uint32, decision *C.rl_decision) {
	a.mu.Lock()
	place, then := a.end(tag), a.gone[tag]
	if then != nil {
		delete(a.gone, tag)
	}
	a.mu.Unlock()
	if then == nil {
		place <- answer{decisionOf(decision), decision.status}
		return
	}
	answers.Put(place)
	then()
}

// shutdown ends the drain once every answer has come.
func (a *asked) shutdown() { C.rl_completion_queue_shutdown(a.queue) }
