#include "cli/render/stacks_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

wire::FoldedStack Stack(const std::vector<uint32_t>& frames, uint32_t count) {
  wire::FoldedStack stack;
  for (const uint32_t frame : frames) stack.add_frames(frame);
  stack.set_count(count);
  return stack;
}

wire::StackDump Dump() {
  wire::StackDump dump;
  dump.set_host("node-3");
  dump.set_rank(3);
  dump.set_pid(4711);
  dump.set_samples(10);
  dump.set_span_ns(2'000'000'000);
  dump.set_python("3.11");
  for (const char* name :
       {"<module> (train.py:1)", "step (train.py:9)", "load;odd\x1b[2J", "syscall futex",
        "_PyEval_EvalFrameDefault (python3.11)", "+0x10 (python3.11)", "cudaStreamSynchronize (libcudart.so)"}) {
    dump.add_names(name);
  }
  wire::ThreadStacks& main = *dump.add_threads();
  main.set_tid(4711);
  main.set_name("python3");
  main.set_state("S");
  main.set_main(true);
  *main.add_python() = Stack({0, 1}, 9);
  *main.add_python() = Stack({0, 2}, 1);
  *main.add_native() = Stack({4, 5, 4, 6}, 8);
  *main.add_kernel() = Stack({3}, 10);
  wire::ThreadStacks& other = *dump.add_threads();
  other.set_tid(4712);
  other.set_name("nccl");
  *other.add_native() = Stack({6}, 4);
  *other.add_kernel() = Stack({3, 99}, 4);
  dump.add_left_out("no functions of C in 2 samples");
  return dump;
}

TEST(StacksTextTest, ForPeople) {
  EXPECT_EQ(StacksText({Dump()}, "table", ""),
            "rank 3 on node-3, pid 4711: Python 3.11, 10 samples in 2.0 s\n"
            "  thread 4711 python3 (main), state S\n"
            "    Python 9/10: <module> (train.py:1) > step (train.py:9)\n"
            "    C 8/10: cudaStreamSynchronize (libcudart.so)\n"
            "    kernel 10/10: syscall futex\n"
            "  thread 4712 nccl, state \n"
            "    C 4/10: cudaStreamSynchronize (libcudart.so)\n"
            "    kernel 4/10: syscall futex > ?\n"
            "  no functions of C in 2 samples\n");
  EXPECT_THAT(StackDumpText(Dump(), /*brief=*/true), AllOf(HasSubstr("step (train.py:9)"), Not(HasSubstr("nccl"))));
}

TEST(StacksTextTest, ThreadsThatAllWaitInOnePlaceAreOneLine) {
  wire::StackDump dump = Dump();
  for (const int tid : {4713, 4714}) {
    wire::ThreadStacks like = dump.threads(1);
    like.set_tid(tid);
    *dump.add_threads() = like;
  }
  wire::ThreadStacks other = dump.threads(1);
  other.set_name("watchdog");
  *dump.add_threads() = other;
  EXPECT_THAT(StackDumpText(dump, /*brief=*/false), AllOf(HasSubstr("  thread 4712 and 2 like it nccl, state \n"),
                                                          Not(HasSubstr("4713")), HasSubstr("watchdog, state")));
}

TEST(StacksTextTest, OtherFormsAreRefused) {
  EXPECT_TRUE(CheckStacksForm("-o", "svg").ok());
  EXPECT_THAT(CheckStacksForm("-o", "png").message(), HasSubstr("-o png: one of table, json, folded, svg"));
}

TEST(StacksTextTest, Folded) {
  EXPECT_EQ(StacksText({Dump()}, "folded", ""),
            "rank 3;python3 4711 (main);<module> (train.py:1);step (train.py:9);cudaStreamSynchronize (libcudart.so);"
            "syscall futex 9\n"
            "rank 3;python3 4711 (main);<module> (train.py:1);load_odd_[2J;cudaStreamSynchronize (libcudart.so);"
            "syscall futex 1\n"
            "rank 3;nccl 4712;cudaStreamSynchronize (libcudart.so);syscall futex;? 4\n");
}

TEST(StacksTextTest, ForProgramsAndAsAGraph) {
  const auto json = nlohmann::json::parse(StacksText({Dump()}, "json", "", {{5, "node-9", "it has ended"}}));
  EXPECT_EQ(json["dumps"][0]["threads"][0]["python"][0]["count"], 9);
  EXPECT_EQ(json["failed"], nlohmann::json::parse(R"([{"rank": 5, "host": "node-9", "reason": "it has ended"}])"));
  EXPECT_THAT(StacksText({Dump()}, "svg", "job demo"),
              AllOf(HasSubstr("<svg"), HasSubstr(">job demo<"), HasSubstr("step (train.py:9): 9 of 14 samples")));
}

}  // namespace
}  // namespace lockstep
