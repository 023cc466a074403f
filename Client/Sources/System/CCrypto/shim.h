#pragma once
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

// The only function of <openssl/x509.h> that is used here. The types of that header belong to the module COpenSSL: two
// modules that define them would hide them from files that import one.
EVP_PKEY *d2i_PUBKEY(EVP_PKEY **key, const unsigned char **bytes, long length);
