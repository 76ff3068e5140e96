#!/usr/bin/env python3
"""parse_metrics.py EMIT: the metrics text parses with Prometheus' own client, and says the numbers that went in."""

import json
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

COUNT, SEED = 300, 7


def samples_of(text):
    samples, names = {}, []
    for family in text_string_to_metric_families(text):
        names.append(family.name)
        assert family.documentation, family.name
        assert family.type in ("counter", "gauge"), family
        for sample in family.samples:
            key = (sample.name, sample.labels.get("rule"))
            assert key not in samples, key
            samples[key] = sample.value
    assert len(set(names)) == len(names), names
    return samples


def main():
    emitted = subprocess.run([sys.argv[1], "metrics", str(COUNT), str(SEED)], check=True, capture_output=True, text=True)
    seen = 0
    for line in emitted.stdout.splitlines():
        case = json.loads(line)
        samples = samples_of(case["text"])
        assert samples[("ratel_requests_total", None)] == case["requests"]
        assert samples[("ratel_denied_total", None)] == case["denied"]
        assert samples[("ratel_keys", None)] == case["keys"]
        for rule in case["rules"]:
            assert samples[("ratel_rule_allowed_total", rule["rule"])] == rule["allowed"], rule
            assert samples[("ratel_rule_cost_allowed_total", rule["rule"])] == rule["cost_allowed"], rule
        assert sum(name == "ratel_rule_allowed_total" for name, _ in samples) == len(case["rules"])
        seen += len(samples)
    assert seen > 10 * COUNT
    print(f"{seen} samples of {COUNT} snapshots parsed (seed {SEED})")


if __name__ == "__main__":
    main()
