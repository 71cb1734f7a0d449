// How a job is played to a collector, and what came of it. Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_FEED_FEED_RESULT_H_
#define LOCKSTEP_SIM_FEED_FEED_RESULT_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"

namespace lockstep {

struct FeedOptions {
  std::string address;                                    // host:port of the collector's ingest service
  std::string host_prefix;                                // before the name of every host
  double speed = 1;                                       // seconds of the job per second
  int32_t connections = 16;                               // that the hosts share
  int64_t connect_ns = 10 * kNanosPerSecond;              // for the first connection
  std::shared_ptr<grpc::ChannelCredentials> credentials;  // nullptr = plain text
  grpc::ChannelArguments arguments;                       // that go with the credentials
};

struct FeedResult {
  uint64_t hosts = 0;    // that reported
  uint64_t seconds = 0;  // of the job
  uint64_t reports = 0;
  uint64_t acknowledged = 0;
  uint64_t repeated = 0;       // stored before, of agents of the same names and incarnations
  uint64_t dropped = 0;        // the collector did not take them in time, or a stream had ended
  uint64_t streams_ended = 0;  // before the job was over
  uint64_t commands = 0;       // of the collector, answered
  uint64_t late_ticks = 0;     // that began after their time: the speed was too high for this machine
  std::string first_error;     // of a stream that ended; "" = none gave a reason
};

// Called after every second of the job: how many are over, and how many there are.
using FeedProgress = std::function<void(int32_t second, int32_t of)>;

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FEED_FEED_RESULT_H_
