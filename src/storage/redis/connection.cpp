#include "storage/redis/connection.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/redis/command.hpp"
#include "storage/redis/state.hpp"

namespace ratel::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectTimeout{1000};
constexpr milliseconds kSilenceTimeout{1000};
constexpr std::chrono::seconds kRepeatMessage{10};
constexpr uint8_t kMostConversions = 4;
constexpr size_t kLongestMessage = 200;
constexpr size_t kMostToldReplies = 16;

/// What a server says, on one printable line.
std::string Printable(std::string_view text) {
  std::string out(text.substr(0, kLongestMessage));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

bool IsMaster(const redisReply& role) noexcept {
  return role.type == REDIS_REPLY_ARRAY && role.elements != 0 && TextOf(*role.element[0]) == "master";
}

/// Errors after which the whole connection is of no use: another server may be behind the name by now, or this one is not ready.
bool EndsConnection(std::string_view error) noexcept {
  // Redis 6 says first where in the script it was.
  if (error.find(": -READONLY ") != std::string_view::npos) return true;
  for (const std::string_view word : {"READONLY", "LOADING", "NOAUTH", "MASTERDOWN"}) {
    if (error.starts_with(word)) return true;
  }
  return false;
}

/// Errors of keys that do not go together, as in a slot that has moved in part; nothing was carried out, and alone each may be. That goes for ASK as
/// well: old servers say it when any of the keys has gone, and one that has not is decided where it is.
bool RefusesCompany(std::string_view error) noexcept {
  return error.starts_with("ASK ") || error.starts_with("TRYAGAIN") || error.starts_with("CROSSSLOT");
}

}  // namespace

Connection::Connection(Surroundings& surroundings, const Place& place, Breaker& breaker)
    : around_(surroundings),
      place_(place),
      shown_(Shown(surroundings.options, place)),
      breaker_(breaker),
      resolver_(surroundings.wake),
      gathered_(surroundings.options.batch) {}

// ---- Calls ------------------------------------------------------------------------------------------------------------------------

void Connection::Send(const CallPtr& call) {
  if (call->ended()) return;
  if (state_ == State::kReady) {
    Write(call);
  } else {
    pending_.push_back(call);
  }
}

void Connection::Write(const CallPtr& call) {
  if (call->kind == Call::Kind::kDecide) around_.numbers.Publish(*call->operation, *around_.router, Clock::now());
  if (gathered_.Takes(*call)) {
    gathered_.Add(call);
    if (gathered_.full()) WriteGathered();
    return;
  }
  if (gathered_.Touches(*call)) WriteGathered();
  WriteAlone(call);
}

void Connection::WriteAlone(const CallPtr& call) {
  if (call->asking) {
    stream_->Write(MakeCommand({"ASKING"}));
    Await(Kind::kAsking);
  }
  if (call->kind == Call::Kind::kDecide) {
    std::string head;
    PutArrayHeader(head, 3 + call->keys + call->terms);
    PutArgument(head, "EVALSHA");
    PutArgument(head, call->repeatable ? kOnceSha1 : std::string_view(script_));
    PutArgument(head, std::to_string(call->keys));
    stream_->Write(head);
  }
  stream_->Write(call->body);
  Await(Kind::kCall, call);
}

void Connection::WriteBatch(std::vector<CallPtr> calls, bool script_reloaded) {
  stream_->Write(MakeBatch(calls));
  awaited_.push_back({Kind::kBatch, nullptr, Clock::now(), std::move(calls), script_reloaded});
}

void Connection::WriteGathered() {
  for (std::vector<CallPtr>& calls : gathered_.Take()) {
    if (calls.size() == 1) {
      WriteAlone(calls.front());
    } else {
      WriteBatch(std::move(calls), false);
    }
  }
}

void Connection::Await(Kind kind, CallPtr call) { awaited_.push_back({kind, std::move(call), Clock::now()}); }

// ---- Making and losing the connection ---------------------------------------------------------------------------------------------

void Connection::Begin() {
  attempt_since_ = Clock::now();
  endpoints_.clear();
  next_endpoint_ = 0;
  if (place_.is_unix()) {
    endpoints_ = {UnixEndpoint(place_.path)};
    Connect();
    return;
  }
  state_ = State::kResolving;
  if (auto found = resolver_.Begin(place_.host, place_.port)) {
    endpoints_ = std::move(found->endpoints);
    if (endpoints_.empty()) return Drop(found->fault);
    Connect();
  }
}

void Connection::Connect() {
  state_ = State::kConnecting;
  stream_ = std::make_unique<Stream>(endpoints_[next_endpoint_++], around_.tls.get(), place_.host);
  reader_.emplace();
  in_.clear();
  awaited_.clear();
  loading_ = 0;
  if (!stream_->open()) return Drop(stream_->fault());
  SetUp();
}

void Connection::SetUp() {
  const Options& options = around_.options;
  if (!options.password.empty()) {
    stream_->Write(options.user.empty() ? MakeCommand({"AUTH", options.password})
                                        : MakeCommand({"AUTH", options.user, options.password}));
    Await(Kind::kAuth);
  }
  // Before the script: a server that asks for a password takes nothing that long, and does not say why.
  stream_->Write(MakeCommand({"PING"}));
  Await(Kind::kPing);
  if (options.database != 0) {
    stream_->Write(MakeCommand({"SELECT", std::to_string(options.database)}));
    Await(Kind::kSelect);
  }
  if (options.deployment == Deployment::kSentinel) {
    stream_->Write(MakeCommand({"ROLE"}));
    Await(Kind::kRole);
  }
  // Both: if one were there and the other not, calls would overtake each other.
  if (options.batch > 1) LoadScript(kBatchScript, Kind::kScriptAgain);
  LoadScript(kDecideScript, Kind::kScript);
}

void Connection::LoadScript(std::string_view script, Kind kind) {
  stream_->Write(MakeCommand({"SCRIPT", "LOAD", script}));
  Await(kind);
  if (kind == Kind::kScriptAgain) ++loading_;
}

/// Loads all of them, unless that is under way: what is written after this finds them.
void Connection::ReloadScripts() {
  if (loading_ != 0) return;
  for (const std::string_view script : {kDecideScript, kBatchScript, kOnceScript})
    LoadScript(script, Kind::kScriptAgain);
}

// By value: it may belong to what is dropped. NOLINTNEXTLINE(performance-unnecessary-value-param)
void Connection::Drop(std::string why) {
  if (state_ == State::kConnecting && next_endpoint_ < endpoints_.size()) return Connect();
  Disconnect();
  const auto now = Clock::now();
  retry_at_ = now + around_.Backoff(++failures_);
  Report(ratel::Report::kWarning, shown_ + ": " + Printable(why));
  breaker_.Failed(now, true);
  around_.router->Suspect(place_);
  std::deque<CallPtr> again = TakeRepeatable();
  Close(Status::kStore);
  pending_.swap(again);
}

/// The calls on their way that may be sent once more.
std::deque<CallPtr> Connection::TakeRepeatable() {
  std::deque<CallPtr> again;
  for (Awaited& one : awaited_) {
    if (one.call == nullptr || one.call->ended() || !one.call->repeatable || one.call->repeated) continue;
    again.push_back(one.call);
    one.call->repeated = true;
    one.call.reset();
  }
  return again;
}

void Connection::Disconnect() {
  stream_.reset();
  reader_.reset();
  state_ = State::kWaiting;
  retry_at_ = Clock::now();
}

void Connection::Close(Status status) noexcept {
  for (; !awaited_.empty(); awaited_.pop_front()) {
    if (awaited_.front().call != nullptr) awaited_.front().call->End(status);
    for (const CallPtr& call : awaited_.front().batch) call->End(status);
  }
  gathered_.Close(status);
  for (; !pending_.empty(); pending_.pop_front()) pending_.front()->End(status);
}

void Connection::Report(ratel::Report level, std::string text) {
  const auto now = Clock::now();
  if (text == told_ && now - told_at_ < kRepeatMessage) return;
  told_ = std::move(text);
  told_at_ = now;
  around_.report(level, told_);
}

/// While a server refuses writes, each script's error names the script, so several texts come in turn, as often as there are
/// requests.
void Connection::ReportErrorReply(std::string_view text) {
  const auto now = Clock::now();
  std::erase_if(told_replies_, [now](const auto& told) { return now - told.second >= kRepeatMessage; });
  std::string reply = Printable(text);
  if (told_replies_.size() == kMostToldReplies || !told_replies_.try_emplace(reply, now).second) return;
  Report(ratel::Report::kWarning, shown_ + ": " + reply);
}

// ---- The loop's turns -------------------------------------------------------------------------------------------------------------

void Connection::Tick(Clock::time_point now) {
  switch (state_) {
    case State::kWaiting:
      if (now >= retry_at_) Begin();
      return;
    case State::kResolving:
      if (auto found = resolver_.Take()) {
        endpoints_ = std::move(found->endpoints);
        if (endpoints_.empty()) return Drop(found->fault);
        return Connect();
      }
      // The look-up cannot be ended; whoever waits for it can be told.
      if (now - attempt_since_ >= kConnectTimeout && failures_ == 0) {
        failures_ = 1;
        Report(ratel::Report::kWarning, shown_ + ": the host's name takes long to resolve");
        Close(Status::kStore);
      }
      return;
    case State::kConnecting:
      if (now - attempt_since_ < kConnectTimeout) return;
      next_endpoint_ = endpoints_.size();
      return Drop("no connection within 1 s");
    case State::kReady:
      if (now >= NextTick()) Drop("no reply for a second");
      return;
  }
}

Clock::time_point Connection::NextTick() const noexcept {
  switch (state_) {
    case State::kWaiting:
      return retry_at_;
    case State::kResolving:
      return failures_ == 0 ? attempt_since_ + kConnectTimeout : Clock::time_point::max();
    case State::kConnecting:
      return attempt_since_ + kConnectTimeout;
    case State::kReady:
      break;
  }
  if (awaited_.empty()) return Clock::time_point::max();
  return awaited_.front().since + std::max<Clock::duration>(kSilenceTimeout, 4 * around_.options.deadline);
}

pollfd Connection::Wanted() const noexcept {
  if (stream_ == nullptr || !stream_->open()) return {-1, 0, 0};
  return {stream_->fd(), stream_->events(), 0};
}

void Connection::Flush() {
  if (state_ == State::kReady) WriteGathered();
  if (stream_ != nullptr && !stream_->Flush()) Drop(stream_->fault());
}

void Connection::OnEvents(short events) {
  if (stream_ == nullptr || events == 0) return;
  if (!stream_->FinishConnect()) return Drop(stream_->fault());
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  in_.clear();
  const bool open = stream_->Read(in_);
  const std::string why = open ? "" : stream_->fault();
  if (reader_->Feed(in_)) {
    while (reader_.has_value()) {
      const ReplyPtr reply = reader_->Next();
      if (reply == nullptr) break;
      OnReply(*reply);
    }
  }
  if (!reader_.has_value()) return;  // a reply has ended the connection
  if (reader_->failed()) return Drop("not the Redis protocol: " + reader_->fault());
  if (open) return;
  // A server that closes an idle connection has not failed.
  if (state_ == State::kReady && awaited_.empty() && failures_ == 0) return Disconnect();
  Drop(why);
}

// ---- Replies ----------------------------------------------------------------------------------------------------------------------

void Connection::OnReply(const redisReply& reply) {
  if (awaited_.empty()) return Drop("a reply that nobody asked for");
  Awaited one = std::move(awaited_.front());
  awaited_.pop_front();
  switch (one.kind) {
    case Kind::kAuth:
    case Kind::kPing:
    case Kind::kSelect:
    case Kind::kRole:
    case Kind::kScript:
      return OnSetUpReply(one.kind, reply);
    case Kind::kScriptAgain:
      --loading_;
      [[fallthrough]];
    case Kind::kAsking:
      if (IsError(reply)) ReportErrorReply(TextOf(reply));
      return;
    case Kind::kCall:
      return OnCallReply(one.call, reply);
    case Kind::kBatch:
      return OnBatchReply(std::move(one), reply);
  }
}

void Connection::OnSetUpReply(Kind kind, const redisReply& reply) {
  if (IsError(reply)) {
    next_endpoint_ = endpoints_.size();
    const char* step = kind == Kind::kAuth     ? "AUTH: "
                       : kind == Kind::kSelect ? "SELECT: "
                       : kind == Kind::kRole   ? "ROLE: "
                       : kind == Kind::kScript ? "SCRIPT LOAD: "
                                               : "";
    return Drop(step + std::string(TextOf(reply)));
  }
  if (kind == Kind::kRole && !IsMaster(reply)) return Drop("it is no master (any more)");
  if (kind == Kind::kScript) SetUpDone(TextOf(reply));
}

void Connection::SetUpDone(std::string_view script) {
  script_ = script;
  state_ = State::kReady;
  if (failures_ != 0) Report(ratel::Report::kInfo, shown_ + ": connected again");
  around_.numbers.PublishAgain();
  breaker_.EndPause(Clock::now());
  std::deque<CallPtr> pending;
  pending.swap(pending_);
  for (const CallPtr& call : pending) Send(call);
}

void Connection::OnCallReply(const CallPtr& call, const redisReply& reply) {
  if (!call->ended()) breaker_.Succeeded();
  call->server = nullptr;
  if (IsError(reply)) return OnCallError(call, TextOf(reply));
  failures_ = 0;
  switch (call->kind) {
    case Call::Kind::kDecide:
      if (!call->ended()) OnDecision(call, TextOf(reply));
      return;
    case Call::Kind::kForget:
      return call->End(Status::kOk);
    case Call::Kind::kLookUp:
      return OnLookUp(call, reply);
    case Call::Kind::kPublish:
      return;
  }
}

void Connection::OnCallError(const CallPtr& call, std::string_view text) {
  if (!call->ended() && text.starts_with("NOSCRIPT") && !call->script_reloaded) {
    // Nothing was carried out. Whoever restarted the server or flushed its scripts has not asked us.
    call->script_reloaded = true;
    ReloadScripts();
    return Write(call);
  }
  if (!call->ended() && around_.router->Redirect(call, text, place_)) return;
  if (EndsConnection(text)) {
    call->End(Status::kStore);
    return Drop(std::string(text));
  }
  ReportErrorReply(text);
  call->End(Status::kStore);
}

void Connection::OnBatchReply(Awaited batch, const redisReply& reply) {
  std::vector<CallPtr>& calls = batch.batch;
  if (!std::ranges::all_of(calls, &Call::ended)) breaker_.Succeeded();
  for (const CallPtr& call : calls) call->server = nullptr;
  if (IsError(reply)) return OnBatchError(std::move(batch), TextOf(reply));
  failures_ = 0;
  const auto told = BatchReply::Read(reply, calls.size());
  std::string answer;
  for (size_t i = 0; i < calls.size(); ++i) {
    const CallPtr& call = calls[i];
    if (call->ended() || (told && told->Error(i) != nullptr)) continue;
    answer.clear();
    if (told) told->PutAnswer(answer, i, *call, around_.options.server_time);
    OnDecision(call, answer);
  }
  // Behind the answers, as an error may end the connection.
  for (size_t i = 0; told && i < calls.size(); ++i) {
    if (const redisReply* error = told->Error(i); error != nullptr) OnAnswerError(calls[i], TextOf(*error));
  }
}

/// The script has refused all of them, or has broken off: then what it did until then stays done.
void Connection::OnBatchError(Awaited batch, std::string_view text) {
  if (text.starts_with("NOSCRIPT") && !batch.script_reloaded) {
    std::erase_if(batch.batch, &Call::ended);
    if (batch.batch.empty()) return;
    ReloadScripts();
    return WriteBatch(std::move(batch.batch), true);
  }
  for (const CallPtr& call : batch.batch) {
    if (!RefusesCompany(text)) {
      OnAnswerError(call, text);
    } else if (!call->ended()) {
      call->plain = false;
      around_.router->Dispatch(call);
    }
  }
}

void Connection::OnAnswerError(const CallPtr& call, std::string_view text) {
  if (state_ == State::kReady) return OnCallError(call, text);
  call->End(Status::kStore);
}

void Connection::OnDecision(const CallPtr& call, std::string_view bytes) {
  const auto reply = ReadReply(*call->operation, bytes);
  if (!reply) {
    Report(ratel::Report::kError, shown_ + ": a reply that the script does not make");
    return call->End(Status::kStore);
  }
  if (reply->verdict == Verdict::kStale) {
    if (!call->looked_up) call->stale_reply = bytes;
    return Convert(call, *reply);
  }
  if (!redis::Conclude(*call->operation, *reply)) {
    assert(false && "the script and the engine's steps decide differently");
    Report(ratel::Report::kError, shown_ + ": the script and the engine decide differently; this is a fault of Ratel");
    return call->End(Status::kInternal);
  }
  call->End(Status::kOk);
}

// ---- States under other numbers ---------------------------------------------------------------------------------------------------

const Numbers* Connection::NumbersOf(const Charge& charge, uint32_t fingerprint) const {
  for (uint32_t version = 0; version <= UINT16_MAX; ++version) {
    const Numbers* numbers = charge.history->At(static_cast<uint16_t>(version));
    if (numbers == nullptr) break;
    if (Fingerprint(*numbers) == fingerprint) return numbers;
  }
  const Numbers* numbers = around_.numbers.Find(fingerprint);
  return numbers != nullptr && numbers->spec.algorithm == charge.numbers->spec.algorithm ? numbers : nullptr;
}

void Connection::Convert(const CallPtr& call, const Reply& reply) {
  Operation& operation = *call->operation;
  std::vector<Replacement> replacements(operation.charges.size());
  std::vector<uint32_t> unknown;
  for (size_t i = 0; i < operation.charges.size(); ++i) {
    const Charge& charge = operation.charges[i];
    const auto fingerprint = StaleFingerprint(charge, reply.states[i]);
    if (!fingerprint) continue;
    const Numbers* from = NumbersOf(charge, *fingerprint);
    if (from == nullptr) unknown.push_back(*fingerprint);
    replacements[i] = Replace(charge, reply.states[i], from, reply.now);
  }
  if (!unknown.empty() && !call->looked_up) {
    call->looked_up = true;
    return around_.numbers.LookUp(call, unknown, *around_.router);
  }
  if (++call->conversions > kMostConversions) {
    Report(ratel::Report::kWarning, shown_ + ": gateways with different rules keep converting one key");
    return call->End(Status::kStore);
  }
  call->plain = false;
  call->body.resize(call->keys_size);
  PutTerms(call->body, around_.options, operation, replacements);
  around_.router->Dispatch(call);
}

void Connection::OnLookUp(const CallPtr& call, const redisReply& reply) {
  around_.numbers.Learn(reply);
  const CallPtr& asker = call->asker;
  if (asker->ended()) return;
  const auto stale = ReadReply(*asker->operation, asker->stale_reply);
  if (!stale) return asker->End(Status::kInternal);
  Convert(asker, *stale);
}

}  // namespace ratel::redis
