// Names of classes, scopes and advice, as people read them. Pure.

#ifndef LOCKSTEP_CLI_RENDER_WORDS_H_
#define LOCKSTEP_CLI_RENDER_WORDS_H_

#include <string>

#include "absl/strings/str_replace.h"

namespace lockstep {

// "cordon_and_replace" as words.
inline std::string Words(const char* name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_WORDS_H_
