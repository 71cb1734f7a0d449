#include "agent/sources/rings/refused_rings.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"

namespace lockstep {

void RefusedRings::BeginTick(const std::vector<std::string>& names) {
  BeginTick();
  for (auto file = files_.begin(); file != files_.end();) {
    file = std::binary_search(names.begin(), names.end(), file->first) ? std::next(file) : Erase(file);
  }
}

bool RefusedRings::IsDue(const std::string& name, int64_t now_ns) const {
  const auto file = files_.find(name);
  return file == files_.end() || now_ns >= file->second.due_ns;
}

bool RefusedRings::Refuse(const File& file, const RingRefusal& refusal, int64_t now_ns) {
  if (const auto other = files_.find(file.name); other != files_.end() && other->second.id != file.id) Erase(other);
  auto known = files_.find(file.name);
  if (known == files_.end()) {
    size_t& owned = owned_[file.owner];
    if (files_.size() >= kMaxFiles || owned >= kMaxFilesPerOwner) {
      if (owned == 0) owned_.erase(file.owner);
      return false;
    }
    ++owned;
    known = files_.emplace(file.name, Refused{file.id, file.owner, now_ns}).first;
  }
  Refused& refused = known->second;
  refused.due_ns = now_ns + PauseNanos(refused.looks++);
  const bool is_starting = refusal.reason == RingRefusalReason::kInitializing;
  if (is_starting && now_ns - refused.first_ns < kStartingNanos) {
    refused.looks = 0;
    return true;
  }
  const uint32_t reason = 1u << static_cast<int>(refusal.reason);
  if ((refused.said & reason) == 0) Say(file.name, refusal);
  refused.said |= reason;
  return true;
}

void RefusedRings::CountDamaged(const std::string& name, const std::string& detail) {
  Say(name, {RingRefusalReason::kDamaged, detail});
}

void RefusedRings::Forget(const std::string& name) {
  if (const auto file = files_.find(name); file != files_.end()) Erase(file);
}

int64_t RefusedRings::PauseNanos(int looks) {
  constexpr int kMaxDoublings = 6;  // 64 s
  return std::min(kFirstPauseNanos << std::clamp(looks, 0, kMaxDoublings), kLongestPauseNanos);
}

RefusedRings::Files::iterator RefusedRings::Erase(Files::iterator file) {
  const auto owned = owned_.find(file->second.owner);
  if (--owned->second == 0) owned_.erase(owned);
  return files_.erase(file);
}

void RefusedRings::Say(const std::string& name, const RingRefusal& refusal) {
  ++counts_[static_cast<size_t>(refusal.reason)];
  if (++lines_ > kMaxLinesPerTick) return;
  Log(LogLevel::kWarning, "ring refused",
      {{"file", name}, {"reason", std::string(RingRefusalName(refusal.reason))}, {"detail", refusal.detail}});
}

}  // namespace lockstep
