// The reader on images of memory, as a process might have them that is honest, torn or hostile. Real interpreters are
// in stack_dump_test.cc.

#include "agent/stacks/python_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/stacks/elf_symbol.h"
#include "agent/stacks/mapped_python.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/remote_memory.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Bytes by address; what nobody has written cannot be read, but for the rest of its page.
class ImageMemory final : public RemoteMemory {
 public:
  bool Read(uint64_t address, void* to, size_t bytes) override {
    ++reads;
    if (before_read) before_read(address);
    for (size_t i = 0; i < bytes; ++i) {
      const auto page = pages_.find((address + i) / kPage);
      if (page == pages_.end()) return false;
      static_cast<char*>(to)[i] = page->second[(address + i) % kPage];
    }
    return true;
  }
  void Write(uint64_t address, const std::string& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      pages_.try_emplace((address + i) / kPage, kPage, '\0').first->second[(address + i) % kPage] = bytes[i];
    }
  }
  template <typename T>
  void Put(uint64_t address, T value) {
    Write(address, std::string(reinterpret_cast<const char*>(&value), sizeof value));
  }

  size_t reads = 0;
  std::function<void(uint64_t address)> before_read;

 private:
  static constexpr uint64_t kPage = 4096;
  std::map<uint64_t, std::string> pages_;
};

constexpr uint64_t kRuntime = 0x10000;
constexpr uint64_t kInterpreter = 0x20000;

// An interpreter of one version, built by its layout.
class Image {
 public:
  explicit Image(int minor) {
    if (minor == 13) PutDebugOffsets();
    const auto layout = FindPythonLayout(memory, minor, kRuntime);
    EXPECT_OK(layout);
    layout_ = *layout;
    memory.Put(kRuntime + layout_.first_interpreter, kInterpreter);
    memory.Put(kInterpreter + layout_.next_interpreter, uint64_t{0});
  }

  uint64_t Text(const std::string& text) {
    const uint64_t at = Take();
    memory.Put(at + layout_.text_length, static_cast<uint64_t>(text.size()));
    memory.Put(at + layout_.text_state, uint32_t{1 << 2 | 1 << 5 | 1 << 6});
    memory.Write(at + layout_.ascii_header, text);
    return at;
  }
  uint64_t WideText(const std::u16string& text) {
    const uint64_t at = Take();
    memory.Put(at + layout_.text_length, static_cast<uint64_t>(text.size()));
    memory.Put(at + layout_.text_state, uint32_t{2 << 2 | 1 << 5});
    for (size_t i = 0; i < text.size(); ++i) memory.Put(at + layout_.wide_header + 2 * i, text[i]);
    return at;
  }
  uint64_t Code(uint64_t name, const std::string& file, int32_t line) {
    const uint64_t at = Take();
    memory.Put(at + layout_.code_name, name);
    memory.Put(at + layout_.code_file, Text(file));
    memory.Put(at + layout_.code_first_line, line);
    return at;
  }
  uint64_t Frame(uint64_t previous, uint64_t code, uint8_t owner = 0) {
    const uint64_t at = Take();
    memory.Put(at + layout_.previous_frame, previous);
    memory.Put(at + layout_.frame_code, code);
    if (layout_.frame_owner != kNoField) memory.Put(at + layout_.frame_owner, owner);
    return at;
  }
  // A thread in front of the others.
  uint64_t Thread(int32_t tid, uint64_t top_frame) {
    const uint64_t at = Take();
    if (layout_.native_id != kNoField) {
      memory.Put(at + layout_.native_id, static_cast<uint64_t>(tid));
    } else {
      const uint64_t handle = Take();
      memory.Put(handle + 720, tid);
      memory.Put(at + layout_.thread_handle, handle);
    }
    SetTop(at, top_frame);
    memory.Put(at + layout_.next_thread, first_);
    first_ = at;
    memory.Put(kInterpreter + layout_.first_thread, first_);
    return at;
  }
  void SetTop(uint64_t thread, uint64_t frame) {
    if (layout_.cframe_top == kNoField) return memory.Put(thread + layout_.top_frame, frame);
    const uint64_t cframe = Take();
    memory.Put(cframe + layout_.cframe_top, frame);
    memory.Put(thread + layout_.top_frame, cframe);
  }

  PythonSample Sample() { return PythonReader(memory, layout_, kRuntime).Sample(); }
  const PythonLayout& layout() const { return layout_; }
  uint64_t Take() {
    next_ += 0x1000;
    memory.Put(next_, uint64_t{0});
    return next_;
  }

  ImageMemory memory;

 private:
  // As 3.13.0 has them; the interpreter and its threads lie elsewhere than there.
  void PutDebugOffsets() {
    memory.Write(kRuntime, "xdebugpy");
    const std::pair<uint64_t, uint64_t> numbers[] = {
        {8, 0x030D00F0}, {40, 632}, {64, 7264}, {72, 7344}, {168, 8},   {184, 72}, {192, 152}, {200, 160}, {232, 8},
        {240, 0},        {264, 70}, {280, 112}, {288, 120}, {296, 128}, {312, 68}, {544, 32},  {552, 16},  {560, 40},
    };
    for (const auto& [at, number] : numbers) memory.Put(kRuntime + at, number);
  }

  PythonLayout layout_;
  uint64_t next_ = 0x100000;
  uint64_t first_ = 0;
};

class PythonVersionTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, PythonVersionTest, ::testing::Range(kOldestPython, kNewestPython + 1));

TEST_P(PythonVersionTest, ReadsTheFunctionsOfEachThread) {
  Image image(GetParam());
  const uint64_t module = image.Code(image.Text("<module>"), "/srvser/train.py", 1);
  const uint64_t step = image.Code(image.Text("step"), "/srvser/train.py", 40);
  const uint64_t shim = image.Frame(0, 0, kFrameOfC);
  const bool has_shims = image.layout().frame_owner != kNoField && GetParam() >= 12;
  image.Thread(11, image.Frame(image.Frame(has_shims ? shim : 0, module), step));
  image.Thread(12, image.Frame(0, image.Code(image.WideText(u"f\u00fcr"), "loader.py", 7)));
  image.Thread(13, 0);
  const PythonSample sample = image.Sample();
  ASSERT_THAT(sample.stacks, SizeIs(2));
  EXPECT_EQ(sample.stacks[0].tid, 12);
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("f?r (loader.py:7)"));
  EXPECT_EQ(sample.stacks[1].tid, 11);
  EXPECT_THAT(sample.stacks[1].frames, ElementsAre("<module> (train.py:1)", "step (train.py:40)"));
  EXPECT_EQ(sample.lost + sample.torn + sample.left_out, 0u);
}

TEST_P(PythonVersionTest, FollowsNoCircleAndNoLie) {
  Image image(GetParam());
  const uint64_t code = image.Code(image.Text("loops"), "a.py", 1);
  const uint64_t frame = image.Frame(0, code);
  image.memory.Put(frame + image.layout().previous_frame, frame);
  const uint64_t last = image.Thread(11, frame);
  image.Thread(12, image.Frame(0, 0xDEAD0000));
  image.Thread(13, image.Frame(0, image.Code(0xDEAD0000, "a.py", 1)));
  image.memory.Put(last + image.layout().next_thread, last);  // the list bites its tail
  const PythonSample sample = image.Sample();
  ASSERT_THAT(sample.stacks, SizeIs(1));
  EXPECT_THAT(sample.stacks[0].frames, SizeIs(PythonReader::kMaxDepth));
  EXPECT_TRUE(sample.stacks[0].cut);
  EXPECT_EQ(sample.lost, 2u);
}

TEST(PythonReaderTest, TextsAreBoundedAndPrintable) {
  Image image(11);
  const uint64_t long_name = image.Text("prefix" + std::string(500, 'n'));
  const uint64_t odd_name = image.Text("a;b\n\x01\xff<script>");
  const uint64_t huge_name = image.Text("huge");
  image.memory.Put(huge_name + image.layout().text_length, ~uint64_t{0} >> 1);
  image.Thread(1, image.Frame(0, image.Code(long_name, std::string(400, 'd') + "/file.py", -5)));
  image.Thread(2, image.Frame(0, image.Code(odd_name, "x;y.py", 3)));
  image.Thread(3, image.Frame(0, image.Code(huge_name, "a.py", 3)));
  const PythonSample sample = image.Sample();
  ASSERT_THAT(sample.stacks, SizeIs(2));
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("a:b?"
                                                   "?"
                                                   "?<script> (x:y.py:3)"));
  EXPECT_THAT(sample.stacks[1].frames, ElementsAre(std::string(PythonReader::kMaxTextBytes, 'n') + " (file.py:0)"));
  EXPECT_EQ(sample.lost, 1u);
}

TEST(PythonReaderTest, WhatChangesMeanwhileIsReadAgain) {
  Image image(10);
  const uint64_t old_frame = image.Frame(0, image.Code(image.Text("old"), "a.py", 1));
  const uint64_t new_frame = image.Frame(0, image.Code(image.Text("new"), "a.py", 2));
  const uint64_t thread = image.Thread(1, old_frame);
  image.memory.before_read = [&](uint64_t address) {
    if (address == old_frame + image.layout().frame_code) image.SetTop(thread, new_frame);
  };
  PythonSample sample = image.Sample();
  ASSERT_THAT(sample.stacks, SizeIs(1));
  EXPECT_THAT(sample.stacks[0].frames, ElementsAre("new (a.py:2)"));
  EXPECT_EQ(sample.torn, 1u);
  uint64_t other = old_frame;
  image.memory.before_read = [&](uint64_t address) {
    if (address != thread + image.layout().top_frame) return;
    other = other == old_frame ? new_frame : old_frame;
    image.SetTop(thread, other);
  };
  sample = image.Sample();
  EXPECT_THAT(sample.stacks, SizeIs(0));
  EXPECT_EQ(sample.torn, static_cast<uint32_t>(PythonReader::kMaxTries));
  EXPECT_EQ(sample.lost, 1u);
}

TEST(PythonReaderTest, AThousandThreadsOfDeepStacksCostABoundedNumberOfReads) {
  Image image(12);
  const uint64_t code = image.Code(image.Text("deep"), "a.py", 1);
  uint64_t frame = 0;
  for (int i = 0; i < 300; ++i) frame = image.Frame(frame, code);
  for (int i = 0; i < 1000; ++i) image.Thread(i, frame);
  const PythonSample sample = image.Sample();
  EXPECT_LE(sample.stacks.size(), PythonReader::kMaxThreads);
  EXPECT_GT(sample.left_out, 0u);
  EXPECT_LE(image.memory.reads, PythonReader::kMaxReads + 10);
}

TEST(PythonReaderTest, EndlessFramesOfCEnd) {
  Image image(13);
  const uint64_t frame = image.Frame(0, 0, kFrameOfC);
  image.memory.Put(frame + image.layout().previous_frame, frame);
  image.Thread(1, frame);
  EXPECT_THAT(image.Sample().stacks, SizeIs(0));
  EXPECT_LE(image.memory.reads, PythonReader::kMaxReads + 10);
}

TEST(PythonLayoutTest, OtherVersionsAreRefused) {
  ImageMemory memory;
  for (const int minor : {7, 14}) {
    EXPECT_THAT(FindPythonLayout(memory, minor, kRuntime).status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(absl::StrCat("Python 3.", minor))));
  }
  EXPECT_THAT(FindPythonLayout(memory, 13, kRuntime).status(), StatusIs(absl::StatusCode::kInvalidArgument, _));
  Image image(13);
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
