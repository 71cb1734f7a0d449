// Every release reads what every other one says: no field, value or method of release 0.1.0 has become another one.
//
// testdata/wire-0.1.0.binpb is what protoc made of the protocol of 0.1.0 (--descriptor_set_out). A field that went away
// keeps its number to itself, so that nobody takes what an old peer says there for something else.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "proto/ingest.pb.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::ServiceDescriptor;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What one release says that the other would take for something else.
class Comparison {
 public:
  explicit Comparison(const DescriptorPool& now) : now_(now) {}

  void Compare(const FileDescriptor& file) {
    for (int i = 0; i < file.message_type_count(); ++i) CompareMessage(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) CompareEnum(*file.enum_type(i));
    for (int i = 0; i < file.service_count(); ++i) CompareService(*file.service(i));
  }

  int compared() const { return compared_; }
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  void Differ(const std::string& name, const char* how) { differences_.push_back(absl::StrCat(name, " ", how)); }

  void CompareMessage(const Descriptor& before) {
    for (int i = 0; i < before.nested_type_count(); ++i) CompareMessage(*before.nested_type(i));
    for (int i = 0; i < before.enum_type_count(); ++i) CompareEnum(*before.enum_type(i));
    const Descriptor* now = now_.FindMessageTypeByName(before.full_name());
    if (now == nullptr) return Differ(before.full_name(), "is gone");
    for (int i = 0; i < before.field_count(); ++i) CompareField(*before.field(i), *now);
  }

  void CompareField(const FieldDescriptor& before, const Descriptor& message) {
    ++compared_;
    const FieldDescriptor* now = message.FindFieldByNumber(before.number());
    if (now == nullptr) {
      if (!message.IsReservedNumber(before.number())) Differ(before.full_name(), "is gone, and its number is free");
      return;
    }
    if (now->name() != before.name()) Differ(before.full_name(), "has another name");
    if (now->type() != before.type()) Differ(before.full_name(), "has another type");
    if (now->is_repeated() != before.is_repeated()) Differ(before.full_name(), "is a list, or was one");
    if (TypeName(*now) != TypeName(before)) Differ(before.full_name(), "is another message");
  }

  static std::string TypeName(const FieldDescriptor& field) {
    if (field.message_type() != nullptr) return field.message_type()->full_name();
    return field.enum_type() == nullptr ? "" : field.enum_type()->full_name();
  }

  void CompareEnum(const EnumDescriptor& before) {
    const EnumDescriptor* now = now_.FindEnumTypeByName(before.full_name());
    if (now == nullptr) return Differ(before.full_name(), "is gone");
    for (int i = 0; i < before.value_count(); ++i) {
      ++compared_;
      const auto* value = now->FindValueByNumber(before.value(i)->number());
      if (value == nullptr || value->name() != before.value(i)->name()) {
        Differ(before.value(i)->full_name(), "is another value");
      }
    }
  }

  void CompareService(const ServiceDescriptor& before) {
    const ServiceDescriptor* now = now_.FindServiceByName(before.full_name());
    if (now == nullptr) return Differ(before.full_name(), "is gone");
    for (int i = 0; i < before.method_count(); ++i) {
      ++compared_;
      const auto& old_method = *before.method(i);
      const auto* method = now->FindMethodByName(old_method.name());
      if (method == nullptr || method->input_type()->full_name() != old_method.input_type()->full_name() ||
          method->output_type()->full_name() != old_method.output_type()->full_name() ||
          method->client_streaming() != old_method.client_streaming() ||
          method->server_streaming() != old_method.server_streaming()) {
        Differ(old_method.full_name(), "is gone, or takes or gives something else");
      }
    }
  }

  const DescriptorPool& now_;
  int compared_ = 0;
  std::vector<std::string> differences_;
};

google::protobuf::FileDescriptorSet Released() {
  google::protobuf::FileDescriptorSet files;
  std::ifstream file("tests/skew/testdata/wire-0.1.0.binpb", std::ios::binary);
  EXPECT_TRUE(files.ParseFromIstream(&file));
  return files;
}

// What is compared with a release: `change` is made to its protocol first.
template <typename Change>
Comparison CompareWithReleased(const Change& change) {
  google::protobuf::FileDescriptorSet files = Released();
  change(files);
  Comparison comparison(*DescriptorPool::generated_pool());
  DescriptorPool released;
  for (const google::protobuf::FileDescriptorProto& file : files.file()) {
    const FileDescriptor* built = released.BuildFile(file);
    EXPECT_NE(built, nullptr) << file.name();
    if (built != nullptr) comparison.Compare(*built);
  }
  return comparison;
}

class WireSchemaTest : public testing::Test {
 protected:
  // Has the linker keep what the pool is searched for.
  void SetUp() override {
    ASSERT_NE(wire::AgentMessage::descriptor(), nullptr);
    ASSERT_NE(wire::CaptureEntry::descriptor(), nullptr);
    ASSERT_NE(wire::Incident::descriptor(), nullptr);
    ASSERT_NE(wire::GetStatusRequest::descriptor(), nullptr);
  }
};

TEST_F(WireSchemaTest, NothingOfTheReleaseMeansSomethingElseNow) {
  const Comparison comparison = CompareWithReleased([](auto&) {});
  EXPECT_THAT(comparison.differences(), IsEmpty());
  EXPECT_GT(comparison.compared(), 250);
}

TEST_F(WireSchemaTest, WhatWouldMeanSomethingElseIsSeen) {
  const Comparison comparison = CompareWithReleased([](google::protobuf::FileDescriptorSet& files) {
    for (google::protobuf::FileDescriptorProto& file : *files.mutable_file()) {
      for (google::protobuf::DescriptorProto& message : *file.mutable_message_type()) {
        if (message.name() == "AgentReport") message.mutable_field(0)->set_name("number");
        if (message.name() == "Ack")
          message.mutable_field(0)->set_type(google::protobuf::FieldDescriptorProto::TYPE_BYTES);
        if (message.name() == "Dropped") message.mutable_field(0)->set_number(900);
      }
      if (file.service_size() > 0) file.mutable_service(0)->mutable_method(0)->set_name("Gone");
    }
  });
  EXPECT_THAT(comparison.differences(), Contains(HasSubstr("AgentReport.number has another name")));
  EXPECT_THAT(comparison.differences(), Contains(HasSubstr("Ack.stored_sequence has another type")));
  EXPECT_THAT(comparison.differences(), Contains(HasSubstr("Dropped.reason is gone, and its number is free")));
  EXPECT_THAT(comparison.differences(), Contains(HasSubstr("Gone is gone, or takes")));
}

}  // namespace
}  // namespace lockstep
