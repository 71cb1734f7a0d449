#include "agent/kineto/fabric_message.h"

#include <cstring>

namespace lockstep {
namespace {

constexpr absl::string_view kRegistrationType = "ctxt";
constexpr absl::string_view kPollType = "req";
constexpr size_t kFixedBodyBytes = 16;  // of both
constexpr int32_t kMaxDevice = 1 << 16;
constexpr uint32_t kActivities = 2;  // a bit of what a poll asks for

template <typename Number>
Number NumberAt(absl::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

// Empty for one that is not terminated.
absl::string_view TypeOf(absl::string_view datagram) {
  const absl::string_view field = datagram.substr(sizeof(uint64_t), kFabricTypeBytes);
  const size_t end = field.find('\0');
  return end == absl::string_view::npos ? absl::string_view() : field.substr(0, end);
}

FabricRefusal ParseRegistration(absl::string_view body, FabricMessage& message) {
  if (body.size() != kFixedBodyBytes) return FabricRefusal::kBadContents;
  message.kind = FabricMessage::Kind::kRegistration;
  message.device = NumberAt<int32_t>(body, 0);
  message.pid = NumberAt<int32_t>(body, 4);
  message.job = NumberAt<int64_t>(body, 8);
  const bool is_valid = message.pid > 0 && message.device >= -1 && message.device <= kMaxDevice && message.job >= 0;
  return is_valid ? FabricRefusal::kNone : FabricRefusal::kBadContents;
}

FabricRefusal ParsePoll(absl::string_view body, FabricMessage& message) {
  if (body.size() < kFixedBodyBytes) return FabricRefusal::kBadContents;
  const int32_t pids = NumberAt<int32_t>(body, 4);
  if (pids < 1 || pids > kMaxFabricPids) return FabricRefusal::kBadContents;
  if (body.size() != kFixedBodyBytes + sizeof(int32_t) * static_cast<size_t>(pids)) return FabricRefusal::kBadContents;
  message.kind = FabricMessage::Kind::kPoll;
  message.device = -1;
  message.wants_profiles = (NumberAt<uint32_t>(body, 0) & kActivities) != 0;
  message.job = NumberAt<int64_t>(body, 8);
  message.pid = NumberAt<int32_t>(body, kFixedBodyBytes);
  return message.pid > 0 && message.job >= 0 ? FabricRefusal::kNone : FabricRefusal::kBadContents;
}

}  // namespace

FabricRefusal ParseFabricMessage(absl::string_view datagram, FabricMessage& message) {
  if (datagram.size() < kFabricHeaderBytes) return FabricRefusal::kTooShort;
  if (datagram.size() > kMaxFabricDatagramBytes) return FabricRefusal::kTooLong;
  const absl::string_view body = datagram.substr(kFabricHeaderBytes);
  if (NumberAt<uint64_t>(datagram, 0) != body.size()) return FabricRefusal::kWrongSize;
  const absl::string_view type = TypeOf(datagram);
  if (type == kRegistrationType) return ParseRegistration(body, message);
  if (type == kPollType) return ParsePoll(body, message);
  return FabricRefusal::kUnknownType;
}

std::string FabricAnswer(FabricMessage::Kind kind, absl::string_view body) {
  const absl::string_view type = kind == FabricMessage::Kind::kRegistration ? kRegistrationType : kPollType;
  std::string answer(kFabricHeaderBytes, '\0');
  const uint64_t size = body.size();
  std::memcpy(&answer[0], &size, sizeof(size));
  std::memcpy(&answer[sizeof(size)], type.data(), type.size());
  answer.append(body.data(), body.size());
  return answer;
}

std::string FabricCount(int32_t count) {
  std::string body(sizeof(count), '\0');
  std::memcpy(&body[0], &count, sizeof(count));
  return body;
}

}  // namespace lockstep
