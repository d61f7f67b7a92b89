#include "COpenAPI.h"

// The compilers that read Swift's C targets know #embed; that it came with C23 is no news.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "openapi.json"
};

const unsigned char *nightshift_openapi_bytes(void) { return document; }

size_t nightshift_openapi_count(void) { return sizeof document; }
