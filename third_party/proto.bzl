"""lockstep_proto_library: C++ from one .proto file with Debian's protoc, and gRPC stubs if it has a service."""

load("//tools/cc:cc.bzl", "SERVICE_COPTS")

def lockstep_proto_library(name, src, deps = [], grpc = False, visibility = None):
    """Generates and compiles SRC.

    Args:
      name: the resulting cc_library; include its header as "proto/<stem>.pb.h" (and ".grpc.pb.h").
      src: one .proto file of this package; imports are written from the repository root.
      deps: other lockstep_proto_library targets of this package that SRC imports.
      grpc: whether SRC defines a service.
      visibility: of the cc_library.
    """
    stem = src[:-len(".proto")]
    outs = [stem + ".pb.h", stem + ".pb.cc"]
    command = "protoc -I. --cpp_out=$(GENDIR)"
    if grpc:
        outs += [stem + ".grpc.pb.h", stem + ".grpc.pb.cc"]
        command += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"
    native.filegroup(
        name = name + "_proto",
        srcs = [src] + [d + "_proto" for d in deps],
    )
    native.genrule(
        name = name + "_gen",
        srcs = [":" + name + "_proto"],
        outs = outs,
        cmd = command + " " + native.package_name() + "/" + src,
        message = "protoc " + src,
    )
    native.cc_library(
        name = name,
        srcs = [o for o in outs if o.endswith(".cc")],
        hdrs = [o for o in outs if o.endswith(".h")],
        copts = ["-w"] + SERVICE_COPTS,
        deps = deps + (["//third_party:grpc"] if grpc else ["//third_party:protobuf"]),
        visibility = visibility,
    )
