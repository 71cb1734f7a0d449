#include "proto/folded_stacks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

// The function of CPython that runs the code of a function (3.6 to 3.13).
constexpr char kEvaluatesPython[] = "_PyEval_EvalFrameDefault";

// What separates frames and lines, from whomever it comes, becomes a '_'.
std::string Frame(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c == ';' || c < ' ' || c == 0x7f; }, '_');
  return text;
}

void AppendFrames(const wire::StackDump& dump, const wire::FoldedStack& stack, std::vector<std::string>& frames) {
  if (stack.cut()) frames.push_back("(deeper)");
  for (const uint32_t index : stack.frames()) {
    frames.push_back(index < static_cast<uint32_t>(dump.names_size()) ? Frame(dump.names(static_cast<int>(index)))
                                                                      : "?");
  }
}

bool IsInterpreter(const wire::StackDump& dump, uint32_t index) {
  return index < static_cast<uint32_t>(dump.names_size()) &&
         dump.names(static_cast<int>(index)).rfind(kEvaluatesPython, 0) == 0;
}

}  // namespace

wire::FoldedStack BehindPython(const wire::StackDump& dump, const wire::FoldedStack& native) {
  wire::FoldedStack behind;
  behind.set_count(native.count());
  int first = 0;
  for (int i = 0; i < native.frames_size(); ++i) {
    if (IsInterpreter(dump, native.frames(i))) first = i + 1;
  }
  behind.set_cut(first == 0 && native.cut());
  for (int i = first; i < native.frames_size(); ++i) behind.add_frames(native.frames(i));
  return behind;
}

std::vector<FoldedLine> FoldStacks(const wire::StackDump& dump) {
  std::vector<FoldedLine> lines;
  for (const wire::ThreadStacks& thread : dump.threads()) {
    const std::vector<std::string> head = {
        absl::StrCat("rank ", dump.rank()),
        Frame(absl::StrCat(thread.name(), " ", thread.tid(), thread.main() ? " (main)" : ""))};
    const bool has_python = !thread.python().empty(), has_native = !thread.native().empty();
    for (const wire::FoldedStack& stack : has_python   ? thread.python()
                                          : has_native ? thread.native()
                                                       : thread.kernel()) {
      FoldedLine& line = lines.emplace_back(FoldedLine{head, stack.count()});
      AppendFrames(dump, stack, line.frames);
      if (has_python && thread.native_size() == 1) {
        AppendFrames(dump, BehindPython(dump, thread.native(0)), line.frames);
      }
      if ((has_python || has_native) && thread.kernel_size() == 1) AppendFrames(dump, thread.kernel(0), line.frames);
    }
  }
  return lines;
}

std::string ToText(const FoldedLine& line) { return absl::StrCat(absl::StrJoin(line.frames, ";"), " ", line.count); }

}  // namespace lockstep
