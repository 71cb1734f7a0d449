#include "agent/recorder/preload_next_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "agent/recorder/glibc_floor.h"

namespace lockstep::ring {
namespace {

bool IsOurs(const void* function) {
  Dl_info theirs;
  Dl_info ours;
  return dladdr(function, &theirs) != 0 && dladdr(reinterpret_cast<const void*>(&IsOurs), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

void* OtherThanOurs(void* function) { return function != nullptr && !IsOurs(function) ? function : nullptr; }

// In a library that is loaded already, and in what it depends on. The handle is kept: the function has to stay.
void* FindIn(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : OtherThanOurs(dlsym(handle, name));
}

void* FindFromCaller(const char* name, const void* caller) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return nullptr;
  return map->l_name[0] == '\0' ? nullptr : FindIn(map->l_name, name);
}

}  // namespace

void* FindNextFunction(const char* name, const void* caller) {
  const int saved_errno = errno;
  void* found = OtherThanOurs(dlsym(RTLD_NEXT, name));
  if (found == nullptr) found = FindFromCaller(name, caller);
  errno = saved_errno;
  return found;
}

}  // namespace lockstep::ring
