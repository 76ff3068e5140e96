#include "storage/redis/key_client.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include "storage/redis/command.hpp"
#include "storage/redis/enquiry.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {
namespace {

/// How often it is looked whether somebody stops.
constexpr std::chrono::milliseconds kGlance{20};

Error Unanswered(std::string why) { return {Status::kIo, std::move(why), {}, {}, {}}; }

/// Where a cluster's "MOVED slot host:port" points; an empty host is the one that was asked.
std::optional<Place> MovedTo(std::string_view error, const Place& asked) {
  if (!error.starts_with("MOVED ")) return std::nullopt;
  const std::string_view target = error.substr(error.rfind(' ') + 1);
  const size_t colon = target.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Place place;
  place.host = colon == 0 ? asked.host : std::string(target.substr(0, colon));
  const std::string_view port = target.substr(colon + 1);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (fault != std::errc() || end != port.data() + port.size() || place.port == 0) return std::nullopt;
  return place;
}

}  // namespace

struct KeyClient::Impl {
  Impl(const Options& options, std::shared_ptr<const TlsContext> tls)
      : around{options, std::move(tls), [] {}, [](Report, const std::string&) {}} {}

  /// Of the first server that answers, or whom that one names.
  Enquiry::Result Ask(const std::string& command) {
    Enquiry::Result last;
    for (const Place& place : around.options.places) {
      last = AskOne(place, command);
      if (const auto moved = MovedTo(last.fault, place)) last = AskOne(*moved, command);
      if (last.reply != nullptr || stopping) break;
    }
    return last;
  }

  Enquiry::Result AskOne(const Place& place, const std::string& command) {
    const Options& options = around.options;
    const bool selects = options.database != 0;
    const std::string words = (selects ? MakeCommand({"SELECT", std::to_string(options.database)}) : "") + command;
    enquiry.Begin(place, {options.user, options.password}, words, selects ? 2 : 1);
    while (!stopping) {
      enquiry.Tick(Clock::now());
      enquiry.Flush();
      if (auto result = enquiry.Take()) return std::move(*result);
      pollfd wanted = enquiry.Wanted();
      poll(&wanted, 1, static_cast<int>(kGlance.count()));
      enquiry.OnEvents(wanted.revents);
    }
    enquiry.End();
    return {nullptr, "it is over"};
  }

  Surroundings around;
  Enquiry enquiry{around};
  std::atomic<bool> stopping{false};
};

Result<std::unique_ptr<KeyClient>> KeyClient::Make(const Options& options) {
  if (options.deployment == Deployment::kSentinel)
    return Error{Status::kUnsupported, "a key is not read behind sentinels: name the server", {}, {}, {}};
  std::shared_ptr<const TlsContext> tls;
  if (options.tls) {
    auto made = TlsContext::Make(options);
    if (!made) return made.error();
    tls = std::move(*made);
  }
  return std::unique_ptr<KeyClient>(new KeyClient(std::make_unique<Impl>(options, std::move(tls))));
}

KeyClient::KeyClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeyClient::~KeyClient() = default;

void KeyClient::Stop() noexcept { impl_->stopping = true; }

Result<std::optional<std::string>> KeyClient::Get(std::string_view key) {
  const Enquiry::Result got = impl_->Ask(MakeCommand({"GET", key}));
  if (got.reply == nullptr) return Unanswered(got.fault);
  if (got.reply->type == REDIS_REPLY_NIL) return std::optional<std::string>();
  return std::optional<std::string>(TextOf(*got.reply));
}

std::optional<Error> KeyClient::Set(std::string_view key, std::string_view text) {
  const Enquiry::Result done = impl_->Ask(MakeCommand({"SET", key, text}));
  if (done.reply == nullptr) return Unanswered(done.fault);
  return std::nullopt;
}

std::string KeyClient::Shown(std::string_view key) const {
  return redis::Shown(impl_->around.options) + "#" + std::string(key);
}

}  // namespace ratel::redis
