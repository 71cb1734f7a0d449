#include "detector/network/slow_places.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "detector/network/path_vote.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// Paths of the network that are slow in the same steps: chance, which others that share it are, slows one at a time.
constexpr size_t kMinAgreeing = 2;
// Places of one kind that are slow at once: more than fail side by side (joined_causes.h).
constexpr size_t kManyPlaces = 3;
// As a logarithm, than the middle one of all that are slow: its square.
constexpr double kFarSlower = 2;

class Search {
 public:
  Search(const TransferTable& table, const std::vector<SlowPath>& slow, const std::vector<int32_t>& host_of)
      : table_(table), slow_(slow), host_of_(host_of), explained_(slow.size(), 0) {}

  std::vector<SlowPlace> Run() {
    const auto for_good = [](const SlowPath& path) { return path.slow; };
    const Foremost lasting = FarSlower(for_good);
    for (const PathCause& cause : lasting.causes) AddLasting(cause);
    for (const PathCause& cause : Vote(for_good, lasting.paths)) {
      if (IsOnePlace(cause)) AddLasting(cause);
    }
    // What is slow half of the time looks lasting on some of its paths and passing on others, and what is so on some
    // may tell whom of a group the others are slow by: these vote again, together.
    const auto ever = [](const SlowPath& path) { return path.slow || path.at_times; };
    for (const PathCause& cause : FarSlower(ever).causes) AddAny(cause);
    for (const PathCause& cause : Vote(ever, {})) AddAny(cause);
    NoteBuiltSo();
    return std::move(places_);
  }

 private:
  struct Foremost {
    std::vector<char> paths;  // by path: 1 = far slower than most that are slow; empty = none is
    std::vector<PathCause> causes;
  };

  // Slow paths that are far slower than most, where the vote of all does not come to one place for each and its like.
  // What one adapter holds up makes others share what is left: these are its echoes, and do not vote here.
  Foremost FarSlower(absl::FunctionRef<bool(const SlowPath&)> is_slow) const {
    std::vector<int32_t> slow;
    for (size_t path = 0; path < slow_.size(); ++path) {
      const bool counts = explained_[path] == 0 && table_.paths[path].crosses_hosts && is_slow(slow_[path]);
      if (counts) slow.push_back(static_cast<int32_t>(path));
    }
    if (slow.empty()) return {};
    const std::vector<PathCause> all = Vote(is_slow, {});
    if (AreFewPlaces(all, slow.size())) return {};
    const double far = kFarSlower * UsualLogOf(slow);
    Foremost foremost{.paths = std::vector<char>(slow_.size(), 0)};
    std::vector<char> lesser(slow_.size(), 0);
    for (const int32_t path : slow) (LogOf(path) >= far ? foremost.paths : lesser)[static_cast<size_t>(path)] = 1;
    std::vector<char> open = foremost.paths;
    for (const PathCause& cause : all) {
      if (!IsOnePlace(cause) || UsualLogOf(cause.paths) < far) continue;
      for (const int32_t path : cause.paths) open[static_cast<size_t>(path)] = 0;
    }
    if (std::count(open.begin(), open.end(), 1) == 0) return {};
    foremost.causes = Vote(is_slow, lesser);
    std::erase_if(foremost.causes,
                  [](const PathCause& cause) { return !IsOnePlace(cause) || cause.paths.size() < kMinAgreeing; });
    return foremost;
  }

  // They explain all of so many slow paths between hosts.
  bool AreFewPlaces(const std::vector<PathCause>& causes, size_t slow) const {
    size_t explained = 0;
    for (const PathCause& cause : causes) {
      if (!IsOnePlace(cause)) return false;
      explained += static_cast<size_t>(std::count_if(cause.paths.begin(), cause.paths.end(), [&](int32_t path) {
        return table_.paths[static_cast<size_t>(path)].crosses_hosts;
      }));
    }
    return explained == slow && causes.size() < kManyPlaces;
  }

  double LogOf(int32_t path) const { return std::log(slow_[static_cast<size_t>(path)].ratio); }

  double UsualLogOf(const std::vector<int32_t>& paths) const {
    std::vector<double> logs;
    for (const int32_t path : paths) logs.push_back(LogOf(path));
    return LowerMedianOrNan(std::move(logs));
  }

  static bool IsOnePlace(const PathCause& cause) {
    return cause.kind != PathCauseKind::kFabric && cause.kind != PathCauseKind::kGroup &&
           cause.kind != PathCauseKind::kHosts && cause.kind != PathCauseKind::kWithin;
  }

  void AddPassing(const PathCause& cause) {
    const bool lasting = std::any_of(cause.paths.begin(), cause.paths.end(),
                                     [&](int32_t path) { return slow_[static_cast<size_t>(path)].slow; });
    const bool is_shared = cause.kind != PathCauseKind::kInside;
    if (lasting || !is_shared || cause.paths.size() >= kMinAgreeing) AddAtTimes(cause);
  }

  void AddAny(const PathCause& cause) {
    if (!AddLasting(cause)) AddPassing(cause);
  }

  // Unless it comes and goes: then its paths are left to the next vote.
  bool AddLasting(const PathCause& cause) {
    std::vector<double> onsets;
    for (const int32_t path : cause.paths) {
      onsets.push_back(static_cast<double>(slow_[static_cast<size_t>(path)].first_step));
    }
    const auto onset = static_cast<size_t>(LowerMedianOrNan(std::move(onsets)));
    if (ShareOf(SlowSteps(table_, slow_, cause.paths, onset), onset) < kAlwaysSlow) return false;
    Add(cause, onset, {});
    return true;
  }

  // On the paths that are not explained yet. `without`: by path, 1 = it has no vote; empty = all have.
  std::vector<PathCause> Vote(absl::FunctionRef<bool(const SlowPath&)> is_slow,
                              const std::vector<char>& without) const {
    std::vector<VotePath> paths;
    std::vector<int32_t> path_of;
    for (size_t path = 0; path < table_.paths.size(); ++path) {
      if (explained_[path] != 0 || (!without.empty() && without[path] != 0)) continue;
      path_of.push_back(static_cast<int32_t>(path));
      paths.push_back({.ranks = table_.paths[path].ranks,
                       .point_to_point = table_.paths[path].point_to_point,
                       .exchange = table_.paths[path].exchange,
                       .slow = is_slow(slow_[path])});
    }
    std::vector<PathCause> causes = VoteOnPaths(paths, host_of_);
    for (PathCause& cause : causes) {
      for (int32_t& path : cause.paths) path = path_of[static_cast<size_t>(path)];
    }
    return causes;
  }

  // Where most of its paths agree in enough of the steps.
  void AddAtTimes(const PathCause& cause) {
    std::vector<char> in_step = SlowSteps(table_, slow_, cause.paths, 0);
    const auto first = static_cast<size_t>(std::find(in_step.begin(), in_step.end(), 1) - in_step.begin());
    if (static_cast<size_t>(std::count(in_step.begin(), in_step.end(), 1)) < kMinSlowSteps) return;
    if (ShareOf(in_step, first) >= kMinSlowShare) Add(cause, first, std::move(in_step));
  }

  static double ShareOf(absl::Span<const char> in_step, size_t first) {
    const auto begin = in_step.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<double>(std::count(begin, in_step.end(), 1)) / static_cast<double>(in_step.size() - first);
  }

  void Add(const PathCause& cause, size_t first_step, std::vector<char> in_step) {
    for (const int32_t path : cause.paths) explained_[static_cast<size_t>(path)] = 1;
    places_.push_back({.cause = cause, .first_step = first_step, .in_step = std::move(in_step)});
  }

  // Parts of a network have fewer ways between them than within, and between some of its domains all links are slower.
  // Links that show on less than half as many paths as the main one do not count.
  void NoteBuiltSo() {
    size_t most = 1, links = 0;
    for (const SlowPlace& place : places_) most = std::max(most, PathsIfOldLink(place));
    const auto counts = [most](const SlowPlace& place) { return 2 * PathsIfOldLink(place) >= most; };
    for (const SlowPlace& place : places_) links += counts(place) ? 1 : 0;
    for (SlowPlace& place : places_) {
      place.may_be_built_so = (place.cause.kind == PathCauseKind::kFabric && WasNeverQuicker(place)) ||
                              (links >= kManyPlaces && counts(place));
    }
  }

  static bool WasNeverQuicker(const SlowPlace& place) { return place.in_step.empty() && place.first_step == 0; }

  static size_t PathsIfOldLink(const SlowPlace& place) {
    return place.cause.kind == PathCauseKind::kLink && WasNeverQuicker(place) ? place.cause.paths.size() : 0;
  }

  const TransferTable& table_;
  const std::vector<SlowPath>& slow_;
  const std::vector<int32_t>& host_of_;
  std::vector<char> explained_;  // by path
  std::vector<SlowPlace> places_;
};

}  // namespace

std::vector<SlowPlace> FindSlowPlaces(const TransferTable& table, const std::vector<SlowPath>& slow,
                                      const std::vector<int32_t>& host_of) {
  return Search(table, slow, host_of).Run();
}

}  // namespace lockstep
