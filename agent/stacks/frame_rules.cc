#include "agent/stacks/frame_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/stacks/frame_bytes.h"

namespace lockstep {
namespace {

constexpr uint8_t kIndexVersion = 1;
// The one form in which linkers write the index: pairs of 32-bit distances from it, by rising address.
constexpr uint8_t kIndexTable = 0x3B;
constexpr uint8_t kIndexCount = 0x03;
constexpr uint64_t kMaxFunctions = 1 << 24;
constexpr size_t kMaxRemembered = 16;

// Opcodes of DWARF 4, 7.23; the two high bits of the first three hold the opcode, the low ones a number.
enum Opcode : uint8_t {
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xC0,
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRemember = 0x0A,
  kRestoreState = 0x0B,
  kDefineCfa = 0x0C,
  kDefineCfaRegister = 0x0D,
  kDefineCfaOffset = 0x0E,
  kDefineCfaExpression = 0x0F,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kDefineCfaSigned = 0x12,
  kDefineCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kArgumentsSize = 0x2E,  // of GNU: says nothing of frames
};

// An entry of .eh_frame: the bytes behind its length. Empty = it cannot be read, or is too long.
std::string ReadEntry(RemoteMemory& memory, uint64_t address) {
  const auto length = memory.Get<uint32_t>(address);
  if (!length.has_value() || *length < sizeof(uint32_t) || *length > kMaxFrameInfoBytes) return "";
  std::string bytes(*length, '\0');
  return memory.Read(address + sizeof(uint32_t), bytes.data(), bytes.size()) ? bytes : "";
}

// What functions have in common (common information entry).
struct Common {
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t pointers = kPointerAbsolute;  // how functions write their addresses
  bool has_more = false;                // functions have data of their own
  std::string bytes;
  uint64_t instructions_at = 0;  // index into `bytes`
};

absl::optional<Common> ReadCommon(RemoteMemory& memory, uint64_t address) {
  Common common;
  common.bytes = ReadEntry(memory, address);
  FrameBytes bytes(common.bytes, 0);
  const bool is_common = bytes.Take<uint32_t>() == 0;
  const auto version = bytes.Take<uint8_t>();
  const absl::string_view augmentation = bytes.TakeText();
  common.code_factor = bytes.TakeUnsigned();
  common.data_factor = bytes.TakeSigned();
  const uint64_t return_register = version == 1 ? bytes.Take<uint8_t>() : bytes.TakeUnsigned();
  if (!is_common || (version != 1 && version != 3) || return_register != kReturnAddress) return absl::nullopt;
  uint64_t instructions_at = bytes.address();
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return absl::nullopt;
    common.has_more = true;
    const uint64_t more = bytes.TakeUnsigned();
    instructions_at = bytes.address() + more;
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') common.pointers = bytes.Take<uint8_t>();
      if (letter == 'L') bytes.Skip(1);
      if (letter == 'P') {
        const auto encoding = bytes.Take<uint8_t>();
        // Where the handler of exceptions is does not matter: it may be written relative to anything.
        bytes.TakePointer(encoding & kPointerFormat, false);
      }
    }
  }
  if (!bytes.ok() || instructions_at > common.bytes.size()) return absl::nullopt;
  common.instructions_at = instructions_at;
  return common;
}

// Executes instructions up to an address.
class Machine {
 public:
  Machine(const Common& common, uint64_t begin) : common_(common), at_(begin) { rules_.function_begin = begin; }

  // False = broken, or an instruction that compilers do not write.
  bool Run(FrameBytes bytes, uint64_t pc) {
    while (!bytes.empty()) {
      const auto byte = bytes.Take<uint8_t>();
      const uint8_t high = byte & 0xC0;
      const uint8_t opcode = high != 0 ? high : byte;
      if (IsAdvance(opcode)) {
        at_ += Distance(opcode, byte, bytes);
        if (at_ > pc) return bytes.ok();
      } else if (!Execute(opcode, byte & 0x3F, bytes)) {
        return false;
      }
    }
    return bytes.ok();
  }

  // What instructions of the function restore.
  void KeepInitial() { initial_ = rules_.registers; }

  const FrameRules& rules() const { return rules_; }

 private:
  using Kind = FrameRule::Kind;

  static bool IsAdvance(uint8_t opcode) {
    return opcode == kAdvance || opcode == kAdvance1 || opcode == kAdvance2 || opcode == kAdvance4;
  }

  uint64_t Distance(uint8_t opcode, uint8_t byte, FrameBytes& bytes) const {
    const uint64_t units = opcode == kAdvance    ? byte & 0x3F
                           : opcode == kAdvance1 ? bytes.Take<uint8_t>()
                           : opcode == kAdvance2 ? bytes.Take<uint16_t>()
                                                 : bytes.Take<uint32_t>();
    return units * common_.code_factor;
  }

  int64_t Factored(uint64_t units) const { return Factored(static_cast<int64_t>(units)); }
  int64_t Factored(int64_t units) const {
    return static_cast<int64_t>(static_cast<uint64_t>(units) * static_cast<uint64_t>(common_.data_factor));
  }

  // Registers of vectors and the like are of no use here.
  void Set(uint64_t number, Kind kind, int64_t value = 0) {
    if (number < kFrameRegisters) rules_.registers[number] = {kind, value};
  }

  void SetCfa(uint64_t number, int64_t offset) {
    rules_.cfa_register = number < kFrameRegisters ? static_cast<size_t>(number) : FrameRules::kNoRegister;
    rules_.cfa_offset = offset;
  }

  void Restore(uint64_t number) {
    if (number < kFrameRegisters) rules_.registers[number] = initial_[number];
  }

  bool Execute(uint8_t opcode, uint8_t low, FrameBytes& bytes) {
    switch (opcode) {
      case kNop:
        return true;
      case kOffset:
        Set(low, Kind::kAtOffset, Factored(bytes.TakeUnsigned()));
        return true;
      case kRestore:
        Restore(low);
        return true;
      case kRestoreExtended:
        Restore(bytes.TakeUnsigned());
        return true;
      case kArgumentsSize:
        bytes.TakeUnsigned();
        return true;
      case kRemember:
        if (remembered_.size() == kMaxRemembered) return false;
        remembered_.push_back(rules_);
        return true;
      case kRestoreState:
        if (remembered_.empty()) return false;
        rules_ = remembered_.back();
        remembered_.pop_back();
        return true;
      case kDefineCfa:
      case kDefineCfaSigned:
      case kDefineCfaRegister:
      case kDefineCfaOffset:
      case kDefineCfaOffsetSigned:
      case kDefineCfaExpression:
        DefineCfa(opcode, bytes);
        return true;
      default:
        return SetRegister(opcode, bytes);
    }
  }

  void DefineCfa(uint8_t opcode, FrameBytes& bytes) {
    const bool names = opcode == kDefineCfa || opcode == kDefineCfaSigned || opcode == kDefineCfaRegister;
    const uint64_t number = names ? bytes.TakeUnsigned() : rules_.cfa_register;
    if (opcode == kDefineCfaExpression) {
      bytes.Skip(bytes.TakeUnsigned());
      rules_.cfa_register = FrameRules::kNoRegister;
    } else if (opcode == kDefineCfaRegister) {
      SetCfa(number, rules_.cfa_offset);
    } else if (opcode == kDefineCfaSigned || opcode == kDefineCfaOffsetSigned) {
      SetCfa(number, Factored(bytes.TakeSigned()));
    } else {
      SetCfa(number, static_cast<int64_t>(bytes.TakeUnsigned()));
    }
  }

  bool SetRegister(uint8_t opcode, FrameBytes& bytes) {
    if (opcode < kOffsetExtended || opcode > kValueExpression) return false;
    const uint64_t number = bytes.TakeUnsigned();
    switch (opcode) {
      case kOffsetExtended:
        Set(number, Kind::kAtOffset, Factored(bytes.TakeUnsigned()));
        return true;
      case kOffsetExtendedSigned:
        Set(number, Kind::kAtOffset, Factored(bytes.TakeSigned()));
        return true;
      case kValueOffset:
        Set(number, Kind::kIsOffset, Factored(bytes.TakeUnsigned()));
        return true;
      case kValueOffsetSigned:
        Set(number, Kind::kIsOffset, Factored(bytes.TakeSigned()));
        return true;
      case kUndefined:
        Set(number, Kind::kUndefined);
        return true;
      case kSameValue:
        Set(number, Kind::kSame);
        return true;
      case kRegister:
        Set(number, Kind::kInRegister, static_cast<int64_t>(bytes.TakeUnsigned()));
        return true;
      case kExpression:
      case kValueExpression:
        bytes.Skip(bytes.TakeUnsigned());
        Set(number, Kind::kUnknown);
        return true;
      default:
        return false;
    }
  }

  const Common& common_;
  uint64_t at_;
  FrameRules rules_;
  std::array<FrameRule, kFrameRegisters> initial_;
  std::vector<FrameRules> remembered_;
};

// The entry of the function that may hold the address: of the last one that begins before it. 0 = there is none.
uint64_t FindEntry(RemoteMemory& memory, uint64_t index, uint64_t pc) {
  char bytes[16] = {};
  if (!memory.Read(index, bytes, sizeof bytes)) return 0;
  FrameBytes header(absl::string_view(bytes, sizeof bytes), index);
  const auto version = header.Take<uint8_t>();
  const auto where = header.Take<uint8_t>();
  const auto count = header.Take<uint8_t>();
  const auto table = header.Take<uint8_t>();
  if (version != kIndexVersion || count != kIndexCount || table != kIndexTable) return 0;
  header.TakePointer(where, false);
  const uint64_t functions = header.Take<uint32_t>();
  if (!header.ok() || functions == 0 || functions > kMaxFunctions) return 0;
  struct Row {
    int32_t begin;
    int32_t entry;
  };
  const uint64_t rows = header.address();
  uint64_t low = 0, high = functions;  // the first row behind the address lies in (low, high]
  const auto row_at = [&](uint64_t number) { return memory.Get<Row>(rows + number * sizeof(Row)); };
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    const auto row = row_at(middle);
    if (!row.has_value()) return 0;
    (index + static_cast<uint64_t>(int64_t{row->begin}) <= pc ? low : high) = middle;
  }
  const auto row = row_at(low);
  return row.has_value() ? index + static_cast<uint64_t>(int64_t{row->entry}) : 0;
}

}  // namespace

absl::optional<FrameRules> FindFrameRules(RemoteMemory& memory, uint64_t frame_index, uint64_t pc) {
  const uint64_t entry = frame_index == 0 ? 0 : FindEntry(memory, frame_index, pc);
  if (entry == 0) return absl::nullopt;
  const std::string own = ReadEntry(memory, entry);
  const uint64_t own_at = entry + sizeof(uint32_t);
  FrameBytes bytes(own, own_at);
  const auto back = bytes.Take<uint32_t>();
  if (!bytes.ok() || back == 0) return absl::nullopt;
  const absl::optional<Common> common = ReadCommon(memory, own_at - back);
  if (!common.has_value()) return absl::nullopt;
  const uint64_t begin = bytes.TakePointer(common->pointers);
  const uint64_t length = bytes.TakePointer(common->pointers & kPointerFormat);
  if (common->has_more) bytes.Skip(bytes.TakeUnsigned());
  if (!bytes.ok() || pc < begin || pc - begin >= length) return absl::nullopt;
  Machine machine(*common, begin);
  FrameBytes of_all(absl::string_view(common->bytes).substr(common->instructions_at), 0);
  if (!machine.Run(of_all, UINT64_MAX)) return absl::nullopt;
  machine.KeepInitial();
  if (!machine.Run(bytes, pc)) return absl::nullopt;
  return machine.rules();
}

}  // namespace lockstep
