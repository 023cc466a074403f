#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// OpenSSL's macros, which Swift cannot call: one typed function for each, and nothing else.

static inline int martlet_set_minimum_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}
// The settings of every client's context: no renegotiation, unless a session allows it, and no compression; buffers are
// released while a connection is idle; only the caller keeps sessions.
static inline void martlet_set_client_options(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(
      context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL | SSL_SESS_CACHE_NO_AUTO_CLEAR);
}
// Whether the server may begin another handshake over the connection (TLS 1.2).
static inline void martlet_allow_renegotiation(SSL *session, int is_allowed) {
  if (is_allowed) {
    SSL_clear_options(session, SSL_OP_NO_RENEGOTIATION);
  } else {
    SSL_set_options(session, SSL_OP_NO_RENEGOTIATION);
  }
}
static inline int martlet_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int martlet_set_server_name(SSL *session, const char *name) {
  return (int)SSL_set_tlsext_host_name(session, name);
}

// Stacks of certificates; the count of a null pointer is -1.
static inline int martlet_certificate_count(const STACK_OF(X509) *certificates) { return sk_X509_num(certificates); }
static inline X509 *martlet_certificate_at(const STACK_OF(X509) *certificates, int index) {
  return sk_X509_value(certificates, index);
}
static inline void martlet_free_certificates(STACK_OF(X509) *certificates) { sk_X509_pop_free(certificates, X509_free); }

// The parts of a PKCS#12 container, and the bags of a part; the count of a null pointer is -1.
static inline int martlet_part_count(const STACK_OF(PKCS7) *parts) { return sk_PKCS7_num(parts); }
static inline PKCS7 *martlet_part_at(const STACK_OF(PKCS7) *parts, int index) { return sk_PKCS7_value(parts, index); }
static inline void martlet_free_parts(STACK_OF(PKCS7) *parts) { sk_PKCS7_pop_free(parts, PKCS7_free); }
static inline int martlet_bag_count(const STACK_OF(PKCS12_SAFEBAG) *bags) { return sk_PKCS12_SAFEBAG_num(bags); }
static inline PKCS12_SAFEBAG *martlet_bag_at(const STACK_OF(PKCS12_SAFEBAG) *bags, int index) {
  return sk_PKCS12_SAFEBAG_value(bags, index);
}
static inline void martlet_free_bags(STACK_OF(PKCS12_SAFEBAG) *bags) {
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}

// The names of a certificate (subjectAltName), or null. They are freed with martlet_free_names.
static inline GENERAL_NAMES *martlet_names(const X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}
static inline int martlet_name_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
// The text of a DNS name or the bytes of an address, or null for names of other kinds.
static inline const ASN1_STRING *martlet_name_at(const GENERAL_NAMES *names, int index, int *is_address) {
  int kind = -1;
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  const void *value = name ? GENERAL_NAME_get0_value(name, &kind) : NULL;
  *is_address = kind == GEN_IPADD;
  return kind == GEN_DNS || kind == GEN_IPADD ? (const ASN1_STRING *)value : NULL;
}
static inline void martlet_free_names(GENERAL_NAMES *names) { GENERAL_NAMES_free(names); }
