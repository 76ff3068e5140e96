// gateway: an HTTP server, or a reverse proxy, with Ratel in front. docs/gateway.md tells its story.
#include <getopt.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "gateway.hpp"

namespace {

constexpr char kUsage[] =
    "usage: gateway --rules FILE [--listen HOST:PORT] [--upstream http://HOST:PORT] [--watch-ms N]\n"
    "               [--redis URL] [--idempotency-header NAME]\n"
    "\n"
    "  --rules FILE     rule file or folder; read again when it changes\n"
    "  --listen         where to listen (127.0.0.1:0, a free port); the port is printed\n"
    "  --upstream       the server to pass requests on to; without it the gateway answers by itself\n"
    "  --watch-ms N     how often to look at the rules, in milliseconds (1000)\n"
    "  --redis URL      where the counts are, shared by all gateways with the same RATEL_SECRET in their environment\n"
    "  --idempotency-header NAME\n"
    "                   a request that comes again with the same value is not charged again\n";

int ToNumber(std::string_view text, int limit, const char* what) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > limit) {
    throw std::invalid_argument(std::string(what) + ": \"" + std::string(text) + "\" is no such number");
  }
  return number;
}

void SetListen(gateway::Options& options, std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) throw std::invalid_argument("--listen is HOST:PORT");
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  options.host = host;
  options.port = ToNumber(text.substr(colon + 1), 65535, "--listen");
}

gateway::Options ParseOptions(int argc, char** argv) {
  static const option kOptions[] = {
      {"rules", required_argument, nullptr, 'r'},    {"listen", required_argument, nullptr, 'l'},
      {"upstream", required_argument, nullptr, 'u'}, {"watch-ms", required_argument, nullptr, 'w'},
      {"redis", required_argument, nullptr, 'R'},    {"idempotency-header", required_argument, nullptr, 'i'},
      {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0}};
  gateway::Options options;
  for (int letter = 0; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (letter) {
      case 'r':
        options.rules = optarg;
        break;
      case 'l':
        SetListen(options, optarg);
        break;
      case 'u':
        options.upstream = optarg;
        break;
      case 'w':
        options.watch_ms = static_cast<uint32_t>(ToNumber(optarg, 1 << 30, "--watch-ms"));
        break;
      case 'R':
        options.redis = optarg;
        break;
      case 'i':
        options.idempotency_header = optarg;
        break;
      case 'h':
        std::fputs(kUsage, stdout);
        std::exit(0);
      default:
        throw std::invalid_argument("see gateway --help");
    }
  }
  if (const char* secret = std::getenv("RATEL_SECRET")) options.secret = secret;
  if (options.rules.empty() || optind != argc) throw std::invalid_argument("see gateway --help");
  if (!options.redis.empty() && options.secret.empty()) {
    throw std::invalid_argument(
        "--redis needs RATEL_SECRET in the environment, 16 to 1024 bytes, the same for all gateways");
  }
  return options;
}

/// Blocked before any thread starts, so that they reach sigwait alone.
sigset_t BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int Run(int argc, char** argv) {
  const gateway::Options options = ParseOptions(argc, argv);
  const sigset_t signals = BlockEndSignals();
  gateway::Gateway gateway(options);
  if (!gateway.Bind())
    throw std::runtime_error("cannot listen on " + options.host + ":" + std::to_string(options.port));
  std::thread server([&gateway] { gateway.Serve(); });
  std::printf("listening on %s:%d\n", options.host.c_str(), gateway.port());
  std::fflush(stdout);

  int signal = 0;
  sigwait(&signals, &signal);
  gateway.Stop();
  server.join();
  std::printf("stopped\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gateway: %s\n", error.what());
  }
  return 2;
}
