// Who asks, when: keys in the order of a distribution, and instants that go on at a given pace. Turns a subject into cases to be timed.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../workload.hpp"
#include "measure.hpp"
#include "question.hpp"

namespace bench {

/// What a subject's cases share: its keys, their order, and its time, which is how many questions there have been.
struct Course {
  Course(uint32_t of_keys, double step, const std::vector<uint32_t>* of_order = nullptr, uint64_t begin = kStartUs)
      : keys(of_keys), step_us(step), order(of_order), begin_us(begin) {}

  const uint32_t keys;
  const double step_us;                      ///< between two questions, whoever asks
  const std::vector<uint32_t>* const order;  ///< nullptr: uniform
  const uint64_t begin_us;
  std::atomic<uint64_t> asked{0};
};

/// A thread's part of a course. It takes its instants from the course some at a time, so that no thread's time runs ahead of the others'. Alone on its
/// cache lines: threads that write next to each other would be what is measured.
class alignas(128) Walk {
 public:
  Walk(Course& course, uint64_t seed) : course_(&course), random_(Mix(seed)) {}

  /// What is left of the instants is of an earlier run.
  void Begin() noexcept { left_ = 0; }
  Question Next(KeyMaker& key) noexcept {
    if (left_ == 0) {
      left_ = kInstants;
      at_ = course_->asked.fetch_add(kInstants, std::memory_order_relaxed);
    }
    --left_;
    const uint64_t now_us = course_->begin_us + static_cast<uint64_t>(course_->step_us * static_cast<double>(at_++));
    const std::vector<uint32_t>* order = course_->order;
    const uint64_t chance = random_++;
    const uint32_t number = order == nullptr ? Below(course_->keys, Mix(chance)) : (*order)[chance % order->size()];
    return {key(number), number, now_us};
  }

 private:
  static constexpr uint64_t kInstants = 256;

  Course* course_;
  uint64_t random_;
  uint64_t at_ = 0;
  uint64_t left_ = 0;
};

enum class Mode { kBackToBack, kIsolated, kTogether };

inline const char* NameOf(Mode mode) {
  return mode == Mode::kBackToBack ? "back to back" : mode == Mode::kIsolated ? "isolated" : "batch of 32";
}

template <bool isolated, class Subject>
uint64_t AskOneByOne(Walk& walk, uint64_t count, Subject& subject) {
  KeyMaker key;
  uint64_t allowed = 0;
  uint64_t spent = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const Question question = walk.Next(key);
    if constexpr (isolated) Fence();
    const Answer answer = subject.Allow(question);
    if constexpr (isolated) Fence();
    allowed += answer.allowed;
    spent += answer.remaining;
  }
  asm volatile("" : : "r"(spent));  // every answer is used
  return allowed;
}

template <class Subject>
uint64_t AskManyAtOnce(Walk& walk, uint64_t count, Subject& subject) {
  std::array<KeyMaker, kBatch> makers;
  std::array<Question, kBatch> questions;
  uint64_t allowed = 0;
  for (uint64_t i = 0; i < count; i += kBatch) {
    for (uint32_t k = 0; k < kBatch; ++k) questions[k] = walk.Next(makers[k]);
    for (Question& question : questions) question.now_us = questions[0].now_us;
    allowed += subject.Many(questions);
  }
  return allowed;
}

/// A case in which threads walk; `loop` is told a walk and how often to ask.
template <class Loop>
Case WalkingCase(const std::string& name, Mode mode, int threads, Course& course, Loop loop) {
  auto walks = std::make_shared<std::vector<Walk>>();
  for (int thread = 0; thread < threads; ++thread) {
    walks->emplace_back(course, std::hash<std::string>()(name) + static_cast<uint64_t>(thread));
  }
  return {name, NameOf(mode), threads, [walks, loop](int thread, uint64_t count) {
            Walk& walk = (*walks)[static_cast<size_t>(thread)];
            walk.Begin();
            return loop(walk, count);
          }};
}

/// `make` gives each thread what it asks with: anything with Allow.
template <class Make>
Case OneByOne(const std::string& name, Mode mode, int threads, Course& course, Make make) {
  return WalkingCase(name, mode, threads, course, [make, mode](Walk& walk, uint64_t count) {
    auto&& subject = make();
    return mode == Mode::kIsolated ? AskOneByOne<true>(walk, count, subject) : AskOneByOne<false>(walk, count, subject);
  });
}

/// The same with Many.
template <class Make>
Case AtOnce(const std::string& name, int threads, Course& course, Make make) {
  return WalkingCase(name, Mode::kTogether, threads, course, [make](Walk& walk, uint64_t count) {
    auto&& subject = make();
    return AskManyAtOnce(walk, count, subject);
  });
}

}  // namespace bench
