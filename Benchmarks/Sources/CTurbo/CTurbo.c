#include "CTurbo.h"

#include <stdlib.h>
#include <turbojpeg.h>

static unsigned char *decode(const unsigned char *bytes, size_t count, int divisor, int *width, int *height) {
  tjhandle handle = tjInitDecompress();
  int sampling, space;
  if (!handle || tjDecompressHeader3(handle, bytes, count, width, height, &sampling, &space)) return NULL;
  tjscalingfactor factor = {1, divisor};
  *width = TJSCALED(*width, factor);
  *height = TJSCALED(*height, factor);
  unsigned char *pixels = malloc((size_t)*width * *height * 4);
  if (pixels && tjDecompress2(handle, bytes, count, pixels, *width, *width * 4, *height, TJPF_RGBA, 0)) {
    free(pixels);
    pixels = NULL;
  }
  tjDestroy(handle);
  return pixels;
}

int cturbo_decode(const unsigned char *bytes, size_t count, int divisor) {
  int width, height;
  unsigned char *pixels = decode(bytes, count, divisor, &width, &height);
  free(pixels);
  return pixels != NULL;
}

// The part of a source pixel within the area that a new pixel covers on one axis, in source pixels.
static float overlap(int index, float start, float end) {
  float from = index > start ? index : start, to = index + 1 < end ? index + 1 : end;
  return to - from;
}

static unsigned char rounded(float value) { return (unsigned char)(value > 254.5f ? 255 : value + 0.5f); }

// Shrinks an opaque picture: sums up the rows of a new one, then their columns.
static int shrink(const unsigned char *source, int width, int height, unsigned char *target, int columns, int rows) {
  float *restrict sums = malloc(sizeof(float) * width * 4);
  if (!sums) return 0;
  float across = (float)width / columns, down = (float)height / rows;
  for (int row = 0; row < rows; row++) {
    float top = row * down, bottom = row + 1 < rows ? (row + 1) * down : height;
    for (int at = 0; at < width * 4; at++) sums[at] = 0;
    for (int y = (int)top; y < bottom; y++) {
      const unsigned char *restrict line = source + (size_t)y * width * 4;
      float weight = overlap(y, top, bottom);
      for (int at = 0; at < width * 4; at++) sums[at] += line[at] * weight;
    }
    for (int column = 0; column < columns; column++) {
      float left = column * across, right = column + 1 < columns ? (column + 1) * across : width;
      float red = 0, green = 0, blue = 0, total = 0;
      for (int x = (int)left; x < right; x++) {
        float weight = overlap(x, left, right);
        red += sums[4 * x] * weight;
        green += sums[4 * x + 1] * weight;
        blue += sums[4 * x + 2] * weight;
        total += sums[4 * x + 3] * weight;
      }
      unsigned char *pixel = target + ((size_t)row * columns + column) * 4;
      pixel[0] = rounded(red * 255 / total);
      pixel[1] = rounded(green * 255 / total);
      pixel[2] = rounded(blue * 255 / total);
      pixel[3] = 255;
    }
  }
  free(sums);
  return 1;
}

// Makes the compiler believe that the bytes are read: otherwise it removes the code that wrote them.
static void use(const unsigned char *bytes) { __asm__ volatile("" : : "r"(bytes) : "memory"); }

int cturbo_decode_fitted(const unsigned char *bytes, size_t count, int divisor, int width, int height) {
  int whole, high;
  unsigned char *pixels = decode(bytes, count, divisor, &whole, &high);
  unsigned char *fitted = malloc((size_t)width * height * 4);
  int done = pixels && fitted && shrink(pixels, whole, high, fitted, width, height);
  use(fitted);
  free(fitted);
  free(pixels);
  return done;
}

int cturbo_encode(const unsigned char *pixels, int width, int height) {
  tjhandle handle = tjInitCompress();
  unsigned char *bytes = NULL;
  unsigned long count = 0;
  int failed = !handle || tjCompress2(handle, pixels, width, width * 4, height, TJPF_RGBX, &bytes, &count, TJSAMP_420, 85, 0);
  tjFree(bytes);
  tjDestroy(handle);
  return !failed;
}
