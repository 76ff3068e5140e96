// Decisions that end when the host's storage has finished.
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "limiter/registry_impl.hpp"

namespace ratel {
namespace {

/// A request that owns its bytes.
class OwnedRequest {
 public:
  explicit OwnedRequest(const Request& request) : request_(request) {
    size_t size = 0;
    Each([&](std::string_view& part) { size += part.size(); }, request.identity.attributes);
    bytes_.reserve(size);
    attributes_.assign(request.identity.attributes.begin(), request.identity.attributes.end());
    request_.identity.attributes = attributes_;
    const auto own = [&](std::string_view& part) {
      const size_t begin = bytes_.size();
      bytes_.append(part);
      part = std::string_view(bytes_).substr(begin);
    };
    EachOfRequest(own);
    for (AttributeView& attribute : attributes_) {
      own(attribute.name);
      own(attribute.value);
    }
  }
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;
  const Request& operator*() const noexcept { return request_; }

 private:
  template <class Visit>
  void EachOfRequest(Visit visit) {
    visit(request_.method);
    visit(request_.path);
    visit(request_.identity.user);
    visit(request_.identity.api_key);
    visit(request_.identity.ip);
    visit(request_.identity.key);
    visit(request_.idempotency_id);
  }
  template <class Visit>
  void Each(Visit visit, std::span<const AttributeView> attributes) {
    EachOfRequest(visit);
    for (AttributeView attribute : attributes) {
      visit(attribute.name);
      visit(attribute.value);
    }
  }

  Request request_;
  std::vector<AttributeView> attributes_;
  std::string bytes_;
};

}  // namespace

/// One decision in the host's hands. Deletes itself when it ends.
class AsyncDecision final : public Completion {
 public:
  AsyncDecision(Registry::Impl& impl, const Request& request, uint64_t now_ns, Registry::Callback callback, void* user)
      : impl_(impl),
        snapshot_(impl.current.Keep()),
        request_(request),
        now_ns_(now_ns),
        callback_(callback),
        user_(user) {}

  /// kOk: the callback has run or will. Otherwise it never does, and the caller deletes this.
  Status Begin() {
    if (const Status status = FindRules(*snapshot_, *request_, rules_); status != Status::kOk) return status;
    decision_ = Blank(*snapshot_, now_ns_, rules_, *request_);
    if (impl_.DecideWithoutLimits(*snapshot_, rules_, Mode::kSpend, decision_)) {
      impl_.Count(*snapshot_, rules_, {}, {}, tally_, decision_);
      End();
      return Status::kOk;
    }
    if (const Status status = BuildCharges(*snapshot_, impl_.hasher, *request_, rules_, buffer_, tally_);
        status != Status::kOk)
      return status;
    if ((*request_).idempotency_id.empty() && impl_.AnswerHere(*snapshot_, *request_, rules_, buffer_.charges.From(0),
                                                               buffer_.uses.From(0), tally_, pass_, decision_)) {
      End();
      return Status::kOk;
    }
    operation_.charges = buffer_.charges.From(0);
    operation_.now = FloorToMicros(now_ns_);
    if (const Status status = impl_.SetNames(*snapshot_, *request_, operation_.charges, buffer_.uses.From(0), names_);
        status != Status::kOk) {
      // The store is not asked: whoever waits for the payment is told.
      if (pass_.block != 0) static_cast<void>(impl_.AfterPayment(*snapshot_, pass_, operation_, status));
      return status;
    }
    operation_.id = IdOf(impl_.hasher, *request_, operation_.charges);
    const Status status = impl_.storage->ApplyAsync(operation_, *this);
    if (status == Status::kOk) return status;
    Finish(status);
    return Status::kOk;
  }

  void Finish(Status status) noexcept override {
    if (pass_.block != 0 && impl_.AfterPayment(*snapshot_, pass_, operation_, status)) {
      status = impl_.storage->ApplyAsync(operation_, *this);
      if (status == Status::kOk) return;
    }
    if (status == Status::kCancelled) {
      decision_ = Decision();
      decision_.status = status;
    } else {
      impl_.Finish(*snapshot_, rules_, buffer_, 0, operation_, status, tally_, decision_);
      impl_.Remember(*snapshot_, pass_, operation_, decision_);
    }
    End();
  }

 private:
  void End() noexcept {
    callback_(user_, decision_);
    Registry::Impl& impl = impl_;
    delete this;
    impl.Ends();
  }

  Registry::Impl& impl_;
  const std::shared_ptr<const Snapshot> snapshot_;
  const OwnedRequest request_;
  const uint64_t now_ns_;
  const Registry::Callback callback_;
  void* const user_;
  MatchedRules rules_;
  ChargeBuffer buffer_;
  Operation operation_;
  Tally tally_;
  TierPass pass_;
  Decision decision_;
  std::string names_;
};

Status Registry::AllowAsync(const Request& request, Callback callback, void* user) noexcept {
  if (impl_->local) {
    Decision decision;
    const Status status = Allow(request, decision);
    if (status == Status::kOk) callback(user, decision);
    return status;
  }
  if (CheckRequest(request) != Status::kOk) return Status::kInvalidArgument;
  const uint64_t now_ns = impl_->NowNs(request.now_ns);
  if (!IsValidInstant(now_ns)) return Status::kInvalidArgument;
  impl_->Begins();
  Status status = Status::kNoMemory;
  try {
    auto decision = std::make_unique<AsyncDecision>(*impl_, request, now_ns, callback, user);
    status = decision->Begin();
    if (status == Status::kOk) {
      // It has ended and is gone, or belongs to whoever finishes it.
      static_cast<void>(decision.release());
      impl_->errands->LendAsync();
      return status;
    }
  } catch (const std::bad_alloc&) {
    status = Status::kNoMemory;
  }
  impl_->Ends();
  return status;
}

}  // namespace ratel
