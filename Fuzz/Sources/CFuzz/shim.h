#pragma once
#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

// libFuzzer as a library (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
int LLVMFuzzerTestOneInput(const uint8_t *_Nonnull bytes, size_t size);
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*run)(const uint8_t *_Nonnull bytes, size_t size));

// Macros of libcurl that Swift cannot read.
static const unsigned martlet_curl_encodes = CURLU_URLENCODE;
static const unsigned martlet_curl_default_port = CURLU_DEFAULT_PORT;
