// Where the key set of an OpenID provider comes from. Plain value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_ORIGIN_H_
#define LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_ORIGIN_H_

#include <string>

namespace lockstep {

struct KeySetOrigin {
  std::string issuer;       // asked where its keys are (OpenID Connect Discovery), unless `url` says it
  std::string url;          // of the key set; "" = the issuer knows
  std::string authorities;  // PEM file of those that are believed; "" = those of the system
  std::string token_file;   // of the token that is shown to `url`, and to nobody else; "" = none

  bool operator==(const KeySetOrigin&) const = default;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_KEY_SET_ORIGIN_H_
