// The parts of the benchmark. Each measures and prints rows; which targets they speak to stands in memory_targets.py.
#pragma once

#include "measure.hpp"

namespace bench {

void CheckAnswers();                  ///< every subject gives the same answers; ends the program when not
void Tables(const Options& options);  ///< one decision at 1k, 1M and 10M keys, beside floors and peers (targets 1 to 5)
void Rules(const Options& options);   ///< what finding the rule costs (6)
void Hot(const Options& options);     ///< one key, denied and allowed (7, 8)
void Growth(const std::string& subject, const Options& options);   ///< resident bytes a key while a table grows (9)
void Inserts(const std::string& subject, const Options& options);  ///< how long single inserts take while it grows (10)
void Churn(const Options& options);                                ///< keys that come once, a million alive (11)
void Exact(const Options& options);    ///< what is admitted while it grows and reloads, every algorithm (12)
void Reload(const Options& options);   ///< how long decisions take while rules are swapped
void Several(const Options& options);  ///< three limits of one request
void Scale(const Options& options);    ///< more keys than the budget, a flood against a victim, a billion decisions

}  // namespace bench
