#include "collector/query_admission.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

std::string ClientOf(const Caller& caller, const std::string& peer) {
  return caller.is_everybody ? peer.substr(0, peer.rfind(':')) : caller.name;
}

absl::StatusOr<QueryAdmission::Slot> QueryAdmission::Admit(const std::string& client) {
  {
    MutexLock lock(mutex_);
    if (total_ >= options_.max_at_once) {
      metrics_.refused_all.Increment();
      return absl::ResourceExhaustedError(absl::StrCat("all clients: ", total_, " ", options_.what,
                                                       " are under way, at most ", options_.max_at_once,
                                                       "; ask later"));
    }
    const auto known = under_way_.find(client);
    if (known != under_way_.end() && known->second >= options_.max_of_client) {
      metrics_.refused_client.Increment();
      return absl::ResourceExhaustedError(absl::StrCat("client ", client, ": ", known->second, " ", options_.what,
                                                       " are under way, at most ", options_.max_of_client,
                                                       "; read their answers first"));
    }
    ++under_way_[client];
    ++total_;
  }
  return Slot(nullptr, [this, client](void*) { Release(client); });
}

void QueryAdmission::Release(const std::string& client) {
  MutexLock lock(mutex_);
  --total_;
  const auto known = under_way_.find(client);
  if (--known->second == 0) under_way_.erase(known);
}

}  // namespace lockstep
