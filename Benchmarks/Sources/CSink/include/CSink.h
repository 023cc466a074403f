#pragma once
#include <stdint.h>

// A server for cases that a file server measures badly, on loopback and on one thread of this process:
//
//   PUT /upload   discards the body in the kernel, without copying it, and answers when it is complete;
//                 nginx would write it to disk
//   GET /slow     answers after the delay
//
// A request needs a Content-Length if it has a body. Answers are `200` with the two bytes `ok`, and must not be stored.

typedef struct csink csink;

// Returns null if there is no memory, socket or thread. `delay` is in milliseconds.
csink *csink_start(int64_t delay);

uint16_t csink_port(const csink *sink);

// The bytes of all bodies that were received so far.
int64_t csink_received(csink *sink);
