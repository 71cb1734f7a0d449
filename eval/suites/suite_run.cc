#include "eval/suites/suite_run.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace lockstep {
namespace {

// Hands out episodes, takes their outcomes. Thread-safe.
class Work {
 public:
  Work(int32_t episodes, const std::function<void(int32_t)>& on_done)
      : on_done_(on_done), outcomes_(static_cast<size_t>(episodes)) {}

  // The next episode's place; false when there is none left.
  bool Take(size_t* place) {
    MutexLock lock(mutex_);
    if (next_ == outcomes_.size()) return false;
    *place = next_++;
    return true;
  }

  void Put(size_t place, EpisodeOutcome outcome) {
    MutexLock lock(mutex_);
    outcomes_[place] = std::move(outcome);
    ++done_;
    if (on_done_) on_done_(done_);
  }

  std::vector<EpisodeOutcome> Outcomes() {
    MutexLock lock(mutex_);
    return std::move(outcomes_);
  }

 private:
  const std::function<void(int32_t)>& on_done_;
  Mutex mutex_;
  std::vector<EpisodeOutcome> outcomes_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int32_t done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::vector<EpisodeOutcome> RunSuite(const Suite& suite, uint64_t first_number, int32_t episodes, int32_t threads,
                                     const Engine& engine, const RunOptions& options, const Clock& clock,
                                     const std::function<void(int32_t done)>& on_done) {
  Work work(episodes, on_done);
  const auto run = [&] {
    for (size_t place = 0; work.Take(&place);) {
      work.Put(place, RunEpisode(suite, first_number + place, engine, options, clock));
    }
  };
  std::vector<std::thread> others;
  const int32_t wanted = suite.one_at_a_time ? 1 : std::max(1, threads);
  for (int32_t i = 1; i < wanted; ++i) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  return work.Outcomes();
}

}  // namespace lockstep
