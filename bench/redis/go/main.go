// redis_rate on Redis: IN_FLIGHT goroutines that wait, over go-redis's pool or over its automatic pipelines.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

type seen struct {
	allowed, failed int
	took            []time.Duration
}

func main() {
	if len(os.Args) != 7 {
		log.Fatal("usage: PROGRAM MODE PORT KEYS DECISIONS LIMIT IN_FLIGHT")
	}
	var numbers [5]int
	for i := range numbers {
		number, err := strconv.Atoi(os.Args[i+2])
		if err != nil {
			log.Fatal(err)
		}
		numbers[i] = number
	}
	port, keys, decisions, limit, inFlight := numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
	limiter, err := limiterOf(os.Args[1], port)
	if err != nil {
		log.Fatal(err)
	}
	rate := redis_rate.Limit{Rate: limit, Burst: limit, Period: 24 * time.Hour}
	if _, err := limiter.Allow(ctx, "warm", rate); err != nil {
		log.Fatal(err)
	}

	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	cpu, start := cpuSeconds(), time.Now()
	all := make([]seen, inFlight)
	var group sync.WaitGroup
	for i := range all {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := i; n < decisions; n += inFlight {
				key := fmt.Sprintf("user:%026d", n*7919%keys)
				asked := time.Now()
				result, err := limiter.Allow(ctx, key, rate)
				all[i].took = append(all[i].took, time.Since(asked))
				if err != nil {
					all[i].failed++
				} else if result.Allowed > 0 {
					all[i].allowed++
				}
			}
		}()
	}
	group.Wait()
	tell(all, time.Since(start).Seconds(), cpuSeconds()-cpu)
}

func limiterOf(mode string, port int) (*redis_rate.Limiter, error) {
	options := &redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), ReadTimeout: time.Minute, PoolTimeout: time.Minute, PoolSize: 64}
	switch mode {
	case "pool":
		return redis_rate.NewLimiter(redis.NewClient(options)), nil
	case "pipeline":
		pipeline, err := redis.NewClient(options).AutoPipeline()
		if err != nil {
			return nil, err
		}
		return redis_rate.NewLimiter(pipeline), nil
	}
	return nil, fmt.Errorf("no mode %s", mode)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func tell(all []seen, seconds, cpu float64) {
	var sum seen
	for _, one := range all {
		sum.allowed += one.allowed
		sum.failed += one.failed
		sum.took = append(sum.took, one.took...)
	}
	slices.Sort(sum.took)
	percentile := func(hundredths int) float64 {
		return float64(sum.took[(len(sum.took)-1)*hundredths/100].Nanoseconds()) / 1e3
	}
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"decisions": len(sum.took), "allowed": sum.allowed, "failed": sum.failed, "seconds": seconds, "cpu_seconds": cpu,
		"p50_us": percentile(50), "p99_us": percentile(99),
	})
	if err != nil {
		log.Fatal(err)
	}
}
