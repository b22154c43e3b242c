// What AddressSanitizer must be told: which stack is in use, and which memory is out of bounds.
// Does nothing in other builds.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace dashlm::host_cuda {

struct Stack {
  const void* bottom = nullptr;
  size_t size = 0;
};

#ifdef __SANITIZE_ADDRESS__

constexpr size_t kStackFactor = 8;  // of frames, with the guards around their variables

// Around a switch: left() before it, with the stack that is to be entered; entered() after it, on
// that stack, with what left() gave there when it was left (null: it is new) and where to note the
// stack that was left.
inline void* left(const Stack& to) {
  void* kept = nullptr;
  __sanitizer_start_switch_fiber(&kept, to.bottom, to.size);
  return kept;
}
inline void entered(void* kept, Stack& from) {
  __sanitizer_finish_switch_fiber(kept, &from.bottom, &from.size);
}
inline void forbid(const void* memory, size_t size) {
  __asan_poison_memory_region(memory, size);
}
inline void allow(const void* memory, size_t size) {
  __asan_unpoison_memory_region(memory, size);
}

#else

constexpr size_t kStackFactor = 1;

inline void* left(const Stack&) {
  return nullptr;
}
inline void entered(void*, Stack&) {}
inline void forbid(const void*, size_t) {}
inline void allow(const void*, size_t) {}

#endif

}  // namespace dashlm::host_cuda
