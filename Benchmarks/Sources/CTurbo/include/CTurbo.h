#pragma once
#include <stddef.h>

// What a C program gets from libjpeg-turbo. Each call does all that one picture needs: handle, memory, work.

// Decodes to RGBA at 1/`divisor` of the size; 0 if that failed.
int cturbo_decode(const unsigned char *bytes, size_t count, int divisor);

// Encodes RGBX with quality 85 and 4:2:0; 0 if that failed.
int cturbo_encode(const unsigned char *pixels, int width, int height);
