// Edits the text of an nccl.conf (KEY=VALUE lines, '#' begins a comment) so that NCCL loads Lockstep's recorder.
//
// NCCL reads $NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf, and puts what it finds into the environment of the
// process, where a variable that is set already wins. All other lines stay as they are, byte for byte. Pure.

#ifndef LOCKSTEP_CLI_NCCL_CONF_H_
#define LOCKSTEP_CLI_NCCL_CONF_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr char kNcclPluginVariable[] = "NCCL_PROFILER_PLUGIN";
inline constexpr char kNcclChainVariable[] = "LOCKSTEP_CHAIN_PROFILER";
inline constexpr char kNcclPluginName[] = "libnccl-profiler-lockstep.so";

// The value that `key` has in `text`; "" = none. As for NCCL, which sets no variable twice, the first line wins.
std::string NcclConfValue(absl::string_view text, absl::string_view key);

// True for a value of NCCL_PROFILER_PLUGIN that means our recorder, at whatever place.
bool IsOurPlugin(absl::string_view value);

// `text` with a line that names `plugin`; the same text when it is there already. A line that names another profiler is
// FAILED_PRECONDITION, unless `chain`: then it is replaced, and the other profiler loaded behind ours.
absl::StatusOr<std::string> WithPlugin(absl::string_view text, absl::string_view plugin, bool chain);

// `text` without our line; a profiler that was chained gets its line back.
std::string WithoutPlugin(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_NCCL_CONF_H_
