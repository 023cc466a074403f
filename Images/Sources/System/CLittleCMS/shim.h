#pragma once
#include <lcms2.h>

// The pixel layouts are macros that Swift cannot import. All have four bytes, so that a row is converted in place.

static const cmsUInt32Number martlet_cms_rgba = TYPE_RGBA_8;
// Grey expanded to RGBA: only the first byte is used.
static const cmsUInt32Number martlet_cms_grey = COLORSPACE_SH(PT_GRAY) | EXTRA_SH(3) | CHANNELS_SH(1) | BYTES_SH(1);
// CMYK as in JPEG files: 255 is no ink.
static const cmsUInt32Number martlet_cms_inverted_cmyk = TYPE_CMYK_8_REV;
