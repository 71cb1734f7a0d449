#include "detector/model/size_inference.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

constexpr char kUnknown[] = "communicators have a size that nobody tells (NCCL before 2.27 does not), and ";

// Whether the end of the operation was seen where it happened, and so the entering of all members.
bool ProvesEntering(const Operation& operation) {
  const bool seen = operation.quality == TimingQuality::kGpuTimer ||
                    operation.quality == TimingQuality::kKernelWindow ||
                    operation.quality == TimingQuality::kProxyEnvelope || operation.quality == TimingQuality::kHostCall;
  return seen && operation.kind != OperationKind::kUnknown && IsSynchronous(operation.kind);
}

}  // namespace

int32_t SizeInference::Observe(int32_t rank, const CommunicatorView& view, int64_t received_ns, Roster* roster) {
  if (view.size > 0 || view.communicator_rank < 0) return view.size;
  if (members_ == kMaxMembers && !communicators_.contains(view.id)) {
    ++refused_;
    return 0;
  }
  Unsized& communicator = communicators_[view.id];
  const bool believed = communicator.size > 0;
  Note(rank, view, received_ns, &communicator);
  if (communicator.contradicted) {
    if (believed) roster->Abandon(view.id);
    communicator.size = 0;
  }
  return communicator.size;
}

void SizeInference::Note(int32_t rank, const CommunicatorView& view, int64_t received_ns, Unsized* communicator) {
  communicator->proven =
      communicator->proven || std::any_of(view.operations.begin(), view.operations.end(), ProvesEntering);
  const auto known = communicator->rank_of_member.find(view.communicator_rank);
  if (known != communicator->rank_of_member.end()) {
    communicator->contradicted = communicator->contradicted || known->second != rank;
    return;
  }
  communicator->contradicted = communicator->contradicted || communicator->size > 0 || members_ == kMaxMembers;
  communicator->changed_ns = received_ns;
  communicator->highest = std::max(communicator->highest, view.communicator_rank);
  if (members_ == kMaxMembers) {
    ++refused_;
    return;
  }
  ++members_;
  communicator->rank_of_member.emplace(view.communicator_rank, rank);
}

int32_t SizeInference::Followed(const Roster& roster, int64_t watermark_ns) const {
  return static_cast<int32_t>(
      std::count_if(roster.ranks().begin(), roster.ranks().end(), [watermark_ns](const RankProcess& rank) {
        return !rank.disabled && !rank.finalized && !rank.dead() && watermark_ns - rank.received_ns <= kLatelyNs;
      }));
}

void SizeInference::Infer(const Roster& roster, int64_t watermark_ns) {
  why_unknown_.clear();
  if (communicators_.empty()) return;
  const int32_t followed = Followed(roster, watermark_ns);
  const bool all = roster.world_size() > 0 && followed == roster.world_size();
  if (!all) followed_since_ns_ = 0;
  if (all && followed_since_ns_ == 0) followed_since_ns_ = watermark_ns;
  size_t unknown = 0;
  bool proven = true;
  for (auto& [id, communicator] : communicators_) {
    if (communicator.size > 0) continue;
    ++unknown;
    proven = proven && communicator.proven;
    const auto members = static_cast<int32_t>(communicator.rank_of_member.size());
    const bool whole = members >= 2 && members == communicator.highest + 1 && !communicator.contradicted;
    const bool stable =
        all && watermark_ns - followed_since_ns_ >= kStableNs && watermark_ns - communicator.changed_ns >= kStableNs;
    if (!whole || !stable || !communicator.proven) continue;
    communicator.size = members;
    --unknown;
  }
  if (unknown == 0) return;
  if (roster.world_size() <= 0) {
    why_unknown_ = absl::StrCat(unknown, " ", kUnknown, "nobody tells the size of the job.");
  } else if (!all) {
    why_unknown_ =
        absl::StrCat(unknown, " ", kUnknown, "only ", followed, " of ", roster.world_size(), " ranks can be followed.");
  } else if (!proven) {
    why_unknown_ =
        absl::StrCat(unknown, " ", kUnknown, "not all of them have ended an operation with a time of their own.");
  } else {
    why_unknown_ = absl::StrCat(unknown, " ", kUnknown, "their members have not been seen for long enough.");
  }
}

}  // namespace lockstep
