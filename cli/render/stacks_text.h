// Dumps of stacks as people and programs read them.

#ifndef LOCKSTEP_CLI_RENDER_STACKS_TEXT_H_
#define LOCKSTEP_CLI_RENDER_STACKS_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/stacks.pb.h"

namespace lockstep {

// What `form` of StacksText may be; the first is for people.
inline constexpr const char* kStacksForms[] = {"table", "json", "folded", "svg"};

// INVALID_ARGUMENT, which names `option`, for a form that is none of them. Pure.
absl::Status CheckStacksForm(absl::string_view option, absl::string_view form);

// `dumps` in one of these forms; `title` stands above a flame graph. Ends with a newline. Pure.
std::string StacksText(const std::vector<wire::StackDump>& dumps, absl::string_view form, absl::string_view title);

// For people, of one rank: a line for it, then each thread's most frequent stack. `brief`: the main thread alone, and
// of its functions the innermost few. Pure.
std::string StackDumpText(const wire::StackDump& dump, bool brief);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_STACKS_TEXT_H_
