#include "formats/plain_document.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr double kMaxExact = 9.2e18;  // below the largest int64

}  // namespace

const PlainNode& PlainDocument::Find(const PlainNode& dict, absl::string_view key) const {
  static const PlainNode kEmpty;
  if (dict.kind != PlainNode::Kind::kDict) return kEmpty;
  for (size_t i = dict.items.size() / 2; i-- > 0;) {
    const PlainNode& candidate = nodes_[dict.items[2 * i]];
    if (candidate.kind == PlainNode::Kind::kText && candidate.text == key) return nodes_[dict.items[2 * i + 1]];
  }
  return kEmpty;
}

int64_t IntegerOr(const PlainNode& node, int64_t otherwise) {
  if (node.kind == PlainNode::Kind::kInteger || node.kind == PlainNode::Kind::kBool) return node.integer;
  if (node.kind == PlainNode::Kind::kReal && std::fabs(node.real) < kMaxExact) return std::llround(node.real);
  return otherwise;
}

double RealOr(const PlainNode& node, double otherwise) {
  if (node.kind == PlainNode::Kind::kReal) return node.real;
  return node.kind == PlainNode::Kind::kInteger ? static_cast<double>(node.integer) : otherwise;
}

absl::string_view TextOf(const PlainNode& node) {
  return node.kind == PlainNode::Kind::kText ? absl::string_view(node.text) : absl::string_view();
}

}  // namespace lockstep
