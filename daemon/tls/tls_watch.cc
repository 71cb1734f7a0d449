#include "daemon/tls/tls_watch.h"

#include <utility>

#include "base/log.h"
#include "base/status_macros.h"

namespace lockstep {

TlsWatch::TlsWatch(TlsFiles files, TlsMaterial material)
    : files_(std::move(files)), material_(std::make_shared<const TlsMaterial>(std::move(material))) {}

absl::StatusOr<std::unique_ptr<TlsWatch>> TlsWatch::Open(const TlsFiles& files) {
  ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsFiles(files));
  return std::unique_ptr<TlsWatch>(new TlsWatch(files, std::move(material)));
}

bool TlsWatch::Refresh() {
  absl::StatusOr<TlsMaterial> read = ReadTlsFiles(files_);
  const MutexLock lock(mutex_);
  if (!read.ok()) {
    const std::string error(read.status().message());
    if (told_error_.IsNews(error)) Log(LogLevel::kError, "keys stay as they are", {{"error", error}});
    return false;
  }
  told_error_.Clear();
  if (*read == *material_) return false;
  material_ = std::make_shared<const TlsMaterial>(*std::move(read));
  ++number_;
  Log(LogLevel::kInfo, "keys were read again", {{"certificate", files_.certificate}});
  return true;
}

TlsWatch::Version TlsWatch::current() const {
  const MutexLock lock(mutex_);
  return {material_, number_};
}

}  // namespace lockstep
