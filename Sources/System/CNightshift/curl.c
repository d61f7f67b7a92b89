#include "CNightshiftCurl.h"

CURLcode nightshift_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_data_callback(CURL *easy, CURLoption option, nightshift_curl_data_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_seek_callback(CURL *easy, CURLoption option, nightshift_curl_seek_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_progress_callback(CURL *easy, CURLoption option, nightshift_curl_progress_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_tls_callback(CURL *easy, CURLoption option, curl_ssl_ctx_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_request_callback(CURL *easy, CURLoption option, curl_prereq_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_open_callback(CURL *easy, CURLoption option, curl_opensocket_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_set_close_callback(CURL *easy, CURLoption option, curl_closesocket_callback value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode nightshift_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLcode nightshift_curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLcode nightshift_curl_get_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLcode nightshift_curl_get_tls_session(CURL *easy, CURLINFO info, struct curl_tlssessioninfo **value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLMcode nightshift_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

CURLSHcode nightshift_curl_share_set_long(CURLSH *share, CURLSHoption option, long value) {
    return curl_share_setopt(share, option, value);
}
