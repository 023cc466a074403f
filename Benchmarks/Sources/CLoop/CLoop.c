#define _GNU_SOURCE
#include "CLoop.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { event_capacity = 256, idle_capacity = 10000, upload_chunk = 256 << 10 };

// One request at a time: its handle, and the body that it has received.
typedef struct {
  CURL *easy;
  cloop *loop;
  char *body;
  size_t count;
  size_t capacity;
  int64_t unsent;
  int decodes;
  int64_t began;  // nanoseconds
} transfer;

struct cloop {
  CURLM *multi;
  int epoll;  // negative if it polls
  long finished;
  int64_t due;  // milliseconds on the monotonic clock, negative for no timer
  char *authority;
  struct curl_slist *fields;
  transfer *idle[idle_capacity];
  int idle_count;
  const cloop_workload *workload;
  int64_t received;
  char error[CURL_ERROR_SIZE];
  char upload[upload_chunk];
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int64_t nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The functions that libcurl calls

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
  transfer *self = user;
  size_t length = size * count;
  self->loop->received += (int64_t)length;
  if (self->loop->workload->discards) return length;
  if (self->count + length > self->capacity) {
    size_t capacity = (self->count + length) * 2;
    char *grown = realloc(self->body, capacity);
    if (!grown) return 0;
    self->body = grown;
    self->capacity = capacity;
  }
  memcpy(self->body + self->count, bytes, length);
  self->count += length;
  return length;
}

static size_t receive_header(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes;
  (void)user;
  return size * count;
}

static size_t send_body(char *room, size_t size, size_t count, void *user) {
  transfer *self = user;
  size_t length = size * count;
  if ((int64_t)length > self->unsent) length = (size_t)self->unsent;
  if (length > upload_chunk) length = upload_chunk;
  if (self->loop->workload->file >= 0) {
    ssize_t count_read = read(self->loop->workload->file, room, length);
    if (count_read <= 0) return CURL_READFUNC_ABORT;
    self->unsent -= count_read;
    return (size_t)count_read;
  }
  memcpy(room, self->loop->upload, length);
  self->unsent -= (int64_t)length;
  return length;
}

static int watch(CURL *easy, curl_socket_t socket, int interest, void *user, void *unused) {
  (void)easy;
  (void)unused;
  cloop *loop = user;
  if (interest == CURL_POLL_REMOVE) {
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL);
    return 0;
  }
  struct epoll_event event = {.data = {.fd = socket}};
  if (interest & CURL_POLL_IN) event.events |= EPOLLIN;
  if (interest & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event) < 0) {
    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket, &event);
  }
  return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *user) {
  (void)multi;
  cloop *loop = user;
  loop->due = milliseconds < 0 ? -1 : now() + milliseconds;
  return 0;
}

// Transfers

static transfer *make_transfer(cloop *loop) {
  transfer *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->loop = loop;
  self->easy = curl_easy_init();
  if (!self->easy) {
    free(self);
    return NULL;
  }
  curl_easy_setopt(self->easy, CURLOPT_PRIVATE, self);
  curl_easy_setopt(self->easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(self->easy, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(self->easy, CURLOPT_WRITEDATA, self);
  curl_easy_setopt(self->easy, CURLOPT_HEADERFUNCTION, receive_header);
  curl_easy_setopt(self->easy, CURLOPT_READFUNCTION, send_body);
  curl_easy_setopt(self->easy, CURLOPT_READDATA, self);
  curl_easy_setopt(self->easy, CURLOPT_BUFFERSIZE, 128L << 10);
  curl_easy_setopt(self->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  // without it libcurl waits for the server's `100 Continue` before an upload of more than 1 MiB
  curl_easy_setopt(self->easy, CURLOPT_HTTPHEADER, loop->fields);
  if (loop->authority) curl_easy_setopt(self->easy, CURLOPT_CAINFO, loop->authority);
  return self;
}

static void free_transfer(transfer *self) {
  curl_easy_cleanup(self->easy);
  free(self->body);
  free(self);
}

static int start(cloop *loop, int64_t began) {
  const cloop_workload *workload = loop->workload;
  transfer *self = loop->idle_count > 0 ? loop->idle[--loop->idle_count] : make_transfer(loop);
  if (!self) return -1;
  self->began = began;
  self->count = 0;
  self->unsent = workload->upload;
  curl_easy_setopt(self->easy, CURLOPT_URL, workload->url);
  curl_easy_setopt(self->easy, CURLOPT_PIPEWAIT, strncmp(workload->url, "https:", 6) == 0 ? 1L : 0L);
  if (self->decodes != workload->decodes) {
    self->decodes = workload->decodes;
    // an empty text stands for all codings that libcurl supports
    curl_easy_setopt(self->easy, CURLOPT_ACCEPT_ENCODING, self->decodes ? "" : NULL);
  }
  if (workload->upload > 0) {
    curl_easy_setopt(self->easy, CURLOPT_UPLOAD, 1L);
    // at least 16 KiB; a small body needs no more
    long size = workload->upload < upload_chunk ? 16L << 10 : (long)upload_chunk;
    curl_easy_setopt(self->easy, CURLOPT_UPLOAD_BUFFERSIZE, size);
    curl_easy_setopt(self->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)workload->upload);
  } else {
    curl_easy_setopt(self->easy, CURLOPT_HTTPGET, 1L);
  }
  return curl_multi_add_handle(loop->multi, self->easy) == CURLM_OK ? 0 : -1;
}

static void recycle(cloop *loop, transfer *self) {
  if (loop->idle_count < idle_capacity) {
    loop->idle[loop->idle_count++] = self;
  } else {
    free_transfer(self);
  }
}

// Counts the completed transfers; a failure is recorded.
static long finish(cloop *loop) {
  long finished = 0;
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(loop->multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result;
    long status = 0;
    transfer *self = NULL;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&self);
    const char *failure = code != CURLE_OK ? curl_easy_strerror(code) : status != 200 ? "status is not 200" : NULL;
    if (failure && !loop->error[0]) strncpy(loop->error, failure, sizeof loop->error - 1);
    curl_multi_remove_handle(loop->multi, easy);
    if (loop->workload->latencies) loop->workload->latencies[loop->finished] = nanoseconds() - self->began;
    loop->finished++;
    recycle(loop, self);
    finished++;
  }
  return finished;
}

// One turn: waits for sockets and the timer, at most this long, and lets libcurl work.
static void turn(cloop *loop, int64_t wait) {
  int running;
  if (loop->epoll < 0) {
    curl_multi_poll(loop->multi, NULL, 0, 1000, NULL);
    curl_multi_perform(loop->multi, &running);
    return;
  }
  struct epoll_event events[event_capacity];
  if (loop->due >= 0) {
    int64_t rest = (loop->due - now()) * 1000000;
    if (wait < 0 || rest < wait) wait = rest > 0 ? rest : 0;
  }
  struct timespec limit = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
  int count = epoll_pwait2(loop->epoll, events, event_capacity, wait < 0 ? NULL : &limit, NULL);
  if (count < 0 && errno == ENOSYS) {  // valgrind 3.19 does not know it
    count = epoll_wait(loop->epoll, events, event_capacity, wait < 0 ? -1 : (int)((wait + 999999) / 1000000));
  }
  for (int index = 0; index < count; index++) {
    int mask = 0;
    if (events[index].events & (EPOLLIN | EPOLLHUP)) mask |= CURL_CSELECT_IN;
    if (events[index].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
    if (events[index].events & EPOLLERR) mask |= CURL_CSELECT_ERR;
    curl_multi_socket_action(loop->multi, events[index].data.fd, mask, &running);
  }
  if (loop->due >= 0 && now() >= loop->due) {
    loop->due = -1;
    curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

// The interface

cloop *cloop_make(const char *authority, long connections, int polls) {
  cloop *loop = calloc(1, sizeof *loop);
  if (!loop || curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
    free(loop);
    return NULL;
  }
  loop->epoll = polls ? -1 : epoll_create1(EPOLL_CLOEXEC);
  loop->multi = curl_multi_init();
  loop->due = -1;
  loop->authority = authority ? strdup(authority) : NULL;
  loop->fields = curl_slist_append(NULL, "Expect:");
  if (!loop->fields || (!polls && loop->epoll < 0) || !loop->multi || (authority && !loop->authority)) {
    cloop_free(loop);
    return NULL;
  }
  curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
  curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, connections > 128 ? connections : 128L);
  curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
  if (polls) return loop;
  curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
  curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
  return loop;
}

const char *cloop_run(cloop *loop, const cloop_workload *workload, int64_t *received) {
  loop->workload = workload;
  loop->received = 0;
  loop->error[0] = 0;
  loop->finished = 0;
  long started = 0;
  long running = 0;
  int64_t first = nanoseconds();
  while (running > 0 || started < workload->requests) {
    int64_t wait = -1;
    while (!loop->error[0] && started < workload->requests) {
      int64_t due = workload->arrivals ? first + workload->arrivals[started] : nanoseconds();
      wait = workload->arrivals ? due - nanoseconds() : -1;
      if (wait > 0 || running >= workload->concurrency) break;
      if (start(loop, due) != 0) return "libcurl takes no transfer";
      started++;
      running++;
      wait = -1;
    }
    if (loop->error[0]) started = workload->requests;
    turn(loop, running >= workload->concurrency ? -1 : wait);
    running -= finish(loop);
  }
  *received = loop->received;
  return loop->error[0] ? loop->error : NULL;
}

void cloop_free(cloop *loop) {
  if (!loop) return;
  for (int index = 0; index < loop->idle_count; index++) free_transfer(loop->idle[index]);
  curl_multi_cleanup(loop->multi);
  if (loop->epoll >= 0) close(loop->epoll);
  curl_slist_free_all(loop->fields);
  free(loop->authority);
  free(loop);
}

const char *cloop_library_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }
