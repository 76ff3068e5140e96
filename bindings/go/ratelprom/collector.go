// Package ratelprom shows a ratel.Limiter's metrics to the Prometheus client, under the names of docs/metrics.md.
package ratelprom

import (
	"github.com/prometheus/client_golang/prometheus"

	ratel "github.com/ratel/ratel/bindings/go"
)

type family struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(ratel.Metrics) uint64
}

type ruleFamily struct {
	desc  *prometheus.Desc
	value func(ratel.RuleMetrics) uint64
}

func counter(name, help string, value func(ratel.Metrics) uint64) family {
	return family{prometheus.NewDesc("ratel_"+name+"_total", help, nil, nil), prometheus.CounterValue, value}
}

func gauge(name, help string, value func(ratel.Metrics) uint64) family {
	return family{prometheus.NewDesc("ratel_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

func byRule(name, help string, value func(ratel.RuleMetrics) uint64) ruleFamily {
	return ruleFamily{prometheus.NewDesc("ratel_rule_"+name+"_total", help, []string{"rule"}, nil), value}
}

var families = []family{
	counter("requests", "Requests decided.", func(m ratel.Metrics) uint64 { return m.Requests }),
	counter("allowed", "Requests allowed.", func(m ratel.Metrics) uint64 { return m.Allowed }),
	counter("denied", "Requests denied.", func(m ratel.Metrics) uint64 { return m.Denied }),
	counter("never_fits", "Denied: the cost is above the capacity.", func(m ratel.Metrics) uint64 { return m.NeverFits }),
	counter("blocked", "Denied: action block.", func(m ratel.Metrics) uint64 { return m.Blocked }),
	counter("shadow_denied", "Requests that a shadow limit would have denied.", func(m ratel.Metrics) uint64 { return m.ShadowDenied }),
	counter("no_rule", "Allowed: no rule covered the request.", func(m ratel.Metrics) uint64 { return m.NoRule }),
	counter("local_fallback", "Requests decided by a local limit while the store failed.", func(m ratel.Metrics) uint64 { return m.LocalFallback }),
	counter("fail_open", "Allowed because the store failed.", func(m ratel.Metrics) uint64 { return m.FailOpen }),
	counter("fail_closed", "Denied because the store failed.", func(m ratel.Metrics) uint64 { return m.FailClosed }),
	counter("store_errors", "Times that the store could not answer.", func(m ratel.Metrics) uint64 { return m.StoreErrors }),
	counter("unknown_client", "Requests whose ip scope had no usable address.", func(m ratel.Metrics) uint64 { return m.UnknownClient }),
	counter("evicted_live", "Keys dropped with state that was not as new.", func(m ratel.Metrics) uint64 { return m.EvictedLive }),
	counter("evicted_idle", "Keys dropped by an idle sweep.", func(m ratel.Metrics) uint64 { return m.EvictedIdle }),
	counter("reloads", "Rule sets put in force by a reload.", func(m ratel.Metrics) uint64 { return m.Reloads }),
	counter("reload_failures", "Reloads that kept the old rule set.", func(m ratel.Metrics) uint64 { return m.ReloadFailures }),
	counter("leased", "Allowed from units that were paid for in advance.", func(m ratel.Metrics) uint64 { return m.Leased }),
	counter("cached_denial", "Denied without asking the store again.", func(m ratel.Metrics) uint64 { return m.CachedDenial }),
	counter("reported_back", "Units admitted while the store failed that it was told of afterwards.", func(m ratel.Metrics) uint64 { return m.ReportedBack }),
	counter("unreported", "Units admitted while the store failed that it could not be charged for.", func(m ratel.Metrics) uint64 { return m.Unreported }),
	gauge("keys", "Keys held.", func(m ratel.Metrics) uint64 { return m.Keys }),
	gauge("generation", "Number of the rule set in force.", func(m ratel.Metrics) uint64 { return m.Generation }),
}

var ruleFamilies = []ruleFamily{
	byRule("allowed", "Requests allowed, by rule.", func(m ratel.RuleMetrics) uint64 { return m.Allowed }),
	byRule("denied", "Requests denied, by rule.", func(m ratel.RuleMetrics) uint64 { return m.Denied }),
	byRule("never_fits", "Denied, by rule: the cost is above the capacity.", func(m ratel.RuleMetrics) uint64 { return m.NeverFits }),
	byRule("shadow_denied", "Would have been denied by a shadow limit, by rule.", func(m ratel.RuleMetrics) uint64 { return m.ShadowDenied }),
	byRule("cost_allowed", "Units spent, by rule.", func(m ratel.RuleMetrics) uint64 { return m.CostAllowed }),
}

// Collector is a prometheus.Collector over a Limiter. One that is closed has no metrics.
type Collector struct{ limiter *ratel.Limiter }

// New makes a Collector, to be registered.
func New(limiter *ratel.Limiter) *Collector { return &Collector{limiter} }

// Describe is part of prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, one := range families {
		out <- one.desc
	}
	for _, one := range ruleFamilies {
		out <- one.desc
	}
}

// Collect is part of prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	totals, err := c.limiter.Metrics()
	if err != nil {
		return
	}
	for _, one := range families {
		out <- prometheus.MustNewConstMetric(one.desc, one.kind, float64(one.value(totals)))
	}
	rules, err := c.limiter.Rules()
	if err != nil {
		return
	}
	for _, id := range rules {
		counters, err := c.limiter.RuleMetrics(id)
		if err != nil {
			continue // gone with a reload meanwhile
		}
		name := c.limiter.RuleName(id)
		for _, one := range ruleFamilies {
			out <- prometheus.MustNewConstMetric(one.desc, prometheus.CounterValue, float64(one.value(counters)), name)
		}
	}
}
