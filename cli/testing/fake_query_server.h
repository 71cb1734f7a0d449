// A collector that answers what a test put into it, and takes down what it is told to change, over a real gRPC
// connection on a port of its own.

#ifndef LOCKSTEP_CLI_TESTING_FAKE_QUERY_SERVER_H_
#define LOCKSTEP_CLI_TESTING_FAKE_QUERY_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "proto/admin.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

// Set the answers before the first call; then thread-safe. Listens on 127.0.0.1 until destroyed.
class FakeQueryServer {
 public:
  struct Answers {
    wire::GetStatusResponse status;
    wire::ListJobsResponse jobs;
    std::string job;  // the only one that has ranks and a capture; any other is NOT_FOUND
    wire::ListRanksResponse ranks;
    wire::ListIncidentsResponse incidents;  // also by id; any other id is NOT_FOUND
    wire::ListGpusResponse gpus;            // those of a request's hosts and name are given
    wire::GetHistoryResponse history;
    // What the pages behind `history` hold, by the time at which it is resumed.
    std::map<int64_t, wire::GetHistoryResponse> more_history;
    std::vector<wire::CaptureEntry> capture;
    // What was asked, if anybody wants to know.
    std::function<void(const wire::GetHistoryRequest&)> on_history;
    std::function<void(const wire::ListIncidentsRequest&)> on_incidents;
    wire::ListMaintenanceResponse maintenance;
    // What agents answer to any demand about `job`; of any other job it is NOT_FOUND. The request is told to on_change.
    std::vector<wire::OnDemandAnswer> on_demand;
    // What was asked to be changed; the answer is the incident, or the window, as it is in the request.
    std::function<void(const google::protobuf::Message&)> on_change;
    // While it says true, lists of incidents are refused with UNAVAILABLE.
    std::function<bool()> is_away;
    // Called before each list of incidents is sent, to let it change.
    std::function<void(wire::ListIncidentsResponse&)> change_incidents;
  };

  explicit FakeQueryServer(Answers answers);
  ~FakeQueryServer();
  FakeQueryServer(const FakeQueryServer&) = delete;
  FakeQueryServer& operator=(const FakeQueryServer&) = delete;

  const std::string& address() const { return address_; }

 private:
  class Service;
  class AdminService;
  class Listener;
  std::unique_ptr<Service> service_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<Listener> listener_;
  std::string address_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_TESTING_FAKE_QUERY_SERVER_H_
