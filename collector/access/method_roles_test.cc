// Every method of every service has its row in the table of roles. That the services ask the table is shown by
// collector_access_test.cc, which calls them all.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "collector/access/role.h"
#include "proto/admin.pb.h"
#include "proto/ingest.pb.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The files of the wire, as the repository has them. What the collector only calls is in the package of who serves it.
std::set<std::string> ProtoFiles() {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("proto")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".proto") continue;
    if (absl::StrContains(TextOf(path), "\npackage lockstep.wire;")) files.insert(path);
  }
  return files;
}

TEST(MethodRolesTest, EveryMethodHasARoleAndEveryRowAMethod) {
  // Named so that their descriptors are linked.
  ASSERT_NE(wire::ForgetHostRequest::descriptor(), nullptr);
  ASSERT_NE(wire::AgentHello::descriptor(), nullptr);
  ASSERT_NE(wire::GetStatusRequest::descriptor(), nullptr);
  std::set<std::string> methods;
  for (const std::string& path : ProtoFiles()) {
    if (!absl::StrContains(TextOf(path), "\nservice ")) continue;
    const google::protobuf::FileDescriptor* file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(path);
    ASSERT_NE(file, nullptr) << path << " has a service: link it here and give its methods roles";
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const std::string& method = file->service(s)->method(m)->full_name();
        methods.insert(method);
        EXPECT_TRUE(LeastRoleFor(method).has_value()) << method << " has no row in collector/access/role.cc";
      }
    }
  }
  EXPECT_GE(methods.size(), 9);
  for (const MethodRole& row : MethodRoles()) {
    EXPECT_TRUE(methods.contains(std::string(row.method))) << row.method << " does not exist";
  }
  EXPECT_EQ(methods.size(), MethodRoles().size()) << "a method has two rows";
}

TEST(MethodRolesTest, OnlyReadingIsForViewers) {
  for (const MethodRole& row : MethodRoles()) {
    EXPECT_EQ(row.least == Role::kViewer, absl::StartsWith(row.method, "lockstep.wire.Query.")) << row.method;
  }
  EXPECT_FALSE(LeastRoleFor("lockstep.wire.Query.NoSuchMethod").has_value());
}

}  // namespace
}  // namespace lockstep
