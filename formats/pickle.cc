#include "formats/pickle.h"

#include <string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr uint32_t kMark = std::numeric_limits<uint32_t>::max();
constexpr size_t kMaxStack = size_t{8} << 20;
constexpr size_t kMaxMemo = size_t{8} << 20;

struct RefusedOpcode {
  unsigned char code;
  const char* name;
};

// Those that reach for code or for objects outside, by the names of Python's pickletools.
constexpr RefusedOpcode kRefused[] = {
    {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},        {'i', "INST"},
    {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {'P', "PERSID"},       {'Q', "BINPERSID"},
    {0x82, "EXT1"},  {0x83, "EXT2"},         {0x84, "EXT4"},      {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
};

const char* RefusedName(unsigned char code) {
  const auto* found = std::find_if(std::begin(kRefused), std::end(kRefused),
                                   [code](const RefusedOpcode& refused) { return refused.code == code; });
  return found != std::end(kRefused) ? found->name : nullptr;
}

class PickleMachine {
 public:
  explicit PickleMachine(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<PlainDocument> Run() {
    while (!stopped_) {
      opcode_at_ = at_;
      ASSIGN_OR_RETURN(const uint64_t opcode, Take(1));
      RETURN_IF_ERROR(Step(static_cast<unsigned char>(opcode)));
    }
    return std::move(document_);
  }

 private:
  using Kind = PlainNode::Kind;

  absl::Status Error(absl::string_view expected, absl::string_view found) const {
    return absl::InvalidArgumentError(absl::StrCat("byte ", opcode_at_, ": expected ", expected, ", found ", found));
  }

  absl::StatusOr<absl::string_view> TakeBytes(uint64_t count) {
    if (count > bytes_.size() - at_) {
      return absl::InvalidArgumentError(
          absl::StrCat("byte ", at_, ": expected ", count, " more bytes, found the end of the data"));
    }
    const absl::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  // Little-endian.
  absl::StatusOr<uint64_t> Take(size_t count) {
    ASSIGN_OR_RETURN(const absl::string_view raw, TakeBytes(count));
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = (value << 8) | static_cast<unsigned char>(raw[i]);
    return value;
  }

  absl::Status Push(PlainNode node) {
    uint32_t number = 0;
    if (stack_.size() == kMaxStack || !document_.Add(std::move(node), number)) {
      return Error("a smaller document", "more values than are read");
    }
    stack_.push_back(number);
    return absl::OkStatus();
  }

  absl::Status PushInteger(int64_t value, Kind kind = Kind::kInteger) {
    PlainNode node;
    node.kind = kind;
    node.integer = value;
    return Push(std::move(node));
  }

  absl::Status PushEmpty(Kind kind) {
    PlainNode node;
    node.kind = kind;
    return Push(std::move(node));
  }

  absl::Status PushText(size_t length_bytes) {
    ASSIGN_OR_RETURN(const uint64_t length, Take(length_bytes));
    ASSIGN_OR_RETURN(const absl::string_view text, TakeBytes(length));
    PlainNode node;
    node.kind = Kind::kText;
    node.text = std::string(text);
    return Push(std::move(node));
  }

  // Two's complement of any length that fits.
  absl::Status PushLong(size_t length_bytes) {
    ASSIGN_OR_RETURN(const uint64_t length, Take(length_bytes));
    if (length > sizeof(int64_t)) return Error("an integer of at most 64 bits", absl::StrCat(length, " bytes"));
    ASSIGN_OR_RETURN(uint64_t value, Take(length));
    const auto bits = static_cast<int>(8 * length);
    if (bits > 0 && bits < 64 && (value >> (bits - 1)) != 0) value |= ~uint64_t{0} << bits;
    return PushInteger(static_cast<int64_t>(value));
  }

  absl::Status PushReal() {
    ASSIGN_OR_RETURN(const uint64_t swapped, Take(8));
    const uint64_t bits = __builtin_bswap64(swapped);  // the only big-endian number of the format
    PlainNode node;
    node.kind = Kind::kReal;
    memcpy(&node.real, &bits, sizeof(node.real));
    return Push(std::move(node));
  }

  // The `count` topmost values become the items of a new list.
  absl::Status PushTuple(size_t count) {
    PlainNode node;
    node.kind = Kind::kList;
    ASSIGN_OR_RETURN(node.items, Pop(count));
    return Push(std::move(node));
  }

  absl::StatusOr<std::vector<uint32_t>> Pop(size_t count) {
    if (stack_.size() < count) return Error(absl::StrCat(count, " values on the stack"), absl::StrCat(stack_.size()));
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<uint32_t> values(first, stack_.end());
    if (std::find(values.begin(), values.end(), kMark) != values.end()) return Error("values on the stack", "a mark");
    stack_.erase(first, stack_.end());
    return values;
  }

  absl::StatusOr<std::vector<uint32_t>> PopToMark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) return Error("a mark on the stack", "none");
    ASSIGN_OR_RETURN(std::vector<uint32_t> values, Pop(static_cast<size_t>(mark - stack_.rbegin())));
    stack_.pop_back();
    return values;
  }

  // Appends to the container that is now on top.
  absl::Status Extend(Kind kind, const absl::StatusOr<std::vector<uint32_t>>& values) {
    RETURN_IF_ERROR(values.status());
    if (stack_.empty() || stack_.back() == kMark || document_.node(stack_.back()).kind != kind) {
      return Error(kind == Kind::kDict ? "a dict below the items" : "a list below the items", "something else");
    }
    if (kind == Kind::kDict && values->size() % 2 != 0) return Error("keys with values", "an odd number of items");
    std::vector<uint32_t>& items = document_.node(stack_.back()).items;
    items.insert(items.end(), values->begin(), values->end());
    return absl::OkStatus();
  }

  absl::Status Remember(const absl::StatusOr<uint64_t>& key) {
    RETURN_IF_ERROR(key.status());
    if (stack_.empty() || stack_.back() == kMark) return Error("a value on the stack", "none");
    if (memo_.size() == kMaxMemo) return Error("a smaller document", "more shared values than are read");
    memo_[*key] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Recall(const absl::StatusOr<uint64_t>& key) {
    RETURN_IF_ERROR(key.status());
    const auto known = memo_.find(*key);
    if (known == memo_.end()) return Error(absl::StrCat("memo entry ", *key), "none");
    if (stack_.size() == kMaxStack) return Error("a smaller document", "more values than are read");
    stack_.push_back(known->second);
    return absl::OkStatus();
  }

  absl::Status Stop() {
    if (stack_.size() != 1 || stack_.back() == kMark) {
      return Error("one value at the end", absl::StrCat(stack_.size(), " on the stack"));
    }
    document_.root = stack_.back();
    stopped_ = true;
    return absl::OkStatus();
  }

  absl::Status Protocol() {
    constexpr uint64_t kNewest = 5;
    ASSIGN_OR_RETURN(const uint64_t version, Take(1));
    return version <= kNewest ? absl::OkStatus() : Error("protocol 0 to 5", absl::StrCat("protocol ", version));
  }

  absl::Status PushMark() {
    if (stack_.size() == kMaxStack) return Error("a smaller document", "more values than are read");
    stack_.push_back(kMark);
    return absl::OkStatus();
  }

  absl::Status Refuse(unsigned char opcode) const {
    const char* name = RefusedName(opcode);
    if (name != nullptr) return Error("plain data", absl::StrCat("the opcode ", name, ", which is refused"));
    return Error("plain data", absl::StrFormat("the unknown opcode 0x%02x", opcode));
  }

  absl::Status Step(unsigned char opcode);
  absl::Status StepContainer(unsigned char opcode);

  const absl::string_view bytes_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  bool stopped_ = false;
  PlainDocument document_;
  std::vector<uint32_t> stack_;
  absl::flat_hash_map<uint64_t, uint32_t> memo_;
};

// One line per opcode, so that the table can be compared with pickletools at a glance.
absl::Status PickleMachine::Step(unsigned char opcode) {
  switch (opcode) {
    case 0x80:
      return Protocol();  // PROTO
    case 0x95:
      return Take(8).status();  // FRAME
    case '.':
      return Stop();  // STOP
    case 'N':
      return PushEmpty(Kind::kNone);  // NONE
    case 0x88:
      return PushInteger(1, Kind::kBool);  // NEWTRUE
    case 0x89:
      return PushInteger(0, Kind::kBool);  // NEWFALSE
    case 0x8a:
      return PushLong(1);  // LONG1
    case 0x8b:
      return PushLong(4);  // LONG4
    case 'G':
      return PushReal();  // BINFLOAT
    case 'X':
      return PushText(4);  // BINUNICODE
    case 0x8c:
      return PushText(1);  // SHORT_BINUNICODE
    case 0x8d:
      return PushText(8);  // BINUNICODE8
    case 'T':
      return PushText(4);  // BINSTRING
    case 'U':
      return PushText(1);  // SHORT_BINSTRING
    case 'q':
      return Remember(Take(1));  // BINPUT
    case 'r':
      return Remember(Take(4));  // LONG_BINPUT
    case 0x94:
      return Remember(uint64_t{memo_.size()});  // MEMOIZE
    case 'h':
      return Recall(Take(1));  // BINGET
    case 'j':
      return Recall(Take(4));  // LONG_BINGET
    case '(':
      return PushMark();  // MARK
    default:
      return StepContainer(opcode);
  }
}

absl::Status PickleMachine::StepContainer(unsigned char opcode) {
  switch (opcode) {
    case 'K':    // BININT1
    case 'M':    // BININT2
    case 'J': {  // BININT
      const size_t size = opcode == 'K' ? 1 : opcode == 'M' ? 2 : 4;
      ASSIGN_OR_RETURN(const uint64_t value, Take(size));
      return PushInteger(opcode == 'J' ? static_cast<int32_t>(value) : static_cast<int64_t>(value));
    }
    case 't': {  // TUPLE
      PlainNode node;
      node.kind = Kind::kList;
      ASSIGN_OR_RETURN(node.items, PopToMark());
      return Push(std::move(node));
    }
    case ')':
      return PushTuple(0);  // EMPTY_TUPLE
    case 0x85:
      return PushTuple(1);  // TUPLE1
    case 0x86:
      return PushTuple(2);  // TUPLE2
    case 0x87:
      return PushTuple(3);  // TUPLE3
    case ']':
      return PushEmpty(Kind::kList);  // EMPTY_LIST
    case '}':
      return PushEmpty(Kind::kDict);  // EMPTY_DICT
    case 'a':
      return Extend(Kind::kList, Pop(1));  // APPEND
    case 'e':
      return Extend(Kind::kList, PopToMark());  // APPENDS
    case 's':
      return Extend(Kind::kDict, Pop(2));  // SETITEM
    case 'u':
      return Extend(Kind::kDict, PopToMark());  // SETITEMS
    default:
      return Refuse(opcode);
  }
}

}  // namespace

absl::StatusOr<PlainDocument> ParsePickle(absl::string_view bytes) { return PickleMachine(bytes).Run(); }

}  // namespace lockstep
