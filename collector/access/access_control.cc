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

}  // namespace

absl::string_view AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  return found == metadata.end() ? absl::string_view() : absl::string_view(found->second.data(), found->second.size());
}

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
  if (has_same_rules && before->providers.empty()) return before;
  absl::StatusOr<AccessRules> rules = has_same_rules ? before->rules : ParseAccessRules(state->rules_text);
  if (!rules.ok()) return In(file_, rules.status());
  state->rules = *std::move(rules);
  for (const OidcRules& oidc : state->rules.oidc) {
    ASSIGN_OR_RETURN(Provider provider, ReadKeys(oidc, before.get()));
    state->providers.push_back(std::move(provider));
  }
  const auto has_same_keys = [](const Provider& a, const Provider& b) { return a.keys_text == b.keys_text; };
  if (has_same_rules && std::equal(state->providers.begin(), state->providers.end(), before->providers.begin(),
                                   before->providers.end(), has_same_keys)) {
    return before;
  }
  for (size_t i = 0; i < state->providers.size(); ++i) {
    Provider& provider = state->providers[i];
    if (provider.keys_text.empty()) continue;
    const OidcRules& oidc = state->rules.oidc[i];
    absl::StatusOr<std::unique_ptr<JwtVerifier>> jwt = JwtVerifier::Create(oidc, provider.keys_text);
    if (!jwt.ok()) return In(oidc.keys, jwt.status());
    provider.jwt = *std::move(jwt);
  }
  return state;
}

absl::StatusOr<AccessControl::Provider> AccessControl::ReadKeys(const OidcRules& oidc, const State* before) const {
  Provider provider;
  if (!oidc.keys.empty()) {
    ASSIGN_OR_RETURN(provider.keys_text, ReadBoundedFile(oidc.keys));
    if (provider.keys_text.empty()) return In(oidc.keys, absl::InvalidArgumentError("is empty"));
    return provider;
  }
  if (before != nullptr) {
    for (const Provider& known : before->providers) {
      if (known.fetcher != nullptr && known.fetcher->origin() == oidc.origin) provider.fetcher = known.fetcher;
    }
  }
  if (provider.fetcher == nullptr) {
    const auto check = [oidc](const std::string& jwks) { return JwtVerifier::Create(oidc, jwks).status(); };
    provider.fetcher = std::make_shared<KeySetFetcher>(oidc.origin, KeySetTimes(), check, clock_,
                                                       KeySetMetrics(metrics_.registry, oidc.issuer));
  }
  provider.keys_text = provider.fetcher->keys().value_or("");
  return provider;
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
  for (size_t i = 0; i < now->providers.size(); ++i) {
    const std::string& keys = now->rules.oidc[i].keys;
    if (!keys.empty()) files.push_back({"change_key_set", keys, now->providers[i].keys_text});
  }
  return files;
}

bool AccessControl::takes_tokens() const {
  const std::shared_ptr<const State> now = state();
  return now != nullptr && now->rules.takes_tokens();
}

absl::StatusOr<JwtVerifier::Holder> AccessControl::Believe(const Provider& provider, const std::string& token,
                                                           int64_t wall_ns) {
  if (provider.jwt == nullptr) {
    const absl::Status why = provider.fetcher->keys().status();
    return absl::UnauthenticatedError(why.ok() ? "the keys of the provider have just come: try again"
                                               : std::string(why.message()));
  }
  if (provider.fetcher != nullptr && !provider.jwt->KnowsKeyOf(token)) provider.fetcher->AskAgain();
  return provider.jwt->Verify(token, wall_ns);
}

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::OfProvidersToken(const State& state,
                                                                              const std::string& token,
                                                                              int64_t wall_ns) {
  // The first provider says why a token is refused that names none of them.
  const std::string issuer = JwtVerifier::ClaimedIssuer(token);
  size_t chosen = 0;
  for (size_t i = 0; i < state.providers.size(); ++i) {
    if (state.rules.oidc[i].issuer == issuer) chosen = i;
  }
  ASSIGN_OR_RETURN(const JwtVerifier::Holder holder, Believe(state.providers[chosen], token, wall_ns));
  Caller caller =
      CallerWith(absl::StrCat(holder.subject, " of ", state.rules.oidc[chosen].issuer), holder.grant, state.rules);
  if (!holder.host.empty()) caller.hosts.insert(holder.host);
  caller.reports = holder.reports;
  caller.token_judged_ns = wall_ns;
  return std::make_shared<const Caller>(std::move(caller));
}

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::OfToken(const State& state, const std::string& token,
                                                                     int64_t wall_ns) {
  if (token.size() > kMaxTokenBytes) return absl::UnauthenticatedError("the token is too long");
  if (!state.providers.empty() && std::count(token.begin(), token.end(), '.') == 2) {
    return OfProvidersToken(state, token, wall_ns);
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

absl::StatusOr<std::shared_ptr<const Caller>> AccessControl::IdentifyAsOf(int64_t wall_ns, const PeerNames& names,
                                                                          absl::string_view authorization) {
  const std::shared_ptr<const State> now = state();
  if (now == nullptr) return everybody_;
  if (!authorization.empty()) {
    if (!absl::ConsumePrefix(&authorization, kBearer)) {
      return absl::UnauthenticatedError("authorization: expected 'Bearer TOKEN'");
    }
    if (EqualsInConstantTime(authorization, own_token_)) return own_process_;
    return OfToken(*now, std::string(authorization), wall_ns);
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
