// Command bench compares decisions per key with what Go programs would pick instead, all in one process and in memory. README.md says how
// to run it and how to read it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	ratel "github.com/ratel/ratel/bindings/go"
)

// row is one thing measured: nanoseconds of each round.
type row struct {
	Section string    `json:"section"`
	Name    string    `json:"name"`
	Keys    int       `json:"keys"`
	Threads int       `json:"threads"`
	NS      []float64 `json:"ns"`
}

type report struct {
	Versions map[string]any `json:"versions"`
	Rounds   int            `json:"rounds"`
	Rows     []*row         `json:"rows"`
}

func (told *report) row(section, name string, keys, threads int) *row {
	r := &row{Section: section, Name: name, Keys: keys, Threads: threads}
	told.Rows = append(told.Rows, r)
	return r
}

func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}

// print tells a section's medians, the lowest in brackets.
func (told *report) print(section string, keys int) {
	fmt.Printf("\n%s, %d keys\n", section, keys)
	for _, r := range told.Rows {
		if r.Section == section && r.Keys == keys {
			fmt.Printf("  %-32s %d thread(s) %9.1f ns (%.1f)\n", r.Name, r.Threads, median(r.NS), slices.Min(r.NS))
		}
	}
}

// firstOf is what a file's line says that begins so.
func firstOf(file, begin string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, begin); found {
			return strings.Trim(rest, " \t:\n")
		}
	}
	return "unknown"
}

func versions() map[string]any {
	load, _ := os.ReadFile("/proc/loadavg")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	told := map[string]any{
		"machine": fmt.Sprintf("%s, %d cores, %s %s", firstOf("/proc/cpuinfo", "model name"), runtime.NumCPU(), runtime.GOOS, strings.TrimSpace(string(release))),
		"date":    time.Now().Format(time.DateOnly),
		"go":      runtime.Version(),
		"ratel":   ratel.EngineVersion(),
	}
	var average float64
	if _, err := fmt.Sscan(string(load), &average); err == nil {
		told["load_average_at_start"] = average
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			for _, peer := range []string{"x/time", "go-limiter", "throttled", "httprate", "ulule/limiter"} {
				if strings.Contains(module.Path, peer) {
					told[module.Path] = module.Version
				}
			}
		}
	}
	return told
}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 9, "turns of each candidate")
	flag.IntVar(&s.block, "block", 10, "milliseconds of a turn")
	flag.IntVar(&s.most, "keys", 1_000_000, "most keys")
	only := flag.String("only", "", "candidates whose names match")
	file := flag.String("json", "", "file to write the rows into")
	name := flag.String("serve", "", "be the server of a middleware (used by this program itself)")
	flag.Parse()
	if *name != "" {
		serveHello(*name)
		return
	}
	if *only != "" {
		s.only = regexp.MustCompile(*only)
	}
	told := report{Versions: versions(), Rounds: s.rounds}
	for name, version := range told.Versions {
		fmt.Println(name, version)
	}
	told.decide(s)
	told.crossing(s)
	told.middleware(s)
	told.http(s)
	if *file != "" {
		text := must(json.Marshal(told))
		if err := os.WriteFile(*file, append(text, '\n'), 0o644); err != nil {
			panic(err)
		}
	}
}
