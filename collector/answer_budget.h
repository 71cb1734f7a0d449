// How much of a list one answer holds: as many rows as fit, and a count of the others.
//
// Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ANSWER_BUDGET_H_
#define LOCKSTEP_COLLECTOR_ANSWER_BUDGET_H_

#include <google/protobuf/message_lite.h>
#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockstep {

// Below what the collector lets gRPC send, twice a message of an agent, with room for tags and lengths.
inline constexpr size_t kMaxAnswerBytes = size_t{7} << 20;

class AnswerBudget {
 public:
  explicit AnswerBudget(size_t max_bytes = kMaxAnswerBytes) : left_(max_bytes) {}

  // Whether the row still fits, which then counts. After one that does not, none does: a list has no holes.
  bool Take(const google::protobuf::MessageLite& row) {
    const size_t bytes = row.ByteSizeLong();
    if (left_out_ > 0 || bytes > left_) {
      ++left_out_;
      return false;
    }
    left_ -= bytes;
    return true;
  }

  // Adds what `make` makes of each row to the list, as far as it fits. How many rows do not.
  template <typename Rows, typename Make, typename Message>
  uint32_t Fill(const Rows& rows, const Make& make, google::protobuf::RepeatedPtrField<Message>* list) {
    const uint32_t before = left_out_;
    for (const auto& row : rows) {
      Message message = make(row);
      if (Take(message)) *list->Add() = std::move(message);
    }
    return left_out_ - before;
  }

  uint32_t left_out() const { return left_out_; }

 private:
  size_t left_;
  uint32_t left_out_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ANSWER_BUDGET_H_
