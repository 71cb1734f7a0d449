#include "cli/render/stacks_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "daemon/flame_graph.h"
#include "nlohmann/json.hpp"
#include "proto/folded_stacks.h"

namespace lockstep {
namespace {

constexpr int kBriefFrames = 6;
constexpr double kNanosPerSecondAsDouble = 1e9;

std::string NameAt(const wire::StackDump& dump, uint32_t index) {
  return index < static_cast<uint32_t>(dump.names_size()) ? Printable(dump.names(static_cast<int>(index))) : "?";
}

// "step > all_reduce > wait", the innermost `most` of them.
std::string FramesText(const wire::StackDump& dump, const wire::FoldedStack& stack, int most) {
  const int first = std::max(0, stack.frames_size() - most);
  std::string text = first > 0 || stack.cut() ? "... > " : "";
  for (int i = first; i < stack.frames_size(); ++i) {
    absl::StrAppend(&text, i > first ? " > " : "", NameAt(dump, stack.frames(i)));
  }
  return text;
}

// Where a thread was, most of the time.
std::string PlaceText(const wire::StackDump& dump, const wire::ThreadStacks& thread, int most) {
  std::string text;
  const auto append = [&](const char* what, const wire::FoldedStack& stack) {
    if (stack.frames().empty()) return;
    absl::StrAppend(&text, "    ", what, " ", stack.count(), "/", dump.samples(), ": ", FramesText(dump, stack, most),
                    "\n");
  };
  if (!thread.python().empty()) append("Python", thread.python(0));
  if (!thread.native().empty()) {
    append("C", thread.python().empty() ? thread.native(0) : BehindPython(dump, thread.native(0)));
  }
  if (!thread.kernel().empty()) append("kernel", thread.kernel(0));
  return text;
}

// Threads of one name that all wait in one place.
struct ThreadsAlike {
  std::vector<const wire::ThreadStacks*> threads;
  std::string place;
};

// In the order of the first of each. What runs Python stands by itself.
std::vector<ThreadsAlike> AlikeOf(const wire::StackDump& dump, int most) {
  std::vector<ThreadsAlike> groups;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> group_of;
  for (const wire::ThreadStacks& thread : dump.threads()) {
    std::string place = PlaceText(dump, thread, most);
    if (thread.python().empty()) {
      const auto [found, is_new] = group_of.emplace(std::tuple(thread.name(), thread.state(), place), groups.size());
      if (!is_new) {
        groups[found->second].threads.push_back(&thread);
        continue;
      }
    }
    groups.push_back({{&thread}, std::move(place)});
  }
  return groups;
}

std::string ThreadsText(const ThreadsAlike& alike) {
  const wire::ThreadStacks& first = *alike.threads.front();
  const size_t others = alike.threads.size() - 1;
  return absl::StrCat("  thread ", first.tid(), others > 0 ? absl::StrCat(" and ", others, " like it") : "", " ",
                      Printable(first.name()), first.main() ? " (main)" : "", ", state ", Printable(first.state()),
                      "\n", alike.place);
}

}  // namespace

absl::Status CheckStacksForm(absl::string_view option, absl::string_view form) {
  if (std::find(std::begin(kStacksForms), std::end(kStacksForms), form) != std::end(kStacksForms))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", Printable(form), ": one of ", absl::StrJoin(kStacksForms, ", ")));
}

std::string StackDumpText(const wire::StackDump& dump, bool brief) {
  std::string text = absl::StrFormat(
      "rank %d on %s, pid %d: %s, %d samples in %.1f s\n", dump.rank(), Printable(dump.host()), dump.pid(),
      dump.python().empty() ? "no Python" : absl::StrCat("Python ", Printable(dump.python())), dump.samples(),
      static_cast<double>(dump.span_ns()) / kNanosPerSecondAsDouble);
  for (const ThreadsAlike& alike : AlikeOf(dump, brief ? kBriefFrames : dump.names_size() + 1)) {
    if (!brief || alike.threads.front()->main()) text += ThreadsText(alike);
  }
  if (brief) return text;
  if (dump.threads_left_out() > 0) absl::StrAppend(&text, "  ", dump.threads_left_out(), " threads left out\n");
  if (dump.stacks_lost() > 0)
    absl::StrAppend(&text, "  ", dump.stacks_lost(), " stacks changed while they were read\n");
  for (const std::string& why : dump.left_out()) absl::StrAppend(&text, "  ", Printable(why), "\n");
  return text;
}

std::string StacksText(const std::vector<wire::StackDump>& dumps, absl::string_view form, absl::string_view title,
                       const std::vector<UnreadRank>& failed) {
  std::string text;
  if (form == "json") {
    nlohmann::ordered_json json = {{"dumps", nlohmann::ordered_json::array()},
                                   {"failed", nlohmann::ordered_json::array()}};
    for (const wire::StackDump& dump : dumps) json["dumps"].push_back(ToJson(dump));
    for (const UnreadRank& rank : failed) {
      json["failed"].push_back(nlohmann::ordered_json{{"rank", rank.rank}, {"host", rank.host}, {"reason", rank.why}});
    }
    return JsonText(json, /*indented=*/true) + "\n";
  }
  std::vector<FlameStack> stacks;
  for (const wire::StackDump& dump : dumps) {
    if (form == "table") text += StackDumpText(dump, /*brief=*/false);
    for (const FoldedLine& line : FoldStacks(dump)) {
      if (form == "folded") absl::StrAppend(&text, Printable(ToText(line)), "\n");
      if (form == "svg") stacks.push_back({line.frames, line.count});
    }
  }
  return form == "svg" ? FlameGraphSvg(stacks, title) : text;
}

}  // namespace lockstep
