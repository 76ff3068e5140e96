// bench_decide [--quick] [--rounds N] [--ms N] [--divide N] SECTION [SUBJECT]: measures one part and prints a line of JSON for each thing; run.py asks for all of them.
#include <ratel/rl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "flat_map.hpp"
#include "row.hpp"
#include "sections.hpp"

namespace bench {
namespace {

void Versions() {
#ifdef BENCH_HAS_BOOST
  const std::string boost = BOOST_LIB_VERSION;
#else
  const std::string boost;
#endif
  Row("versions", "program").Add("ratel", rl_version_string()).Add("compiler", __VERSION__).Add("boost", boost);
}

int Main(int argc, char** argv) {
  Options options;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    if (std::strcmp(argv[at], "--quick") == 0) {
      options = {2, 2, 500, true};
    } else if (std::strcmp(argv[at], "--rounds") == 0 && at + 1 < argc) {
      options.rounds = std::atoi(argv[++at]);
    } else if (std::strcmp(argv[at], "--divide") == 0 && at + 1 < argc) {
      options.divide = static_cast<uint32_t>(std::atoi(argv[++at]));
    } else if (std::strcmp(argv[at], "--ms") == 0 && at + 1 < argc) {
      options.milliseconds = std::atof(argv[++at]);
    } else {
      break;
    }
  }
  const std::string section = at < argc ? argv[at] : "";
  const std::string subject = at + 1 < argc ? argv[at + 1] : "ratel";
  const std::map<std::string, std::function<void()>> sections{
      {"versions", Versions},
      {"answers", CheckAnswers},
      {"tables", [&] { Tables(options); }},
      {"rules", [&] { Rules(options); }},
      {"hot", [&] { Hot(options); }},
      {"growth", [&] { Growth(subject, options); }},
      {"inserts", [&] { Inserts(subject, options); }},
      {"churn", [&] { Churn(options); }},
      {"exact", [&] { Exact(options); }},
      {"reload", [&] { Reload(options); }},
      {"several", [&] { Several(options); }},
      {"scale", [&] { Scale(options); }},
  };
  const auto found = sections.find(section);
  if (found == sections.end() || options.rounds < 1 || options.milliseconds <= 0 || options.divide < 1) {
    std::fprintf(stderr,
                 "usage: bench_decide [--quick] [--rounds N] [--ms N] [--divide N] SECTION [SUBJECT]\nsections:");
    for (const auto& [name, run] : sections) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  found->second();
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
