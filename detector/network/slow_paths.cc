#include "detector/network/slow_paths.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

// A minor part longer.
constexpr double kMinRatio = 1 + kMinorPart;
constexpr double kMinDeviations = kSureDeviations;
// Of the steps since the onset: a path that is slow for good, but for chance.
constexpr double kMostlySlow = kMajorPart;
// Than the middle path has slow steps. By judgement, not measured.
constexpr size_t kFarMore = 3;

// Where (nearly) all AllToAlls of a job got slower, more is sent: whom the routing favours is no matter of the network.
void ForgetSharedExchanges(const TransferTable& table, bool SlowPath::*is_slow, std::vector<SlowPath>* slow) {
  size_t exchanges = 0, slower = 0;
  const auto counts = [&](size_t path) { return table.paths[path].exchange && table.paths[path].crosses_hosts; };
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (!counts(path)) continue;
    ++exchanges;
    slower += (*slow)[path].*is_slow ? 1 : 0;
  }
  if (exchanges < 2 || static_cast<double>(slower) < kNearlyAll * static_cast<double>(exchanges)) return;
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (counts(path)) (*slow)[path].*is_slow = false;
  }
}

// Chance makes a transfer longer, never shorter: fewer steps than kMinSlowSteps before the onset tell a level too, if
// all that follow are far above it. How much levels vary is then known from the other paths and steps.
bool IsEarlyOnset(absl::Span<const double> logs, size_t at, double noise) {
  const double before = *std::max_element(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(at));
  const std::vector<double> after(logs.begin() + static_cast<std::ptrdiff_t>(at), logs.end());
  const double jump = LowerMedianOrNan(after) - before;
  return jump >= std::max(std::log(kMinRatio), kMinDeviations * noise) &&
         *std::min_element(after.begin(), after.end()) >= before + jump / 2;
}

// The middle of each value and its neighbours: one wild step is gone, a jump stays where it is. At either end the
// middle of three as well: in the first step of a recording a communicator may still have to connect.
std::vector<double> MiddlesOfThree(absl::Span<const double> logs) {
  std::vector<double> smooth(logs.begin(), logs.end());
  for (size_t i = 0; i < logs.size() && logs.size() >= 3; ++i) {
    const size_t at = std::clamp<size_t>(i, 1, logs.size() - 2);
    const auto [a, b, c] = std::array{logs[at - 1], logs[at], logs[at + 1]};
    smooth[i] = std::max(std::min(a, b), std::min(std::max(a, b), c));
  }
  return smooth;
}

// Whether the steps before are as slow too often for the ones after to be more than a cluster of such.
bool WasSlowBefore(absl::Span<const double> logs, const LevelShift& shift) {
  const auto at = logs.begin() + static_cast<std::ptrdiff_t>(shift.at);
  // Nearer to the level after than chance, or an event of the whole job, brings a step.
  const double as_slow = shift.before + kMajorPart * (shift.after - shift.before);
  const auto slow = std::count_if(logs.begin(), at, [as_slow](double log) { return log >= as_slow; });
  return slow > 1 && static_cast<double>(slow) >= kMinSlowShare * static_cast<double>(shift.at);
}

// What was slow before, and becomes a little slower, has its onset elsewhere.
bool BringsMostOfIt(const LevelShift& shift) {
  return shift.after - shift.before >= kMainPart * std::max(shift.after, std::log(kMinRatio));
}

// Where the ratio jumps up for good; 0 = it does not.
size_t OnsetOf(absl::Span<const double> logs, double noise) {
  const LevelShift shift = FindLevelShift(MiddlesOfThree(logs), kMinSlowSteps);
  const bool jumps = shift.at > 0 && BringsMostOfIt(shift) && shift.significance >= kMinDeviations;
  if (jumps && !WasSlowBefore(logs, shift)) return shift.at;
  for (size_t at = 1; at < kMinSlowSteps && at + kMinSlowSteps <= logs.size(); ++at) {
    if (IsEarlyOnset(logs, at, noise)) return at;
  }
  return 0;
}

// Median over the steps before `step`.
double ExcessBefore(const TransferTable& table, size_t path, size_t step) {
  const std::vector<float>& all = table.excess_seconds;
  std::vector<double> known;
  for (const float excess : absl::MakeConstSpan(all).subspan(path * table.steps, step)) {
    if (!std::isnan(excess)) known.push_back(static_cast<double>(excess));
  }
  return known.empty() ? 0 : LowerMedianOrNan(std::move(known));
}

// The steps in which a path was measured.
struct PathLogs {
  std::vector<double> logs;  // of the ratio
  std::vector<size_t> step_of;
};

PathLogs LogsOf(const TransferTable& table, size_t path) {
  PathLogs known;
  const auto row = absl::MakeConstSpan(table.ratio).subspan(path * table.steps, table.steps);
  for (size_t step = 0; step < table.steps; ++step) {
    if (std::isnan(row[step]) || row[step] <= 0) continue;
    known.logs.push_back(std::log(static_cast<double>(row[step])));
    known.step_of.push_back(step);
  }
  return known;
}

// The least ratio that is no chance.
double LimitBy(double noise) { return std::max(kMinRatio, std::exp(kMinDeviations * noise)); }

SlowPath JudgeLevel(const TransferTable& table, size_t path, const PathLogs& known) {
  const std::vector<double>& logs = known.logs;
  const size_t from = OnsetOf(logs, table.paths[path].noise);
  // Nothing says what such a transfer needs: that it varies is no slowness.
  if (from == 0 && table.paths[path].alone) return {};
  const auto at = logs.begin() + static_cast<std::ptrdiff_t>(from);
  const double after = LowerMedianOrNan({at, logs.end()});
  const double before = from == 0 ? 0 : LowerMedianOrNan({logs.begin(), at});
  const double ratio = std::exp(after);
  // Where most paths of one duty are slow they are no reference; the path's own past is.
  const double against_past = from == 0 ? 0 : std::exp(after - before);
  SlowPath slow{.first_step = from == 0 ? 0 : known.step_of[from],
                .ratio = std::max(ratio, against_past),
                .against_past = against_past > kMinRatio * ratio};
  // How much paths differ says nothing about one that is compared with itself.
  const TransferPath& of = table.paths[path];
  slow.slow = slow.ratio >= LimitBy(of.noise) || against_past >= LimitBy(of.step_noise);
  slow.slow_above = std::exp(after - std::log(slow.ratio) / 2);
  std::vector<double> above;
  std::copy_if(at, logs.end(), std::back_inserter(above),
               [&](double log) { return log >= after - std::log(slow.ratio) / 2; });
  if (slow.slow && static_cast<double>(above.size()) < kMostlySlow * static_cast<double>(logs.end() - at)) {
    slow.slow = false;
    slow.at_times = true;
    slow.ratio *= std::exp(LowerMedianOrNan(std::move(above)) - after);
  }
  if (from > 0) slow.excess_before_seconds = std::min(0.0, ExcessBefore(table, path, known.step_of[from]));
  return slow;
}

// Of a path that is not slow for good: the steps in which it is far above its own middle.
struct SlowMoments {
  std::vector<size_t> steps;
  size_t since_first = 0;  // measured
  double level = 0;        // log of the ratio, in these and in the others
  double usual = 0;
};

SlowMoments MomentsOf(const PathLogs& known, double limit) {
  SlowMoments moments{.usual = LowerMedianOrNan(known.logs)};
  std::vector<double> logs;
  for (size_t i = 0; i < known.logs.size(); ++i) {
    if (known.logs[i] >= moments.usual + std::log(limit)) {
      moments.steps.push_back(known.step_of[i]);
      logs.push_back(known.logs[i]);
    }
    if (!moments.steps.empty()) ++moments.since_first;
  }
  if (!logs.empty()) moments.level = LowerMedianOrNan(std::move(logs));
  return moments;
}

void JudgeMoments(const std::vector<SlowMoments>& moments, std::vector<SlowPath>* slow) {
  std::vector<double> counts;
  for (const SlowMoments& of_path : moments) counts.push_back(static_cast<double>(of_path.steps.size()));
  if (counts.empty()) return;
  const double common = LowerMedianOrNan(std::move(counts));
  for (size_t path = 0; path < moments.size(); ++path) {
    const SlowMoments& here = moments[path];
    const auto count = static_cast<double>(here.steps.size());
    const bool often = count >= kMinSlowShare * static_cast<double>(here.since_first);
    if ((*slow)[path].slow || (*slow)[path].at_times || here.steps.size() < kMinSlowSteps || !often ||
        count <= kFarMore * common)
      continue;
    (*slow)[path] = {.at_times = true,
                     .first_step = here.steps.front(),
                     .ratio = std::exp(here.level - here.usual),
                     .slow_above = std::exp((here.level + here.usual) / 2)};
  }
}

}  // namespace

std::vector<SlowPath> FindSlowPaths(const TransferTable& table) {
  std::vector<SlowPath> slow(table.paths.size());
  std::vector<SlowMoments> moments(table.paths.size());
  for (size_t path = 0; path < table.paths.size(); ++path) {
    const PathLogs known = LogsOf(table, path);
    if (known.logs.size() < kMinSlowSteps) continue;
    slow[path] = JudgeLevel(table, path, known);
    if (!slow[path].slow && !slow[path].at_times) moments[path] = MomentsOf(known, LimitBy(table.paths[path].noise));
  }
  ForgetSharedExchanges(table, &SlowPath::slow, &slow);
  JudgeMoments(moments, &slow);
  ForgetSharedExchanges(table, &SlowPath::at_times, &slow);
  return slow;
}

std::vector<char> SlowSteps(const TransferTable& table, const std::vector<SlowPath>& slow,
                            absl::Span<const int32_t> paths, size_t first_step) {
  std::vector<char> in_step(table.steps, 0);
  for (size_t step = first_step; step < table.steps; ++step) {
    size_t measured = 0, slower = 0, throughout = 0;
    for (const int32_t index : paths) {
      const auto path = static_cast<size_t>(index);
      const auto ratio = static_cast<double>(table.ratio[path * table.steps + step]);
      throughout += slow[path].slow ? 1 : 0;
      if (std::isnan(ratio)) continue;
      ++measured;
      slower += ratio >= slow[path].slow_above ? 1 : 0;
    }
    in_step[step] = measured == 0 ? 2 * throughout > paths.size() : 2 * slower > measured;
  }
  return in_step;
}

}  // namespace lockstep
