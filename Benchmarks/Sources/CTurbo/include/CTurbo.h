#pragma once
#include <stddef.h>

// The counterpart in C on libjpeg-turbo. Each call does all work for one picture: handle, memory, decoding.

// Decodes to RGBA at 1/`divisor` of the size; 0 if that failed.
int cturbo_decode(const unsigned char *bytes, size_t count, int divisor);

// The same, and shrinks the picture to exactly this size, by averaging the area that a pixel covers; 0 if that failed.
int cturbo_decode_fitted(const unsigned char *bytes, size_t count, int divisor, int width, int height);

// Encodes RGBX with quality 85 and 4:2:0; 0 if that failed.
int cturbo_encode(const unsigned char *pixels, int width, int height);
