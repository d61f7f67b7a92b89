extension OpenAPI {
    static let servicePaths = #"""
            "/v1/status": {
              "get": {
                "operationId": "getStatus", "tags": ["service"], "summary": "The service and its transfers in numbers",
                "responses": {
                  "200": {
                    "description": "The present state",
                    "content": {"application/json": {
                      "schema": {"$ref": "#/components/schemas/ServiceStatus"},
                      "example": {
                        "version": "0.1.0", "processID": 4711, "startedAt": "2026-11-21T06:00:00.000Z",
                        "home": "/home/ada/.local/state/nightshift", "networkAvailable": true,
                        "settings": {"maximumTransfers": 32}, "tasks": {"running": 2, "waiting": 40},
                        "bytesPerSecond": 1250000, "lastJournalEntry": 812,
                        "pausedHosts": [{"origin": "https://example.org:443", "until": "2026-11-21T06:05:00.000Z"}]
                      }
                    }}
                  },
                  \#(problems())
                }
              }
            },
            "/v1/settings": {
              "get": {
                "operationId": "getSettings", "tags": ["service"], "summary": "Settings of the whole service",
                "responses": {
                  "200": {
                    "description": "The settings",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ServiceSettings"}}}
                  },
                  \#(problems())
                }
              },
              "patch": {
                "operationId": "changeSettings", "tags": ["service"], "summary": "Change what is given, at once",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/ServiceSettings"},
                    "example": {"rateLimit": 2000000}
                  }}
                },
                "responses": {
                  "200": {
                    "description": "The settings after the change",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ServiceSettings"}}}
                  },
                  \#(problems(413, 415, 422))
                }
              }
            },
            "/v1/shutdown": {
              "post": {
                "operationId": "shutdown", "tags": ["service"], "summary": "Stop the service",
                "description": "Transfers go on from where they are when the service starts again.",
                "responses": {
                  "202": {"description": "The service is stopping"},
                  \#(problems())
                }
              }
            },
            "/v1/openapi.json": {
              "get": {
                "operationId": "getDescription", "tags": ["service"], "summary": "This document",
                "responses": {
                  "200": {
                    "description": "The API in OpenAPI 3.1",
                    "content": {"application/json": {"schema": {"type": "object"}}}
                  },
                  \#(problems())
                }
              }
            }
        """#
}
