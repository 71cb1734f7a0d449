// The reader on images of memory, as a process might have them that is honest, torn or hostile. Real interpreters are
// in stack_dump_test.cc.

#include "agent/stacks/python_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/stacks/elf_symbol.h"
#include "agent/stacks/mapped_python.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/testing/python_image.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kRuntime = PythonPlaces().runtime;

PythonSample SampleOf(PythonImage& image) {
  return PythonReader(image.memory, image.layout(), image.places().runtime).Sample();
}

class PythonVersionTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, PythonVersionTest, ::testing::Range(kOldestPython, kNewestPython + 1));

TEST_P(PythonVersionTest, ReadsTheFunctionsOfEachThread) {
  PythonImage image(GetParam());
  const uint64_t module = image.Code(image.Text("<module>"), "/srvser/train.py", 1);
  const uint64_t step = image.Code(image.Text("step"), "/srvser/train.py", 40);
  const uint64_t shim = image.Frame(0, 0, kFrameOfC);
  const bool has_shims = image.layout().frame_owner != kNoField && GetParam() >= 12;
  image.Thread(11, image.Frame(image.Frame(has_shims ? shim : 0, module), step));
  image.Thread(12, image.Frame(0, image.Code(image.WideText(u"f\u00fcr"), "loader.py", 7)));
  image.Thread(13, 0);
  const PythonSample sample = SampleOf(image);
  ASSERT_THAT(sample.stacks, SizeIs(2));
  EXPECT_EQ(sample.stacks[0].tid, 12);
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("f?r (loader.py:7)"));
  EXPECT_EQ(sample.stacks[1].tid, 11);
  EXPECT_THAT(sample.stacks[1].frames, ElementsAre("<module> (train.py:1)", "step (train.py:40)"));
  EXPECT_EQ(sample.lost + sample.torn + sample.left_out, 0u);
}

TEST_P(PythonVersionTest, FollowsNoCircleAndNoLie) {
  PythonImage image(GetParam());
  const uint64_t code = image.Code(image.Text("loops"), "a.py", 1);
  const uint64_t frame = image.Frame(0, code);
  image.memory.Put(frame + image.layout().previous_frame, frame);
  const uint64_t last = image.Thread(11, frame);
  image.Thread(12, image.Frame(0, 0xDEAD0000));
  image.Thread(13, image.Frame(0, image.Code(0xDEAD0000, "a.py", 1)));
  image.memory.Put(last + image.layout().next_thread, last);  // the list bites its tail
  const PythonSample sample = SampleOf(image);
  ASSERT_THAT(sample.stacks, SizeIs(1));
  EXPECT_THAT(sample.stacks[0].frames, SizeIs(PythonReader::kMaxDepth));
  EXPECT_TRUE(sample.stacks[0].cut);
  EXPECT_EQ(sample.lost, 2u);
}

TEST(PythonReaderTest, TextsAreBoundedAndPrintable) {
  PythonImage image(11);
  const uint64_t long_name = image.Text("prefix" + std::string(500, 'n'));
  const uint64_t odd_name = image.Text("a;b\n\x01\xff<script>");
  const uint64_t huge_name = image.Text("huge");
  image.memory.Put(huge_name + image.layout().text_length, ~uint64_t{0} >> 1);
  image.Thread(1, image.Frame(0, image.Code(long_name, std::string(400, 'd') + "/file.py", -5)));
  image.Thread(2, image.Frame(0, image.Code(odd_name, "x;y.py", 3)));
  image.Thread(3, image.Frame(0, image.Code(huge_name, "a.py", 3)));
  const PythonSample sample = SampleOf(image);
  ASSERT_THAT(sample.stacks, SizeIs(2));
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("a:b?"
                                                   "?"
                                                   "?<script> (x:y.py:3)"));
  EXPECT_THAT(sample.stacks[1].frames, ElementsAre(std::string(PythonReader::kMaxTextBytes, 'n') + " (file.py:0)"));
  EXPECT_EQ(sample.lost, 1u);
}

TEST(PythonReaderTest, WhatChangesMeanwhileIsReadAgain) {
  PythonImage image(10);
  const uint64_t old_frame = image.Frame(0, image.Code(image.Text("old"), "a.py", 1));
  const uint64_t new_frame = image.Frame(0, image.Code(image.Text("new"), "a.py", 2));
  const uint64_t thread = image.Thread(1, old_frame);
  image.memory.before_read = [&](uint64_t address) {
    if (address == old_frame + image.layout().frame_code) image.SetTop(thread, new_frame);
  };
  PythonSample sample = SampleOf(image);
  ASSERT_THAT(sample.stacks, SizeIs(1));
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("new (a.py:2)"));
  EXPECT_EQ(sample.torn, 1u);
  uint64_t other = old_frame;
  image.memory.before_read = [&](uint64_t address) {
    if (address != thread + image.layout().top_frame) return;
    other = other == old_frame ? new_frame : old_frame;
    image.SetTop(thread, other);
  };
  sample = SampleOf(image);
  EXPECT_THAT(sample.stacks, SizeIs(0));
  EXPECT_EQ(sample.torn, static_cast<uint32_t>(PythonReader::kMaxTries));
  EXPECT_EQ(sample.lost, 1u);
}

TEST(PythonReaderTest, AThousandThreadsOfDeepStacksCostABoundedNumberOfReads) {
  PythonImage image(12);
  const uint64_t code = image.Code(image.Text("deep"), "a.py", 1);
  uint64_t frame = 0;
  for (int i = 0; i < 300; ++i) frame = image.Frame(frame, code);
  for (int i = 0; i < 1000; ++i) image.Thread(i, frame);
  const PythonSample sample = SampleOf(image);
  EXPECT_LE(sample.stacks.size(), PythonReader::kMaxThreads);
  EXPECT_GT(sample.left_out, 0u);
  EXPECT_LE(image.memory.reads, PythonReader::kMaxReads + 10);
}

TEST(PythonReaderTest, EndlessFramesOfCEnd) {
  PythonImage image(13);
  const uint64_t frame = image.Frame(0, 0, kFrameOfC);
  image.memory.Put(frame + image.layout().previous_frame, frame);
  image.Thread(1, frame);
  EXPECT_THAT(SampleOf(image).stacks, SizeIs(0));
  EXPECT_LE(image.memory.reads, PythonReader::kMaxReads + 10);
}

TEST(PythonLayoutTest, OtherVersionsAreRefused) {
  ImageMemory memory;
  for (const int minor : {7, 14}) {
    EXPECT_THAT(FindPythonLayout(memory, minor, kRuntime).status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(absl::StrCat("Python 3.", minor))));
  }
  EXPECT_THAT(FindPythonLayout(memory, 13, kRuntime).status(), StatusIs(absl::StatusCode::kInvalidArgument, _));
  PythonImage image(13);
  image.memory.Put(kRuntime + 72, uint64_t{1} << 40);
  EXPECT_THAT(FindPythonLayout(image.memory, 13, kRuntime).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("make no sense")));
  image.memory.Put(kRuntime + 16, uint64_t{1});
  EXPECT_THAT(FindPythonLayout(image.memory, 13, kRuntime).status(), StatusIs(absl::StatusCode::kUnimplemented, _));
}

TEST(MappedPythonTest, FindsLibrariesBeforePrograms) {
  const std::vector<MappedPython> found = FindMappedPython(
      "00400000-00401000 r--p 00000000 08:01 131 /opt/env/bin/python3.9\n"
      "00401000-00402000 r-xp 00001000 08:01 131 /opt/env/bin/python3.9\n"
      "7f0000000000-7f0000001000 r--p 00000000 08:01 132 /opt/env/lib/libpython3.9.so.1.0 (deleted)\n"
      "7f1000000000-7f1000001000 r--p 00000000 08:01 133 /usr/lib/libpython3.so\n"
      "7f2000000000-7f2000001000 r--p 00000000 08:01 134 /srvser/python3.11/lib/x.so\n"
      "7f3000000000-7f3000001000 r--p 00000000 08:01 135 /srvser/python3.11-notes.txt\n"
      "nonsense /python3.10\n");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].base, 0x7f0000000000u);
  EXPECT_EQ(found[0].minor, 9);
  EXPECT_EQ(found[1].base, 0x400000u);
}

TEST(ElfSymbolTest, FindsWhatIsExported) {
  ImageMemory memory;
  PutElfFile(memory, 0x7000, "_PyRuntime", 0x9123);
  const absl::StatusOr<uint64_t> found = FindElfSymbol(memory, 0x7000, "_PyRuntime");
  ASSERT_OK(found);
  EXPECT_EQ(*found, 0x9123u);
  EXPECT_THAT(FindElfSymbol(memory, 0x7000, "_PyRuntim").status(), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(ElfSymbolTest, FilesThatAreNoneAndTablesWithoutEndAreRefused) {
  ImageMemory memory;
  EXPECT_THAT(FindElfSymbol(memory, 0x1000, "_PyRuntime").status(), StatusIs(absl::StatusCode::kInvalidArgument, _));
  memory.Write(0x1000, std::string(4096, '\x7f'));
  EXPECT_THAT(FindElfSymbol(memory, 0x1000, "_PyRuntime").status(), StatusIs(absl::StatusCode::kInvalidArgument, _));
  // A header, one part to load and a dynamic section that leads to a hash table whose chains never end.
  std::string header(64, '\0');
  std::memcpy(header.data(),
              "\x7f"
              "ELF\x02",
              5);
  memory.Write(0x1000, std::string(0x3000, '\0'));
  memory.Write(0x1000, header);
  memory.Put(0x1000 + 32, uint64_t{64});  // program headers
  memory.Put(0x1000 + 54, uint16_t{56});
  memory.Put(0x1000 + 56, uint16_t{2});
  memory.Put(0x1040, uint32_t{1});  // PT_LOAD
  memory.Put(0x1078, uint32_t{2});  // PT_DYNAMIC
  memory.Put(0x1078 + 16, uint64_t{0x1000});
  const std::pair<uint64_t, uint64_t> entries[] = {{6, 0x2800}, {5, 0x2900}, {0x6ffffef5, 0x2400}};
  for (int i = 0; i < 3; ++i) {
    memory.Put(0x2000 + 16 * i, entries[i].first);
    memory.Put(0x2000 + 16 * i + 8, entries[i].second);
  }
  EXPECT_THAT(FindElfSymbol(memory, 0x1000, "_PyRuntime").status(), StatusIs(absl::StatusCode::kInvalidArgument, _));
  memory.Put(0x2400, uint32_t{1});  // buckets
  EXPECT_THAT(FindElfSymbol(memory, 0x1000, "_PyRuntime").status(), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_LT(memory.reads, 3'000u);
}

}  // namespace
}  // namespace lockstep
