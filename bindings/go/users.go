package ratel

import (
	"sync/atomic"
	"unsafe"
)

// users counts the calls under way on a limiter, so that Close knows when the last of them has ended. One counter for all would be a cache
// line that every core writes to twice per decision; here goroutines spread over several by where their stacks lie. A call may be counted
// in by one cell and out by another (a stack moves): it is their sum that counts.
type users struct {
	closed atomic.Bool
	cells  [userCells]userCell
}

const (
	userBits  = 4
	userCells = 1 << userBits
)

// userCell fills two cache lines, since they are fetched in pairs.
type userCell struct {
	calls atomic.Int64
	_     [120]byte
}

// begin counts a call in, unless it is too late for any.
func (u *users) begin() bool {
	cell := u.cell()
	cell.calls.Add(1)
	if !u.closed.Load() {
		return true
	}
	// Out by the same cell: none() must not see this -1 without the +1.
	cell.calls.Add(-1)
	return false
}

// end counts it out. True: the limiter is closed, and this may have been the last.
func (u *users) end() bool {
	u.cell().calls.Add(-1)
	return u.closed.Load()
}

// close lets no more calls begin; false when it has been called before.
func (u *users) close() bool { return !u.closed.Swap(true) }

// none tells, once closed, whether no call is under way. Calls only end then, so a sum that was read while some did is too large, never too small.
func (u *users) none() bool {
	var sum int64
	for i := range u.cells {
		sum += u.cells[i].calls.Load()
	}
	return sum == 0
}

// cell is one of those, by the bits of this goroutine's stack address that differ between stacks.
func (u *users) cell() *userCell {
	var here byte
	page := uint64(uintptr(unsafe.Pointer(&here))) >> 11
	return &u.cells[page*0x9E3779B97F4A7C15>>(64-userBits)]
}
