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

def _attributes(copts, deps, is_test):
    """The attributes of a target that say how its sources are compiled."""
    if copts:
        return {"copts": copts + (TEST_COPTS if is_test else []), "deps": deps}
    kind = _kind(deps)
    if is_test:
        level, header = TEST_COPTS, kind + "_test"
    else:
        level, header = [] if kind == "pure" else SERVICE_COPTS, kind
    return {
        "copts": level + ["-include", "$(BINDIR)/tools/cc/" + header + ".h"],
        "deps": deps + ["//tools/cc:" + header],
    }

def cc_library(name, copts = [], deps = [], **kwargs):
    attributes = _attributes(copts, deps, is_test = False) if "srcs" in kwargs else {"copts": copts, "deps": deps}
    native.cc_library(name = name, **dict(kwargs, **attributes))

def cc_binary(name, copts = [], deps = [], **kwargs):
    native.cc_binary(name = name, **dict(kwargs, **_attributes(copts, deps, is_test = False)))

def cc_test(name, copts = [], deps = [], **kwargs):
    native.cc_test(name = name, **dict(kwargs, **_attributes(copts, deps, is_test = True)))
