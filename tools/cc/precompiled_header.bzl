"""precompiled_header: headers that the compiler has read once, for all files that include them first.

Parsing the standard library, Abseil and GoogleTest takes longer than compiling what most files of ours say.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_COMPILE = "c++-compile"

# Clang notes when the header was written and refuses another time, which a copy in another folder has. Templates that the
# header uses are compiled with it, not with each file.
_PRECOMPILING_FLAGS = ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"]

def _flags(ctx, toolchain, source, output):
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = _COMPILE)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts +
                             _PRECOMPILING_FLAGS + ["-x", "c++-header"],
        source_file = source.path,
        output_file = output.path,
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = _COMPILE,
        variables = variables,
    )
    return compiler, flags

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)

    # The compilers look for the compiled form beside the header.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    guard = "LOCKSTEP_PRECOMPILED_" + ctx.label.name.upper()
    lines = ["#ifndef " + guard, "#define " + guard]
    lines += ["#include <%s>" % include for include in ctx.attr.includes] + ["#endif", ""]
    ctx.actions.write(header, "\n".join(lines))
    compiled = ctx.actions.declare_file(header.basename + ".gch")
    compiler, flags = _flags(ctx, toolchain, header, compiled)
    ctx.actions.run(
        executable = compiler,
        arguments = flags,
        inputs = depset([header], transitive = [toolchain.all_files]),
        outputs = [compiled],
        env = {"PATH": "/usr/bin:/bin"},
        # Clang writes the folder of the build into it: out of a shared cache, another build would refuse it.
        execution_requirements = {"no-cache": "1"},
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % ctx.label,
    )
    files = depset([header, compiled])
    return [
        DefaultInfo(files = files),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = files)),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(mandatory = True, doc = "As in #include <...>."),
        "copts": attr.string_list(doc = "As those of the targets that use it: a compiler refuses others."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
