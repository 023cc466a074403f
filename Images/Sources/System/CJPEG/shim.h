#pragma once
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

// libjpeg's error handler must not return, so that it needs longjmp, which must not cross a Swift frame: it would skip
// releases. Therefore the whole file is read here, in C, with a return value. TurboJPEG's API, which hides the jump, can
// neither be stopped nor limited in memory, and reports only its first warning.

/// The room for libjpeg's messages.
enum { martlet_jpeg_message_capacity = JMSG_LENGTH_MAX };

/// How reading a file has ended.
typedef enum martlet_jpeg_outcome {
  /// All rows were read; there may be a warning.
  martlet_jpeg_complete,
  /// libjpeg has reported an error.
  martlet_jpeg_failed,
  /// The caller has stopped it.
  martlet_jpeg_stopped,
  /// The file needs more memory than the limit.
  martlet_jpeg_too_large,
} martlet_jpeg_outcome;

/// The state while one JPEG in memory is read to RGBA or CMYK, 8 bits per channel.
typedef struct martlet_jpeg_reading {
  /// The file.
  const unsigned char *bytes;
  size_t count;
  /// The output of width * height * 4 bytes. These must be the sides in the file divided by the denominator, rounded up.
  unsigned char *pixels;
  unsigned int width;
  unsigned int height;
  /// 1, 2, 4 or 8.
  unsigned int denominator;
  int is_cmyk;
  /// The maximum number of bytes that libjpeg takes; it knows what it needs before it takes it.
  long memory_limit;
  /// Called often with `owner`; a result other than 0 stops reading.
  int (*is_stopped)(void *owner);
  void *owner;
  /// Receives libjpeg's error, or its first warning that pixels are missing or wrong; empty if there is neither. It has
  /// room for martlet_jpeg_message_capacity bytes.
  char *message;
  /// How many rows have been written.
  unsigned int rows;
  /// Whether there were other warnings after the header: of bytes between the pixels and the next marker.
  int has_extraneous_bytes;
} martlet_jpeg_reading;

typedef struct martlet_jpeg_decoder {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  martlet_jpeg_reading *reading;
  martlet_jpeg_outcome outcome;
  int has_started;
  jmp_buf exit;
} martlet_jpeg_decoder;

static inline void martlet_jpeg_on_error(j_common_ptr info) {
  martlet_jpeg_decoder *decoder = (martlet_jpeg_decoder *)info->client_data;
  info->err->format_message(info, decoder->reading->message);
  int code = info->err->msg_code;
  // The memory manager has no files to move data to.
  decoder->outcome = code == JERR_NO_BACKING_STORE || code == JERR_OUT_OF_MEMORY
    ? martlet_jpeg_too_large : martlet_jpeg_failed;
  longjmp(decoder->exit, 1);
}

/// Keeps the first warning that pixels are missing or wrong. Cameras and editors write fill bytes before a marker, and
/// wrong parameters of a scan or an APP segment.
static inline void martlet_jpeg_on_message(j_common_ptr info, int level) {
  martlet_jpeg_decoder *decoder = (martlet_jpeg_decoder *)info->client_data;
  if (level >= 0 || decoder->reading->message[0] != 0) { return; }
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      if (decoder->has_started) { decoder->reading->has_extraneous_bytes = 1; }
      return;
    default:
      info->err->format_message(info, decoder->reading->message);
  }
}

static inline void martlet_jpeg_on_progress(j_common_ptr info) {
  martlet_jpeg_decoder *decoder = (martlet_jpeg_decoder *)info->client_data;
  if (!decoder->reading->is_stopped(decoder->reading->owner)) { return; }
  decoder->outcome = martlet_jpeg_stopped;
  longjmp(decoder->exit, 1);
}

static inline void martlet_jpeg_ignore(j_decompress_ptr info) { (void)info; }

/// Adds an end marker after the last byte. libjpeg warns of the pixels that are then missing.
static inline boolean martlet_jpeg_add_end(j_decompress_ptr info) {
  static const JOCTET end[2] = {0xFF, JPEG_EOI};
  info->src->next_input_byte = end;
  info->src->bytes_in_buffer = sizeof(end);
  return TRUE;
}

static inline void martlet_jpeg_skip(j_decompress_ptr info, long count) {
  if (count <= 0) { return; }
  size_t skipped = (size_t)count < info->src->bytes_in_buffer ? (size_t)count : info->src->bytes_in_buffer;
  info->src->next_input_byte += skipped;
  info->src->bytes_in_buffer -= skipped;
}

/// Calls everything that may longjmp; called after the setjmp of martlet_jpeg_read.
static inline void martlet_jpeg_read_all(martlet_jpeg_decoder *decoder) {
  martlet_jpeg_reading *reading = decoder->reading;
  j_decompress_ptr info = &decoder->info;
  jpeg_create_decompress(info);
  info->client_data = decoder;
  info->mem->max_memory_to_use = reading->memory_limit;
  decoder->source.next_input_byte = reading->bytes;
  decoder->source.bytes_in_buffer = reading->count;
  decoder->source.init_source = martlet_jpeg_ignore;
  decoder->source.fill_input_buffer = martlet_jpeg_add_end;
  decoder->source.skip_input_data = martlet_jpeg_skip;
  decoder->source.resync_to_restart = jpeg_resync_to_restart;
  decoder->source.term_source = martlet_jpeg_ignore;
  info->src = &decoder->source;
  decoder->progress.progress_monitor = martlet_jpeg_on_progress;
  info->progress = &decoder->progress;
  jpeg_read_header(info, TRUE);
  info->out_color_space = reading->is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
  info->scale_num = 1;
  info->scale_denom = reading->denominator;
  jpeg_calc_output_dimensions(info);
  if (info->output_width != reading->width || info->output_height != reading->height) {
    ERREXIT(info, JERR_BAD_LENGTH);
  }
  jpeg_start_decompress(info);
  decoder->has_started = 1;
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = reading->pixels + (size_t)info->output_scanline * reading->width * 4;
    jpeg_read_scanlines(info, &row, 1);
    reading->rows = info->output_scanline;
  }
  jpeg_finish_decompress(info);
}

/// Contains the setjmp, and no variable that changes after it.
static inline void martlet_jpeg_run(martlet_jpeg_decoder *decoder) {
  if (setjmp(decoder->exit) == 0) { martlet_jpeg_read_all(decoder); }
}

/// Reads the whole file.
static inline martlet_jpeg_outcome martlet_jpeg_read(martlet_jpeg_reading *reading) {
  martlet_jpeg_decoder decoder;
  memset(&decoder, 0, sizeof(decoder));
  reading->rows = 0;
  reading->has_extraneous_bytes = 0;
  reading->message[0] = 0;
  decoder.reading = reading;
  decoder.outcome = martlet_jpeg_complete;
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;
  decoder.errors.error_exit = martlet_jpeg_on_error;
  decoder.errors.emit_message = martlet_jpeg_on_message;
  martlet_jpeg_run(&decoder);
  jpeg_destroy_decompress(&decoder.info);
  return decoder.outcome;
}
