package ratel

// #include "shim.h"
import "C"

import (
	"context"
	"sync"
	"time"
	"unsafe"
)

// Storage keeps the counts in a place of the host's own. It may be used from many goroutines at once.
type Storage interface {
	// Apply is the whole duty: for all of op.Cells as one indivisible act, set each State to what is held under Key, call
	// op.Step, and write what it asks for. Who retries (compare-and-swap) sets State anew and calls Step again; the last
	// call counts. An error, or a panic, means that the storage could not tell: the rule's on_store_error then decides.
	//
	// ctx ends when the limiter is closed, not when one caller gives up: a decision cannot be half made. op is of no use
	// after Apply has returned.
	Apply(ctx context.Context, op *Op) error
}

// Forgetter is a Storage that can drop what is held under a key. Without it Reset writes through Apply.
type Forgetter interface {
	Forget(ctx context.Context, key string) error
}

// Sweeper is a Storage that can drop what had expired at an instant, for EvictIdle. It says how many.
type Sweeper interface {
	Sweep(ctx context.Context, cutoff time.Time) (uint64, error)
}

// Counter is a Storage that can tell how many keys it holds, for KeyCount and the metrics.
type Counter interface {
	Count(ctx context.Context) (uint64, error)
}

// Cell is one key of an operation.
type Cell struct {
	Key   string // the name of the state: printable ASCII
	State []byte // set by the storage before Step: the bytes held under Key, nil for none

	// Set by Step.
	Write bool          // replace what is held by New; false: leave it as it is
	New   []byte        // what to hold from now on, empty for nothing. The storage's own to keep
	TTL   time.Duration // after this time the state equals none and may be dropped
}

// Op is one decision (or settle, or peek) under way.
type Op struct {
	Cells []Cell

	mu    sync.Mutex
	op    *C.rl_op // nil when the operation is over
	cells []C.rl_cell
	held  []unsafe.Pointer // copies of states, kept until the operation is over
}

func newOp(op *C.rl_op, cells *C.rl_cell, count C.uint32_t) *Op {
	o := &Op{Cells: make([]Cell, count), op: op, cells: unsafe.Slice(cells, count)}
	for i, cell := range o.cells {
		o.Cells[i].Key = goString(cell.key)
	}
	return o
}

// Step is the arithmetic: it reads each cell's State, decides, and says in each cell what to write.
func (o *Op) Step() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.op == nil {
		return &Error{Code: ErrState, Message: "Step: the operation is over"}
	}
	if len(o.Cells) != len(o.cells) {
		return &Error{Code: ErrInvalidArgument, Message: "Step: Cells is not as it was given"}
	}
	states := make([]byte, 0, 64*len(o.Cells))
	sizes := make([]C.int64_t, len(o.Cells))
	for i := range o.Cells {
		sizes[i] = -1
		if state := o.Cells[i].State; state != nil {
			sizes[i] = C.int64_t(len(state))
			states = append(states, state...)
		}
	}
	copied := C.CBytes(states)
	o.held = append(o.held, copied)
	status := C.ratel_step(o.op, unsafe.SliceData(o.cells), C.uint32_t(len(o.cells)), (*C.char)(copied), unsafe.SliceData(sizes))
	if status != C.RL_OK {
		return &Error{Code: Code(status), Message: "Step was refused"}
	}
	for i := range o.cells {
		o.Cells[i].take(&o.cells[i])
	}
	return nil
}

func (c *Cell) take(cell *C.rl_cell) {
	c.Write = cell.write == 1
	c.New = nil
	c.TTL = duration(uint64(cell.ttl_ns))
	if c.Write && cell.new_size > 0 {
		c.New = C.GoBytes(cell.new_state, C.int(cell.new_size))
	}
}

// end makes the op useless and lets finish tell the engine, before what it was lent is freed.
func (o *Op) end(finish func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.op, o.cells = nil, nil
	if finish != nil {
		finish()
	}
	for _, copied := range o.held {
		C.free(copied)
	}
	o.held = nil
}

func goString(text C.rl_str) string { return C.GoStringN(text.data, C.int(text.size)) }
