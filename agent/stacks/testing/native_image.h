// Memory of a process with one file that holds two functions and what tells their frames, made by hand: for tests of
// the reader of functions of C, and seeds of its fuzzer.

#ifndef LOCKSTEP_AGENT_STACKS_TESTING_NATIVE_IMAGE_H_
#define LOCKSTEP_AGENT_STACKS_TESTING_NATIVE_IMAGE_H_

#include <cstdint>

#include "agent/stacks/testing/image_memory.h"

namespace lockstep {

// A thread that waits in `inner`, which `outer` called; `outer` is where it began. Not thread-safe.
struct NativeImage {
  static constexpr uint64_t kBase = 0x1000;   // of the file; its code goes up to kEnd
  static constexpr uint64_t kInner = 0x1200;  // 32 bytes; makes room for 16 bytes after 4 of them, until 12
  static constexpr uint64_t kOuter = 0x1220;  // 32 bytes; calls kInner, and goes on at kReturn
  static constexpr uint64_t kReturn = 0x1230;
  static constexpr uint64_t kEnd = 0x2000;
  static constexpr uint64_t kIndex = 0x1400;  // .eh_frame_hdr
  static constexpr uint64_t kPlace = kInner + 8;
  static constexpr uint64_t kStack = 0x1800;

  // `with_frame_pointer`: `inner` counts its frame from rbp, which the kernel does not tell.
  explicit NativeImage(bool with_frame_pointer = false);

  ImageMemory memory;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_TESTING_NATIVE_IMAGE_H_
