// The door of the collector: who calls, and whether he may. Asked once per call, which for an agent is once per stream.
//
//   absl::StatusOr<std::shared_ptr<const Caller>> caller = access.Admit(*context, "lockstep.wire.Query.ListJobs");
//
// A call has a token, or else counts the certificate of its connection. Without rules everybody may do everything: the
// collector then listens where only its own machine reaches it, or where it was told to by name
// (collector_options.h). Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_ACCESS_CONTROL_H_
#define LOCKSTEP_COLLECTOR_ACCESS_ACCESS_CONTROL_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/ration.h"
#include "base/told_error.h"
#include "collector/access/access_rules.h"
#include "collector/access/caller.h"
#include "collector/access/jwt_verifier.h"
#include "collector/access/key_set_fetcher.h"
#include "collector/access/peer_names.h"
#include "collector/metrics.h"
#include "daemon/verified_tokens.h"

namespace lockstep {

// A file that says who gets in, as it is in force.
struct DoorFile {
  std::string action;  // of the audit: what a change of it is
  std::string name;
  std::string text;
};

// What the call says of who sends it; "" = nothing. Lives as long as `context`.
absl::string_view AuthorizationOf(const grpc::CallbackServerContext& context);

class AccessControl {
 public:
  // `file` of rules (access_rules.h); "" = everybody may do everything. INVALID_ARGUMENT names file and line.
  // References are borrowed.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Open(const std::string& file, const Clock& clock,
                                                             AccessMetrics& metrics);

  // Reads rules and keys again if they have changed; wrong ones are logged once and change nothing. To be called about
  // once per second.
  void Refresh();

  // The same at once; the error of the files.
  absl::Status Reload();

  // UNAUTHENTICATED when it is not known who calls, PERMISSION_DENIED when he may not call `method`, UNAVAILABLE when
  // too many tokens are guessed at. Refusals are counted and, a few per second, told to OnRefusal.
  absl::StatusOr<std::shared_ptr<const Caller>> Admit(const grpc::CallbackServerContext& context,
                                                      absl::string_view method);

  // Who hears of calls that are refused, a few per second: called from the caller's thread, must not block. To be set
  // before the first call, if at all.
  using OnRefusal = std::function<void(const std::string& peer, absl::string_view method, const absl::Status& why)>;
  void SetOnRefusal(OnRefusal on_refusal) { on_refusal_ = std::move(on_refusal); }

  // Rises whenever other rules are in force: callers who were admitted by the ones before may be asked again.
  uint64_t generation() const;

  // The same for a connection whose names are known, with what its `authorization` says ("" = nothing).
  absl::StatusOr<std::shared_ptr<const Caller>> Identify(const PeerNames& names, absl::string_view authorization) {
    return IdentifyAsOf(clock_.WallNanos(), names, authorization);
  }

  // By the rules of now, with times of a provider's token judged at `wall_ns`: for who was let in then, and has not
  // called since.
  absl::StatusOr<std::shared_ptr<const Caller>> IdentifyAsOf(int64_t wall_ns, const PeerNames& names,
                                                             absl::string_view authorization);

  // The rules, and key sets that are files: what a provider gives out changes by itself, and is not among them.
  std::vector<DoorFile> files() const;

  // By which the collector lets itself in, to see whether its streams are served (ingest_probe.h): an agent without a
  // host. Random, of this process alone.
  const std::string& own_token() const { return own_token_; }

  // Whether somebody without a certificate may come in.
  bool takes_tokens() const;

 private:
  // Of an entry of AccessRules::oidc.
  struct Provider {
    std::string keys_text;                   // "" = a provider elsewhere has not given it yet
    std::unique_ptr<const JwtVerifier> jwt;  // nullptr: its keys are not known yet
    std::shared_ptr<KeySetFetcher> fetcher;  // nullptr: the keys are a file
  };

  // What was read, as a whole.
  struct State {
    std::string rules_text;
    AccessRules rules;
    std::vector<Provider> providers;  // as rules.oidc
    mutable VerifiedTokens verified;  // by these rules
  };

  AccessControl(std::string file, const Clock& clock, AccessMetrics& metrics);

  // What is in force, if the files say the same.
  absl::StatusOr<std::shared_ptr<const State>> Read() const;
  // The provider with the text of its keys, as far as it is known, and nobody yet who checks tokens by them.
  absl::StatusOr<Provider> ReadKeys(const OidcRules& oidc, const State* before) const;
  absl::StatusOr<JwtVerifier::Holder> Believe(const Provider& provider, const std::string& token, int64_t wall_ns);
  absl::StatusOr<std::shared_ptr<const Caller>> OfProvidersToken(const State& state, const std::string& token,
                                                                 int64_t wall_ns);
  std::shared_ptr<const State> state() const;
  absl::StatusOr<std::shared_ptr<const Caller>> OfToken(const State& state, const std::string& token, int64_t wall_ns);
  void TellOfRefusal(const absl::Status& status, const std::string& peer, absl::string_view method);

  const std::string file_;
  const Clock& clock_;
  AccessMetrics& metrics_;
  const std::shared_ptr<const Caller> everybody_;
  const std::shared_ptr<const Caller> own_process_;
  const std::string own_token_;
  OnRefusal on_refusal_;

  mutable Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_);  // nullptr: no rules
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  ToldError told_error_ ABSL_GUARDED_BY(mutex_);
  Ration refusal_lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_ACCESS_CONTROL_H_
