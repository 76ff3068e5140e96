package ratel

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Code is the engine's status of a call that failed. The Err constants are Codes, to be used with errors.Is.
type Code int32

// What errors.Is knows. docs/errors.md tells each at length.
const (
	ErrInvalidArgument Code = C.RL_E_INVALID_ARGUMENT // a fault of the caller: a cost below 1, a time out of range, ...
	ErrNoMemory        Code = C.RL_E_NO_MEMORY
	ErrConfig          Code = C.RL_E_CONFIG // a rule set has faults; see Error.Faults
	ErrIO              Code = C.RL_E_IO     // a file could not be read
	ErrNotFound        Code = C.RL_E_NOT_FOUND
	ErrUnsupported     Code = C.RL_E_UNSUPPORTED
	ErrStore           Code = C.RL_E_STORE
	ErrABI             Code = C.RL_E_ABI
	ErrState           Code = C.RL_E_STATE
	ErrCancelled       Code = C.RL_E_CANCELLED
	ErrInternal        Code = C.RL_E_INTERNAL
)

// ErrClosed is returned by every method of a Limiter that is closed, nil or was not made by New.
var ErrClosed error = &Error{Code: ErrState, Message: "the limiter is closed"}

// ErrDenied is what Wait returns when waiting does not help: the decision tells the reason.
var ErrDenied = errors.New("ratel: denied, and waiting does not help")

// Error makes a Code an error.
func (c Code) Error() string { return "ratel: " + c.String() }

// String is the engine's name of the code, such as "RL_E_CONFIG".
func (c Code) String() string { return C.GoString(C.rl_status_name(C.rl_status(c))) }

// Error is why a call failed. Line and Column count from 1 and are 0 when it is not about a file.
type Error struct {
	Code       Code
	Message    string
	File       string // as it was given to load
	Path       string // where in the rule set, such as "rules[2].limits[0].window"
	Line       int
	Column     int      // in bytes
	FaultCount int      // how many faults the rule set has; this is the first
	Faults     []*Error // all of them, for ErrConfig from a rule set that was loaded
	Cause      error    // what a clock of the host's failed with; nil when it is the caller's own fault
}

// Unwrap is the Cause.
func (e *Error) Unwrap() error { return e.Cause }

// Error tells the place and what is wrong.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("ratel: ")
	if e.File != "" {
		text.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&text, ":%d:%d", e.Line, e.Column)
		}
		text.WriteString(": ")
	}
	if e.Path != "" {
		text.WriteString(e.Path + ": ")
	}
	if e.Message == "" {
		text.WriteString(e.Code.String())
	} else {
		text.WriteString(e.Message)
	}
	if e.FaultCount > 1 {
		fmt.Fprintf(&text, " (and %d more)", e.FaultCount-1)
	}
	return text.String()
}

// Is compares codes, so that errors.Is(err, ratel.ErrConfig) works.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// failure makes the error of a status and gives the C struct back.
func failure(status C.rl_status, detail *C.rl_error) error {
	if status == C.RL_OK {
		return nil
	}
	if detail == nil {
		return &Error{Code: Code(status)}
	}
	defer C.free(unsafe.Pointer(detail))
	return errorOf(status, detail)
}

func errorOf(status C.rl_status, detail *C.rl_error) *Error {
	return &Error{
		Code:       Code(status),
		Message:    C.GoString(&detail.message[0]),
		File:       C.GoString(&detail.file[0]),
		Path:       C.GoString(&detail.path[0]),
		Line:       int(detail.line),
		Column:     int(detail.column),
		FaultCount: int(detail.fault_count),
	}
}
