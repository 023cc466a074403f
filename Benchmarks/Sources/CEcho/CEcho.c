#define _GNU_SOURCE
#include "CEcho.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { head_capacity = 4096, buffer_capacity = 1 << 20, longest_header = 14 };

// Bytes that were received and not read yet.
typedef struct {
  int socket;
  size_t start;
  size_t end;
  uint8_t bytes[buffer_capacity];
} buffer;

// A frame in a buffer.
typedef struct {
  uint8_t first;
  const uint8_t *mask;
  uint8_t *payload;
  size_t length;
} frame;

static int send_all(int socket, const void *bytes, size_t length) {
  const char *rest = bytes;
  while (length > 0) {
    ssize_t count = send(socket, rest, length, MSG_NOSIGNAL);
    if (count <= 0) return 0;
    rest += count;
    length -= (size_t)count;
  }
  return 1;
}

static int receive(buffer *self) {
  if (self->start == self->end) self->start = self->end = 0;
  if (self->end == buffer_capacity) {
    memmove(self->bytes, self->bytes + self->start, self->end - self->start);
    self->end -= self->start;
    self->start = 0;
  }
  if (self->end == buffer_capacity) return 0;
  ssize_t count = recv(self->socket, self->bytes + self->end, buffer_capacity - self->end, 0);
  if (count <= 0) return 0;
  self->end += (size_t)count;
  return 1;
}

// Takes the next frame. Returns 0 if more bytes are needed.
static int next_frame(buffer *self, frame *result) {
  uint8_t *start = self->bytes + self->start;
  size_t available = self->end - self->start;
  if (available < 2) return 0;
  int is_masked = start[1] >> 7;
  uint64_t length = start[1] & 127;
  size_t size = length < 126 ? 2 : length == 126 ? 4 : 10;
  if (available < size + (is_masked ? 4 : 0)) return 0;
  if (size > 2) {
    length = 0;
    for (size_t index = 2; index < size; index++) length = length << 8 | start[index];
  }
  result->first = start[0];
  result->mask = is_masked ? start + size : NULL;
  if (is_masked) size += 4;
  if (length > available - size) return 0;
  result->payload = start + size;
  result->length = (size_t)length;
  self->start += size + (size_t)length;
  return 1;
}

static void apply_mask(uint8_t *bytes, const uint8_t *mask, size_t length) {
  uint64_t word;
  memcpy(&word, mask, 4);
  word = (word & 0xffffffff) * 0x100000001;
  size_t index = 0;
  for (; index + 8 <= length; index += 8) {
    uint64_t part;
    memcpy(&part, bytes + index, 8);
    part ^= word;
    memcpy(bytes + index, &part, 8);
  }
  for (; index < length; index++) bytes[index] ^= mask[index & 3];
}

// Writes a header up to its mask. Returns its size.
static size_t write_header(uint8_t *room, uint8_t first, size_t length, int is_masked) {
  size_t extended = length < 126 ? 0 : length < 65536 ? 2 : 8;
  room[0] = first;
  room[1] = (uint8_t)((extended == 0 ? length : extended == 2 ? 126 : 127) | (is_masked ? 128 : 0));
  for (size_t index = 0; index < extended; index++) room[2 + index] = (uint8_t)(length >> (8 * (extended - 1 - index)));
  return 2 + extended;
}

// The server

static int answer_handshake(int socket) {
  char head[head_capacity];
  size_t count = 0;
  char *end;
  do {
    ssize_t received = recv(socket, head + count, head_capacity - 1 - count, 0);
    if (received <= 0) return 0;
    count += (size_t)received;
    head[count] = 0;
    end = strstr(head, "\r\n\r\n");
  } while (!end && count < head_capacity - 1);
  const char *key = strcasestr(head, "\r\nsec-websocket-key:");
  if (!end || !key) return 0;
  key = strchr(key, ':') + 1;
  while (*key == ' ') key++;
  char text[128];
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned digest_length;
  char accept[64];
  snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  EVP_Digest(text, strlen(text), digest, &digest_length, EVP_sha1(), NULL);
  EVP_EncodeBlock((uint8_t *)accept, digest, (int)digest_length);
  char answer[512];
  int length = snprintf(
      answer, sizeof answer,
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
      accept, strcasestr(head, "permessage-deflate") ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
  return send_all(socket, answer, (size_t)length);
}

static void *serve(void *argument) {
  buffer *self = argument;
  int is_open = answer_handshake(self->socket);
  while (is_open && receive(self)) {
    frame frame;
    while (is_open && next_frame(self, &frame)) {
      if (!frame.mask) break;
      apply_mask(frame.payload, frame.mask, frame.length);
      uint8_t opcode = frame.first & 15;
      if (opcode == 9) frame.first = (uint8_t)(frame.first + 1);  // a pong for a ping
      // The header without the mask has room where the one with it was.
      uint8_t header[longest_header];
      size_t size = write_header(header, frame.first, frame.length, 0);
      memcpy(frame.payload - size, header, size);
      is_open = send_all(self->socket, frame.payload - size, size + frame.length) && opcode != 8;
    }
  }
  close(self->socket);
  free(self);
  return NULL;
}

static void *accept_connections(void *argument) {
  int listener = (int)(intptr_t)argument;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  for (;;) {
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0) continue;
    int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    buffer *self = malloc(sizeof *self);
    pthread_t thread;
    if (self) {
      self->socket = socket;
      self->start = self->end = 0;
    }
    if (!self || pthread_create(&thread, &attributes, serve, self) != 0) {
      close(socket);
      free(self);
    }
  }
  return NULL;
}

uint16_t cecho_start(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  pthread_t thread;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 4096) < 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
      pthread_create(&thread, NULL, accept_connections, (void *)(intptr_t)listener) != 0) {
    if (listener >= 0) close(listener);
    return 0;
  }
  pthread_detach(thread);
  return ntohs(address.sin_port);
}

// The client

int cecho_open(uint16_t port) {
  int result = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  static const char request[] =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  int on = 1;
  char head[head_capacity];
  // The server sends nothing after its head before the first message.
  if (result >= 0 && connect(result, (struct sockaddr *)&address, sizeof address) == 0 &&
      setsockopt(result, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
      send_all(result, request, sizeof request - 1) && recv(result, head, sizeof head, 0) > 12 &&
      strncmp(head, "HTTP/1.1 101", 12) == 0) {
    return result;
  }
  if (result >= 0) close(result);
  return -1;
}

// The answers so far.
typedef struct {
  int64_t bytes, count;
} answers;

static int take_answers(buffer *input, answers *answers) {
  if (!receive(input)) return 0;
  frame frame;
  while (next_frame(input, &frame)) {
    answers->bytes += (int64_t)frame.length;
    answers->count++;
  }
  return 1;
}

// Sends, and receives meanwhile if the buffers on the way are full.
static int send_beside(buffer *input, answers *answers, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(input->socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes += sent;
      count -= (size_t)sent;
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return 0;
    struct pollfd event = {.fd = input->socket, .events = POLLIN | POLLOUT};
    if (poll(&event, 1, -1) > 0 && (event.revents & POLLIN) && !take_answers(input, answers)) return 0;
  }
  return 1;
}

int64_t cecho_run(int socket, int64_t times, int64_t at_once, int64_t length) {
  buffer *input = malloc(sizeof *input);
  uint8_t *content = malloc((size_t)length);
  uint8_t *output = malloc((size_t)length + longest_header);
  answers answers = {0, 0};
  int64_t received = -1;
  if (!input || !content || !output) goto end;
  input->socket = socket;
  input->start = input->end = 0;
  memset(content, 'a', (size_t)length);
  for (int64_t sent = 0; answers.count < times;) {
    for (; sent < times && sent - answers.count < at_once; sent++) {
      size_t size = write_header(output, 0x82, (size_t)length, 1);
      if (RAND_bytes(output + size, 4) != 1) goto end;
      memcpy(output + size + 4, content, (size_t)length);
      apply_mask(output + size + 4, output + size, (size_t)length);
      if (!send_beside(input, &answers, output, size + 4 + (size_t)length)) goto end;
    }
    if (answers.count < times && !take_answers(input, &answers)) goto end;
  }
  received = answers.bytes;
end:
  free(input);
  free(content);
  free(output);
  return received;
}
