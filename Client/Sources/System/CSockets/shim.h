#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Parts of the system's calls that Swift cannot use: packed structures, unions, addresses of several kinds. Nothing else.

// Constants that are enums in one C library and numbers in another.
static const int martlet_stream = SOCK_STREAM;
static const uint32_t martlet_readable = EPOLLIN;
static const uint32_t martlet_writable = EPOLLOUT;
static const uint32_t martlet_broken = EPOLLERR | EPOLLHUP;
static const uint32_t martlet_edge_triggered = EPOLLET;
// Changes the events that epoll watches on a descriptor; the event carries `data`. Returns 0 or -1 and errno.
static inline int martlet_watch(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data = {.u64 = data}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}
// The data that an event carries: the structure is packed.
static inline uint64_t martlet_event_data(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t martlet_event_mask(const struct epoll_event *event) { return event->events; }
// A descriptor that becomes readable to wake a loop; negative if the system has none left.
static inline int martlet_make_wake_up(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
// Declared by <poll.h> only for programs that define _GNU_SOURCE, as Swift's compiler does not.
extern int ppoll(struct pollfd *watched, nfds_t count, const struct timespec *limit, const sigset_t *signals);
// The number of processors that the calling thread may run on; 0 if that is not known.
static inline int martlet_processor_count(void) {
  unsigned long mask[128];
  long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  int count = 0;
  for (long index = 0; index * (long)sizeof *mask < size; index++) count += __builtin_popcountl(mask[index]);
  return count;
}
// Waits for at most this number of nanoseconds until a descriptor is readable, or `interrupt` is. Returns whether the first
// one is.
static inline int martlet_wait_for_input(int descriptor, int interrupt, long nanoseconds) {
  struct pollfd watched[] = {{.fd = descriptor, .events = POLLIN}, {.fd = interrupt, .events = POLLIN}};
  struct timespec limit = {.tv_sec = 0, .tv_nsec = nanoseconds};
  return ppoll(watched, 2, &limit, NULL) > 0 && watched[0].revents != 0;
}
static inline void martlet_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
// A stream socket that does not block and that no child process inherits; negative and errno if there is none.
static inline int martlet_make_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
// Whether the process may have this number of descriptors above one of its own.
static inline bool martlet_leaves_descriptors(int descriptor, int count) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)descriptor + (rlim_t)count < limit.rlim_cur;
}
// The result of a connection that was being made: 0 or an error number.
static inline int martlet_socket_error(int descriptor) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : EBADF;
}
static inline void martlet_set_tcp_options(int descriptor) {
  int one = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}
// Sets the codepoint (RFC 2474) of the packets of a socket, above the two bits of ECN, which belong to TCP. A socket
// for IPv6 sends IPv4 packets to mapped addresses. Returns 0 or -1 and errno.
static inline int martlet_set_codepoint(int descriptor, int family, int codepoint) {
  int field = codepoint << 2;
  int result = family == AF_INET6 ? setsockopt(descriptor, IPPROTO_IPV6, IPV6_TCLASS, &field, sizeof field) : 0;
  return setsockopt(descriptor, IPPROTO_IP, IP_TOS, &field, sizeof field) != 0 && family != AF_INET6 ? -1 : result;
}
// Fails the connection when the peer has acknowledged nothing for this number of milliseconds. That applies to sent data,
// and to probes, which begin after a quarter of that time without any traffic.
static inline void martlet_limit_acknowledgement(int descriptor, unsigned int milliseconds) {
  int quarter = milliseconds < 4000 ? 1 : milliseconds / 4000;
  if (quarter > 15) quarter = 15;
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &quarter, sizeof quarter);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &quarter, sizeof quarter);
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}
// The local port; 0 if there is none.
static inline int martlet_local_port(int descriptor) {
  union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; struct sockaddr_storage storage; } address;
  socklen_t size = sizeof address;
  if (getsockname(descriptor, &address.any, &size) != 0) return 0;
  if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
  return address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port) : 0;
}
