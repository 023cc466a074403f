#define _GNU_SOURCE
#include "CSink.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { head_capacity = 4096, event_capacity = 512, discard_length = 4 << 20 };

static const char answer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok";
static const char refusal[] = "HTTP/1.1 411 Length Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

typedef struct connection {
  int socket;
  int is_slow;
  // Closed by the client before its answer is due: freed when the answer would be sent.
  int is_queued;
  int is_closed;
  int64_t unread;
  int64_t due;
  struct connection *next;
  size_t head_count;
  char head[head_capacity];
} connection;

struct csink {
  int listener;
  int epoll;
  uint16_t port;
  int64_t delay;
  _Atomic int64_t received;
  // All answers wait equally long: the first in the queue is the first that is due.
  connection *first;
  connection *last;
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void close_connection(csink *sink, connection *self) {
  if (self->socket >= 0) {
    // A child that is being started has a copy of the descriptor for a moment, so that closing it does not suffice.
    epoll_ctl(sink->epoll, EPOLL_CTL_DEL, self->socket, NULL);
    close(self->socket);
  }
  self->socket = -1;
  self->is_closed = 1;
  if (!self->is_queued) free(self);
}

// Answers are far smaller than a socket's buffer: an incomplete send means a lost connection.
static int send_all(connection *self, const char *text, size_t length) {
  return send(self->socket, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static void enqueue(csink *sink, connection *self) {
  self->is_queued = 1;
  self->due = now() + sink->delay;
  self->next = NULL;
  if (sink->last) {
    sink->last->next = self;
  } else {
    sink->first = self;
  }
  sink->last = self;
}

static int finish_request(csink *sink, connection *self) {
  if (self->is_slow) {
    enqueue(sink, self);
    return 1;
  }
  return send_all(self, answer, sizeof answer - 1);
}

// The value of a field in a head that ends with a NUL; null if there is none.
static const char *field(const char *head, const char *name) {
  const char *line = strcasestr(head, name);
  return line ? line + strlen(name) : NULL;
}

// Reads a complete head. `rest` bytes after it have already been read. Returns 0 to close the connection.
static int begin_request(csink *sink, connection *self, size_t rest) {
  const char *length = field(self->head, "\r\ncontent-length:");
  int has_body = strncmp(self->head, "GET ", 4) != 0;
  self->is_slow = strncmp(self->head, "GET /slow", 9) == 0;
  self->unread = length ? strtoll(length, NULL, 10) : 0;
  if (has_body && !length) {
    send_all(self, refusal, sizeof refusal - 1);
    return 0;
  }
  if (field(self->head, "\r\nexpect:") && rest == 0 && !send_all(self, interim, sizeof interim - 1)) return 0;
  if ((int64_t)rest > self->unread) return 0;  // pipelining
  self->unread -= (int64_t)rest;
  atomic_fetch_add_explicit(&sink->received, (int64_t)rest, memory_order_relaxed);
  return self->unread > 0 || finish_request(sink, self);
}

static int read_head(csink *sink, connection *self) {
  ssize_t count = recv(self->socket, self->head + self->head_count, head_capacity - 1 - self->head_count, 0);
  if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
  self->head_count += (size_t)count;
  self->head[self->head_count] = 0;
  char *end = strstr(self->head, "\r\n\r\n");
  if (!end) return self->head_count < head_capacity - 1;
  size_t rest = self->head_count - (size_t)(end + 4 - self->head);
  end[2] = 0;
  self->head_count = 0;
  return begin_request(sink, self, rest);
}

// MSG_TRUNC makes the kernel discard the bytes that TCP has received (tcp(7)).
static int discard_body(csink *sink, connection *self) {
  size_t length = self->unread < discard_length ? (size_t)self->unread : discard_length;
  ssize_t count = recv(self->socket, NULL, length, MSG_TRUNC);
  if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
  self->unread -= count;
  atomic_fetch_add_explicit(&sink->received, count, memory_order_relaxed);
  return self->unread > 0 || finish_request(sink, self);
}

static void accept_connections(csink *sink) {
  for (;;) {
    int socket = accept4(sink->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    connection *self = calloc(1, sizeof *self);
    if (!self) {
      close(socket);
      return;
    }
    self->socket = socket;
    int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = self}};
    if (epoll_ctl(sink->epoll, EPOLL_CTL_ADD, socket, &event) < 0) close_connection(sink, self);
  }
}

// Sends the answers that are due. Returns the milliseconds until the next one, -1 for none.
static int send_due(csink *sink) {
  int64_t time = now();
  while (sink->first && sink->first->due <= time) {
    connection *self = sink->first;
    sink->first = self->next;
    if (!sink->first) sink->last = NULL;
    self->is_queued = 0;
    if (self->is_closed || !send_all(self, answer, sizeof answer - 1)) close_connection(sink, self);
  }
  return sink->first ? (int)(sink->first->due - time) : -1;
}

static void *serve(void *argument) {
  csink *sink = argument;
  struct epoll_event events[event_capacity];
  for (;;) {
    int count = epoll_wait(sink->epoll, events, event_capacity, send_due(sink));
    for (int index = 0; index < count; index++) {
      connection *self = events[index].data.ptr;
      if (!self) {
        accept_connections(sink);
      } else if (!(self->unread > 0 ? discard_body(sink, self) : read_head(sink, self))) {
        close_connection(sink, self);
      }
    }
  }
  return NULL;
}

csink *csink_start(int64_t delay) {
  csink *sink = calloc(1, sizeof *sink);
  if (!sink) return NULL;
  sink->delay = delay;
  sink->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sink->epoll = epoll_create1(EPOLL_CLOEXEC);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  struct epoll_event event = {.events = EPOLLIN};
  pthread_t thread;
  if (sink->listener < 0 || sink->epoll < 0 || bind(sink->listener, (struct sockaddr *)&address, length) < 0 ||
      listen(sink->listener, 4096) < 0 || getsockname(sink->listener, (struct sockaddr *)&address, &length) < 0 ||
      epoll_ctl(sink->epoll, EPOLL_CTL_ADD, sink->listener, &event) < 0 ||
      pthread_create(&thread, NULL, serve, sink) != 0) {
    if (sink->listener >= 0) close(sink->listener);
    if (sink->epoll >= 0) close(sink->epoll);
    free(sink);
    return NULL;
  }
  pthread_detach(thread);
  sink->port = ntohs(address.sin_port);
  return sink;
}

uint16_t csink_port(const csink *sink) { return sink->port; }

int64_t csink_received(csink *sink) { return atomic_load_explicit(&sink->received, memory_order_relaxed); }
