package ratel

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const root = "../.."

type object = map[string]any

// instant is what the clock tells, and what the storage dates its entries with.
type instant struct {
	mu sync.Mutex
	ns uint64
}

func (i *instant) set(ns uint64) { i.mu.Lock(); defer i.mu.Unlock(); i.ns = ns }
func (i *instant) get() uint64   { i.mu.Lock(); defer i.mu.Unlock(); return i.ns }
func (i *instant) Now() time.Time {
	return time.Unix(0, int64(i.get()))
}

// mapStorage is a storage as a host might write it.
type mapStorage struct {
	now  *instant
	mu   sync.Mutex
	held map[string]heldState
}

type heldState struct {
	state   []byte
	expires uint64
}

func newMapStorage(now *instant) *mapStorage {
	return &mapStorage{now: now, held: map[string]heldState{}}
}

func (s *mapStorage) Apply(_ context.Context, op *Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range op.Cells {
		op.Cells[i].State = s.held[op.Cells[i].Key].state
	}
	if err := op.Step(); err != nil {
		return err
	}
	for _, cell := range op.Cells {
		switch {
		case cell.Write && len(cell.New) == 0:
			delete(s.held, cell.Key)
		case cell.Write:
			s.held[cell.Key] = heldState{cell.New, s.now.get() + uint64(cell.TTL)}
		}
	}
	return nil
}

func (s *mapStorage) Forget(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, key)
	return nil
}

func (s *mapStorage) Sweep(_ context.Context, cutoff time.Time) (dropped uint64, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.held {
		if one.expires <= uint64(cutoff.UnixNano()) {
			delete(s.held, key)
			dropped++
		}
	}
	return dropped, nil
}

func (s *mapStorage) Count(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.held)), nil
}

// replay is one vector under way.
type replay struct {
	t       *testing.T
	vector  object
	byClock bool
	base    uint64
	now     *instant
	limiter *Limiter
	decided map[int]settled
}

type settled struct {
	form     object
	decision Decision
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "tests/vectors/*.json"))
	if err != nil || len(files) < 13 {
		t.Fatalf("vectors: %v, %d files", err, len(files))
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".schema.json") {
			continue
		}
		vectors := readVectors(t, file)
		for _, storage := range []string{"embedded", "host"} {
			for _, clock := range []string{"argument", "clock"} {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+storage+"/"+clock, func(t *testing.T) {
					t.Parallel()
					for _, vector := range vectors {
						replayOne(t, vector.(object), storage == "host", clock == "clock")
					}
				})
			}
		}
	}
}

func readVectors(t *testing.T, file string) []any {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document object
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return document["vectors"].([]any)
}

func replayOne(t *testing.T, vector object, host, byClock bool) {
	r := &replay{t: t, vector: vector, byClock: byClock, base: number(vector["base"]), now: &instant{}, decided: map[int]settled{}}
	r.now.set(r.base)
	options := []Option{WithSecret("0123456789abcdef")}
	if byClock {
		options = append(options, WithClock(r.now))
	}
	if host {
		options = append(options, WithStorage(newMapStorage(r.now)))
	}
	limiter, err := New(rulesOf(vector), options...)
	if err != nil {
		t.Fatalf("%s: %v", vector["name"], err)
	}
	defer limiter.Close()
	r.limiter = limiter
	for i, step := range vector["steps"].([]any) {
		if wrong := r.step(i, step.(object)); len(wrong) > 0 {
			t.Errorf("%s, step %d:\n  %s", vector["name"], i, strings.Join(wrong, "\n  "))
		}
	}
}

func rulesOf(holder object) RuleSource {
	if text, ok := holder["rules_text"].(string); ok {
		return FromText(text, "vector")
	}
	text, _ := json.Marshal(holder["rules"])
	return FromText(string(text), "vector")
}

func number(value any) uint64 {
	out, err := strconv.ParseUint(value.(string), 10, 64)
	if err != nil {
		panic(err)
	}
	return out
}

func integer(value any) int64 {
	out, err := value.(json.Number).Int64()
	if err != nil {
		panic(err)
	}
	return out
}

// text is a string of a vector: as it stands, as hex, or repeated.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case object:
		if digits, ok := value["hex"].(string); ok {
			out, err := hex.DecodeString(digits)
			if err != nil {
				panic(err)
			}
			return string(out)
		}
		return strings.Repeat(value["repeat"].(string), int(integer(value["times"])))
	}
	panic(fmt.Sprintf("no string: %v", value))
}

func texts(list any) []string {
	out := []string{}
	if list != nil {
		for _, one := range list.([]any) {
			out = append(out, text(one))
		}
	}
	return out
}

func merged(parts ...any) object {
	out := object{}
	for _, part := range parts {
		if part != nil {
			for name, value := range part.(object) {
				out[name] = value
			}
		}
	}
	return out
}

// request is the request of a form and its cost, as it is told to the engine.
func (r *replay) request(form object) (Request, int64) {
	request := Request{
		Method: text(form["method"]), Path: text(form["path"]), User: text(form["user"]), APIKey: text(form["api_key"]),
		IP: text(form["ip"]), Key: text(form["key"]),
	}
	if !r.byClock {
		request.Time = r.now.Now()
	}
	if name, ok := form["rule"]; ok {
		id, err := r.limiter.RuleID(text(name))
		if err != nil {
			r.t.Errorf("rule %v: %v", name, err)
		}
		request.Rule = id
	}
	if attributes, ok := form["attributes"]; ok {
		for _, one := range attributes.([]any) {
			request.Attributes = append(request.Attributes, Attribute{text(one.(object)["name"]), text(one.(object)["value"])})
		}
	}
	cost := int64(costOfRule)
	if units, ok := form["cost"]; ok {
		cost = integer(units)
	}
	return request, cost
}

func statusOf(err error) string {
	var known *Error
	switch {
	case err == nil:
		return "RL_OK"
	case errors.As(err, &known):
		return known.Code.String()
	}
	return err.Error()
}

// differences compares every member that is expected.
func differences(expected any, told object) (wrong []string) {
	for name, value := range expected.(object) {
		if !reflect.DeepEqual(plain(value), plain(told[name])) {
			wrong = append(wrong, fmt.Sprintf("%s: expected %v, told %v", name, value, told[name]))
		}
	}
	return wrong
}

// plain makes numbers and lists comparable, whatever Go calls them.
func plain(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func decimal(ns uint64) string { return strconv.FormatUint(ns, 10) }

func (r *replay) told(d Decision, err error) object {
	return object{
		"status": statusOf(err), "allowed": d.Allowed, "source": d.Source.String(), "reason": d.Reason.String(),
		"shadow_denied": d.ShadowDenied, "peeked": d.Peeked, "rule": r.limiter.RuleName(d.Rule),
		"limit_name": r.limiter.LimitName(d.LimitID), "limit_count": d.LimitCount, "generation": d.Generation,
		"cost": d.Cost, "limit": d.Limit, "window_ns": decimal(d.windowNS), "capacity": d.Capacity, "remaining": d.Remaining,
		"retry_after_ns": decimal(d.retryAfterNS), "reset_after_ns": decimal(d.resetAfterNS), "delay_ns": decimal(d.delayNS),
	}
}

func (r *replay) step(i int, step object) []string {
	ctx := context.Background()
	r.now.set(r.base + number(step["at"]))
	defaults, _ := r.vector["defaults"].(object)
	expect := step["expect"]
	switch op := step["op"].(string); op {
	case "allow", "peek":
		form := merged(defaults["request"], step["request"])
		decision, err := r.decide(ctx, op, form)
		r.decided[i] = settled{form, decision}
		if own := merged(expect); own["status"] == nil || own["status"] == "RL_OK" {
			expect = merged(defaults["expect"], own)
		}
		return differences(expect, r.told(decision, err))
	case "many":
		return r.many(ctx, step["requests"].([]any), expect.([]any))
	case "repeat":
		return r.repeat(ctx, step)
	case "settle":
		earlier := r.decided[int(integer(step["of"]))]
		request, _ := r.request(earlier.form)
		decision, err := r.limiter.Settle(ctx, request, earlier.decision, integer(step["actual"]))
		return differences(expect, r.told(decision, err))
	case "reset":
		request, _ := r.request(merged(step["request"]))
		return differences(expect, object{"status": statusOf(r.limiter.Reset(ctx, request))})
	case "reload":
		err := r.limiter.Reload(rulesOf(step))
		return differences(expect, object{"status": statusOf(err), "generation": r.limiter.Generation()})
	case "load":
		other, err := New(rulesOf(step))
		defer other.Close()
		if err != nil && err.(*Error).Message == "" {
			return []string{"refused without a message"}
		}
		return differences(expect, object{"status": statusOf(err)})
	case "headers":
		return r.headers(step)
	case "problem":
		return r.problem(step)
	case "client_ip":
		ip, err := r.limiter.ClientIP(text(step["peer"]), texts(step["x_forwarded_for"]), texts(step["forwarded"]))
		if err != nil {
			return []string{err.Error()}
		}
		return differences(expect, object{"ip": ip})
	case "evict_idle":
		evicted, err := r.limiter.EvictIdle(time.Unix(0, int64(r.base+number(step["cutoff"]))))
		if err != nil {
			return []string{err.Error()}
		}
		return differences(expect, object{"evicted": evicted})
	case "key_count":
		keys, err := r.limiter.KeyCount()
		if err != nil {
			return []string{err.Error()}
		}
		return differences(expect, object{"keys": keys})
	case "metrics":
		return r.metrics(merged(expect))
	default:
		return []string{"no such op: " + op}
	}
}

// decide asks; by the clock, a request that is a rule and a key takes the short way.
func (r *replay) decide(ctx context.Context, op string, form object) (Decision, error) {
	request, cost := r.request(form)
	_, byRule := form["rule"]
	_, byKey := form["key"]
	switch {
	case op == "peek":
		return r.limiter.peek(ctx, request, cost)
	case r.byClock && byRule && byKey:
		var decision Decision
		err := r.limiter.allowRule(ctx, request.Rule, request.Key, cost, &decision)
		return decision, err
	case cost == costOfRule:
		return r.limiter.Allow(ctx, request)
	default:
		return r.limiter.AllowN(ctx, request, cost)
	}
}

func (r *replay) many(ctx context.Context, forms, expected []any) (wrong []string) {
	requests, costs := make([]Request, len(forms)), make([]int64, len(forms))
	for i, form := range forms {
		requests[i], costs[i] = r.request(form.(object))
	}
	decisions, err := r.limiter.allowMany(ctx, requests, costs)
	if err != nil {
		return []string{err.Error()}
	}
	for i, decision := range decisions {
		wrong = append(wrong, differences(expected[i], r.told(decision, decision.Err))...)
	}
	return wrong
}

func (r *replay) repeat(ctx context.Context, step object) []string {
	allowed := 0
	for n := integer(step["times"]); n > 0; n-- {
		request, cost := r.request(step["request"].(object))
		var decision Decision
		if err := r.limiter.allow(ctx, &request, cost, &decision); err != nil {
			return []string{err.Error()}
		}
		if decision.Allowed {
			allowed++
		}
		r.now.set(r.now.get() + number(step["every"]))
	}
	return differences(step["expect"], object{"allowed_count": allowed})
}

var forms = map[string]HeaderFlags{
	"x": HeadersX, "reset_delta": HeadersResetDelta, "retry_after": HeadersRetryAfter, "draft_11": HeadersDraft11,
	"draft_8": HeadersDraft8, "draft_7": HeadersDraft7, "draft_6": HeadersDraft6, "none": HeadersNone,
}

func (r *replay) headers(step object) []string {
	var flags HeaderFlags
	for _, name := range texts(step["forms"]) {
		flags |= forms[name]
	}
	told, err := r.limiter.Headers(r.decided[int(integer(step["of"]))].decision, flags)
	if err != nil {
		return []string{err.Error()}
	}
	expected := ""
	for _, line := range texts(step["expect"].(object)["lines"]) {
		expected += line + "\r\n"
	}
	if told != expected {
		return []string{"expected\n" + expected + "told\n" + told}
	}
	return nil
}

func (r *replay) problem(step object) []string {
	expected := step["expect"].(object)
	body, err := r.limiter.Problem(r.decided[int(integer(step["of"]))].decision)
	if err != nil || expected["status_name"] != "RL_OK" {
		return differences(object{"status_name": expected["status_name"]}, object{"status_name": statusOf(err)})
	}
	var told object
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		return []string{err.Error()}
	}
	return differences(expected["members"], told)
}

func (r *replay) metrics(expected object) []string {
	m, err := r.limiter.Metrics()
	if err != nil {
		return []string{err.Error()}
	}
	wrong := differences(expected["totals"], object{
		"requests": m.Requests, "allowed": m.Allowed, "denied": m.Denied, "never_fits": m.NeverFits, "blocked": m.Blocked,
		"shadow_denied": m.ShadowDenied, "no_rule": m.NoRule, "unknown_client": m.UnknownClient,
	})
	for name, rule := range merged(expected["rules"]) {
		id, err := r.limiter.RuleID(name)
		if err != nil {
			return []string{err.Error()}
		}
		m, err := r.limiter.RuleMetrics(id)
		if err != nil {
			return []string{err.Error()}
		}
		wrong = append(wrong, differences(rule, object{
			"allowed": m.Allowed, "denied": m.Denied, "never_fits": m.NeverFits, "shadow_denied": m.ShadowDenied,
			"cost_allowed": m.CostAllowed,
		})...)
	}
	return wrong
}
