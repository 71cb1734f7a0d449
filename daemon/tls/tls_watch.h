// Keys and certificates that change on disk while a daemon runs: always the newest that were whole.
//
// What is renewed file by file passes through states in which key and certificate do not match. Such a state is not
// taken on; the daemon goes on with what it had, says so once, and looks again. Thread-safe.

#ifndef LOCKSTEP_DAEMON_TLS_TLS_WATCH_H_
#define LOCKSTEP_DAEMON_TLS_TLS_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/told_error.h"
#include "daemon/tls/tls_files.h"

namespace lockstep {

class TlsWatch {
 public:
  // The errors of ReadTlsFiles.
  static absl::StatusOr<std::unique_ptr<TlsWatch>> Open(const TlsFiles& files);

  // Reads the files again, whatever their names now lead to. To be called about once per second. Returns whether
  // anything new is in force; an error is logged when it appears.
  bool Refresh();

  // What is in force, and how many times that has changed.
  struct Version {
    std::shared_ptr<const TlsMaterial> material;
    uint64_t number = 0;
  };
  Version current() const;

 private:
  TlsWatch(TlsFiles files, TlsMaterial material);

  const TlsFiles files_;
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> material_ ABSL_GUARDED_BY(mutex_);
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 1;
  ToldError told_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_TLS_WATCH_H_
