// Threads of this very process: what the exception unwinder of the compiler says of them is the reference.

#include "agent/stacks/native_reader.h"

#include <alloca.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/rooted_fs.h"
#include "agent/stacks/call_site.h"
#include "agent/stacks/frame_rules.h"
#include "agent/stacks/function_names.h"
#include "agent/stacks/mapped_code.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/testing/native_image.h"
#include "agent/stacks/thread_list.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kMostFrames = 64;

// What the thread shows to the test.
struct Shown {
  int pipe_end = -1;
  std::vector<uint64_t> callers;  // as the compiler's unwinder tells them, innermost first
  std::promise<int32_t> ready;    // its tid
  bool waited = false;
};

Shown* shown = nullptr;  // of the one thread that waits

[[gnu::noinline]] int WaitForByte() {
  if (shown->waited) return 0;  // a sanitizer's qsort compares more often
  shown->waited = true;
  void* found[kMostFrames];
  const int count = backtrace(found, kMostFrames);
  for (int i = 1; i < count; ++i) shown->callers.push_back(reinterpret_cast<uint64_t>(found[i]));
  shown->ready.set_value(static_cast<int32_t>(syscall(SYS_gettid)));
  char byte = 0;
  const ssize_t count_read = read(shown->pipe_end, &byte, 1);
  return static_cast<int>(count_read) + byte;  // no jump instead of a call
}

// Its frame has a size that only a register tells.
[[gnu::noinline]] int WithArray(size_t bytes, const std::function<int()>& next) {
  volatile char* const array = static_cast<volatile char*>(alloca(bytes));
  for (size_t i = 0; i < bytes; ++i) array[i] = static_cast<char>(i);
  return next() + array[bytes / 2];
}

int CompareByWaiting(const void* /*a*/, const void* /*b*/) { return WaitForByte() > 100 ? 1 : 0; }

// libc stands between caller and callee.
[[gnu::noinline]] int OverLibc() {
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], CompareByWaiting);
  return numbers[0] + 1;
}

// A thread that waits for a byte inside of `work`, until the end of the test.
class WaitingThread {
 public:
  explicit WaitingThread(std::function<int()> work) {
    EXPECT_EQ(pipe(pipe_), 0);
    shown_.pipe_end = pipe_[0];
    shown = &shown_;
    thread_ = std::thread([work = std::move(work)] { (void)work(); });
    tid_ = shown_.ready.get_future().get();
    // It says so before it is in the call.
    while (place().pc == 0 || !IsInRead()) std::this_thread::yield();
  }
  ~WaitingThread() {
    EXPECT_EQ(write(pipe_[1], "x", 1), 1);
    thread_.join();
    close(pipe_[0]);
    close(pipe_[1]);
  }

  ThreadPlace place() const { return ReadThreadPlace(root_, getpid(), tid_); }
  const std::vector<uint64_t>& callers() const { return shown_.callers; }
  std::string Maps() const { return *root_.ReadFile("proc/self/maps", 8 << 20); }

 private:
  bool IsInRead() const { return DescribeSyscall(place().text) == "syscall read"; }

  RootedFs root_ = *RootedFs::Open("/");
  Shown shown_;
  int pipe_[2] = {-1, -1};
  int32_t tid_ = 0;
  std::thread thread_;
};

// Innermost first, the outermost `count`: without that which waits, the function of libc that calls the kernel, and
// what a sanitizer puts between these.
std::vector<uint64_t> CallersIn(const NativeStack& stack, size_t count) {
  std::vector<uint64_t> callers(stack.places.rbegin(), stack.places.rend());
  const size_t inner = callers.size() - std::min(callers.size(), count);
  callers.erase(callers.begin(), callers.begin() + static_cast<ptrdiff_t>(inner));
  EXPECT_LE(inner, 3u);
  return callers;
}

// Functions of a sanitizer call the kernel, and go through code that tells the two unwinders different things.
#ifdef LOCKSTEP_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

TEST(NativeReaderTest, GoesFromCallerToCallerAsTheUnwinderOfTheCompilerDoes) {
  if (kIsSanitized) GTEST_SKIP();
  const std::vector<std::function<int()>> works = {
      [] { return WaitForByte(); },
      [] { return WithArray(700, [] { return WaitForByte(); }); },
      [] { return OverLibc(); },
      [] { return WithArray(64, [] { return OverLibc() + WithArray(3'000, [] { return 1; }); }); },
  };
  ProcessMemory memory(getpid());
  for (size_t i = 0; i < works.size(); ++i) {
    SCOPED_TRACE(i);
    const WaitingThread thread(works[i]);
    NativeReader reader(memory, thread.Maps());
    const NativeStack stack = reader.Read(thread.place().pc, thread.place().stack_pointer);
    EXPECT_FALSE(stack.cut);
    EXPECT_EQ(CallersIn(stack, thread.callers().size()), thread.callers());
    ASSERT_FALSE(stack.frames.empty());
    EXPECT_THAT(stack.frames.back(), HasSubstr("read (libc.so.6)"));
  }
}

TEST(NativeReaderTest, WhatTheKernelDoesNotTellIsSearchedForAndCounted) {
  if (kIsSanitized) GTEST_SKIP();
  ProcessMemory memory(getpid());
  const WaitingThread thread([] { return WithArray(4'000, [] { return OverLibc(); }); });
  NativeReader reader(memory, thread.Maps());
  const NativeStack stack = reader.Read(thread.place().pc, thread.place().stack_pointer);
  EXPECT_EQ(CallersIn(stack, thread.callers().size()), thread.callers());
  EXPECT_GE(stack.searched, 1u) << "the tests are compiled with frame pointers";
}

// Memory of this process in which some bytes are others.
class BrokenMemory final : public RemoteMemory {
 public:
  BrokenMemory(uint64_t seed, double share) : memory_(getpid()), random_(seed), share_(share) {}
  bool Read(uint64_t address, void* to, size_t bytes) override {
    ++reads_;
    if (!memory_.Read(address, to, bytes)) return false;
    for (size_t i = 0; i < bytes; ++i) {
      if (random_.Unit() < share_) static_cast<char*>(to)[i] = static_cast<char>(random_.Next());
    }
    return true;
  }
  uint64_t reads() const { return reads_; }

 private:
  ProcessMemory memory_;
  Random random_;
  const double share_;
  uint64_t reads_ = 0;
};

TEST(NativeReaderTest, OfBrokenMemoryItComesBackWithWhatIsBounded) {
  const WaitingThread thread([] { return WithArray(500, [] { return OverLibc(); }); });
  const ThreadPlace place = thread.place();
  size_t cut = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    BrokenMemory memory(seed, seed % 2 == 0 ? 0.001 : 0.05);
    NativeReader reader(memory, thread.Maps());
    const NativeStack stack = reader.Read(place.pc, place.stack_pointer);
    EXPECT_LE(stack.frames.size(), NativeReader::kMaxDepth);
    EXPECT_EQ(stack.frames.size(), stack.places.size());
    EXPECT_LE(memory.reads(), 200'000u);
    cut += stack.cut ? 1 : 0;
  }
  EXPECT_GT(cut, 0u);
}

TEST(NativeReaderTest, APlaceThatIsNoCodeHasNoFrames) {
  ProcessMemory memory(getpid());
  NativeReader reader(memory, "");
  EXPECT_THAT(reader.Read(0x1000, 0x2000).frames, IsEmpty());
  EXPECT_TRUE(reader.Read(0x1000, 0x2000).cut);
}

// Memory that holds these bytes from 0x1000 on.
class BytesMemory final : public RemoteMemory {
 public:
  explicit BytesMemory(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  bool Read(uint64_t address, void* to, size_t bytes) override {
    if (address < kBegin || address + bytes > kBegin + bytes_.size()) return false;
    std::memcpy(to, bytes_.data() + (address - kBegin), bytes);
    return true;
  }
  static constexpr uint64_t kBegin = 0x1000;

 private:
  std::vector<uint8_t> bytes_;
};

TEST(CallSiteTest, KnowsTheFormsOfACall) {
  const struct {
    std::vector<uint8_t> bytes;
    bool is_call;
    uint64_t target;
  } kForms[] = {
      {{0x90, 0x90, 0xE8, 0xF9, 0xFF, 0xFF, 0xFF}, true, 0x1000},  // call 7 bytes back
      {{0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0xD0}, true, 0},       // call *%rax
      {{0x90, 0x90, 0x90, 0x90, 0x41, 0xFF, 0xD4}, true, 0},       // call *%r12
      {{0x90, 0x90, 0x90, 0x90, 0xFF, 0x50, 0x18}, true, 0},       // call *0x18(%rax)
      {{0x90, 0x90, 0x90, 0xFF, 0x54, 0x24, 0x08}, true, 0},       // call *8(%rsp)
      {{0x90, 0xFF, 0x15, 0x01, 0x02, 0x03, 0x04}, true, 0},       // call *0x4030201(%rip)
      {{0xFF, 0x94, 0xC3, 0x00, 0x01, 0x00, 0x00}, true, 0},       // call *0x100(%rbx,%rax,8)
      {{0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0xE0}, false, 0},      // jmp *%rax
      {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xC3}, false, 0},      // ret
  };
  for (const auto& form : kForms) {
    BytesMemory memory(form.bytes);
    const absl::optional<CallSite> call = CallBefore(memory, BytesMemory::kBegin + 7);
    EXPECT_EQ(call.has_value(), form.is_call) << static_cast<int>(form.bytes[4]);
    if (call.has_value()) EXPECT_EQ(call->target, form.target);
  }
}

std::string MapsOf(const NativeImage&) {
  return absl::StrCat(absl::Hex(NativeImage::kBase), "-", absl::Hex(NativeImage::kEnd),
                      " r-xp 00000000 08:01 7 /usr/bin/train\n1000-2000 rw-p 00000000 00:00 0 \n");
}

TEST(NativeReaderTest, ReadsWhatAnImageHolds) {
  for (const bool with_frame_pointer : {false, true}) {
    NativeImage image(with_frame_pointer);
    NativeReader reader(image.memory, MapsOf(image));
    const NativeStack stack = reader.Read(NativeImage::kPlace, NativeImage::kStack);
    EXPECT_THAT(stack.frames, ElementsAre("+0x220 (train)", "+0x200 (train)"));
    EXPECT_FALSE(stack.cut);
    EXPECT_EQ(stack.searched, with_frame_pointer ? 1u : 0u);
  }
}

TEST(NativeReaderTest, WhatCallsAnotherFunctionIsNotTheCaller) {
  NativeImage image(/*with_frame_pointer=*/true);
  // What an older call left on the stack: it leads to the beginning as well, but calls the function of the caller.
  image.memory.Put<uint64_t>(NativeImage::kStack, NativeImage::kStack + 64);
  image.memory.Put<uint64_t>(NativeImage::kStack + 8, NativeImage::kReturn + 8);
  image.memory.Write(NativeImage::kReturn + 3, absl::string_view("\xE8", 1));
  image.memory.Put<int32_t>(NativeImage::kReturn + 4,
                            static_cast<int32_t>(NativeImage::kOuter) - static_cast<int32_t>(NativeImage::kReturn + 8));
  NativeReader reader(image.memory, MapsOf(image));
  EXPECT_THAT(reader.Read(NativeImage::kPlace, NativeImage::kStack).places,
              ElementsAre(NativeImage::kReturn, NativeImage::kPlace));
}

// Mangled: f(A1), where A1 is a<int, int> and each next is a<the one before, the one before>.
std::string Doubling(int times) {
  std::string name = "_Z1f1aIiiE";
  for (int i = 0; i < times; ++i) absl::StrAppend(&name, "S_IS", i, "_S", i, "_E");
  return name;
}

TEST(FunctionNamesTest, ANameThatMakesGigabytesStaysAsItIs) {
  EXPECT_EQ(FunctionNames::Readable("_ZN4nccl5GroupIiE3EndEv"), "nccl::Group<int>::End");
  EXPECT_EQ(FunctionNames::Readable(Doubling(4)), "f");
  const std::string bomb = Doubling(10);  // 30 references
  EXPECT_EQ(FunctionNames::Readable(bomb), bomb);
  const std::string packs = "_Z1fIJiiiiEEvDpFvDpFvDpT_EE";
  EXPECT_EQ(FunctionNames::Readable(packs), packs);
}

TEST(FrameRulesTest, FollowsTheInstructionsUpToTheAddress) {
  NativeImage image;
  const auto rules = [&](uint64_t offset) {
    return FindFrameRules(image.memory, NativeImage::kIndex, NativeImage::kInner + offset);
  };
  ASSERT_TRUE(rules(0).has_value());
  EXPECT_EQ(rules(0)->function_begin, NativeImage::kInner);
  EXPECT_EQ(rules(0)->cfa_register, kStackPointer);
  EXPECT_EQ(rules(3)->cfa_offset, 8);
  EXPECT_EQ(rules(4)->cfa_offset, 24);
  EXPECT_EQ(rules(4)->registers[3].kind, FrameRule::Kind::kAtOffset);
  EXPECT_EQ(rules(4)->registers[3].value, -16);
  EXPECT_EQ(rules(11)->cfa_offset, 24);
  EXPECT_EQ(rules(12)->cfa_offset, 8);
  EXPECT_EQ(rules(12)->registers[3].kind, FrameRule::Kind::kSame);
  EXPECT_EQ(rules(31)->registers[kReturnAddress].value, -8);
  EXPECT_EQ(rules(32)->registers[kReturnAddress].kind, FrameRule::Kind::kUndefined);
  EXPECT_FALSE(rules(64).has_value()) << "behind the last function";
}

TEST(MappedCodeTest, KnowsTheFileOfAnAddress) {
  const std::vector<MappedCode> code = FindMappedCode(
      "7f00-7f10 r--p 00000000 08:01 131 /usr/lib/lib a.so (deleted)\n"
      "7f10-7f20 r-xp 00000010 08:01 131 /usr/lib/lib a.so (deleted)\n"
      "7f20-7f30 rwxp 00000000 00:00 0 \n"
      "8000-8010 r-xp 00000010 08:01 131 /usr/lib/b.so\n"
      "9000-9010 r-xp 00000000 00:00 0 [vdso]\n"
      "not a line\n");
  ASSERT_THAT(code, SizeIs(3));
  EXPECT_EQ(CodeAt(code, 0x7f0f), nullptr);
  ASSERT_NE(CodeAt(code, 0x7f1f), nullptr);
  EXPECT_EQ(CodeAt(code, 0x7f1f)->file, "lib a.so");
  EXPECT_EQ(CodeAt(code, 0x7f1f)->base, 0x7f00u);
  EXPECT_EQ(CodeAt(code, 0x7f20), nullptr);
  EXPECT_EQ(CodeAt(code, 0x8000)->base, 0u) << "the beginning of the file is not mapped";
  EXPECT_EQ(CodeAt(code, 0x9000)->file, "[vdso]");
}

TEST(MappedCodeTest, KnowsHowFarAStackReaches) {
  const std::vector<MappedData> data = FindMappedData(
      "7f00-7f10 rw-p 00000000 08:01 131 /usr/lib/a.so\n"
      "7f20-7f30 rw-p 00000000 00:00 0 \n"
      "7f30-7f40 ---p 00000000 00:00 0 \n"
      "7ff0-8000 rw-p 00000000 00:00 0 [stack]\n");
  EXPECT_EQ(EndOfData(data, 0x7f00), 0x7f00u) << "of a file";
  EXPECT_EQ(EndOfData(data, 0x7f2f), 0x7f30u);
  EXPECT_EQ(EndOfData(data, 0x7f30), 0x7f30u) << "a guard";
  EXPECT_EQ(EndOfData(data, 0x7ff8), 0x8000u);
}

}  // namespace
}  // namespace lockstep
