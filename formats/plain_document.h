// A tree of plain data: what a pickle or JSON file may hold and nothing else. Nodes live in one arena and refer to each
// other by number, so that a hostile file that contains itself neither leaks nor blows up.
//
// At most kMaxPlainNodes. Readers walk it to a fixed depth. Thread-compatible.

#ifndef LOCKSTEP_FORMATS_PLAIN_DOCUMENT_H_
#define LOCKSTEP_FORMATS_PLAIN_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr size_t kMaxPlainNodes = size_t{16} << 20;

struct PlainNode {
  enum class Kind : uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDict };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // also 0 and 1 for kBool
  double real = 0;
  std::string text;
  std::vector<uint32_t> items;  // children; of a dict key, value, key, value, ...
};

class PlainDocument {
 public:
  // False when the document is full.
  bool Add(PlainNode node, uint32_t& number) {
    if (nodes_.size() == kMaxPlainNodes) return false;
    number = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(std::move(node));
    return true;
  }

  PlainNode& node(uint32_t number) { return nodes_[number]; }
  const PlainNode& node(uint32_t number) const { return nodes_[number]; }

  uint32_t root = 0;  // valid once something was added

  // The value of the last `key` of a dict, or an empty node for anything else.
  const PlainNode& Find(const PlainNode& dict, absl::string_view key) const;

 private:
  std::vector<PlainNode> nodes_;
};

// What a node says, or the value given for "not that".
int64_t IntegerOr(const PlainNode& node, int64_t otherwise);  // a real is rounded if it fits
double RealOr(const PlainNode& node, double otherwise);
absl::string_view TextOf(const PlainNode& node);  // "" for anything but text

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PLAIN_DOCUMENT_H_
