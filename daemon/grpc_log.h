// What gRPC itself has to say, such as handshakes that fail, in our log: a line each, at most a few per second, since
// strangers decide how many there are.

#ifndef LOCKSTEP_DAEMON_GRPC_LOG_H_
#define LOCKSTEP_DAEMON_GRPC_LOG_H_

namespace lockstep {

inline constexpr int kMaxGrpcLinesPerSecond = 5;

// For daemons. To be called once, before gRPC is used. Errors become warnings, the rest is dropped.
void TakeOverGrpcLog();

// For programs that say what went wrong by themselves: nothing is printed. To be called once, before gRPC is used.
void SilenceGrpcLog();

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_GRPC_LOG_H_
