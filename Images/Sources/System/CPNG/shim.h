#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

// libpng reports errors with longjmp, which must not cross a Swift frame: it would skip releases. Therefore the whole file
// is read here, in C, with a return value. libpng's simplified API needs no longjmp. But it applies the gAMA chunk and
// interprets 16-bit images without one as linear light, unlike other decoders.

/// The state while one PNG in memory is read to RGBA, 8 bits per channel, straight alpha.
typedef struct martlet_png_reading {
  /// The file.
  const unsigned char *bytes;
  size_t count;
  /// The output of width * height * 4 bytes; width and height must be those of the file.
  unsigned char *pixels;
  png_uint_32 width;
  png_uint_32 height;
  /// Receives libpng's message if reading fails, terminated by a zero.
  char *message;
  size_t message_capacity;
  /// Called before each row with `owner`; a result other than 0 stops reading.
  int (*is_stopped)(void *owner);
  void *owner;
  /// Whether checksums may be wrong, and the end of the file missing: the rows are then read as far as there are bytes.
  int is_tolerant;
  /// How many rows were read, those of all passes over an interlaced file together.
  size_t rows;
  /// Whether the caller has stopped reading.
  int was_stopped;
  /// The number of bytes read so far.
  size_t position;
} martlet_png_reading;

static inline void martlet_png_failed(png_structp png, png_const_charp message) {
  martlet_png_reading *reading = (martlet_png_reading *)png_get_error_ptr(png);
  if (reading->message_capacity > 0) {
    strncpy(reading->message, message, reading->message_capacity - 1);
    reading->message[reading->message_capacity - 1] = 0;
  }
  png_longjmp(png, 1);
}

static inline void martlet_png_warned(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static inline void martlet_png_pull(png_structp png, png_bytep into, size_t count) {
  martlet_png_reading *reading = (martlet_png_reading *)png_get_io_ptr(png);
  size_t rest = reading->count - reading->position;
  if (rest == 0 || (rest < count && !reading->is_tolerant)) { png_error(png, "the bytes end too early"); }
  size_t copied = rest < count ? rest : count;
  memcpy(into, reading->bytes + reading->position, copied);
  memset(into + copied, 0, count - copied);
  reading->position += copied;
}

/// Calls everything that may longjmp; called after the setjmp of martlet_png_read.
static inline void martlet_png_read_all(png_structp png, png_infop info, martlet_png_reading *reading) {
  png_set_read_fn(png, reading, martlet_png_pull);
  if (reading->is_tolerant) { png_set_crc_action(png, PNG_CRC_WARN_USE, PNG_CRC_WARN_USE); }
  png_set_user_limits(png, reading->width, reading->height);
  // Color profiles and texts are not read: a compressed one could be a decompression bomb. gAMA is ignored on purpose.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_read_info(png, info);
  if (png_get_image_width(png, info) != reading->width || png_get_image_height(png, info) != reading->height) {
    png_error(png, "the header declares another size");
  }
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  int has_alpha = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
  if (!has_alpha) { png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER); }
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  size_t stride = (size_t)reading->width * 4;
  if (png_get_rowbytes(png, info) != stride) { png_error(png, "the rows are not RGBA"); }
  for (int pass = 0; pass < passes; pass++) {
    for (png_uint_32 row = 0; row < reading->height; row++) {
      if (reading->is_stopped(reading->owner)) {
        reading->was_stopped = 1;
        png_longjmp(png, 1);
      }
      png_read_row(png, reading->pixels + row * stride, NULL);
      reading->rows++;
    }
  }
  png_read_end(png, NULL);
}

/// Reads the whole file; returns 1 if it is complete and valid, 0 otherwise.
static inline int martlet_png_read(martlet_png_reading *reading) {
  reading->position = 0;
  reading->rows = 0;
  reading->was_stopped = 0;
  if (reading->message_capacity > 0) { reading->message[0] = 0; }
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reading, martlet_png_failed, martlet_png_warned);
  if (!png) { return 0; }
  png_infop info = png_create_info_struct(png);
  if (!info) {
    png_destroy_read_struct(&png, NULL, NULL);
    return 0;
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    return 0;
  }
  martlet_png_read_all(png, info, reading);
  png_destroy_read_struct(&png, &info, NULL);
  return 1;
}

/// Writes RGBA (straight alpha) or RGB, 8 bits per channel, to memory allocated by malloc. Returns null if there is not
/// enough memory, or if libpng refuses the image.
static inline void *martlet_png_write(
  const unsigned char *pixels, png_uint_32 width, png_uint_32 height, int has_alpha, size_t *count) {
  png_image image = {0};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  void *buffer = malloc(size);
  if (!buffer || !png_image_write_to_memory(&image, buffer, &size, 0, pixels, 0, NULL)) {
    free(buffer);
    return NULL;
  }
  *count = size;
  void *smaller = realloc(buffer, size);
  return smaller ? smaller : buffer;
}
