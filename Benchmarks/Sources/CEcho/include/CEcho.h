#pragma once
#include <stdint.h>

// A WebSocket server that returns every message, and the practical limit of a client: one thread, one socket. The server has
// a thread for each connection. It accepts permessage-deflate and returns compressed frames as they are: to a client that
// decompresses what it has compressed itself, they are right.

// Starts the server on loopback, as threads of this process. Returns its port, or 0 if there is no socket or thread.
uint16_t cecho_start(void);

// Opens a WebSocket. Returns its socket, or -1.
int cecho_open(uint16_t port);

// Sends `times` messages of `length` bytes and receives them again, with at most `at_once` on the way. Returns the number of
// received bytes, or -1.
int64_t cecho_run(int socket, int64_t times, int64_t at_once, int64_t length);
