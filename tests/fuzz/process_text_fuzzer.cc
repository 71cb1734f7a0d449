// What /proc says of a process, which chose its own name: read or refused, and no name moves what stands behind it.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/process_uids.h"
#include "base/check.h"

namespace {

constexpr size_t kMostNameBytes = 64;  // the kernel's own threads have longer ones than the 15 of others
constexpr int kMostExitStatus = 0xffff;
// Of /proc/<pid>/stat, from 1.
constexpr int kStartTicksField = 22;
constexpr int kExitStatusField = 52;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto stat = lockstep::ParseProcessStat(input); stat.ok()) {
    CHECK(stat->exit_status >= 0 && stat->exit_status <= kMostExitStatus);
  }
  const auto any = lockstep::ParseProcessUids(input);
  CHECK(any.ok() || !any.status().message().empty());

  const absl::string_view name = input.substr(0, kMostNameBytes);
  std::string line = absl::StrCat("7 (", name, ") Z 1 7 7 0 -1 0 0 0 0 0 11 13 0 0 20 0 1 0 4711");
  for (int field = kStartTicksField + 1; field < kExitStatusField; ++field) line += " 0";
  const auto stat = lockstep::ParseProcessStat(line + " 9\n");
  CHECK(stat.ok() && stat->state == 'Z' && stat->cpu_ticks == 24 && stat->start_ticks == 4'711 &&
        stat->exit_status == 9);
  // In this file the kernel writes a line break in a name as \n.
  const std::string escaped = absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\n", "\\n"}});
  const auto uids = lockstep::ParseProcessUids(
      absl::StrCat("Name:\t", escaped, "\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t1\t2\t3\t4\nGid:\t0\t0\t0\t0\n"));
  CHECK(uids.ok() && *uids == (lockstep::ProcessUids{1, 2, 3, 4}));
  return 0;
}
