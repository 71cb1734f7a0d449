#include "proto/folded_stacks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

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

}  // namespace

std::vector<FoldedLine> FoldStacks(const wire::StackDump& dump) {
  std::vector<FoldedLine> lines;
  for (const wire::ThreadStacks& thread : dump.threads()) {
    const std::vector<std::string> head = {
        absl::StrCat("rank ", dump.rank()),
        Frame(absl::StrCat(thread.name(), " ", thread.tid(), thread.main() ? " (main)" : ""))};
    for (const wire::FoldedStack& stack : thread.python().empty() ? thread.kernel() : thread.python()) {
      FoldedLine& line = lines.emplace_back(FoldedLine{head, stack.count()});
      AppendFrames(dump, stack, line.frames);
      if (!thread.python().empty() && thread.kernel_size() == 1) AppendFrames(dump, thread.kernel(0), line.frames);
    }
  }
  return lines;
}

std::string ToText(const FoldedLine& line) { return absl::StrCat(absl::StrJoin(line.frames, ";"), " ", line.count); }

}  // namespace lockstep
