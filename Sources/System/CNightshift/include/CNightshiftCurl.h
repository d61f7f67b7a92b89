// libcurl's variadic calls with fixed signatures, and the constants whose macros Swift cannot read.
#ifndef CNIGHTSHIFT_CURL_H
#define CNIGHTSHIFT_CURL_H

#include <curl/curl.h>

typedef size_t (*nightshift_curl_data_callback)(char *, size_t, size_t, void *);
typedef int (*nightshift_curl_seek_callback)(void *, curl_off_t, int);
typedef int (*nightshift_curl_progress_callback)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

CURLcode nightshift_curl_set_long(CURL *easy, CURLoption option, long value);
CURLcode nightshift_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode nightshift_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode nightshift_curl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode nightshift_curl_set_data_callback(CURL *easy, CURLoption option, nightshift_curl_data_callback value);
CURLcode nightshift_curl_set_seek_callback(CURL *easy, CURLoption option, nightshift_curl_seek_callback value);
CURLcode nightshift_curl_set_progress_callback(CURL *easy, CURLoption option, nightshift_curl_progress_callback value);
CURLcode nightshift_curl_set_tls_callback(CURL *easy, CURLoption option, curl_ssl_ctx_callback value);
CURLcode nightshift_curl_set_request_callback(CURL *easy, CURLoption option, curl_prereq_callback value);
CURLcode nightshift_curl_set_open_callback(CURL *easy, CURLoption option, curl_opensocket_callback value);
CURLcode nightshift_curl_set_close_callback(CURL *easy, CURLoption option, curl_closesocket_callback value);

CURLcode nightshift_curl_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode nightshift_curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value);
CURLcode nightshift_curl_get_socket(CURL *easy, CURLINFO info, curl_socket_t *value);
CURLcode nightshift_curl_get_tls_session(CURL *easy, CURLINFO info, struct curl_tlssessioninfo **value);

CURLMcode nightshift_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLSHcode nightshift_curl_share_set_long(CURLSH *share, CURLSHoption option, long value);

static const unsigned long nightshift_curl_auth_basic = CURLAUTH_BASIC;
static const unsigned long nightshift_curl_auth_digest = CURLAUTH_DIGEST;
static const size_t nightshift_curl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t nightshift_curl_read_pause = CURL_READFUNC_PAUSE;
static const size_t nightshift_curl_read_abort = CURL_READFUNC_ABORT;

#endif
