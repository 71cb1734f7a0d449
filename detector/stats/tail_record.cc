#include "detector/stats/tail_record.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {
namespace {

// Bound of memory: a grade is 9 % wide.
constexpr double kGradesPerOctave = 8;

// Where a grade ends.
double EndOf(size_t grade) { return std::exp2(static_cast<double>(grade + 1) / kGradesPerOctave); }

}  // namespace

size_t TailRecord::GradeOf(double size) {
  const double grade = kGradesPerOctave * std::log2(std::max(1.0, size));
  return std::min(kGrades - 1, static_cast<size_t>(grade));
}

void TailRecord::Add(double size) {
  const size_t grade = GradeOf(size);
  ++readings_[grade];
  ++total_;
  highest_ = std::max(highest_, grade);
}

double TailRecord::SurprisalOf(double size, double independent) const {
  const size_t grade = GradeOf(size);
  const uint64_t reached =
      std::accumulate(readings_.begin() + static_cast<ptrdiff_t>(grade), readings_.end(), uint64_t{0});
  const double chance = (static_cast<double>(reached) + 1) /
                        (std::max(static_cast<double>(reached), independent * static_cast<double>(total_)) + 1);
  const double beyond = reached > 0 ? 1 : std::max(1.0, size / EndOf(highest_));
  return std::log(beyond) - std::log(chance);
}

double TogetherOf(double sum, int readings) {
  double term = 1;
  double tail = 0;
  for (int j = 0; j < readings; ++j) {
    tail += term;
    term *= sum / (j + 1);
  }
  return std::max(0.0, sum - std::log(std::max(1.0, tail)));
}

}  // namespace lockstep
