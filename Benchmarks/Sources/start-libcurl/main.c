#include <curl/curl.h>
#include <stdio.h>

// Gets a URL, and prints the length of the body.

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes;
  *(size_t *)user += size * count;
  return size * count;
}

int main(int argc, char **argv) {
  size_t length = 0;
  CURL *easy = argc == 2 ? curl_easy_init() : NULL;
  if (!easy) return 1;
  curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &length);
  int failed = curl_easy_perform(easy) != CURLE_OK;
  curl_easy_cleanup(easy);
  if (!failed) printf("%zu\n", length);
  return failed;
}
