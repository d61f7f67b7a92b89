// The description of the API in OpenAPI 3.1, openapi.json, as bytes of the program. A shim without logic.
#ifndef COPENAPI_H
#define COPENAPI_H

#include <stddef.h>

/// The bytes of the document, JSON in UTF-8 without a NUL at their end; valid as long as the program runs.
const unsigned char *nightshift_openapi_bytes(void);

size_t nightshift_openapi_count(void);

#endif
