#include "collector/access/access_control.h"

#include <grpcpp/support/string_ref.h>
#include <openssl/rand.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"
#include "daemon/password_hash.h"

namespace lockstep {
namespace {

constexpr char kBearer[] = "Bearer ";
constexpr size_t kMaxTokenBytes = 16 << 10;
constexpr int kMaxRefusalsToldPerSecond = 5;
constexpr size_t kOwnTokenBytes = 32;

absl::Status In(const std::string& file, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
}

std::shared_ptr<const Caller> Everybody() {
  Caller caller;
  caller.name = "anybody who reaches this collector";
  caller.role = Role::kAdmin;
  caller.is_everybody = true;
  return std::make_shared<const Caller>(std::move(caller));
}

std::shared_ptr<const Caller> OwnProcess() {
  Caller caller;
  caller.name = "this collector";
  caller.role = Role::kAgent;
  return std::make_shared<const Caller>(std::move(caller));
}

std::string RandomToken() {
  std::string bytes(kOwnTokenBytes, '\0');
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) == 1);
  return absl::BytesToHexString(bytes);
}

absl::string_view AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  return found == metadata.end() ? absl::string_view() : absl::string_view(found->second.data(), found->second.size());
}

}  // namespace

AccessControl::AccessControl(std::string file, const Clock& clock, AccessMetrics& metrics)
    : file_(std::move(file)),
      clock_(clock),
      metrics_(metrics),
      everybody_(Everybody()),
      own_process_(OwnProcess()),
      own_token_(RandomToken()),
      refusal_lines_(kMaxRefusalsToldPerSecond) {}

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(const std::string& file, const Clock& clock,
                                                                   AccessMetrics& metrics) {
  std::unique_ptr<AccessControl> control(new AccessControl(file, clock, metrics));
  if (!file.empty()) RETURN_IF_ERROR(control->Reload());
  return control;
}

absl::StatusOr<std::shared_ptr<const AccessControl::State>> AccessControl::Read() const {
  const std::shared_ptr<const State> before = this->state();
  auto state = std::make_shared<State>();
  ASSIGN_OR_RETURN(state->rules_text, ReadBoundedFile(file_));
  const bool has_same_rules = before != nullptr && before->rules_text == state->rules_text;
  if (has_same_rules && before->rules.oidc.issuer.empty()) return before;
  absl::StatusOr<AccessRules> rules = ParseAccessRules(state->rules_text);
  if (!rules.ok()) return In(file_, rules.status());
  state->rules = *std::move(rules);
  const OidcRules& oidc = state->rules.oidc;
  if (oidc.issuer.empty()) return state;
  RETURN_IF_ERROR(ReadKeys(before.get(), *state));
  if (has_same_rules && before->keys_text == state->keys_text) return before;
  if (state->keys_text.empty()) return state;
  absl::StatusOr<std::unique_ptr<JwtVerifier>> jwt = JwtVerifier::Create(oidc, state->keys_text);
  if (!jwt.ok()) return In(oidc.keys, jwt.status());
  state->jwt = *std::move(jwt);
  return state;
}

absl::Status AccessControl::ReadKeys(const State* before, State& state) const {
  const OidcRules& oidc = state.rules.oidc;
  if (!oidc.keys.empty()) {
    ASSIGN_OR_RETURN(state.keys_text, ReadBoundedFile(oidc.keys));
    return state.keys_text.empty() ? In(oidc.keys, absl::InvalidArgumentError("is empty")) : absl::OkStatus();
  }
  if (before != nullptr && before->fetcher != nullptr && before->fetcher->origin() == oidc.origin) {
    state.fetcher = before->fetcher;
  } else {
    const auto check = [oidc](const std::string& jwks) { return JwtVerifier::Create(oidc, jwks).status(); };
    state.fetcher = std::make_shared<KeySetFetcher>(oidc.origin, KeySetTimes(), check, clock_, metrics_.key_set);
  }
  state.keys_text = state.fetcher->keys().value_or("");
  return absl::OkStatus();
}

absl::Status AccessControl::Reload() {
  if (file_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::shared_ptr<const State> read, Read());
  const MutexLock lock(mutex_);
  told_error_.Clear();
  if (state_ == read) return absl::OkStatus();
  if (state_ != nullptr) Log(LogLevel::kInfo, "rules of access were read again", {{"file", file_}});
  state_ = std::move(read);
  ++generation_;
  return absl::OkStatus();
}

void AccessControl::Refresh() {
  const absl::Status status = Reload();
  if (status.ok()) return;
  const std::string error(status.message());
  const MutexLock lock(mutex_);
  if (told_error_.IsNews(error)) Log(LogLevel::kError, "rules of access stay as they are", {{"error", error}});
}

std::shared_ptr<const AccessControl::State> AccessControl::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

uint64_t AccessControl::generation() const {
  const MutexLock lock(mutex_);
  return generation_;
}

std::vector<DoorFile> AccessControl::files() const {
  const std::shared_ptr<const State> now = state();
  if (now == nullptr) return {};
  std::vector<DoorFile> files = {{"change_access_rules", file_, now->rules_text}};
  const std::string& keys = now->rules.oidc.keys;
  if (!keys.empty()) files.push_back({"change_key_set", keys, now->keys_text});
  return files;
}

bool AccessControl::takes_tokens() const {
  const std::shared_ptr<const State> now = state();
  return now != nullptr && now->rules.takes_tokens();
}

absl::StatusOr<JwtVerifier::Holder> AccessControl::Believe(const State& state, const std::string& token) {
  if (state.jwt == nullptr) {
    const absl::Status why = state.fetcher->keys().status();
    return absl::UnauthenticatedError(why.ok() ? "the keys of the provider have just come: try again"
                                               : std::string(why.message()));
  }
  if (state.fetcher != nullptr && !state.jwt->KnowsKeyOf(token)) state.fetcher->AskAgain();
  return state.jwt->Verify(token, clock_.WallNanos());
}

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::OfToken(const State& state, const std::string& token) {
  if (token.size() > kMaxTokenBytes) return absl::UnauthenticatedError("the token is too long");
  if (!state.rules.oidc.issuer.empty() && std::count(token.begin(), token.end(), '.') == 2) {
    ASSIGN_OR_RETURN(const JwtVerifier::Holder holder, Believe(state, token));
    return std::make_shared<const Caller>(
        CallerWith(absl::StrCat(holder.subject, " of ", state.rules.oidc.issuer), holder.grant, state.rules));
  }
  const std::string name = token.substr(0, token.find('.'));
  const auto rule = state.rules.tokens.find(name);
  if (rule == state.rules.tokens.end()) return absl::UnauthenticatedError("the token is not known");
  if (!state.verified.Knows(token)) {
    if (!state.verified.TakeCheck(clock_.MonotonicNanos()))
      return absl::UnavailableError("too many tokens are being checked");
    if (!MatchesHash(token, rule->second.hash)) return absl::UnauthenticatedError("the token is not known");
    state.verified.Remember(token);
  }
  return std::make_shared<const Caller>(CallerWith(absl::StrCat("token ", name), rule->second.grant, state.rules));
}

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::Identify(const PeerNames& names,
                                                                      absl::string_view authorization) {
  const std::shared_ptr<const State> now = state();
  if (now == nullptr) return everybody_;
  if (!authorization.empty()) {
    if (!absl::ConsumePrefix(&authorization, kBearer)) {
      return absl::UnauthenticatedError("authorization: expected 'Bearer TOKEN'");
    }
    if (EqualsInConstantTime(authorization, own_token_)) return own_process_;
    return OfToken(*now, std::string(authorization));
  }
  if (std::optional<Caller> caller = CallerOf(names, now->rules); caller.has_value()) {
    return std::make_shared<const Caller>(*std::move(caller));
  }
  if (names.empty()) return absl::UnauthenticatedError("there is neither a certificate nor a token");
  return absl::UnauthenticatedError(absl::StrCat("no rule fits the certificate of ", names.best()));
}

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::Admit(const grpc::CallbackServerContext& context,
                                                                   absl::string_view method) {
  const std::string peer = context.peer();
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  absl::StatusOr<std::shared_ptr<const Caller>> caller =
      Identify(auth == nullptr ? PeerNames() : NamesOf(*auth), AuthorizationOf(context));
  if (caller.ok()) {
    const std::optional<Role> least = LeastRoleFor(method);
    if (least.has_value() && (*caller)->May(*least)) return caller;
    const absl::string_view needed = least.has_value() ? NameOf(*least) : "nobody's";
    caller = absl::PermissionDeniedError(
        absl::StrCat((*caller)->name, " has the role ", NameOf((*caller)->role), "; this needs the role ", needed));
  }
  TellOfRefusal(caller.status(), peer, method);
  return caller;
}

void AccessControl::TellOfRefusal(const absl::Status& status, const std::string& peer, absl::string_view method) {
  (absl::IsPermissionDenied(status) ? metrics_.refused_role : metrics_.refused_unknown).Increment();
  {
    const MutexLock lock(mutex_);
    if (!refusal_lines_.Take(clock_.MonotonicNanos())) return;
  }
  if (on_refusal_) on_refusal_(peer, method, status);
}

}  // namespace lockstep
