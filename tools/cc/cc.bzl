"""cc_library, cc_binary and cc_test as everywhere, with what nearly all files include precompiled.

A target with compiler options of its own does without: a precompiled header holds for the options it was made with.
"""

_LIBRARY_HEADER = "//tools/cc:library"
_TEST_HEADER = "//tools/cc:test"

# Compiling a test costs far more than running it, in the sanitized flavours as well.
TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]

def _first(header):
    return ["-include", "$(BINDIR)/" + header[2:].replace(":", "/") + ".h"]

def cc_library(name, copts = [], deps = [], **kwargs):
    precompiled = not copts and "srcs" in kwargs
    native.cc_library(
        name = name,
        copts = copts + (_first(_LIBRARY_HEADER) if precompiled else []),
        deps = deps + ([_LIBRARY_HEADER] if precompiled else []),
        **kwargs
    )

def cc_binary(name, copts = [], deps = [], **kwargs):
    native.cc_binary(
        name = name,
        copts = copts + (_first(_LIBRARY_HEADER) if not copts else []),
        deps = deps + ([_LIBRARY_HEADER] if not copts else []),
        **kwargs
    )

def cc_test(name, copts = [], deps = [], **kwargs):
    native.cc_test(
        name = name,
        copts = copts + TEST_COPTS + (_first(_TEST_HEADER) if not copts else []),
        deps = deps + ([_TEST_HEADER] if not copts else []),
        **kwargs
    )
