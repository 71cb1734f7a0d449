// Which functions of C and C++ a thread that waits in the kernel is in, read from the memory of its process: nothing is
// attached and nothing is stopped.
//
// The kernel tells the stack pointer and the place of a thread that is in a system call; from there the call frame
// information leads from caller to caller. The kernel tells no other register. Where a function counts its frame from
// one (code with frame pointers, or with arrays of variable size), or there is no information about it, the next
// address on the stack is looked for that stands behind a call and from which the way leads to the thread's beginning:
// that is a search, and counted. What an
// older call has left on the stack, or a list of addresses, is told from callers by whom the call calls and by the
// frame pointer beside it, unless no address passes that. A thread that runs, in user space or in the kernel, is not
// read. The memory may hold anything: frames, searches, steps of a thread, the work of all threads of one sample
// (kMaxWork) and what is kept (kMaxBytes) are bounded. x86-64 only.

#ifndef LOCKSTEP_AGENT_STACKS_NATIVE_READER_H_
#define LOCKSTEP_AGENT_STACKS_NATIVE_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/stacks/cached_memory.h"
#include "agent/stacks/elf_tables.h"
#include "agent/stacks/frame_rules.h"
#include "agent/stacks/function_names.h"
#include "agent/stacks/mapped_code.h"
#include "agent/stacks/metered_memory.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/work_budget.h"

namespace lockstep {

// Plain value; thread-compatible.
struct NativeStack {
  std::vector<std::string> frames;  // "poll (libc.so.6)", outermost first; empty = the place is no code of a file
  std::vector<uint64_t> places;     // of the frames: where each goes on
  bool cut = false;                 // the outermost frames are missing: deeper than kMaxDepth, or the way is lost
  size_t searched = 0;              // frames that a search found
};

// Borrows the memory. Not thread-safe.
class NativeReader {
 public:
  static constexpr size_t kMaxDepth = 128;
  static constexpr size_t kMaxSearchBytes = 16'384;  // of the stack, for one frame
  static constexpr int kMaxSearches = 8;             // behind each other
  static constexpr size_t kMaxSteps = 5'000;         // from caller to caller, of one thread, searches included
  static constexpr uint64_t kMaxWork = 4'000'000;    // units of a sample: some 200 ms
  static constexpr size_t kMaxCodePages = 1'024;     // 4 MiB
  static constexpr size_t kMaxStackPages = 256;      // 1 MiB
  static constexpr size_t kMaxPlaces = 3'584;        // what is known of addresses in code: less than 2 MiB
  static constexpr size_t kMaxBytes = 16 << 20;      // of all that, and of the names' tables (8 MiB)

#ifdef __x86_64__
  static constexpr bool kIsSupported = true;
#else
  static constexpr bool kIsSupported = false;
#endif

  // `maps`: the text of /proc/PID/maps. `is_over`: asked about each millisecond of work, whether to stop; empty =
  // never.
  NativeReader(RemoteMemory& memory, absl::string_view maps, std::function<bool()> is_over = nullptr);

  // Another sample: it may cost kMaxWork, whatever the one before has cost.
  void BeginSample() { budget_.Refill(); }

  // Of a thread that waits at `pc` with this stack pointer. No frames, and cut, when spent().
  NativeStack Read(uint64_t pc, uint64_t stack_pointer);

  // The work of this sample is used up, or it is over: threads that are not read by now will not be.
  bool spent() const { return budget_.spent(); }

  // At most kMaxBytes.
  size_t bytes_kept() const;

  // Files whose functions have no names, for want of room.
  size_t files_without_names() const { return names_.left_out(); }

 private:
  struct Registers {
    std::array<uint64_t, kFrameRegisters> values = {};
    uint32_t known = 0;  // bits by number

    bool Has(size_t number) const { return (known >> number & 1) != 0; }
    void Set(size_t number, uint64_t value) {
      values[number] = value;
      known |= uint32_t{1} << number;
    }
  };
  // What is known of the code at an address, asked for once.
  struct Place {
    const MappedCode* code = nullptr;
    absl::optional<FrameRules> rules;
  };
  struct Way {
    std::vector<uint64_t> places;  // innermost first
    size_t searched = 0;
    bool whole = false;  // up to the beginning of the thread
    bool deep = false;   // kMaxDepth is reached
  };

  const Place& PlaceOf(uint64_t pc, bool innermost);
  const ElfTables& TablesOf(const MappedCode& code);
  // From these registers upward. `strict`: what a search finds must call the very function that it was found for.
  void Climb(Registers registers, int searches_left, bool strict, Way& way);
  bool Search(const Registers& registers, const Place& place, int searches_left, bool strict, Way& way);
  bool MayCall(uint64_t return_address, const Place& callee, bool strict);
  bool IsFunction(uint64_t address);
  // Whether what the function of a frame has kept of its caller's frame pointer may be one.
  bool KeepsFramePointer(const FrameRules& rules, const Registers& caller) const;
  // The caller's registers; none = the stack cannot be read, or the rules do not tell the return address.
  absl::optional<Registers> CallerOf(const Registers& registers, const FrameRules& rules, uint64_t cfa);

  WorkBudget budget_;
  MeteredMemory memory_;
  CachedMemory code_memory_;   // of files, which do not change
  CachedMemory stack_memory_;  // of the thread that is read
  const std::vector<MappedCode> code_;
  const std::vector<MappedData> data_;
  FunctionNames names_;
  std::map<uint64_t, ElfTables> tables_;         // by the base of the file
  absl::flat_hash_map<uint64_t, Place> places_;  // by address; bounded by kMaxPlaces
  Place unkept_;                                 // the last that the budget did not suffice for
  const ElfTables no_tables_;
  size_t steps_ = 0;  // of this thread
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_NATIVE_READER_H_
