#include "agent/spool_from_options.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "agent/rooted_fs.h"
#include "agent/sources/kernel_log/log_position.h"
#include "agent/spool/segment_log.h"
#include "base/boot_clock.h"
#include "base/clock.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr int64_t kOpenWithinNanos = 5 * kNanosPerSecond;

std::unique_ptr<Spool> OpenSpool(const AgentOptions& options, const wire::AgentHello& hello,
                                 const std::string& boot_id) {
  if (options.spool_directory.empty()) return nullptr;
  SegmentLogOptions log;
  log.directory = options.spool_directory;
  log.host = hello.host();
  log.incarnation = hello.incarnation();
  log.max_bytes = static_cast<size_t>(options.spool_max_bytes);
  log.max_age_ns = absl::ToInt64Nanoseconds(options.spool_max_age);
  log.boot_id = boot_id;
  auto spool = std::make_unique<Spool>(std::make_unique<SegmentLog>(std::move(log), RealClock(), RealBootClock()),
                                       absl::ToInt64Nanoseconds(options.spool_sync), RealClock());
  if (!spool->WaitOpen(kOpenWithinNanos)) {
    Log(LogLevel::kWarning, "the spool is not open yet", {{"directory", options.spool_directory}});
  }
  return spool;
}

}  // namespace

SurvivingState OpenSurvivingState(const AgentOptions& options, const wire::AgentHello& hello) {
  std::string boot_id;
  if (const auto root = RootedFs::Open(options.root); root.ok()) boot_id = ReadBootId(*root);
  return {OpenSpool(options, hello, boot_id),
          std::make_unique<ResumeKeeper>(options.state_directory, boot_id, hello.host())};
}

}  // namespace lockstep
