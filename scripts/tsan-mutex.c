// Informs the thread sanitizer about the actions of Swift's `Mutex` on Linux. Preloaded by scripts/sanitize, and into users'
// programs as described in the article "Testing".
//
// If there are no waiters, an atomic operation in our own code takes a `Mutex`, which the sanitizer observes. With waiters,
// the Synchronization library takes it and gives it back. The library is not instrumented. So the sanitizer misses the order
// that the mutex causes, and reports false races. These two functions replace the library's own and report that order.
//
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Only a process with the sanitizer has them.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

SWIFT void lockSlow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT void lockSlow(uint32_t thread, SELF void *mutex) {
  SWIFT void (*original)(uint32_t, SELF void *) = (SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK_SLOW);
  original(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlockSlow(SELF void *mutex) __asm__(UNLOCK_SLOW);
SWIFT void unlockSlow(SELF void *mutex) {
  SWIFT void (*original)(SELF void *) = (SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK_SLOW);
  if (__tsan_release) __tsan_release(mutex);
  original(mutex);
}
