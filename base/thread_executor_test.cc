#include "base/thread_executor.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// How often each of `count` pieces ran.
std::vector<int> Runs(Executor* executor, size_t count) {
  std::vector<std::atomic<int>> runs(count);
  RunPieces(executor, count, [&](size_t i) { ++runs[i]; });
  return {runs.begin(), runs.end()};
}

TEST(Executor, NoneRunsEveryPieceInOrderOnTheCallersThread) {
  std::vector<size_t> order;
  RunPieces(nullptr, 4, [&](size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(LanesOf(nullptr), 1u);
}

TEST(Executor, PartsFollowOneAnotherAndCoverEverything) {
  ThreadExecutor executor(3);
  for (const size_t count : {0, 1, 5, 100}) {
    const size_t parts = PartsOf(&executor, count, 4);
    EXPECT_EQ(parts, std::min<size_t>(count, 12));
    std::vector<size_t> begins(parts + 1, count);
    std::vector<size_t> ends(parts);
    RunParts(&executor, count, parts, [&](size_t part, size_t begin, size_t end) {
      begins[part] = begin;
      ends[part] = end;
    });
    for (size_t part = 0; part < parts; ++part) EXPECT_EQ(ends[part], begins[part + 1]);
    EXPECT_EQ(begins.front(), 0u);
  }
  EXPECT_EQ(PartsOf(nullptr, 100, 4), 1u) << "nothing runs beside it";
}

TEST(ThreadExecutor, RunsEveryPieceOnce) {
  for (const size_t lanes : {1, 2, 5}) {
    ThreadExecutor executor(lanes);
    EXPECT_EQ(LanesOf(&executor), lanes);
    for (const size_t count : {0, 1, 2, 3, 1000}) EXPECT_EQ(Runs(&executor, count), std::vector<int>(count, 1));
  }
}

TEST(ThreadExecutor, RunsAsManyPiecesAtOnceAsItHasLanes) {
  constexpr size_t kLanes = 3;
  ThreadExecutor executor(kLanes);
  Mutex mutex;
  CondVar arrived;
  size_t inside = 0;
  std::set<std::thread::id> threads;
  executor.Run(kLanes, [&](size_t) {  // none returns before all have come
    MutexLock lock(mutex);
    threads.insert(std::this_thread::get_id());
    ++inside;
    arrived.NotifyAll();
    while (inside < kLanes) arrived.Wait(mutex);
  });
  EXPECT_EQ(threads.size(), kLanes);
}

TEST(ThreadExecutor, PiecesMayRunPieces) {
  ThreadExecutor executor(2);
  std::atomic<int> inner = 0;
  executor.Run(8, [&](size_t) { executor.Run(8, [&](size_t) { executor.Run(4, [&](size_t) { ++inner; }); }); });
  EXPECT_EQ(inner, 8 * 8 * 4);
}

TEST(ThreadExecutor, ServesSeveralCallersAtOnce) {
  ThreadExecutor executor(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&executor] {
      for (int j = 0; j < 50; ++j) EXPECT_EQ(Runs(&executor, 20), std::vector<int>(20, 1));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace lockstep
