// Where the fields are that lead from an interpreter of CPython to the names of the functions that its threads are in.
//
// One row per version on 64-bit Linux. The numbers follow from the headers of the named release, by offsetof; they stay
// as they are for all releases of one minor version. From 3.13 on the interpreter itself says them, in
// _Py_DebugOffsets at the beginning of _PyRuntime, and the row says where they stand there.

#ifndef LOCKSTEP_AGENT_STACKS_PYTHON_LAYOUT_H_
#define LOCKSTEP_AGENT_STACKS_PYTHON_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

inline constexpr uint64_t kNoField = ~uint64_t{0};

// Byte offsets, kNoField = this version has no such field. Immutable value.
struct PythonLayout {
  int minor = 0;  // 11 of 3.11

  uint64_t first_interpreter = 0;  // _PyRuntimeState.interpreters.head
  uint64_t next_interpreter = 0;   // PyInterpreterState.next
  uint64_t first_thread = 0;       // .tstate_head, later .threads.head

  uint64_t next_thread = 0;    // PyThreadState.next
  uint64_t thread_handle = 0;  // .thread_id: pthread_t
  uint64_t native_id = 0;      // .native_thread_id: tid
  uint64_t top_frame = 0;      // .frame, later .cframe or .current_frame
  uint64_t cframe_top = 0;     // _PyCFrame.current_frame, where `top_frame` leads to one

  uint64_t previous_frame = 0;  // PyFrameObject.f_back, later _PyInterpreterFrame.previous
  uint64_t frame_code = 0;      // .f_code, later .f_executable
  uint64_t frame_owner = 0;     // .owner: one byte; kFrameOfC is no function of Python

  uint64_t code_file = 0;        // PyCodeObject.co_filename
  uint64_t code_name = 0;        // .co_qualname; before 3.11 .co_name
  uint64_t code_first_line = 0;  // .co_firstlineno

  uint64_t text_length = 0;   // PyASCIIObject.length
  uint64_t text_state = 0;    // .state: kind in bits 2 to 4, compact in bit 5, ASCII in bit 6
  uint64_t ascii_header = 0;  // bytes before the characters of an ASCII string
  uint64_t wide_header = 0;   // and of another one
};

// FRAME_OWNED_BY_CSTACK of 3.12 and 3.13.
inline constexpr uint8_t kFrameOfC = 3;

// In the state of a text.
inline constexpr uint32_t kCompactText = 1 << 5;
inline constexpr uint32_t kAsciiText = 1 << 6;

// Where glibc's thread descriptor, to which a pthread_t points, has the tid: 64-bit, since 2.4. Interpreters
// before 3.11 know no other name of a thread.
inline constexpr uint64_t kTidOfPthread = 720;

inline constexpr int kOldestPython = 8;
inline constexpr int kNewestPython = 13;

// The layout of the interpreter 3.`minor` whose _PyRuntime is at `runtime`. UNIMPLEMENTED for a version that is not in
// the table, and for one without a global lock.
absl::StatusOr<PythonLayout> FindPythonLayout(RemoteMemory& memory, int minor, uint64_t runtime);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_PYTHON_LAYOUT_H_
