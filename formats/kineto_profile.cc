#include "formats/kineto_profile.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/file_name.h"
#include "formats/kineto_walk.h"
#include "formats/plain_document.h"
#include "formats/plain_json.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

class ProfileHandler final : public KinetoHandler {
 public:
  explicit ProfileHandler(const PatternLimits& limits) : profile(limits) {}

  void TakeEvent(absl::string_view text) override { profile.TakeEvent(text); }
  void TakeMember(absl::string_view key, absl::string_view value) override { profile.TakeMember(key, value); }

  KinetoProfile profile;
};

}  // namespace

void KinetoProfile::TakeEvent(absl::string_view text) {
  ++events_;
  const KinetoCall call = parser_.Parse(text);
  switch (call.type) {
    case KinetoCall::Type::kOther:
      return;
    case KinetoCall::Type::kBroken:
      ++broken_;
      return;
    case KinetoCall::Type::kStep:
      builder_.AddStep(call.lane, call.begin_ns, call.duration_ns);
      return;
    case KinetoCall::Type::kCall:
      break;
  }
  builder_.Add({.function = builder_.Function(call.kind, call.name, call.counts),
                .lane = call.lane,
                .begin_ns = call.begin_ns,
                .duration_ns = call.duration_ns,
                .utilisation = call.utilisation});
}

void KinetoProfile::TakeMember(absl::string_view key, absl::string_view value) {
  if (key != "distributedInfo") return;
  const absl::StatusOr<PlainDocument> parsed = ParsePlainJson(std::string(value));
  if (parsed.ok()) rank_ = IntegerOr(parsed->Find(parsed->node(parsed->root), "rank"), -1);
}

RankPatterns KinetoProfile::Finish(absl::string_view path) {
  RankPatterns patterns = builder_.Finish();
  if (rank_ < 0) rank_ = RankInFileName(path);
  patterns.rank = rank_ < 0 || rank_ > kMaxRank ? -1 : static_cast<int32_t>(rank_);
  patterns.host = HostInFileName(path);
  return patterns;
}

ProfileResult ReadKinetoProfile(absl::string_view path, ByteSource& source, const PatternLimits& limits) {
  ProfileHandler handler(limits);
  ProfileResult result;
  result.status = WalkKineto(source, handler, kMaxProfileValueBytes);
  result.events = handler.profile.events();
  const uint64_t broken = handler.profile.broken();
  result.patterns = handler.profile.Finish(path);
  if (!result.status.ok()) {
    result.status = absl::DataLossError(result.status.message());
  } else if (result.patterns.window_seconds <= 0) {
    result.status =
        absl::DataLossError(absl::StrCat("expected calls of functions, found none among ", result.events, " events"));
  } else if (broken > 0) {
    result.status = absl::DataLossError(absl::StrCat("expected complete events of at most ", kMaxKinetoCallBytes,
                                                     " bytes, found ", broken, " that are not"));
  }
  return result;
}

}  // namespace lockstep
