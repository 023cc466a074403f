#pragma once
#include <stddef.h>

// Compresses with the usual effort of a server that compresses its files once. Each returns the size of the result, 0 if
// `capacity` bytes are too few.

size_t ccompress_gzip(const void *bytes, size_t count, void *room, size_t capacity);
size_t ccompress_brotli(const void *bytes, size_t count, void *room, size_t capacity);
size_t ccompress_zstd(const void *bytes, size_t count, void *room, size_t capacity);
