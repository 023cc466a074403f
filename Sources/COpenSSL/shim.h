#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// OpenSSL's macros, which Swift cannot call: one typed function for each. Nothing else is here.
