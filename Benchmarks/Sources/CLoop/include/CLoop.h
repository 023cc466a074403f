#pragma once
#include <stdint.h>

// The practical limit of an HTTP client on libcurl: one thread, pooled easy handles, and either epoll and
// curl_multi_socket_action or curl_multi_poll.
// It keeps its connections between two runs. One thread at a time may use it.

typedef struct cloop cloop;

typedef struct {
  const char *url;
  // The number of requests, and how many of them run at once.
  long requests;
  long concurrency;
  // Discards bodies as they arrive, instead of keeping each until its request is complete.
  int discards;
  // Asks for compressed bodies, and lets libcurl decode them.
  int decodes;
  // Sends this number of bytes with PUT; 0 for GET.
  int64_t upload;
  // The file with the bytes to send; negative for bytes in memory.
  int file;
  // When each request begins, in nanoseconds since the first, whether others have ended or not; null to begin one when
  // another ends.
  const int64_t *arrivals;
  // Room for the nanoseconds that each request took, from the time at which it was due; null if nobody wants to know.
  int64_t *latencies;
} cloop_workload;

// Returns null if there is no memory. `authority` is a file of trusted certificates, or null for the system's;
// `connections` is the maximum number at once; `polls` stands for curl_multi_poll instead of epoll.
cloop *cloop_make(const char *authority, long connections, int polls);

// Runs the workload to its end. Returns null, or the error of the first request that failed. `received` counts the bytes of
// all bodies.
const char *cloop_run(cloop *loop, const cloop_workload *workload, int64_t *received);

void cloop_free(cloop *loop);

// libcurl's version, such as "7.88.1".
const char *cloop_library_version(void);
