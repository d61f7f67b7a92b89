extension OpenAPI {
    static let sessionPaths = #"""
            "/v1/sessions": {
              "get": {
                "operationId": "listSessions", "tags": ["sessions"], "summary": "All sessions",
                "responses": {
                  "200": {
                    "description": "The sessions",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SessionList"}}}
                  },
                  \#(problems())
                }
              }
            },
            "/v1/sessions/{id}": {
              "parameters": [{"$ref": "#/components/parameters/SessionID"}],
              "get": {
                "operationId": "getSession", "tags": ["sessions"], "summary": "One session",
                "responses": {
                  "200": {
                    "description": "The session; secrets in its header fields are shown as ***",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SessionStatus"}}}
                  },
                  \#(problems(404, 422))
                }
              },
              "put": {
                "operationId": "putSession", "tags": ["sessions"], "summary": "Make a session or replace its settings",
                "description": "Tasks that are there already keep the settings they were made with.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/SessionSettings"},
                    "example": {
                      "headers": [{"name": "Authorization", "value": "Bearer abc"}],
                      "httpMaximumConnectionsPerHost": 4, "retryPolicy": "transientResponses"
                    }
                  }}
                },
                "responses": {
                  "200": {
                    "description": "The session as it is now",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SessionStatus"}}}
                  },
                  \#(problems(409, 413, 415, 422, 429))
                }
              },
              "delete": {
                "operationId": "removeSession", "tags": ["sessions"],
                "summary": "Cancel and forget all its tasks, then the session",
                "responses": {
                  "204": {"description": "The session is gone"},
                  \#(problems(404, 409, 422))
                }
              }
            }
        """#
}
