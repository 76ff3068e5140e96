package ratel

// #include <ratel/rl.h>
import "C"

import (
	"fmt"
	"sync"
)

// Version is this package's version, the same as the engine's that it was made with.
const Version = "1.0.0"

// EngineVersion is the version of the loaded library.
func EngineVersion() string { return C.GoString(C.rl_version_string()) }

// Feature is a bit of what an engine can do.
type Feature uint64

// What a build of the engine may have.
const (
	FeatureMemory      Feature = C.RL_FEATURE_MEMORY
	FeatureHostStorage Feature = C.RL_FEATURE_HOST_STORAGE
	FeatureRedis       Feature = C.RL_FEATURE_REDIS
	FeatureTLS         Feature = C.RL_FEATURE_TLS
)

// Features says what the loaded engine can do.
func Features() Feature { return Feature(C.rl_features()) }

// checkABI compares the library that is loaded with the header that this package was compiled with, once.
var checkABI = sync.OnceValue(func() error {
	loaded := uint32(C.rl_abi_version())
	if loaded>>16 != C.RL_ABI_MAJOR || loaded&0xffff < C.RL_ABI_MINOR {
		return &Error{Code: ErrABI, Message: fmt.Sprintf("libratel has ABI %d.%d, this program needs %d.%d",
			loaded>>16, loaded&0xffff, C.RL_ABI_MAJOR, C.RL_ABI_MINOR)}
	}
	sizes := []struct {
		name     string
		compiled uint64
	}{
		{"error", C.sizeof_rl_error}, {"request", C.sizeof_rl_request}, {"decision", C.sizeof_rl_decision},
		{"rule", C.sizeof_rl_rule}, {"limit", C.sizeof_rl_limit}, {"metrics", C.sizeof_rl_metrics},
		{"clock", C.sizeof_rl_clock}, {"log", C.sizeof_rl_log}, {"storage", C.sizeof_rl_storage},
	}
	for _, one := range sizes {
		if known := structSize(one.name); known < one.compiled {
			return &Error{Code: ErrABI, Message: fmt.Sprintf("libratel's rl_%s has %d bytes, this program's %d", one.name, known, one.compiled)}
		}
	}
	return nil
})
