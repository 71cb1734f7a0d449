#include "agent/stacks/testing/python_image.h"

#include <elf.h>

#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/stacks/elf_symbol.h"
#include "base/check.h"

namespace lockstep {

void PutElfFile(ImageMemory& memory, uint64_t base, absl::string_view symbol, uint64_t address) {
  constexpr uint64_t kDynamic = 0x100, kSymbols = 0x200, kStrings = 0x280, kHash = 0x300;
  PutElfHeaders(memory, base, {{PT_LOAD, 0}, {PT_DYNAMIC, kDynamic}});
  const std::pair<int64_t, uint64_t> entries[] = {
      {DT_SYMTAB, kSymbols}, {DT_STRTAB, kStrings}, {DT_GNU_HASH, kHash}, {DT_NULL, 0}};
  uint64_t at = base + kDynamic;
  for (const auto& [tag, place] : entries) {
    Elf64_Dyn entry = {};
    entry.d_tag = tag;
    entry.d_un.d_ptr = place;
    memory.Put(at, entry);
    at += sizeof entry;
  }
  // Symbol 0 has no name; the strings begin with the empty one.
  Elf64_Sym exported = {};
  exported.st_name = 1;
  exported.st_value = address - base;
  memory.Put(base + kSymbols + sizeof exported, exported);
  memory.Write(base + kStrings + 1, symbol);
  // One bucket, whose chain begins and ends with symbol 1, and no words of the filter.
  const uint32_t hash[] = {1, 1, 0, 0, 1, GnuHash(symbol) | 1};
  for (size_t i = 0; i < std::size(hash); ++i) memory.Put(base + kHash + i * sizeof hash[0], hash[i]);
}

PythonImage::PythonImage(int minor, const PythonPlaces& places) : places_(places), next_(places.first) {
  if (minor == 13) PutDebugOffsets();
  const absl::StatusOr<PythonLayout> layout = FindPythonLayout(memory, minor, places_.runtime);
  CHECK(layout.ok());
  layout_ = *layout;
  memory.Put(places_.runtime + layout_.first_interpreter, places_.interpreter);
  memory.Put(places_.interpreter + layout_.next_interpreter, uint64_t{0});
}

uint64_t PythonImage::Take() {
  next_ += places_.step;
  memory.Put(next_, uint64_t{0});
  return next_;
}

uint64_t PythonImage::Text(absl::string_view text) {
  const uint64_t at = Take();
  memory.Put(at + layout_.text_length, uint64_t{text.size()});
  memory.Put(at + layout_.text_state, uint32_t{1 << 2 | kCompactText | kAsciiText});
  memory.Write(at + layout_.ascii_header, text);
  return at;
}

uint64_t PythonImage::WideText(const std::u16string& text) {
  const uint64_t at = Take();
  memory.Put(at + layout_.text_length, uint64_t{text.size()});
  memory.Put(at + layout_.text_state, uint32_t{2 << 2 | kCompactText});
  for (size_t i = 0; i < text.size(); ++i) memory.Put(at + layout_.wide_header + 2 * i, text[i]);
  return at;
}

uint64_t PythonImage::Code(uint64_t name, absl::string_view file, int32_t line) {
  const uint64_t at = Take();
  memory.Put(at + layout_.code_name, name);
  memory.Put(at + layout_.code_file, Text(file));
  memory.Put(at + layout_.code_first_line, line);
  return at;
}

uint64_t PythonImage::Frame(uint64_t previous, uint64_t code, uint8_t owner) {
  const uint64_t at = Take();
  memory.Put(at + layout_.previous_frame, previous);
  memory.Put(at + layout_.frame_code, code);
  if (layout_.frame_owner != kNoField) memory.Put(at + layout_.frame_owner, owner);
  return at;
}

uint64_t PythonImage::Thread(int32_t tid, uint64_t top_frame) {
  const uint64_t at = Take();
  if (layout_.native_id != kNoField) {
    memory.Put(at + layout_.native_id, static_cast<uint64_t>(tid));
  } else {
    const uint64_t handle = Take();
    memory.Put(handle + kTidOfPthread, tid);
    memory.Put(at + layout_.thread_handle, handle);
  }
  SetTop(at, top_frame);
  memory.Put(at + layout_.next_thread, first_thread_);
  first_thread_ = at;
  memory.Put(places_.interpreter + layout_.first_thread, first_thread_);
  return at;
}

void PythonImage::SetTop(uint64_t thread, uint64_t frame) {
  if (layout_.cframe_top == kNoField) return memory.Put(thread + layout_.top_frame, frame);
  const uint64_t cframe = Take();
  memory.Put(cframe + layout_.cframe_top, frame);
  memory.Put(thread + layout_.top_frame, cframe);
}

// As 3.13.0 has them; the interpreter and its threads lie elsewhere than there.
void PythonImage::PutDebugOffsets() {
  memory.Write(places_.runtime, "xdebugpy");
  const std::pair<uint64_t, uint64_t> numbers[] = {
      {8, 0x030D00F0}, {40, 632}, {64, 7264}, {72, 7344}, {168, 8},   {184, 72}, {192, 152}, {200, 160}, {232, 8},
      {240, 0},        {264, 70}, {280, 112}, {288, 120}, {296, 128}, {312, 68}, {544, 32},  {552, 16},  {560, 40},
  };
  for (const auto& [at, number] : numbers) memory.Put(places_.runtime + at, number);
}

}  // namespace lockstep
