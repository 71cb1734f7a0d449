// Answers of the collector as JSON: the fields of the .proto under their own names, all of them also when zero, numbers
// as numbers (also 64-bit ones), enums as lower-case words without their prefix. Pure.

#ifndef LOCKSTEP_CLI_RENDER_JSON_H_
#define LOCKSTEP_CLI_RENDER_JSON_H_

#include <string>

#include "google/protobuf/message.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// Sub-messages that are absent become null.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// `json` on one line, or indented by two; ends without newline. ASCII: what else was said, also DEL, is escaped, so
// that a terminal obeys none of it. Bytes that are not UTF-8 are replaced, never refused.
std::string JsonText(const nlohmann::ordered_json& json, bool indented);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_JSON_H_
