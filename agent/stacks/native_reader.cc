#include "agent/stacks/native_reader.h"

#include <algorithm>
#include <utility>

#include "agent/stacks/call_site.h"

namespace lockstep {
namespace {

constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kFramePointer = 6;  // rbp

using Kind = FrameRule::Kind;

}  // namespace

NativeReader::NativeReader(RemoteMemory& memory, absl::string_view maps, std::function<bool()> is_over)
    : budget_(kMaxWork, std::move(is_over)),
      memory_(memory, budget_),
      code_memory_(memory_, kMaxCodePages, budget_),
      stack_memory_(memory_, kMaxStackPages, budget_),
      code_(FindMappedCode(maps)),
      data_(FindMappedData(maps)),
      names_(memory_, code_memory_, budget_) {}

size_t NativeReader::bytes_kept() const {
  return code_memory_.bytes_kept() + stack_memory_.bytes_kept() + names_.bytes_kept() +
         places_.capacity() * sizeof(decltype(places_)::value_type);
}

const ElfTables& NativeReader::TablesOf(const MappedCode& code) {
  const auto known = tables_.find(code.base);
  if (known != tables_.end()) return known->second;
  ElfTables tables;
  if (code.base != 0) tables = ReadElfTables(code_memory_, code.base).value_or(ElfTables{});
  if (budget_.spent()) return no_tables_;
  return tables_[code.base] = tables;
}

// A return address may lie behind the end of its function, which ends with the call.
const NativeReader::Place& NativeReader::PlaceOf(uint64_t pc, bool innermost) {
  const uint64_t address = innermost ? pc : pc - 1;
  if (const auto known = places_.find(address); known != places_.end()) return known->second;
  Place place = {.code = CodeAt(code_, address)};
  if (place.code != nullptr) place.rules = FindFrameRules(code_memory_, TablesOf(*place.code).frame_index, address);
  if (budget_.spent()) {
    unkept_ = std::move(place);
    return unkept_;
  }
  if (places_.size() >= kMaxPlaces) places_.clear();
  return places_[address] = std::move(place);
}

absl::optional<NativeReader::Registers> NativeReader::CallerOf(const Registers& registers, const FrameRules& rules,
                                                               uint64_t cfa) {
  Registers caller;
  for (size_t number = 0; number < kFrameRegisters; ++number) {
    const FrameRule& rule = rules.registers[number];
    const auto offset = static_cast<uint64_t>(rule.value);
    if (rule.kind == Kind::kAtOffset) {
      if (const auto value = stack_memory_.Get<uint64_t>(cfa + offset)) caller.Set(number, *value);
    } else if (rule.kind == Kind::kIsOffset) {
      caller.Set(number, cfa + offset);
    } else if (rule.kind == Kind::kSame || rule.kind == Kind::kInRegister) {
      const size_t from =
          rule.kind == Kind::kSame ? number : static_cast<size_t>(std::min(offset, kFrameRegisters - 1));
      if (number != kReturnAddress && registers.Has(from)) caller.Set(number, registers.values[from]);
    }
  }
  caller.Set(kStackPointer, cfa);
  if (!caller.Has(kReturnAddress)) return absl::nullopt;
  return caller;
}

void NativeReader::Climb(Registers registers, int searches_left, bool strict, Way& way) {
  while (++steps_ <= kMaxSteps && budget_.Take(1)) {
    const uint64_t pc = registers.values[kReturnAddress];
    const Place place = PlaceOf(pc, way.places.empty());
    if (place.code == nullptr) return;
    if (way.places.size() == kMaxDepth) {
      way.deep = true;
      return;
    }
    way.places.push_back(pc);
    const FrameRules* const rules = place.rules.has_value() ? &*place.rules : nullptr;
    if (rules != nullptr && rules->registers[kReturnAddress].kind == Kind::kUndefined) {
      way.whole = true;
      return;
    }
    if (rules == nullptr || rules->cfa_register == FrameRules::kNoRegister || !registers.Has(rules->cfa_register)) {
      if (searches_left > 0) Search(registers, place, searches_left - 1, strict, way);
      return;
    }
    const uint64_t cfa = registers.values[rules->cfa_register] + static_cast<uint64_t>(rules->cfa_offset);
    // Stacks grow downward: a caller's frame lies above.
    if (cfa <= registers.values[kStackPointer]) return;
    const absl::optional<Registers> caller = CallerOf(registers, *rules, cfa);
    if (!caller.has_value()) return;
    // Behind a search what was found has to prove itself.
    if (strict && searches_left < kMaxSearches && !MayCall(caller->values[kReturnAddress], place, strict)) return;
    registers = *caller;
  }
}

// By what is known; entries of the procedure linkage table are told by an expression.
bool NativeReader::IsFunction(uint64_t address) {
  const Place place = PlaceOf(address, true);
  return place.rules.has_value() && place.rules->function_begin == address &&
         place.rules->cfa_register != FrameRules::kNoRegister;
}

// Code that jumps to a function instead of calling it hides whom that was called by: then only `strict` says no.
bool NativeReader::MayCall(uint64_t return_address, const Place& callee, bool strict) {
  if (CodeAt(code_, return_address - 1) == nullptr) return false;
  const absl::optional<CallSite> call = CallBefore(code_memory_, return_address);
  if (!call.has_value()) return false;
  if (!strict || call->target == 0 || !callee.rules.has_value()) return true;
  return call->target == callee.rules->function_begin || !IsFunction(call->target);
}

// Frame pointers of callers lie above, on the same stack.
bool NativeReader::KeepsFramePointer(const FrameRules& rules, const Registers& caller) const {
  if (rules.cfa_register != kFramePointer) return true;
  const uint64_t stack_pointer = caller.values[kStackPointer], pointer = caller.values[kFramePointer];
  return caller.Has(kFramePointer) && pointer >= stack_pointer && pointer < EndOfData(data_, stack_pointer);
}

bool NativeReader::Search(const Registers& registers, const Place& place, int searches_left, bool strict, Way& way) {
  const uint64_t from = registers.values[kStackPointer];
  for (uint64_t at = from; at < from + kMaxSearchBytes && steps_ <= kMaxSteps; at += kWord) {
    const auto found = stack_memory_.Get<uint64_t>(at);
    if (!found.has_value()) return false;
    if (!MayCall(*found, place, strict)) continue;
    absl::optional<Registers> caller;
    if (place.rules.has_value()) caller = CallerOf(registers, *place.rules, at + kWord);
    if (!caller.has_value()) caller.emplace();
    caller->Set(kStackPointer, at + kWord);
    caller->Set(kReturnAddress, *found);
    if (strict && place.rules.has_value() && !KeepsFramePointer(*place.rules, *caller)) continue;
    Way onward = {.places = way.places};
    Climb(*caller, searches_left, strict, onward);
    if (!onward.whole && !onward.deep) continue;
    onward.searched += way.searched + 1;
    way = std::move(onward);
    return true;
  }
  return false;
}

NativeStack NativeReader::Read(uint64_t pc, uint64_t stack_pointer) {
  const NativeStack nothing = {.cut = true};
  if (!budget_.spent()) budget_.Ask();
  if (budget_.spent()) return nothing;
  stack_memory_.Clear();
  Registers registers;
  registers.Set(kReturnAddress, pc);
  registers.Set(kStackPointer, stack_pointer);
  Way way;
  for (const bool strict : {true, false}) {
    steps_ = 0;
    Way tried;
    Climb(registers, kMaxSearches, strict, tried);
    if (tried.places.size() >= way.places.size() || tried.whole) way = std::move(tried);
    if (way.whole || way.deep || budget_.spent()) break;
  }
  NativeStack stack = {.places = way.places, .cut = !way.whole, .searched = way.searched};
  for (size_t i = 0; i < way.places.size(); ++i) {
    const Place place = PlaceOf(way.places[i], i == 0);
    const uint64_t address = i == 0 ? way.places[i] : way.places[i] - 1;
    stack.frames.push_back(names_.Describe(*place.code, TablesOf(*place.code), address,
                                           place.rules.has_value() ? place.rules->function_begin : 0));
  }
  if (budget_.spent()) return nothing;
  std::reverse(stack.frames.begin(), stack.frames.end());
  std::reverse(stack.places.begin(), stack.places.end());
  return stack;
}

}  // namespace lockstep
