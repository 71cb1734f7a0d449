// A process that makes its reader work without end costs so much of it, and so much memory, and what that leaves out is
// told.

#include "agent/stacks/native_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/function_names.h"
#include "agent/stacks/native_reader.h"
#include "agent/stacks/testing/endless_memory.h"
#include "agent/stacks/thread_list.h"
#include "agent/stacks/work_budget.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kThreads = 24;

uint64_t PlaceOf(int thread) { return EndlessMemory::kCode + 64 + static_cast<uint64_t>(thread) * 4'096; }
uint64_t StackOf(int thread) { return EndlessMemory::kStack + static_cast<uint64_t>(thread) * (1 << 20); }

class NativeSamplerTest : public ::testing::Test {
 protected:
  // Threads of process 7 that wait.
  static ThreadList Waiting(int count) {
    ThreadList list;
    for (int i = 0; i < count; ++i) {
      list.threads.push_back({.tid = 10 + i, .place = {.text = "", .pc = PlaceOf(i), .stack_pointer = StackOf(i)}});
    }
    return list;
  }

  EndlessMemory memory_;
  TemporaryDirectory proc_;
  RootedFs root_ = *RootedFs::Open(proc_.path().string());
};

TEST_F(NativeSamplerTest, ASampleCostsSoMuchWorkHoweverManyThreadsThereAre) {
  if (!NativeReader::kIsSupported) GTEST_SKIP();
  uint64_t questions = 0;
  NativeSampler sampler(root_, 7, memory_, EndlessMemory::Maps(), [&] {
    ++questions;
    return false;
  });
  const uint64_t kMostQuestions = NativeReader::kMaxWork / WorkBudget::kUnitsBetweenQuestions + kThreads + 1;
  sampler.Sample(Waiting(kThreads));
  EXPECT_LE(questions, kMostQuestions);
  EXPECT_THAT(sampler.LeftOut(), Contains(HasSubstr("reading them took too much work or time")));
  // The next one has as much.
  const uint64_t before = questions;
  sampler.Sample(Waiting(kThreads));
  EXPECT_GT(questions, before + NativeReader::kMaxWork / WorkBudget::kUnitsBetweenQuestions / 2);
  EXPECT_LE(questions, before + kMostQuestions);
}

TEST_F(NativeSamplerTest, AThreadThatIsTooMuchForASampleMakesRoomForOthers) {
  if (!NativeReader::kIsSupported) GTEST_SKIP();
  NativeSampler sampler(root_, 7, memory_, EndlessMemory::Maps());
  ThreadList list = Waiting(2);
  list.threads[1].place.stack_pointer = 16;  // of which nothing can be read: its own place is all there is
  EXPECT_THAT(sampler.Sample(list).stacks, IsEmpty());
  for (int i = 0; i < 2; ++i) {
    const NativeSample sample = sampler.Sample(list);
    ASSERT_THAT(sample.stacks, SizeIs(1));
    EXPECT_EQ(sample.stacks[0].first, 11);
    EXPECT_THAT(sample.stacks[0].second.frames, SizeIs(1));
  }
  EXPECT_THAT(sampler.LeftOut(), Contains(HasSubstr("in 4 samples of threads: reading them took too much")));
}

TEST_F(NativeSamplerTest, WhenItIsOverTheRestIsCountedAndNotRead) {
  if (!NativeReader::kIsSupported) GTEST_SKIP();
  size_t reads = 0, questions = 0;
  NativeSampler sampler(root_, 7, memory_, EndlessMemory::Maps(), [&] {
    reads = memory_.reads;
    return ++questions >= 5;  // in the middle of the first thread
  });
  const NativeSample sample = sampler.Sample(Waiting(kThreads));
  EXPECT_THAT(sample.stacks, IsEmpty());
  EXPECT_EQ(sample.lost, 0u);
  EXPECT_EQ(questions, 5u);
  EXPECT_EQ(memory_.reads, reads);
  EXPECT_THAT(sampler.LeftOut(),
              Contains(absl::StrCat("no functions of C in ", kThreads,
                                    " samples of threads: reading them took too much work or time")));
}

TEST_F(NativeSamplerTest, WhatAReaderKeepsIsBounded) {
  NativeReader reader(memory_, EndlessMemory::Maps());
  size_t most = 0;
  for (int i = 0; i < 4; ++i) {
    reader.BeginSample();
    reader.Read(PlaceOf(i), StackOf(i));
    most = std::max(most, reader.bytes_kept());
    EXPECT_LE(reader.bytes_kept(), NativeReader::kMaxBytes - FunctionNames::kMaxSymbols * 16);
  }
  EXPECT_GT(most, size_t{4} << 20);
}

}  // namespace
}  // namespace lockstep
