// Lets the recorders load in images as old as those with glibc 2.17 (RHEL 7), although they are built with a newer one.
//
// glibc 2.34 moved libdl's functions into libc.so.6 under a new symbol version, which no older glibc knows. A file that
// calls them includes this header, and is then linked to the first version of each, which every glibc has: an old one
// in libdl.so.2, which the recorders name as needed for that reason, a new one in libc.so.6.
// tests/deploy/recorder_glibc_test.py checks all versions that the shipped libraries ask for. Pure: no code, only
// directives to the assembler.

#ifndef LOCKSTEP_AGENT_RECORDER_GLIBC_FLOOR_H_
#define LOCKSTEP_AGENT_RECORDER_GLIBC_FLOOR_H_

#include <features.h>

#ifdef __GLIBC__
#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
#elif defined(__aarch64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
__asm__(".symver dlclose, dlclose@GLIBC_2.17");
__asm__(".symver dladdr, dladdr@GLIBC_2.17");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.17");
#endif
#endif

#endif  // LOCKSTEP_AGENT_RECORDER_GLIBC_FLOOR_H_
