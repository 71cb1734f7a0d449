// The door of a daemon's pages: TLS and passwords from a file of web_config.h that may change while it runs.
//
// Keys and configuration are taken on as a whole or not at all. The pages of probes, which orchestrators ask without a
// key, are open behind TLS; all others ask for what the file says. Thread-safe.

#ifndef LOCKSTEP_DAEMON_WEB_WEB_GUARD_H_
#define LOCKSTEP_DAEMON_WEB_WEB_GUARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/token_bucket.h"
#include "base/told_error.h"
#include "daemon/http_route.h"
#include "daemon/tls/tls_files.h"
#include "daemon/verified_tokens.h"
#include "daemon/web/web_config.h"

namespace lockstep {

class WebGuard {
 public:
  // `file` "" = no guard. INVALID_ARGUMENT for files that are of no use, and for one without TLS if `needs_tls`: other
  // machines would read the passwords. `clock` is borrowed.
  static absl::StatusOr<std::unique_ptr<WebGuard>> Open(const std::string& file, bool needs_tls, const Clock& clock);

  // Reads the files again if they have changed; wrong ones are logged once and change nothing. To be called about once
  // per second. Returns whether connections must be served with other keys from now on.
  bool Refresh();

  // How connections are served.
  struct Tls {
    TlsMaterial material;
    std::string priorities;    // of GnuTLS: versions and ciphers
    bool asks_client = false;  // for a certificate
    bool operator==(const Tls&) const = default;
  };
  // nullptr = in plain text.
  std::shared_ptr<const Tls> tls() const;

  // The file as it is in force; "" = there is none. Paths in it may lead to other keys by now.
  std::string text() const;

  // That every answer of a page has beside its own: name and value.
  std::vector<std::pair<std::string, std::string>> headers() const;

  // Nothing if the request may be answered, else the answer that refuses it: 401, 403, or 429 when there are too many.
  // A page that `is_private` is only for whom a password, or a certificate of an authority that is believed, tells
  // apart. As slow as a hash: on the thread of a page.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, bool is_private = false);

 private:
  struct State {
    WebConfig config;
    std::shared_ptr<const Tls> tls;
    std::string text;
    mutable VerifiedTokens verified;
  };

  WebGuard(std::string file, bool needs_tls, const Clock& clock);
  absl::StatusOr<std::shared_ptr<const State>> Read() const;
  void Use(std::shared_ptr<const State> state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool HasCertificate(const WebConfig& config, const HttpRequest& request);
  bool KnowsPassword(const State& state, absl::string_view authorization);

  const std::string file_;
  const bool needs_tls_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_);   // never nullptr
  std::optional<TokenBucket> requests_ ABSL_GUARDED_BY(mutex_);  // nothing = no limit
  ToldError told_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WEB_WEB_GUARD_H_
