// Opens a library that is linked with NCCL, privately, as Python opens an extension, and runs its exercise.
// Arguments: LIBRARY RANK MODE.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto exercise = reinterpret_cast<int (*)(int, const char*)>(dlsym(library, "ExerciseNccl"));
  return exercise == nullptr ? 2 : exercise(atoi(argv[2]), argv[3]);
}
