#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

// What Swift cannot use of the system's calls: packed structures, unions, addresses of several kinds. Nothing else is here.

// Changes what epoll watches of a descriptor; the event carries `data`. Returns 0 or -1 and errno.
static inline int martlet_watch(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data = {.u64 = data}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}
// The data that an event carries: the structure is packed.
static inline uint64_t martlet_event_data(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t martlet_event_mask(const struct epoll_event *event) { return event->events; }
// The first occurrence of `needle` in `count` bytes, or null.
static inline const void *martlet_find(const void *bytes, size_t count, const void *needle, size_t needle_count) {
  return memmem(bytes, count, needle, needle_count);
}
