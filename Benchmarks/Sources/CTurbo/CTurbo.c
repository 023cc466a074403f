#include "CTurbo.h"

#include <stdlib.h>
#include <turbojpeg.h>

int cturbo_decode(const unsigned char *bytes, size_t count, int divisor) {
  tjhandle handle = tjInitDecompress();
  int width, height, sampling, space;
  if (!handle || tjDecompressHeader3(handle, bytes, count, &width, &height, &sampling, &space)) return 0;
  tjscalingfactor factor = {1, divisor};
  width = TJSCALED(width, factor);
  height = TJSCALED(height, factor);
  unsigned char *pixels = malloc((size_t)width * height * 4);
  int failed = !pixels || tjDecompress2(handle, bytes, count, pixels, width, width * 4, height, TJPF_RGBA, 0);
  free(pixels);
  tjDestroy(handle);
  return !failed;
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
