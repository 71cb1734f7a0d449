"""What many sources include, by kind of source. Of the standard library and Debian's packages only: ours change."""

PURE = [
    "algorithm",
    "array",
    "atomic",
    "cmath",
    "cstddef",
    "cstdint",
    "deque",
    "functional",
    "iterator",
    "limits",
    "map",
    "memory",
    "numeric",
    "optional",
    "set",
    "string",
    "thread",
    "tuple",
    "utility",
    "vector",
    "absl/container/flat_hash_map.h",
    "absl/container/flat_hash_set.h",
    "absl/status/status.h",
    "absl/status/statusor.h",
    "absl/strings/match.h",
    "absl/strings/numbers.h",
    "absl/strings/str_cat.h",
    "absl/strings/str_format.h",
    "absl/strings/str_join.h",
    "absl/strings/string_view.h",
    "absl/types/span.h",
]

SERVICE = PURE + [
    "filesystem",
    "fstream",
    "sstream",
    "google/protobuf/extension_set.h",
    "google/protobuf/generated_enum_reflection.h",
    "google/protobuf/generated_message_reflection.h",
    "google/protobuf/map_entry.h",
    "google/protobuf/map_field_inl.h",
    "google/protobuf/message.h",
    "google/protobuf/repeated_field.h",
    "google/protobuf/unknown_field_set.h",
    "nlohmann/json.hpp",
    "prometheus/counter.h",
    "prometheus/gauge.h",
    "prometheus/histogram.h",
    "prometheus/registry.h",
]

RPC = SERVICE + ["grpcpp/grpcpp.h"]

TEST = [
    "gmock/gmock.h",
    "gtest/gtest.h",
]
