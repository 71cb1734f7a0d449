// A dump of stacks as folded stacks, the common form of profilers: one line per stack, frames from the outside in with
// ';' between them, and how often it was seen. Pure.

#ifndef LOCKSTEP_PROTO_FOLDED_STACKS_H_
#define LOCKSTEP_PROTO_FOLDED_STACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/stacks.pb.h"

namespace lockstep {

// Plain value; thread-compatible.
struct FoldedLine {
  std::vector<std::string> frames;  // outermost first: the rank, the thread, then its functions
  uint64_t count = 0;               // samples
};

// The functions of Python of each thread that is in any, with those of C that they called and the kernel's behind them
// where these were always the same; of the other threads those of C, or the kernel's alone. An index that leads
// nowhere is "?".
std::vector<FoldedLine> FoldStacks(const wire::StackDump& dump);

// Of functions of C those that the innermost function of Python called: what stands behind the interpreter.
wire::FoldedStack BehindPython(const wire::StackDump& dump, const wire::FoldedStack& native);

// "rank 3;python3 4711 (main);step (train.py:40) 10". Frames hold neither ';' nor a line's end.
std::string ToText(const FoldedLine& line);

}  // namespace lockstep

#endif  // LOCKSTEP_PROTO_FOLDED_STACKS_H_
