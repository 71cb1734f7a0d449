// The same work for every number from 0 on, on several threads; the results in the order of the numbers, whichever
// thread made them.
//
// Memory: the results, and what `make` needs on as many threads. Thread-safe; `make` is called from any thread,
// `on_done` likewise but never from two at once.

#ifndef LOCKSTEP_EVAL_SUITES_ORDERED_WORK_H_
#define LOCKSTEP_EVAL_SUITES_ORDERED_WORK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace lockstep {

template <typename Result>
class OrderedWork {
 public:
  static std::vector<Result> Run(int32_t count, int32_t threads, const std::function<Result(size_t)>& make,
                                 const std::function<void(int32_t done)>& on_done) {
    OrderedWork work(count, on_done);
    const auto run = [&] {
      for (size_t place = 0; work.Take(&place);) work.Put(place, make(place));
    };
    std::vector<std::thread> others;
    for (int32_t i = 1; i < std::max(1, threads); ++i) others.emplace_back(run);
    run();
    for (std::thread& thread : others) thread.join();
    return work.Results();
  }

 private:
  OrderedWork(int32_t count, const std::function<void(int32_t)>& on_done)
      : on_done_(on_done), results_(static_cast<size_t>(count)) {}

  // The next place; false when there is none left.
  bool Take(size_t* place) {
    MutexLock lock(mutex_);
    if (next_ == results_.size()) return false;
    *place = next_++;
    return true;
  }

  void Put(size_t place, Result result) {
    MutexLock lock(mutex_);
    results_[place] = std::move(result);
    ++done_;
    if (on_done_) on_done_(done_);
  }

  std::vector<Result> Results() {
    MutexLock lock(mutex_);
    return std::move(results_);
  }

  const std::function<void(int32_t)>& on_done_;
  Mutex mutex_;
  std::vector<Result> results_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int32_t done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_ORDERED_WORK_H_
