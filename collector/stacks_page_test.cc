// What the page draws, what it has not, and where it is private.

#include "collector/stacks_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "collector/incident_index.h"
#include "collector/store/testing/memory_store.h"
#include "daemon/http_route.h"
#include "proto/incident.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StacksPageTest : public ::testing::Test {
 protected:
  StacksPageTest() {
    for (const uint64_t id : {7, 8}) {
      wire::Incident incident;
      incident.set_id(id);
      incident.set_job("train <b>");
      index_.Put(incident);
    }
    wire::StackDump dump;
    dump.set_rank(3);
    dump.set_samples(10);
    dump.add_names("main (train.py:1)");
    dump.add_names("<script>alert(1)</script>");
    wire::ThreadStacks& thread = *dump.add_threads();
    thread.set_tid(4711);
    thread.set_main(true);
    wire::FoldedStack& stack = *thread.add_python();
    stack.add_frames(0);
    stack.add_frames(1);
    stack.set_count(10);
    EXPECT_OK(store_.PutStacks(7, 0, dump));
  }

  IncidentIndex index_{100};
  MemoryStore store_;
};

HttpRequest For(const std::string& path) {
  HttpRequest request;
  request.path = path;
  return request;
}

TEST_F(StacksPageTest, DrawsWhatIsKeptWithTheIncident) {
  const HttpRoute route = StacksPage("127.0.0.1:0", index_, store_);
  const HttpResponse graph = route.handler(For("/incidents/7/stacks.svg"));
  EXPECT_EQ(graph.status, 200);
  EXPECT_THAT(graph.content_type, StartsWith("image/svg+xml"));
  EXPECT_THAT(graph.body, HasSubstr("main (train.py:1)"));
  EXPECT_THAT(graph.body, HasSubstr("incident 7"));
  EXPECT_THAT(graph.body, Not(HasSubstr("<script>"))) << "names are hostile text";
  EXPECT_THAT(graph.body, Not(HasSubstr("<b>")));
}

TEST_F(StacksPageTest, SaysWhatThereIsNot) {
  const HttpRoute route = StacksPage("127.0.0.1:0", index_, store_);
  const auto refusal = [&](const std::string& path) {
    const HttpResponse response = route.handler(For(path));
    return absl::StrCat(response.status, " ", response.body);
  };
  EXPECT_THAT(refusal("/incidents/8/stacks.svg"), StartsWith("404 no stacks were taken"));
  EXPECT_EQ(refusal("/incidents/9/stacks.svg"), "404 no incident 9\n");
  for (const char* path : {"/incidents/", "/incidents/7", "/incidents/7/", "/incidents/-7/stacks.svg",
                           "/incidents/7/stacks.svg/", "/incidents/7x/stacks.svg", "/incidents//stacks.svg"}) {
    EXPECT_THAT(refusal(path), StartsWith("404 no such page")) << path;
  }
}

TEST_F(StacksPageTest, IsPrivateWhereOtherMachinesReachIt) {
  EXPECT_FALSE(StacksPage("127.0.0.1:9462", index_, store_).is_private);
  EXPECT_TRUE(StacksPage("0.0.0.0:9462", index_, store_).is_private);
}

}  // namespace
}  // namespace lockstep
