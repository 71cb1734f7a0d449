#include "cli/render/json.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// STATE_OPEN of enum State is "open".
std::string EnumWord(const EnumValueDescriptor& value) {
  const std::string prefix = absl::StrCat(absl::AsciiStrToUpper(value.type()->name()), "_");
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix));
}

ordered_json Value(const Message& message, const Reflection& reflection, const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumWord(*reflection.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!reflection.HasField(message, &field)) return nullptr;
      return ToJson(reflection.GetMessage(message, &field));
  }
  return nullptr;
}

ordered_json RepeatedValue(const Message& message, const Reflection& reflection, const FieldDescriptor& field,
                           int index) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumWord(*reflection.GetRepeatedEnum(message, &field, index));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  ordered_json object = ordered_json::object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (!field.is_repeated()) {
      object[field.name()] = Value(message, reflection, field);
      continue;
    }
    ordered_json array = ordered_json::array();
    for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
      array.push_back(RepeatedValue(message, reflection, field, j));
    }
    object[field.name()] = std::move(array);
  }
  return object;
}

std::string JsonText(const ordered_json& json, bool indented) {
  return json.dump(indented ? 2 : -1, ' ', /*ensure_ascii=*/true, ordered_json::error_handler_t::replace);
}

}  // namespace lockstep
