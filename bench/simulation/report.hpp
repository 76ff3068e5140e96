// How outcomes are told.
#pragma once

#include <string>

#include "modes.hpp"
#include "outcome.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace simulation {

double Percent(uint64_t part, uint64_t whole);
/// What was simulated, in a sentence.
std::string SentenceOf(const Settings& settings);

std::string TableHead();
std::string RowOf(const Mode& mode, const Outcome& outcome);

std::string JsonOf(const Settings& settings);
std::string JsonOf(const Mode& mode, const Outcome& outcome);

/// Whether the bounds hold and a second run was the same; complains on stderr.
bool Holds(const Mode& mode, const Outcome& outcome, bool same);

}  // namespace simulation
