#pragma once
#include <curl/curl.h>
#include <stdint.h>

// libcurl's variadic calls, which Swift cannot make: one typed function for each kind of argument. Nothing else lives here.

typedef size_t (*martlet_transfer_callback)(char *, size_t, size_t, void *);
typedef int (*martlet_seek_callback)(void *, curl_off_t, int);
typedef int (*martlet_socket_callback)(CURL *, curl_socket_t, int, void *, void *);
typedef int (*martlet_timer_callback)(CURLM *, long, void *);
typedef int (*martlet_close_callback)(void *, curl_socket_t);
typedef int (*martlet_request_callback)(void *, char *, char *, int, int);
typedef int (*martlet_opened_callback)(void *, curl_socket_t, curlsocktype);
typedef int (*martlet_debug_callback)(CURL *, curl_infotype, char *, size_t, void *);

static inline CURLcode martlet_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode martlet_set_offset(CURL *handle, CURLoption option, int64_t value) {
  return curl_easy_setopt(handle, option, (curl_off_t)value);
}
static inline CURLcode martlet_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode martlet_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode martlet_set_callback(CURL *handle, CURLoption option, martlet_transfer_callback value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode martlet_set_seek(CURL *handle, martlet_seek_callback value) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLcode martlet_set_close(CURL *handle, martlet_close_callback value) {
  return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode martlet_set_opened(CURL *handle, martlet_opened_callback value) {
  return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, value);
}
static inline CURLcode martlet_set_request(CURL *handle, martlet_request_callback value) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode martlet_set_debug(CURL *handle, martlet_debug_callback value) {
  return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, value);
}
static inline CURLcode martlet_set_blob(CURL *handle, CURLoption option, const void *bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(handle, option, &blob);
}

static inline CURLMcode martlet_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode martlet_multi_set_socket(CURLM *multi, martlet_socket_callback value, void *user) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, user);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode martlet_multi_set_timer(CURLM *multi, martlet_timer_callback value, void *user) {
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, user);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}

// A finished transfer, or a null handle when there is none (a union in CURLMsg keeps Swift from reading it).
typedef struct {
  CURL *handle;
  CURLcode code;
} martlet_finished;
static inline martlet_finished martlet_next_finished(CURLM *multi) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg == CURLMSG_DONE) {
      martlet_finished done = {message->easy_handle, message->data.result};
      return done;
    }
  }
  martlet_finished none = {0, CURLE_OK};
  return none;
}

static inline int64_t martlet_get_offset(CURL *handle, CURLINFO info) {
  curl_off_t value = 0;
  curl_easy_getinfo(handle, info, &value);
  return value;
}
static inline long martlet_get_long(CURL *handle, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(handle, info, &value);
  return value;
}
static inline const char *martlet_get_string(CURL *handle, CURLINFO info) {
  char *value = 0;
  curl_easy_getinfo(handle, info, &value);
  return value;
}

// What is known of the peer's certificate at this place of its chain, a line `Name:value` for each field; null where there is none.
// Only with CURLOPT_CERTINFO.
static inline struct curl_slist *martlet_certificate(CURL *handle, int index) {
  struct curl_certinfo *info = 0;
  if (curl_easy_getinfo(handle, CURLINFO_CERTINFO, &info) != CURLE_OK || !info || index >= info->num_of_certs) return 0;
  return info->certinfo[index];
}

// Macros that Swift cannot read.
static const long martlet_auth_basic = CURLAUTH_BASIC;
static const long martlet_auth_digest = CURLAUTH_DIGEST;
static const long martlet_auth_negotiate = CURLAUTH_NEGOTIATE;
// Before 8.1.0, a handle that is used again keeps a pointer to the last header of the transfer before, which is freed by then.
static inline int martlet_handles_are_reusable(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080100;
}
static inline const char *martlet_default_authorities(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }
static inline int martlet_can_negotiate(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO) != 0;
}

// Structures whose addresses are of several kinds.
#ifdef __linux__
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
// The port of our end of a connected socket, 0 if it has none.
static inline int martlet_local_port(int descriptor) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : 0;
}
// The port of the other end, 0 if there is none, and its address as text, as libcurl writes it. Room for INET6_ADDRSTRLEN bytes.
static inline int martlet_peer(int descriptor, char *text) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  text[0] = 0;
  if (getpeername(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
  int is_v4 = address.ss_family == AF_INET;
  if (!is_v4 && address.ss_family != AF_INET6) return 0;
  const struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
  const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
  const void *bytes = is_v4 ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr;
  if (!inet_ntop(address.ss_family, bytes, text, INET6_ADDRSTRLEN)) return 0;
  return ntohs(is_v4 ? v4->sin_port : v6->sin6_port);
}

// Whether the server of a transfer that is about to send agreed on HTTP/2 over TLS (ALPN): 1 or 0; -1 without TLS, and where
// libcurl's TLS is not OpenSSL's. The function is looked up, because this library need not be linked to that of libcurl.
static inline int martlet_agreed_on_http2(CURL *handle) {
  typedef void (*martlet_selected)(const void *, const unsigned char **, unsigned *);
  static martlet_selected found;
  struct curl_tlssessioninfo *session = 0;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session || !session->internals) return -1;
  if (session->backend != CURLSSLBACKEND_OPENSSL) return -1;
  martlet_selected selected = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!selected) {
    selected = (martlet_selected)dlsym((void *)0, "SSL_get0_alpn_selected");
    if (!selected) return -1;
    __atomic_store_n(&found, selected, __ATOMIC_RELAXED);
  }
  const unsigned char *name = 0;
  unsigned size = 0;
  selected(session->internals, &name, &size);
  return size == 2 && name[0] == 'h' && name[1] == '2';
}

// Whether bytes of a connection with TLS were received, and not read: 1 or 0; 0 where libcurl's TLS is not OpenSSL's.
static inline int martlet_has_pending_records(CURL *handle) {
  typedef int (*martlet_pending)(const void *);
  static martlet_pending found;
  struct curl_tlssessioninfo *session = 0;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session || !session->internals) return 0;
  if (session->backend != CURLSSLBACKEND_OPENSSL) return 0;
  martlet_pending pending = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!pending) {
    pending = (martlet_pending)dlsym((void *)0, "SSL_has_pending");
    if (!pending) return 0;
    __atomic_store_n(&found, pending, __ATOMIC_RELAXED);
  }
  return pending(session->internals);
}

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
static inline int martlet_make_wake_up(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
static inline void martlet_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
// epoll_event holds its data in a union.
static inline int martlet_event_descriptor(const struct epoll_event *event) { return event->data.fd; }
static inline int martlet_epoll_control(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}
#endif
