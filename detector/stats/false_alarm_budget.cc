#include "detector/stats/false_alarm_budget.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kSecondsPerDay = 86'400;

// Wallace's second approximation: z = (8 v + 1) / (8 v + 3) sqrt(v ln(1 + t^2 / v)).
double Shrink(double freedom) { return (8 * freedom + 1) / (8 * freedom + 3); }

}  // namespace

double EvidenceNeeded(double series_per_machine, double tick_seconds, double false_alarms_per_machine_day) {
  const double looks = series_per_machine * kSecondsPerDay / tick_seconds;
  return std::max(kLeastEvidence, std::log(looks / false_alarms_per_machine_day));
}

double EvidenceInHang(double series, double false_alarms_per_hang) {
  return std::max(kLeastInHang, std::log(series / false_alarms_per_hang));
}

double NormalOf(double t, double freedom) {
  return std::copysign(Shrink(freedom) * std::sqrt(freedom * std::log1p(t * t / freedom)), t);
}

double StudentOf(double normal, double freedom) {
  const double z = normal / Shrink(freedom);
  const double t = std::sqrt(freedom * std::expm1(z * z / freedom));
  return std::copysign(std::min(t, kFurthest), normal);
}

}  // namespace lockstep
