// Which functions of Python the threads of a process are in, read from its memory while it runs.
//
// Nothing is stopped. A thread that waits, as those of a job that hangs do, is read exactly; of one that runs, frames
// may be of two moments. What changed while it was read is read again, at most kMaxTries times. The process may have
// written anything there: chains are bounded and may be circular, texts are cut and made printable, and a sample costs
// at most kMaxReads reads.

#ifndef LOCKSTEP_AGENT_STACKS_PYTHON_READER_H_
#define LOCKSTEP_AGENT_STACKS_PYTHON_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// One thread at one moment. Plain value; thread-compatible.
struct PythonStack {
  int32_t tid = 0;                  // 0 = not known
  std::vector<std::string> frames;  // "name (file.py:12)", outermost first; the line is where the function begins
  bool cut = false;                 // deeper than kMaxDepth: the outermost frames are missing
};

struct PythonSample {
  std::vector<PythonStack> stacks;  // of threads that are in a function
  uint32_t torn = 0;                // times that something was read again
  uint32_t lost = 0;                // threads that stayed torn, or lead nowhere
  uint32_t left_out = 0;            // threads beyond kMaxThreads or kMaxReads; a lower bound
};

// Not thread-safe.
class PythonReader {
 public:
  static constexpr int kMaxInterpreters = 8;
  static constexpr size_t kMaxThreads = 64;
  static constexpr size_t kMaxDepth = 128;
  static constexpr size_t kMaxTextBytes = 120;  // of a name, and of a file's
  static constexpr int kMaxTries = 3;
  static constexpr size_t kMaxReads = 100'000;  // some 200 ms

  // The interpreter of the process with this /proc/PID/maps. NOT_FOUND: it has none; UNIMPLEMENTED: none that can be
  // read; what the memory says where that may not be read. Borrows `memory`.
  static absl::StatusOr<PythonReader> Find(RemoteMemory& memory, absl::string_view maps);

  PythonReader(RemoteMemory& memory, const PythonLayout& layout, uint64_t runtime)
      : memory_(&memory), layout_(layout), runtime_(runtime) {}

  int minor() const { return layout_.minor; }  // of its version

  PythonSample Sample();

 private:
  enum class Walk { kDone, kTorn, kBroken };

  // A pointer, a number or one byte; 0 where it cannot be read, or too much has been.
  uint64_t Word(uint64_t address);
  void ReadThread(uint64_t thread, PythonSample& sample);
  int32_t TidOf(uint64_t thread);
  uint64_t TopFrame(uint64_t thread);
  Walk ReadFrames(uint64_t thread, PythonStack& stack);
  // "name (file.py:12)"; "" = what is there is no code.
  const std::string& Describe(uint64_t code);
  std::string ReadCode(uint64_t code);
  // The last kMaxTextBytes characters; "" = what is there is no text.
  std::string Text(uint64_t text);

  RemoteMemory* memory_;
  PythonLayout layout_;
  uint64_t runtime_;
  size_t reads_ = 0;                           // of this sample
  std::map<uint64_t, std::string> described_;  // of this sample, by the address of the code; most threads share it
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_PYTHON_READER_H_
