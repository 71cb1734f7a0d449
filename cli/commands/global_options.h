// The options of all verbs. Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_GLOBAL_OPTIONS_H_
#define LOCKSTEP_CLI_COMMANDS_GLOBAL_OPTIONS_H_

#include "absl/types/span.h"

namespace lockstep {

struct GlobalOption {
  const char* name;
  const char* help;
  bool is_file = false;
  absl::Span<const char* const> choices = {};  // empty = any text
};

inline constexpr const char* kOutputFormats[] = {"table", "json"};

inline constexpr GlobalOption kGlobalOptions[] = {
    {"--collector", "HOST:PORT of the collector [env LOCKSTEP_COLLECTOR]"},
    {"--tls-ca", "PEM file of the collector's authorities: use TLS [env LOCKSTEP_TLS_CA]", /*is_file=*/true},
    {"--tls-certificate", "PEM file of your certificate [env LOCKSTEP_TLS_CERTIFICATE]", /*is_file=*/true},
    {"--tls-key", "PEM file of its key [env LOCKSTEP_TLS_KEY]", /*is_file=*/true},
    {"--tls-server-name", "in the collector's certificate, if not its host [env LOCKSTEP_TLS_SERVER_NAME]"},
    {"--token-file", "file of your token, in a certificate's stead [env LOCKSTEP_TOKEN_FILE]", /*is_file=*/true},
    {"-o,--output", "table or json", /*is_file=*/false, kOutputFormats},
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_GLOBAL_OPTIONS_H_
