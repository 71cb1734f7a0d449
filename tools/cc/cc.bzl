"""cc_library, cc_binary and cc_test as everywhere, with what nearly all files include precompiled.

Which headers these are depends on the folder and on what a target depends on (BUILD.bazel says which are in each). A
target with compiler options of its own does without: a precompiled header holds for the options it was made with.
"""

# Folders of pure code: what computes, not what talks.
_PURE_FOLDERS = ["agent/recorder", "base", "detector", "formats", "sim"]

# gRPC is precompiled for those alone that link it: its headers bring an object that is constructed in each file.
_GRPC = "//third_party:grpc"

# Compiling a test costs far more than running it, in the sanitized flavours as well.
TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]

# Daemons and commands wait more than they compute: sanitized, compiling them costs more than running them.
SERVICE_COPTS = select({
    "//tools/cc:sanitized": TEST_COPTS,
    "//conditions:default": [],
})

def _kind(deps):
    folder = native.package_name()
    for pure in _PURE_FOLDERS:
        if folder == pure or folder.startswith(pure + "/"):
            return "pure"
    return "rpc" if type(deps) == "list" and _GRPC in deps else "service"

def _with_header(name, optimized, deps):
    header = "//tools/cc:" + name
    return struct(
        copts = optimized + ["-include", "$(BINDIR)/tools/cc/" + name + ".h"],
        deps = deps + [header],
    )

def _library(copts, deps):
    if copts:
        return struct(copts = copts, deps = deps)
    kind = _kind(deps)
    return _with_header(kind, [] if kind == "pure" else SERVICE_COPTS, deps)

def cc_library(name, copts = [], deps = [], **kwargs):
    with_header = _library(copts, deps) if "srcs" in kwargs else struct(copts = copts, deps = deps)
    native.cc_library(name = name, copts = with_header.copts, deps = with_header.deps, **kwargs)

def cc_binary(name, copts = [], deps = [], **kwargs):
    with_header = _library(copts, deps)
    native.cc_binary(name = name, copts = with_header.copts, deps = with_header.deps, **kwargs)

def cc_test(name, copts = [], deps = [], **kwargs):
    if copts:
        with_header = struct(copts = copts + TEST_COPTS, deps = deps)
    else:
        with_header = _with_header(_kind(deps) + "_test", TEST_COPTS, deps)
    native.cc_test(name = name, copts = with_header.copts, deps = with_header.deps, **kwargs)
