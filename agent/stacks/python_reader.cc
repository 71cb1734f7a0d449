#include "agent/stacks/python_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/printable_text.h"
#include "agent/stacks/elf_symbol.h"
#include "agent/stacks/mapped_python.h"

namespace lockstep {
namespace {

constexpr uint64_t kMaxLength = 1 << 20;
constexpr uint64_t kMaxLine = 10'000'000;

}  // namespace

absl::StatusOr<PythonReader> PythonReader::Find(RemoteMemory& memory, absl::string_view maps) {
  absl::Status why = absl::NotFoundError("no interpreter of Python 3 is mapped");
  for (const MappedPython& file : FindMappedPython(maps)) {
    const absl::StatusOr<uint64_t> runtime = FindElfSymbol(memory, file.base, "_PyRuntime");
    if (!runtime.ok()) {
      why = runtime.status();
      continue;
    }
    const absl::StatusOr<PythonLayout> layout = FindPythonLayout(memory, file.minor, *runtime);
    if (!layout.ok()) return layout.status();
    return PythonReader(memory, *layout, *runtime);
  }
  return why;
}

uint64_t PythonReader::Word(uint64_t address) {
  if (++reads_ > kMaxReads) return 0;
  return memory_->Get<uint64_t>(address).value_or(0);
}

PythonSample PythonReader::Sample() {
  PythonSample sample;
  std::set<uint64_t> seen;  // a circle of threads ends where it closes
  reads_ = 0;
  described_.clear();
  uint64_t interpreter = Word(runtime_ + layout_.first_interpreter);
  for (int i = 0; i < kMaxInterpreters && interpreter != 0; ++i) {
    uint64_t thread = Word(interpreter + layout_.first_thread);
    for (; thread != 0 && seen.insert(thread).second; thread = Word(thread + layout_.next_thread)) {
      if (seen.size() > kMaxThreads) {
        ++sample.left_out;
        break;
      }
      ReadThread(thread, sample);
    }
    interpreter = Word(interpreter + layout_.next_interpreter);
  }
  return sample;
}

void PythonReader::ReadThread(uint64_t thread, PythonSample& sample) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    PythonStack stack;
    const Walk walk = ReadFrames(thread, stack);
    if (walk == Walk::kDone) {
      stack.tid = TidOf(thread);
      if (!stack.frames.empty()) sample.stacks.push_back(std::move(stack));
      return;
    }
    if (reads_ > kMaxReads) {
      ++sample.left_out;
      return;
    }
    if (walk == Walk::kTorn) ++sample.torn;
  }
  ++sample.lost;
}

int32_t PythonReader::TidOf(uint64_t thread) {
  if (layout_.native_id != kNoField) return static_cast<int32_t>(Word(thread + layout_.native_id));
  const uint64_t handle = Word(thread + layout_.thread_handle);
  return handle == 0 ? 0 : static_cast<int32_t>(Word(handle + kTidOfPthread) & 0xFFFFFFFF);
}

uint64_t PythonReader::TopFrame(uint64_t thread) {
  const uint64_t top = Word(thread + layout_.top_frame);
  return layout_.cframe_top == kNoField || top == 0 ? top : Word(top + layout_.cframe_top);
}

PythonReader::Walk PythonReader::ReadFrames(uint64_t thread, PythonStack& stack) {
  const uint64_t top = TopFrame(thread);
  bool broken = false;
  uint64_t frame = top;
  for (; frame != 0 && stack.frames.size() < kMaxDepth && !broken; frame = Word(frame + layout_.previous_frame)) {
    const uint64_t owner = layout_.frame_owner == kNoField ? 0 : Word(frame + layout_.frame_owner) & 0xFF;
    if (owner == kFrameOfC) continue;
    const std::string& name = Describe(Word(frame + layout_.frame_code));
    broken = name.empty();
    stack.frames.push_back(name);
  }
  stack.cut = frame != 0;
  std::reverse(stack.frames.begin(), stack.frames.end());
  if (reads_ > kMaxReads) return Walk::kBroken;
  if (TopFrame(thread) != top) return Walk::kTorn;
  return broken ? Walk::kBroken : Walk::kDone;
}

const std::string& PythonReader::Describe(uint64_t code) {
  const auto [place, is_new] = described_.try_emplace(code);
  if (is_new) place->second = ReadCode(code);
  return place->second;
}

std::string PythonReader::ReadCode(uint64_t code) {
  if (code == 0) return "";
  std::string name = Text(Word(code + layout_.code_name));
  if (name.empty()) return "";
  std::string file = Text(Word(code + layout_.code_file));
  file.erase(0, file.rfind('/') + 1);  // npos + 1 is 0
  const uint64_t line = Word(code + layout_.code_first_line) & 0xFFFFFFFF;
  // The separator of folded stacks.
  for (std::string* const text : {&name, &file}) std::replace(text->begin(), text->end(), ';', ':');
  return absl::StrCat(name, " (", file, ":", line <= kMaxLine ? line : 0, ")");
}

std::string PythonReader::Text(uint64_t text) {
  const uint64_t length = text == 0 ? 0 : Word(text + layout_.text_length);
  const uint64_t state = text == 0 ? 0 : Word(text + layout_.text_state);
  const uint64_t kind = state >> 2 & 7;  // bytes of a character
  if (length == 0 || length > kMaxLength || (state & kCompactText) == 0 || (kind != 1 && kind != 2 && kind != 4))
    return "";
  const uint64_t taken = std::min<uint64_t>(length, kMaxTextBytes);
  const uint64_t begin = text + ((state & kAsciiText) != 0 ? layout_.ascii_header : layout_.wide_header);
  std::string characters(taken * kind, '\0');
  if (++reads_ > kMaxReads || !memory_->Read(begin + (length - taken) * kind, characters.data(), characters.size())) {
    return "";
  }
  std::string narrow;
  for (uint64_t i = 0; i < taken; ++i) {
    const char low = characters[i * kind];  // little-endian
    const bool is_narrow =
        std::all_of(characters.begin() + static_cast<ptrdiff_t>(i * kind + 1),
                    characters.begin() + static_cast<ptrdiff_t>((i + 1) * kind), [](char c) { return c == '\0'; });
    narrow.push_back(is_narrow ? low : '?');
  }
  return PrintableText(narrow, kMaxTextBytes);
}

}  // namespace lockstep
