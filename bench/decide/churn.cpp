// Forty million keys that come once, each alive until what it spent has come back: a million are at any time. Nobody sweeps.
#include <vector>

#include "../workload.hpp"
#include "engine.hpp"
#include "row.hpp"
#include "sections.hpp"

namespace bench {

void Churn(const Options& options) {
  const uint32_t keys = options.quick ? 400'000 : 40'000'000;
  const uint32_t alive = keys / 40;
  // One unit of 100 a minute is back after 600 ms, so in that time as many new keys come as are to be alive.
  const double step_ns = 600e6 / alive;
  const uint64_t before = ResidentBytes();
  Engine engine(OneRule(uint64_t{keys}, "token_bucket", 100, "1m"));
  AllowRule ratel{engine};
  std::vector<double> bytes;
  KeyMaker key;
  uint64_t allowed = 0;
  const uint64_t begun = Clock();
  for (uint32_t i = 0; i < keys; ++i) {
    const auto now_us = kStartUs + static_cast<uint64_t>(step_ns * i / 1000);
    allowed += ratel.Allow({key(i), i, now_us}).allowed;
    if ((i + 1) % alive == 0) bytes.push_back(static_cast<double>(ResidentBytes() - before));
  }
  Row("churn", "ratel")
      .Add("keys", uint64_t{keys})
      .Add("alive", uint64_t{alive})
      .Add("allowed", allowed)
      .Add("ns", static_cast<double>(Clock() - begun) / keys)
      .Add("resident_bytes", bytes)
      .Add("evicted_live", engine.Metrics().evicted_live);
}

}  // namespace bench
