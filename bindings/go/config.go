package ratel

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"runtime"
	"runtime/cgo"
	"time"
	"unsafe"
)

// RuleSource is where rules come from: FromFile, FromText or FromRules.
type RuleSource func(*builder) error

// builder is an rl_config and what has been set on it.
type builder struct {
	config *C.rl_config
	host   *host
	// Nothing of this config calls back into Go while it decides. A log does not count: the engine decides on its own store
	// without a message.
	leaf  bool
	async bool // decisions may wait for a network
}

// FromFile reads a file, or every *.yaml, *.yml and *.json of a folder.
func FromFile(path string) RuleSource {
	return func(b *builder) error {
		var detail *C.rl_error
		return b.fault(C.ratel_load_file(b.config, path, &detail), detail)
	}
}

// FromText reads rules, YAML or JSON. Errors call it name.
func FromText(text, name string) RuleSource {
	return func(b *builder) error {
		var detail *C.rl_error
		return b.fault(C.ratel_load_text(b.config, text, name, &detail), detail)
	}
}

// FromRules takes rules that are built in code.
func FromRules(rules ...Rule) RuleSource {
	return func(b *builder) error {
		for i := range rules {
			if err := b.addRule(&rules[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// Option changes how New makes a Limiter.
type Option func(*builder) error

// WithClock tells the time in place of the engine's clock.
func WithClock(clock Clock) Option {
	return func(b *builder) error {
		if clock == nil {
			return &Error{Code: ErrInvalidArgument, Message: "WithClock: the clock is nil"}
		}
		b.host.clock, b.leaf = clock, false
		return b.hand(func(self C.uintptr_t, detail **C.rl_error) C.rl_status {
			return C.ratel_set_clock(b.config, self, detail)
		})
	}
}

// WithLog takes the engine's few messages (a failed reload, a failing store, a panic in a callback) from any goroutine.
func WithLog(write func(level LogLevel, text string)) Option {
	return func(b *builder) error {
		if write == nil {
			return &Error{Code: ErrInvalidArgument, Message: "WithLog: the function is nil"}
		}
		b.host.log = write
		return b.hand(func(self C.uintptr_t, detail **C.rl_error) C.rl_status {
			return C.ratel_set_log(b.config, self, detail)
		})
	}
}

// WithStorage keeps the counts in a storage of the host's own.
func WithStorage(storage Storage) Option {
	return func(b *builder) error {
		if storage == nil {
			return &Error{Code: ErrInvalidArgument, Message: "WithStorage: the storage is nil"}
		}
		_, forgets := storage.(Forgetter)
		_, sweeps := storage.(Sweeper)
		_, counts := storage.(Counter)
		b.host.storage, b.leaf, b.async = storage, false, true
		return b.hand(func(self C.uintptr_t, detail **C.rl_error) C.rl_status {
			return C.ratel_set_storage(b.config, self, flag(forgets), flag(sweeps), flag(counts), detail)
		})
	}
}

// WithMemory bounds the embedded store, which is the default. 0 is what the rule set says.
func WithMemory(maxKeys uint64) Option {
	return func(b *builder) error {
		b.host.storage, b.leaf, b.async = nil, b.host.clock == nil, false
		var detail *C.rl_error
		return failure(C.ratel_use_memory(b.config, C.uint64_t(maxKeys), &detail), detail)
	}
}

// WithRedis keeps the counts in a Redis, Valkey, Cluster or Sentinel. ErrUnsupported without FeatureRedis.
func WithRedis(url string) Option {
	return func(b *builder) error {
		b.host.storage, b.leaf, b.async = nil, false, true
		var detail *C.rl_error
		return failure(C.ratel_use_redis(b.config, url, &detail), detail)
	}
}

// WithSecret sets what keys are hashed with, 16 to 1024 bytes: the same for every process that shares a store.
func WithSecret(secret string) Option {
	return func(b *builder) error {
		var detail *C.rl_error
		return failure(C.ratel_set_secret(b.config, secret, &detail), detail)
	}
}

// WithRegion names the region that this process is in: one of the rules' `regions`, whose share of every limit then counts here. A name that
// they do not have is ErrConfig.
func WithRegion(name string) Option {
	return func(b *builder) error {
		var detail *C.rl_error
		return failure(C.ratel_set_region(b.config, name, &detail), detail)
	}
}

// WithReadableKeys shows a Storage key names that can be read, identities included. For tests.
func WithReadableKeys() Option {
	return func(b *builder) error {
		var detail *C.rl_error
		return failure(C.ratel_set_readable_keys(b.config, 1, &detail), detail)
	}
}

func flag(on bool) C.int {
	if on {
		return 1
	}
	return 0
}

func newBuilder() (*builder, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	b := &builder{leaf: true, host: &host{}}
	b.host.ctx, b.host.cancel = context.WithCancel(context.Background())
	var detail *C.rl_error
	if err := failure(C.ratel_config_create(&b.config, &detail), detail); err != nil {
		return nil, err
	}
	return b, nil
}

// destroy ends the config, and with it the callbacks that no registry has taken over.
func (b *builder) destroy() { C.rl_config_destroy(b.config) }

func (b *builder) load(source RuleSource) error {
	if source == nil {
		return &Error{Code: ErrInvalidArgument, Message: "no source of rules: use FromFile, FromText or FromRules"}
	}
	return source(b)
}

// hand passes a handle of the host to the engine, which gives it back by ratelGoRelease.
func (b *builder) hand(set func(C.uintptr_t, **C.rl_error) C.rl_status) error {
	handle := cgo.NewHandle(b.host)
	var detail *C.rl_error
	err := failure(set(C.uintptr_t(handle), &detail), detail)
	if err != nil {
		handle.Delete()
	}
	return err
}

// fault is failure, with every fault of the rule set.
func (b *builder) fault(status C.rl_status, detail *C.rl_error) error {
	err := failure(status, detail)
	var first *Error
	if !errors.As(err, &first) || first.Code != ErrConfig {
		return err
	}
	for i := C.uint32_t(0); ; i++ {
		one := C.rl_error{struct_size: C.sizeof_rl_error}
		if C.rl_config_fault(b.config, i, &one) != C.RL_OK {
			return first
		}
		first.Faults = append(first.Faults, errorOf(one.status, &one))
	}
}

// Algorithm of a Limit.
type Algorithm uint32

// The algorithms.
const (
	TokenBucket    Algorithm = C.RL_TOKEN_BUCKET
	LeakyBucket    Algorithm = C.RL_LEAKY_BUCKET
	FixedWindow    Algorithm = C.RL_FIXED_WINDOW
	SlidingLog     Algorithm = C.RL_SLIDING_LOG
	SlidingCounter Algorithm = C.RL_SLIDING_COUNTER
)

// PathMatch says how Rule.Path covers paths.
type PathMatch uint32

// The ways to match a path.
const (
	MatchPrefix  PathMatch = C.RL_MATCH_PREFIX  // whole segments: /api covers /api and /api/x, not /apix
	MatchLiteral PathMatch = C.RL_MATCH_LITERAL // plain starts-with
	MatchExact   PathMatch = C.RL_MATCH_EXACT   // the whole path
)

// OnStoreError says what a rule does while the storage cannot answer.
type OnStoreError uint32

// What to do without a storage.
const (
	OnErrorLocal  OnStoreError = C.RL_ON_ERROR_LOCAL
	OnErrorOpen   OnStoreError = C.RL_ON_ERROR_OPEN
	OnErrorClosed OnStoreError = C.RL_ON_ERROR_CLOSED
)

// LocalTier says what a rule decides without asking a shared store (docs/local-tier.md).
type LocalTier uint32

// The tiers: nothing, denials whose end is known, and these with units paid for in advance.
const (
	LocalTierNone    LocalTier = C.RL_LOCAL_TIER_NONE
	LocalTierDenials LocalTier = C.RL_LOCAL_TIER_DENIALS
	LocalTierLeases  LocalTier = C.RL_LOCAL_TIER_LEASES
)

// Action of a rule.
type Action uint32

// The actions.
const (
	ActionLimit     Action = C.RL_ACTION_LIMIT
	ActionBlock     Action = C.RL_ACTION_BLOCK
	ActionUnlimited Action = C.RL_ACTION_UNLIMITED
)

// Rule is one rule in code. Zero values are the engine's defaults.
type Rule struct {
	Name         string
	Method       string // "GET", "GET,POST", "*" or empty for any
	Path         string // empty for any
	PathMatch    PathMatch
	OnStoreError OnStoreError
	Action       Action
	Shadow       bool   // all its limits are shadows
	Default      bool   // for requests that no other rule covers; Method and Path stay empty
	Cost         uint64 // units of a request that states none
	When         []Attribute
	Limits       []Limit
	LocalTier    LocalTier
	RegionGlobal bool // its limits are whole in every region
}

// Limit is one limit of a rule.
type Limit struct {
	Name      string // empty: made from the rule's name
	Scope     string // "user", "api_key", "ip", "global", "attribute:<name>", or several joined by ","
	Algorithm Algorithm
	Limit     uint64 // units per window
	Window    time.Duration
	Burst     uint64 // buckets only: capacity in units; 0 = Limit
	Shadow    bool
}

func (b *builder) addRule(rule *Rule) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	when := pinAttributes(&pins, rule.When)
	limits := make([]C.rl_limit, len(rule.Limits))
	for i, one := range rule.Limits {
		limits[i] = C.rl_limit{
			struct_size: C.sizeof_rl_limit,
			algorithm:   C.uint32_t(one.Algorithm),
			name:        pin(&pins, one.Name),
			scope:       pin(&pins, one.Scope),
			limit:       C.uint64_t(one.Limit),
			window_ns:   C.uint64_t(max(one.Window, 0)),
			burst:       C.uint64_t(one.Burst),
			shadow:      C.uint32_t(flag(one.Shadow)),
		}
	}
	raw := C.rl_rule{
		struct_size:    C.sizeof_rl_rule,
		path_match:     C.uint32_t(rule.PathMatch),
		on_store_error: C.uint32_t(rule.OnStoreError),
		action:         C.uint32_t(rule.Action),
		shadow:         C.uint32_t(flag(rule.Shadow)),
		is_default:     C.uint32_t(flag(rule.Default)),
		name:           pin(&pins, rule.Name),
		method:         pin(&pins, rule.Method),
		path:           pin(&pins, rule.Path),
		cost:           C.uint64_t(rule.Cost),
		when:           when,
		when_count:     C.uint64_t(len(rule.When)),
		limit_count:    C.uint64_t(len(limits)),
		local_tier:     C.uint32_t(rule.LocalTier),
		region_global:  C.uint32_t(flag(rule.RegionGlobal)),
	}
	if len(limits) > 0 {
		pins.Pin(&limits[0])
		raw.limits = &limits[0]
	}
	var detail *C.rl_error
	return b.fault(C.ratel_add_rule(b.config, &raw, &detail), detail)
}

// pin lends a string to C until the pinner lets go.
func pin(pins *runtime.Pinner, text string) C.rl_str {
	if text == "" {
		return C.rl_str{}
	}
	data := unsafe.StringData(text)
	pins.Pin(data)
	return C.rl_str{data: (*C.char)(unsafe.Pointer(data)), size: C.uint64_t(len(text))}
}

func pinAttributes(pins *runtime.Pinner, attributes []Attribute) *C.rl_attribute {
	if len(attributes) == 0 {
		return nil
	}
	out := make([]C.rl_attribute, len(attributes))
	for i, one := range attributes {
		out[i] = C.rl_attribute{name: pin(pins, one.Name), value: pin(pins, one.Value)}
	}
	pins.Pin(&out[0])
	return &out[0]
}
