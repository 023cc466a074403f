#pragma once
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <krb5.h>

// Object identifiers: the library has them as variables and macros, which Swift cannot use.
static gss_OID_desc martlet_spnego_storage = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
static inline gss_OID martlet_spnego(void) { return &martlet_spnego_storage; }
static gss_OID_desc martlet_kerberos_storage = {9, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
static inline gss_OID martlet_kerberos(void) { return &martlet_kerberos_storage; }
static inline gss_OID martlet_host_based_service(void) { return GSS_C_NT_HOSTBASED_SERVICE; }

// The values of macros with casts.
static inline int martlet_failed(OM_uint32 major) { return GSS_ERROR(major) != 0; }
static inline OM_uint32 martlet_indefinite(void) { return GSS_C_INDEFINITE; }
static const OM_uint32 martlet_no_credential = GSS_S_NO_CRED;
static const OM_uint32 martlet_credentials_expired = GSS_S_CREDENTIALS_EXPIRED;
