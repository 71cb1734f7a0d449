// What an agent answers to a demand for stacks, as the collector keeps it and the command line shows it. An agent may
// send anything: whatever is kept can be shown, and nothing in it is obeyed by a terminal or a browser.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "cli/render/stacks_text.h"
#include "collector/store/values.h"
#include "proto/stacks.pb.h"

namespace {

// Asked without what makes it so.
bool IsPlain(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto next = static_cast<uint8_t>(i + 1 < text.size() ? text[i + 1] : 0);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return false;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::wire::StackDump dump;
  if (!dump.ParseFromArray(data, static_cast<int>(size))) return 0;
  CHECK(lockstep::DecodeStackDump(lockstep::EncodeStackDump(dump)).ok());
  for (const bool brief : {false, true}) CHECK(IsPlain(lockstep::StackDumpText(dump, brief)));
  for (const char* form : lockstep::kStacksForms) {
    const std::string text = lockstep::StacksText({dump, dump}, form, "of a job", {{3, "node-1", "is gone"}});
    const bool has_lines =
        absl::string_view(form) != "folded" || !text.empty();  // a line per stack, of which none came
    CHECK(!has_lines || text.back() == '\n');
    CHECK(IsPlain(text));
    if (absl::string_view(form) == "svg") CHECK(!absl::StrContains(text, "<script"));
  }
  return 0;
}
