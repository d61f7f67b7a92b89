import NightshiftAPI

extension OpenAPI {
    static let eventPaths = #"""
            "/v1/journal": {
              "get": {
                "operationId": "readJournal", "tags": ["events"], "summary": "The service's decisions, oldest first",
                "parameters": [
                  {
                    "name": "task", "in": "query", "description": "Only entries about this task",
                    "schema": {"$ref": "#/components/schemas/TaskID"}
                  },
                  {
                    "name": "app", "in": "query",
                    "description": "Only entries about this app and the tasks of its sessions; one that is not there has none",
                    "schema": {"type": "string", "minLength": 1}
                  },
                  {
                    "name": "since", "in": "query", "description": "Only entries from this moment on",
                    "schema": {"type": "string", "format": "date-time"}
                  },
                  {
                    "name": "after", "in": "query", "description": "Only entries after this one: the last page's next",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  },
                  {"$ref": "#/components/parameters/Limit"}
                ],
                "responses": {
                  "200": {
                    "description": "One page",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JournalPage"}}}
                  },
                  \#(problems(404))
                }
              }
            },
            "/v1/events": {
              "get": {
                "operationId": "streamEvents", "tags": ["events"], "summary": "What happens, as it happens",
                "description": "\#(eventsDescription)",
                "parameters": [
                  {"$ref": "#/components/parameters/Tasks"},
                  {"$ref": "#/components/parameters/Session"},
                  {
                    "name": "progress", "in": "query", "description": "Whether progress events are wanted",
                    "schema": {"type": "boolean", "default": true}
                  },
                  {
                    "name": "lastEventID", "in": "query",
                    "description": "As Last-Event-ID, for clients that cannot set fields; the field goes first",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  },
                  {
                    "name": "Last-Event-ID", "in": "header",
                    "description": "The last journal entry the reader has; without it the stream starts with the next one",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Server-sent events without end",
                    "content": {"text/event-stream": {
                      "schema": {"type": "string"},
                      "example": "id: 813\nevent: journal\ndata: {\"decision\":\"completed\",\"id\":813,\"task\":17}\n\n"
                    }}
                  },
                  \#(problems(404, 429))
                }
              }
            }
        """#

    private static let eventsDescription =
        "Three kinds. journal: data is a JournalEntry, id its number. progress: data is a TaskProgress, without id. "
        + "reset: data is a StreamReset; entries after Last-Event-ID are gone: read the tasks again and go on. A "
        + "reader that connects again with Last-Event-ID misses no journal entry. The stream ends when the service stops."

    static let parameters = #"""
              "TaskID": {
                "name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/TaskID"}
              },
              "SessionID": {
                "name": "id", "in": "path", "required": true, "description": "Percent-encoded",
                "schema": {"$ref": "#/components/schemas/SessionID"}
              },
              "SessionIdentifier": {
                "name": "identifier", "in": "path", "required": true,
                "description": "As the app calls it, percent-encoded",
                "schema": {"$ref": "#/components/schemas/SessionID"}
              },
              "AppID": {
                "name": "id", "in": "path", "required": true,
                "description": "Percent-encoded: a program's path is one segment",
                "schema": {"$ref": "#/components/schemas/AppID"}
              },
              "Tasks": {
                "name": "task", "in": "query", "description": "Only these tasks",
                "style": "form", "explode": false,
                "schema": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/TaskID"}},
                "example": [17, 18]
              },
              "Session": {
                "name": "session", "in": "query", "description": "Only this session's; one that is not there has nothing",
                "schema": {"type": "string", "minLength": 1}
              },
              "Limit": {
                "name": "limit", "in": "query", "description": "How many at most",
                "schema": {"type": "integer", "minimum": 1, "maximum": \#(Limits.pageSize), "default": 100}
              }
        """#

    static let responses = #"""
              \#(problem("BadRequest", "Not understood: JSON, a key, a parameter; `pointer` says where")),
              \#(problem("Forbidden", "Another user, a web page, or a foreign Host")),
              \#(problem("NotFound", "There is no such thing")),
              \#(problem("Conflict", "Not in the present state")),
              \#(problem("TooLarge", "The body is larger than is read")),
              \#(problem("UnsupportedMediaType", "The body is not of the type that is read here")),
              \#(problem("Invalid", "Understood, and asks for something that cannot be")),
              \#(problem("TooMany", "A limit on how many there may be at once is reached")),
              \#(problem("HeadersTooLarge", "The request's head is larger than is read")),
              \#(problem("Unavailable", "The service cannot do it now: disk trouble, or it is stopping"))
        """#

    private static func problem(_ name: String, _ description: String) -> String {
        #"""
        "\#(name)": {
                "description": "\#(description)",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              }
        """#
    }
}
