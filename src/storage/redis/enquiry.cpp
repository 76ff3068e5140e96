#include "storage/redis/enquiry.hpp"

#include <chrono>
#include <utility>

#include "storage/redis/command.hpp"

namespace ratel::redis {
namespace {

constexpr std::chrono::milliseconds kTimeout{1000};

}  // namespace

void Enquiry::Begin(const Place& place, const Login& login, std::string_view command, size_t commands) {
  End();
  place_ = place;
  words_.clear();
  to_come_ = commands;
  if (!login.password.empty()) {
    words_ =
        login.user.empty() ? MakeCommand({"AUTH", login.password}) : MakeCommand({"AUTH", login.user, login.password});
    ++to_come_;
  }
  words_ += command;
  until_ = Clock::now() + kTimeout;
  endpoints_.clear();
  next_endpoint_ = 0;
  if (place_.is_unix()) {
    endpoints_ = {UnixEndpoint(place_.path)};
    return Connect();
  }
  state_ = State::kResolving;
  resolver_ = std::make_unique<Resolver>(around_.wake);
  if (auto found = resolver_->Begin(place_.host, place_.port)) {
    endpoints_ = std::move(found->endpoints);
    if (endpoints_.empty()) return Fail(found->fault);
    Connect();
  }
}

void Enquiry::End() {
  if (state_ == State::kResolving) given_up_.push_back(std::move(resolver_));
  stream_.reset();
  reader_.reset();
  result_ = {};
  state_ = State::kIdle;
}

std::optional<Enquiry::Result> Enquiry::Take() {
  if (state_ != State::kDone) return std::nullopt;
  state_ = State::kIdle;
  return std::exchange(result_, {});
}

void Enquiry::Connect() {
  state_ = State::kTalking;
  stream_ = std::make_unique<Stream>(endpoints_[next_endpoint_++], around_.tls.get(), place_.host);
  reader_.emplace();
  if (!stream_->open()) return Fail(stream_->fault());
  stream_->Write(words_);
}

void Enquiry::Fail(std::string why) {
  if (state_ == State::kTalking && next_endpoint_ < endpoints_.size()) return Connect();
  Finish({nullptr, std::move(why)});
}

void Enquiry::Finish(Result result) {
  stream_.reset();
  reader_.reset();
  result_ = std::move(result);
  state_ = State::kDone;
}

void Enquiry::Tick(Clock::time_point now) {
  std::erase_if(given_up_, [](const auto& resolver) { return resolver->Take().has_value(); });
  if (!busy()) return;
  if (now >= until_) {
    if (state_ == State::kResolving) given_up_.push_back(std::move(resolver_));
    return Finish({nullptr, "no answer within a second"});
  }
  if (state_ != State::kResolving) return;
  if (auto found = resolver_->Take()) {
    endpoints_ = std::move(found->endpoints);
    if (endpoints_.empty()) return Fail(found->fault);
    Connect();
  }
}

void Enquiry::Flush() {
  if (stream_ != nullptr && !stream_->Flush()) Fail(stream_->fault());
}

Clock::time_point Enquiry::NextTick() const noexcept {
  if (state_ == State::kDone) return Clock::time_point();
  return busy() ? until_ : Clock::time_point::max();
}

pollfd Enquiry::Wanted() const noexcept {
  if (stream_ == nullptr || !stream_->open()) return {-1, 0, 0};
  return {stream_->fd(), stream_->events(), 0};
}

void Enquiry::OnEvents(short events) {
  if (stream_ == nullptr || events == 0) return;
  if (!stream_->FinishConnect()) return Fail(stream_->fault());
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  in_.clear();
  const bool open = stream_->Read(in_);
  const std::string why = open ? "" : stream_->fault();
  if (reader_->Feed(in_)) {
    while (reader_.has_value()) {
      ReplyPtr reply = reader_->Next();
      if (reply == nullptr) break;
      OnReply(std::move(reply));
    }
  }
  if (!reader_.has_value()) return;  // it has ended
  if (reader_->failed()) return Finish({nullptr, "not the Redis protocol: " + reader_->fault()});
  if (!open) Fail(why);
}

void Enquiry::OnReply(ReplyPtr reply) {
  if (IsError(*reply)) {
    std::string text(TextOf(*reply));
    return Finish({nullptr, std::move(text)});
  }
  if (--to_come_ == 0) Finish({std::move(reply), ""});
}

}  // namespace ratel::redis
