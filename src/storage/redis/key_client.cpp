#include "storage/redis/key_client.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include "storage/redis/command.hpp"
#include "storage/redis/enquiry.hpp"
#include "storage/redis/sentinel.hpp"
#include "storage/redis/slot_map.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {
namespace {

/// How often it is looked whether somebody stops.
constexpr std::chrono::milliseconds kGlance{20};

Error Unanswered(std::string why) { return {Status::kIo, std::move(why), {}, {}, {}}; }

}  // namespace

struct KeyClient::Impl {
  Impl(const Options& options, std::shared_ptr<const TlsContext> tls)
      : around{options, std::move(tls), [] {}, [](Report, const std::string&) {}} {}

  /// Of the first server that answers, or whom that one names.
  Enquiry::Result Ask(const std::string& command) {
    const bool behind_sentinels = around.options.deployment == Deployment::kSentinel;
    Enquiry::Result last;
    for (const Place& place : around.options.places) {
      last = behind_sentinels ? AskMaster(place, command) : AskServer(place, command);
      if (const auto moved = ReadRedirection(last.fault, place); moved && moved->moved)
        last = AskServer(moved->place, command);
      if (last.reply != nullptr || stopping) break;
    }
    return last;
  }

  /// Of the master that a sentinel names.
  Enquiry::Result AskMaster(const Place& sentinel, const std::string& command) {
    const Options& options = around.options;
    Enquiry::Result named =
        AskOne(sentinel, {options.sentinel_user, options.sentinel_password}, AskForMaster(options.master), 1);
    if (named.reply == nullptr) return named;
    const auto master = ReadMaster(*named.reply);
    if (!master) return {nullptr, UnknownMaster(options.master)};
    return AskServer(*master, command);
  }

  Enquiry::Result AskServer(const Place& place, const std::string& command) {
    const Options& options = around.options;
    const bool selects = options.database != 0;
    const std::string words = (selects ? MakeCommand({"SELECT", std::to_string(options.database)}) : "") + command;
    return AskOne(place, {options.user, options.password}, words, selects ? 2 : 1);
  }

  Enquiry::Result AskOne(const Place& place, const Login& login, const std::string& words, size_t commands) {
    enquiry.Begin(place, login, words, commands);
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
