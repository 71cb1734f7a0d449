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

// A rank that could not be looked at.
struct UnreadRank {
  int32_t rank = -1;
  std::string host;
  std::string why;
};

// `dumps` in one of these forms; `title` stands above a flame graph. Only JSON tells of those that `failed`. Ends with
// a newline. Pure.
std::string StacksText(const std::vector<wire::StackDump>& dumps, absl::string_view form, absl::string_view title,
                       const std::vector<UnreadRank>& failed = {});

// For people, of one rank: a line for it, then each thread's most frequent stack. `brief`: the main thread alone, and
// of its functions the innermost few. Pure.
std::string StackDumpText(const wire::StackDump& dump, bool brief);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_STACKS_TEXT_H_
