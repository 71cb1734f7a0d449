// A call without a message, for tests of who is let in: what comes after that may fail in any other way.

#ifndef LOCKSTEP_DAEMON_TLS_TESTING_EMPTY_CALL_H_
#define LOCKSTEP_DAEMON_TLS_TESTING_EMPTY_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace lockstep {

// Calls `path`, such as "/lockstep.wire.Query/ListJobs", and waits for its end, for 10 s at most.
grpc::Status CallWithNothing(const std::shared_ptr<grpc::Channel>& channel, const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_TESTING_EMPTY_CALL_H_
