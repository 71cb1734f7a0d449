#include "formats/plain_json.h"

#include <simdjson.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kMaxDepth = 256;

using simdjson::dom::element;
using simdjson::dom::element_type;

class Converter {
 public:
  absl::StatusOr<uint32_t> Convert(element value) {
    PlainNode node;
    switch (value.type()) {
      case element_type::OBJECT: {
        node.kind = PlainNode::Kind::kDict;
        const simdjson::dom::object members = value.get_object().value_unsafe();
        for (const auto [key, child] : members) {
          ASSIGN_OR_RETURN(const uint32_t key_number, AddText(key));
          ASSIGN_OR_RETURN(const uint32_t child_number, Convert(child));
          node.items.insert(node.items.end(), {key_number, child_number});
        }
        break;
      }
      case element_type::ARRAY: {
        node.kind = PlainNode::Kind::kList;
        const simdjson::dom::array items = value.get_array().value_unsafe();
        for (const element child : items) {
          ASSIGN_OR_RETURN(const uint32_t child_number, Convert(child));
          node.items.push_back(child_number);
        }
        break;
      }
      case element_type::STRING:
        return AddText(value.get_string().value_unsafe());
      default:
        FillScalar(value, node);
    }
    return Add(std::move(node));
  }

  PlainDocument& document() { return document_; }

 private:
  static void FillScalar(element value, PlainNode& node) {
    if (value.is_bool()) {
      node.kind = PlainNode::Kind::kBool;
      node.integer = value.get_bool().value_unsafe() ? 1 : 0;
    } else if (value.is_int64()) {
      node.kind = PlainNode::Kind::kInteger;
      node.integer = value.get_int64().value_unsafe();
    } else if (value.is_number()) {
      node.kind = PlainNode::Kind::kReal;
      node.real = value.get_double().value_unsafe();
    }
  }

  absl::StatusOr<uint32_t> AddText(std::string_view text) {
    PlainNode node;
    node.kind = PlainNode::Kind::kText;
    node.text = std::string(text);
    return Add(std::move(node));
  }

  absl::StatusOr<uint32_t> Add(PlainNode node) {
    uint32_t number = 0;
    if (document_.Add(std::move(node), number)) return number;
    return absl::InvalidArgumentError("expected a smaller document, found more values than are read");
  }

  PlainDocument document_;
};

}  // namespace

absl::StatusOr<PlainDocument> ParsePlainJson(const std::string& text) {
  simdjson::dom::parser parser;
  element root;
  simdjson::error_code error = parser.allocate(text.size(), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser.parse(text).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat("expected JSON: ", simdjson::error_message(error)));
  }
  Converter converter;
  ASSIGN_OR_RETURN(const uint32_t number, converter.Convert(root));
  converter.document().root = number;
  return std::move(converter.document());
}

}  // namespace lockstep
