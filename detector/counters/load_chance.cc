#include "detector/counters/load_chance.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

constexpr double kMsPerDay = 86'400'000;

std::pair<int32_t, bool> KindOf(const CounterSign& sign) { return {sign.watch, sign.excursion.up}; }

}  // namespace

size_t LoadChance::GradeOf(double strength) {
  return std::min(kGrades - 1, static_cast<size_t>(std::max(0.0, strength) / kGrade));
}

void LoadChance::Note(const CounterSign& sign, int64_t now_ms) {
  Load& load = kinds_[KindOf(sign)].loads[sign.excursion.unit];
  if (load.noted_ms == 0) load.onset_ms = sign.excursion.onset_ms;
  load.strongest = std::max(load.strongest, sign.excursion.share);
  load.noted_ms = now_ms;
}

void LoadChance::EndLook(int64_t now_ms) {
  if (first_ms_ == 0) first_ms_ = now_ms;
  for (auto& [key, kind] : kinds_) {
    for (auto load = kind.loads.begin(); load != kind.loads.end();) {
      if (now_ms - load->second.noted_ms < kPauseMs) {
        ++load;
        continue;
      }
      ++kind.ended[GradeOf(load->second.strongest)];
      load = kind.loads.erase(load);
    }
  }
}

double LoadChance::Expected(const CounterSign& sign, int64_t window_ms, double machines, int64_t now_ms) const {
  double known = kPriorLoads;
  const auto kind = kinds_.find(KindOf(sign));
  if (kind != kinds_.end()) {
    const auto& ended = kind->second.ended;
    known += std::accumulate(ended.begin() + static_cast<ptrdiff_t>(GradeOf(sign.excursion.share)), ended.end(), 0.0);
    // Loads that began together may have one cause, and are no chance.
    known +=
        static_cast<double>(std::count_if(kind->second.loads.begin(), kind->second.loads.end(), [&](const auto& entry) {
          return entry.first != sign.excursion.unit && entry.second.strongest >= sign.excursion.share &&
                 sign.excursion.onset_ms - entry.second.onset_ms > kPauseMs;
        }));
  }
  const double watched_ms = machines * static_cast<double>(first_ms_ == 0 ? 0 : now_ms - first_ms_);
  const double per_machine_ms = known / (watched_ms + kPriorLoads * kMsPerDay / kUsualPerMachineDay);
  return machines * per_machine_ms * static_cast<double>(window_ms);
}

bool LoadChance::Lasts(const CounterSign& sign) const {
  const auto kind = kinds_.find(KindOf(sign));
  if (kind == kinds_.end()) return true;
  const auto load = kind->second.loads.find(sign.excursion.unit);
  return load == kind->second.loads.end() || sign.excursion.share >= load->second.strongest - kFall;
}

}  // namespace lockstep
