// How to get from a function to its caller: the call frame information that compilers write for exceptions.
//
// What is read is the section .eh_frame by its index .eh_frame_hdr, as System V ABI for x86-64 (section 4.2.4), the
// Linux Standard Base (10.6) and DWARF 4 (6.4) have it. Rules that are an expression of DWARF are kUnknown: of code of
// compilers, only entries of the procedure linkage table and signal handlers need them.

#ifndef LOCKSTEP_AGENT_STACKS_FRAME_RULES_H_
#define LOCKSTEP_AGENT_STACKS_FRAME_RULES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/optional.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// Numbers of registers as DWARF has them for x86-64; 16 is the return address.
inline constexpr size_t kFrameRegisters = 17;
inline constexpr size_t kStackPointer = 7;
inline constexpr size_t kReturnAddress = 16;

// Where the caller's value of a register is. The canonical frame address (CFA) is the caller's stack pointer.
struct FrameRule {
  enum class Kind : uint8_t {
    kSame,        // in the register
    kUndefined,   // nowhere; of the return address: nobody called this function
    kAtOffset,    // in memory, at the CFA + `value`
    kIsOffset,    // it is the CFA + `value`
    kInRegister,  // in register `value`
    kUnknown,     // where an expression says
  };
  Kind kind = Kind::kSame;
  int64_t value = 0;
};

// Plain value; thread-compatible.
struct FrameRules {
  static constexpr size_t kNoRegister = kFrameRegisters;

  uint64_t function_begin = 0;
  size_t cfa_register = kNoRegister;  // the CFA is this register + `cfa_offset`; kNoRegister = an expression says
  int64_t cfa_offset = 0;
  std::array<FrameRule, kFrameRegisters> registers;
};

// The rules at `pc` by the index at `frame_index`; none = nothing is known of that function, or what is there is broken
// or of an unusual form. An entry has at most kMaxFrameInfoBytes; those of compilers have hundreds. Pure, but for the
// reading.
inline constexpr uint64_t kMaxFrameInfoBytes = 4'096;
absl::optional<FrameRules> FindFrameRules(RemoteMemory& memory, uint64_t frame_index, uint64_t pc);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_FRAME_RULES_H_
