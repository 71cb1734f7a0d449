#include "collector/access/key_set_fetcher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "collector/access/discovery_document.h"
#include "daemon/http_client.h"
#include "daemon/token_file.h"

namespace lockstep {
namespace {

constexpr char kDiscoveryPath[] = "/.well-known/openid-configuration";
constexpr int kOk = 200;

}  // namespace

KeySetFetcher::KeySetFetcher(const KeySetOrigin& origin, const KeySetTimes& times, Check check, const Clock& clock,
                             const KeySetMetrics& metrics)
    : origin_(origin),
      times_(times),
      check_(std::move(check)),
      clock_(clock),
      metrics_(metrics),
      failure_(absl::UnavailableError("it was not given yet")),
      thread_([this] { Run(); }) {}

KeySetFetcher::~KeySetFetcher() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

absl::StatusOr<std::string> KeySetFetcher::keys() const {
  MutexLock lock(mutex_);
  if (!keys_.empty()) return keys_;
  return absl::UnavailableError(absl::StrCat("the key set of ", origin_.issuer, " is not known: ", failure_.message()));
}

void KeySetFetcher::AskAgain() {
  MutexLock lock(mutex_);
  asked_ = true;
  changed_.NotifyAll();
}

void KeySetFetcher::Run() {
  Backoff backoff(times_.first_retry_ns, times_.longest_retry_ns, Random(SeedFromSystem()));
  int64_t wait_ns = 0;
  do {
    {
      MutexLock lock(mutex_);
      fetched_ns_ = RealClock().MonotonicNanos();
      asked_ = false;
    }
    const absl::StatusOr<std::string> fetched = Fetch();
    if (stopping_) return;
    {
      MutexLock lock(mutex_);
      failure_ = fetched.status();
      if (fetched.ok()) keys_ = *fetched;
    }
    metrics_.Count(fetched.ok());
    if (fetched.ok()) {
      metrics_.last_success_seconds.Set(static_cast<double>(clock_.WallNanos()) / kNanosPerSecond);
      backoff.Reset();
      told_error_.Clear();
    } else if (told_error_.IsNews(fetched.status().message())) {
      Log(LogLevel::kWarning, "the key set of the OpenID provider stays as it is",
          {{"issuer", origin_.issuer}, {"error", std::string(fetched.status().message())}});
    }
    wait_ns = fetched.ok() ? times_.every_ns : backoff.Next();
  } while (WaitForNext(wait_ns));
}

bool KeySetFetcher::WaitForNext(int64_t nanos) {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const int64_t since_ns = RealClock().MonotonicNanos() - fetched_ns_;
    const int64_t left_ns = (asked_ ? std::min(nanos, times_.least_between_asks_ns) : nanos) - since_ns;
    if (left_ns <= 0) return true;
    changed_.WaitFor(mutex_, left_ns);
  }
  return false;
}

absl::StatusOr<std::string> KeySetFetcher::Fetch() {
  std::string url = origin_.url;
  if (url.empty()) {
    ASSIGN_OR_RETURN(url, Discover());
  }
  ASSIGN_OR_RETURN(std::string keys, Get(url));
  if (const absl::Status usable = check_(keys); !usable.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(url, ": ", usable.message()));
  }
  return keys;
}

absl::StatusOr<std::string> KeySetFetcher::Discover() {
  const std::string url = absl::StrCat(absl::StripSuffix(origin_.issuer, "/"), kDiscoveryPath);
  ASSIGN_OR_RETURN(const std::string text, Get(url));
  absl::StatusOr<std::string> keys = KeySetUrlOf(text, origin_.issuer);
  if (!keys.ok()) return absl::InvalidArgumentError(absl::StrCat(url, ": ", keys.status().message()));
  return keys;
}

absl::StatusOr<std::string> KeySetFetcher::Get(const std::string& url) {
  RETURN_IF_ERROR(CheckTrustworthyUrl(url));
  HttpClient client({.url = url, .authorities = origin_.authorities}, [this] { return stopping_.load(); });
  std::vector<std::string> headers;
  if (!origin_.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string bearer, ReadBearer(origin_.token_file));
    headers.push_back(absl::StrCat("Authorization: ", bearer));
  }
  HttpAnswer answer = client.Get(kMaxKeySetBytes, headers);
  if (answer.status == kOk) return std::move(answer.body);
  return absl::UnavailableError(
      absl::StrCat(url, ": ", answer.status == 0 ? answer.error : absl::StrCat("status ", answer.status)));
}

}  // namespace lockstep
