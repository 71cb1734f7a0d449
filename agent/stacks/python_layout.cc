#include "agent/stacks/python_layout.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// Headers of CPython: Include/internal/pycore_runtime.h (first_interpreter), pycore_interp.h (interpreters),
// Include/cpython/pystate.h (threads), Include/cpython/frameobject.h and internal/pycore_frame.h (frames),
// Include/cpython/code.h (code), Include/cpython/unicodeobject.h (texts).
constexpr PythonLayout kLayouts[] = {
    // 3.8.18
    {8, 32, 0, 8, 8, 176, kNoField, 24, kNoField, 24, 32, kNoField, 104, 112, 40, 16, 32, 48, 72},
    // 3.9.18
    {9, 32, 0, 8, 8, 176, kNoField, 24, kNoField, 24, 32, kNoField, 104, 112, 40, 16, 32, 48, 72},
    // 3.10.13
    {10, 32, 0, 8, 8, 176, kNoField, 24, kNoField, 24, 32, kNoField, 104, 112, 40, 16, 32, 48, 72},
    // 3.11.7
    {11, 40, 0, 16, 8, 152, 160, 56, 8, 48, 32, 69, 112, 128, 72, 16, 32, 48, 72},
    // 3.12.1
    {12, 40, 0, 72, 8, 136, 144, 56, 0, 8, 0, 70, 112, 128, 68, 16, 32, 40, 56},
};

// Where _Py_DebugOffsets of 3.13.0 has what a layout needs.
struct DebugField {
  uint64_t PythonLayout::*field;
  uint64_t at;
};
constexpr DebugField kDebugFields[] = {
    {&PythonLayout::first_interpreter, 40}, {&PythonLayout::next_interpreter, 64}, {&PythonLayout::first_thread, 72},
    {&PythonLayout::next_thread, 168},      {&PythonLayout::top_frame, 184},       {&PythonLayout::thread_handle, 192},
    {&PythonLayout::native_id, 200},        {&PythonLayout::previous_frame, 232},  {&PythonLayout::frame_code, 240},
    {&PythonLayout::frame_owner, 264},      {&PythonLayout::code_file, 280},       {&PythonLayout::code_name, 296},
    {&PythonLayout::code_first_line, 312},  {&PythonLayout::text_state, 544},      {&PythonLayout::text_length, 552},
    {&PythonLayout::ascii_header, 560},
};
constexpr uint64_t kDebugVersion = 8;
constexpr uint64_t kDebugFreeThreaded = 16;
constexpr size_t kDebugBytes = 568;
constexpr char kDebugCookie[] = "xdebugpy";
constexpr uint64_t kVersionMask = 0xFFFF0000;
constexpr uint64_t kVersion313 = 0x030D0000;  // PY_VERSION_HEX
// A pointer to UTF-8 and its length follow the header of an ASCII text.
constexpr uint64_t kWideHeaderBeyondAscii = 16;
// The largest structure of the interpreter has some hundred KiB.
constexpr uint64_t kMaxOffset = 1 << 20;

uint64_t NumberAt(const std::array<char, kDebugBytes>& bytes, uint64_t at) {
  uint64_t number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

absl::StatusOr<PythonLayout> ReadDebugOffsets(RemoteMemory& memory, uint64_t runtime) {
  std::array<char, kDebugBytes> bytes;
  if (!memory.Read(runtime, bytes.data(), bytes.size()) ||
      std::memcmp(bytes.data(), kDebugCookie, sizeof kDebugCookie - 1) != 0 ||
      (NumberAt(bytes, kDebugVersion) & kVersionMask) != kVersion313) {
    return absl::InvalidArgumentError("the interpreter does not say where its fields are");
  }
  if (NumberAt(bytes, kDebugFreeThreaded) != 0) {
    return absl::UnimplementedError("Python without a global lock cannot be read");
  }
  PythonLayout layout = {.minor = 13, .cframe_top = kNoField};
  for (const DebugField& row : kDebugFields) {
    layout.*row.field = NumberAt(bytes, row.at);
    if (layout.*row.field > kMaxOffset) return absl::InvalidArgumentError("offsets of the interpreter make no sense");
  }
  layout.wide_header = layout.ascii_header + kWideHeaderBeyondAscii;
  return layout;
}

}  // namespace

absl::StatusOr<PythonLayout> FindPythonLayout(RemoteMemory& memory, int minor, uint64_t runtime) {
  if (minor == 13) return ReadDebugOffsets(memory, runtime);
  for (const PythonLayout& layout : kLayouts) {
    if (layout.minor == minor) return layout;
  }
  return absl::UnimplementedError(
      absl::StrCat("Python 3.", minor, " cannot be read: 3.", kOldestPython, " to 3.", kNewestPython, " can"));
}

}  // namespace lockstep
