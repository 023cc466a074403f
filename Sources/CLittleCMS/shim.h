#pragma once
#include <lcms2.h>

// The layouts of pixels are macros that Swift cannot read. All are of four bytes, so that a row is converted in place.

static const cmsUInt32Number martlet_cms_rgba = TYPE_RGBA_8;
// Grey that was expanded to RGBA: the first byte counts.
static const cmsUInt32Number martlet_cms_grey = COLORSPACE_SH(PT_GRAY) | EXTRA_SH(3) | CHANNELS_SH(1) | BYTES_SH(1);
// CMYK as JPEG files hold it: 255 is no ink.
static const cmsUInt32Number martlet_cms_inverted_cmyk = TYPE_CMYK_8_REV;
