#pragma once
#include <stddef.h>

// What a C program gets from libjpeg-turbo. Each call does all that one picture needs: handle, memory, work.

// Decodes to RGBA at 1/`divisor` of the size; 0 if that failed.
int cturbo_decode(const unsigned char *bytes, size_t count, int divisor);

// The same, and shrinks the picture to exactly this size, by the average of the area that a pixel covers; 0 if that failed.
int cturbo_decode_fitted(const unsigned char *bytes, size_t count, int divisor, int width, int height);

// Encodes RGBX with quality 85 and 4:2:0; 0 if that failed.
int cturbo_encode(const unsigned char *pixels, int width, int height);
