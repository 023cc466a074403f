#include "CCompress.h"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

size_t ccompress_gzip(const void *bytes, size_t count, void *room, size_t capacity) {
  z_stream stream = {0};
  // 15 is the largest window; 16 more selects gzip's header and trailer.
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  stream.next_in = (Bytef *)bytes;
  stream.avail_in = (uInt)count;
  stream.next_out = room;
  stream.avail_out = (uInt)capacity;
  int code = deflate(&stream, Z_FINISH);
  size_t size = stream.total_out;
  deflateEnd(&stream);
  return code == Z_STREAM_END ? size : 0;
}

size_t ccompress_brotli(const void *bytes, size_t count, void *room, size_t capacity) {
  size_t size = capacity;
  return BrotliEncoderCompress(9, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, count, bytes, &size, room) ? size : 0;
}

size_t ccompress_zstd(const void *bytes, size_t count, void *room, size_t capacity) {
  size_t size = ZSTD_compress(room, capacity, bytes, count, 9);
  return ZSTD_isError(size) ? 0 : size;
}
