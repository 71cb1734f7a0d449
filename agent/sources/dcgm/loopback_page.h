// One page of a web server on this machine, over libcurl: bounded in time and size, and never from anywhere else.
//
// Errors: UNAVAILABLE where nobody answers, in time, with status 200; OUT_OF_RANGE for a page beyond the limit.
// Redirects and proxies are not followed.

#ifndef LOCKSTEP_AGENT_SOURCES_DCGM_LOOPBACK_PAGE_H_
#define LOCKSTEP_AGENT_SOURCES_DCGM_LOOPBACK_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"

namespace lockstep {

// OK for http://127.0.0.1, http://[::1] or http://localhost, with any port and path; INVALID_ARGUMENT for all else.
// Pure.
absl::Status CheckLoopbackUrl(const std::string& url);

// Keeps its connection between calls. Not thread-safe.
class LoopbackPage {
 public:
  static constexpr size_t kMaxBytes = 4 << 20;  // some 20,000 samples
  static constexpr int64_t kTimeoutNs = 5 * kNanosPerSecond;

  // `url` as CheckLoopbackUrl allows; otherwise each Get says what it says.
  explicit LoopbackPage(std::string url);
  ~LoopbackPage();
  LoopbackPage(const LoopbackPage&) = delete;
  LoopbackPage& operator=(const LoopbackPage&) = delete;

  absl::StatusOr<std::string> Get();

 private:
  class Handle;

  const std::string url_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_DCGM_LOOPBACK_PAGE_H_
