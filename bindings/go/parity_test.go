package ratel

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What rl.h has and this binding does not call, with the reason.
var leftOut = map[string]string{
	"rl_allow_async":  "answers that come later are taken from a queue, many at a time",
	"rl_config_clear": "a config lives for one New, Reload or Diff here",
}

// Every function of rl.h is called from this package, and nothing that is not in rl.h.
func TestParity(t *testing.T) {
	header, err := os.ReadFile(filepath.Join(root, "include/ratel/rl.h"))
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	files, _ := filepath.Glob("*.go")
	for _, file := range append(files, "shim.h") {
		if !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code += string(text)
		}
	}
	declared := regexp.MustCompile(`(?m)^RL_API [^(]*?(rl_\w+)\(`).FindAllStringSubmatch(string(header), -1)
	if len(declared) < 40 {
		t.Fatalf("%d functions found in rl.h", len(declared))
	}
	for _, match := range declared {
		name := match[1]
		called := regexp.MustCompile(`\b` + name + `\b`).MatchString(code)
		if _, excused := leftOut[name]; called == excused {
			t.Errorf("%s: called %v, left out %v", name, called, excused)
		}
	}
	for name := range leftOut {
		if !strings.Contains(string(header), name+"(") {
			t.Errorf("%s is not in rl.h", name)
		}
	}
}

func TestVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	if version := strings.TrimSpace(string(text)); version != Version || version != EngineVersion() {
		t.Errorf("VERSION %s, package %s, engine %s", version, Version, EngineVersion())
	}
	if err := checkABI(); err != nil {
		t.Error(err)
	}
	if Features()&FeatureMemory == 0 || Features()&FeatureHostStorage == 0 {
		t.Errorf("features %b", Features())
	}
}

// Each constant of rl.h's error codes has its name here.
func TestCodes(t *testing.T) {
	for code, name := range map[Code]string{
		ErrInvalidArgument: "RL_E_INVALID_ARGUMENT", ErrNoMemory: "RL_E_NO_MEMORY", ErrConfig: "RL_E_CONFIG", ErrIO: "RL_E_IO",
		ErrNotFound: "RL_E_NOT_FOUND", ErrUnsupported: "RL_E_UNSUPPORTED", ErrStore: "RL_E_STORE", ErrABI: "RL_E_ABI",
		ErrState: "RL_E_STATE", ErrCancelled: "RL_E_CANCELLED", ErrInternal: "RL_E_INTERNAL", 99: "RL_E_UNKNOWN",
	} {
		if code.String() != name || code.Error() != "ratel: "+name {
			t.Errorf("%d: %s", code, code)
		}
	}
}
