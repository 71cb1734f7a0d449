"""lockstep_fuzzer: a libFuzzer target, built by `./dev fuzz` with --config=asan."""

load("//tools/cc:cc.bzl", "cc_binary")

def lockstep_fuzzer(name, src, deps):
    """Declares one fuzz target; it is left out of wildcard builds, since only --config=asan has the compiler tell libFuzzer
    where the code goes.

    Args:
      name: ends in _fuzzer.
      src: the file with LLVMFuzzerTestOneInput.
      deps: what it fuzzes.
    """
    cc_binary(
        name = name,
        testonly = True,
        srcs = [src],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
    )
