import NightshiftAPI

extension OpenAPI {
    /// What the process of an app says and hears of itself. Who it is, the kernel says.
    static let processPaths = #"""
            "/v1/process/commands": {
              "get": {
                "operationId": "streamCommands", "tags": ["process"], "summary": "What the calling process is to do",
                "description": "\#(commandsDescription)",
                "parameters": [
                  {
                    "name": "executable", "in": "query", "description": "The absolute path of the process's program",
                    "schema": {"type": "string", "minLength": 1, "maxLength": \#(Limits.pathLength), "pattern": "^/"}
                  },
                  {
                    "name": "app", "in": "query", "description": "The app it takes itself for: NIGHTSHIFT_APP",
                    "schema": {"$ref": "#/components/schemas/AppID"}
                  },
                  {
                    "name": "run", "in": "query",
                    "description": "A child of the calling process, leader of its process group, that is to run as bounded background work: the commands are then its",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 2147483647}
                  },
                  {
                    "name": "guest", "in": "query",
                    "description": "Whether it is a process beside the app's own, which hears of nothing but the end of background time",
                    "schema": {"type": "boolean", "default": false}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Server-sent events without end",
                    "content": {"text/event-stream": {
                      "schema": {"type": "string"},
                      "example": "event: command\ndata: {\"action\":\"enter\",\"number\":3,\"state\":\"background\"}\n\n"
                    }}
                  },
                  \#(problems(404, 409, 422, 429))
                }
              }
            },
            "/v1/process/acknowledge": {
              "post": {
                "operationId": "acknowledgeCommand", "tags": ["process"], "summary": "A command was carried out",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/CommandAcknowledgement"}, "example": {"command": 3}
                  }}
                },
                "responses": {\#(done), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/process/state": {
              "post": {
                "operationId": "changeState", "tags": ["process"],
                "summary": "The process came to the front or left it",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/ProcessStateChange"}, "example": {"state": "active"}
                  }}
                },
                "responses": {\#(done), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/process/snapshot": {
              "put": {
                "operationId": "putSnapshot", "tags": ["process"],
                "summary": "The process's picture of itself, for an app switcher",
                "requestBody": {
                  "required": true, "description": "A PNG file of at most \#(Limits.snapshotBytes) bytes",
                  "content": {"image/png": {"schema": {}}}
                },
                "responses": {\#(done), \#(problems(404, 409, 413, 415, 422))}
              }
            }
        """#

    static let processSessionPaths = #"""
            "/v1/process/sessions/{identifier}": {
              "parameters": [{"$ref": "#/components/parameters/SessionIdentifier"}],
              "put": {
                "operationId": "attachSession", "tags": ["process"],
                "summary": "Make a session of the calling process's app, or take it up again",
                "description": "Tasks that are there already keep the settings they were made with.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/SessionSettings"},
                    "example": {"sessionSendsLaunchEvents": true, "httpMaximumConnectionsPerHost": 4}
                  }}
                },
                "responses": {
                  "200": {
                    "description": "The session is there",
                    "content": {"application/json": {
                      "schema": {"$ref": "#/components/schemas/SessionAttachment"},
                      "example": {"session": "org.example.Photos:photos", "nextTaskIdentifier": 1}
                    }}
                  },
                  \#(problems(404, 409, 413, 415, 422, 429))
                }
              },
              "delete": {
                "operationId": "invalidateSession", "tags": ["process"],
                "summary": "Cancel and forget all its tasks and messages, then the session",
                "responses": {\#(done), \#(problems(404, 409, 422))}
              }
            },
            "/v1/process/sessions/{identifier}/tasks": {
              "parameters": [{"$ref": "#/components/parameters/SessionIdentifier"}],
              "get": {
                "operationId": "listSessionTasks", "tags": ["process"],
                "summary": "The session's tasks that have not ended, in the order of their ids",
                "parameters": [
                  {
                    "name": "after", "in": "query", "description": "Only ids greater than this: the last page's next",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  },
                  {"$ref": "#/components/parameters/Limit"}
                ],
                "responses": {
                  "200": {
                    "description": "One page",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SessionTaskPage"}}}
                  },
                  \#(problems(404, 409, 422))
                }
              },
              "post": {
                "operationId": "enqueueInSession", "tags": ["process"],
                "summary": "Accept tasks that the app has numbered, all or none",
                "description": "\#(enqueueDescription)",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/SessionEnqueueRequest"},
                    "example": {
                      "tasks": [{"taskIdentifier": 1, "request": {"url": "https://example.org/photo.jpg"}}]
                    }
                  }}
                },
                "responses": {
                  "201": {
                    "description": "The ids, in the order of the request",
                    "content": {"application/json": {
                      "schema": {"$ref": "#/components/schemas/EnqueueResponse"}, "example": {"ids": [17]}
                    }}
                  },
                  \#(problems(404, 409, 413, 415, 422, 429))
                }
              }
            },
            "/v1/process/sessions/{identifier}/messages": {
              "parameters": [{"$ref": "#/components/parameters/SessionIdentifier"}],
              "get": {
                "operationId": "streamMessages", "tags": ["process"], "summary": "What the app has to learn of its session",
                "description": "\#(messagesDescription)",
                "responses": {
                  "200": {
                    "description": "Server-sent events without end",
                    "content": {"text/event-stream": {
                      "schema": {"type": "string"},
                      "example": "id: 5\nevent: message\ndata: {\"id\":5,\"kind\":\"ended\",\"task\":{}}\n\n"
                    }}
                  },
                  \#(problems(404, 409, 422, 429))
                }
              }
            },
            "/v1/process/sessions/{identifier}/acknowledge": {
              "parameters": [{"$ref": "#/components/parameters/SessionIdentifier"}],
              "post": {
                "operationId": "acknowledgeMessages", "tags": ["process"],
                "summary": "Messages were handled and are not wanted again",
                "description": "With the message that a task has ended goes the service's copy of its file.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/MessageAcknowledgement"}, "example": {"messages": [4, 5]}
                  }}
                },
                "responses": {\#(done), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/process/sessions/{identifier}/answers": {
              "parameters": [{"$ref": "#/components/parameters/SessionIdentifier"}],
              "post": {
                "operationId": "answerQuestion", "tags": ["process"], "summary": "The app's answer to a question",
                "description": "Credentials are kept in memory for the session, never on disk.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/MessageAnswer"},
                    "example": {
                      "message": 6, "disposition": "useCredential", "credential": {"user": "ada", "password": "abc"}
                    }
                  }}
                },
                "responses": {\#(done), \#(problems(404, 409, 413, 415, 422))}
              }
            }
        """#

    private static let commandsDescription =
        "Three kinds. hello, the first: data is a ProcessHello. command: data is a ProcessCommand, to be acknowledged by its "
        + "number. The process is the one that opened the connection. It counts as connected while the stream is open, "
        + "and has to be for everything else here: 409 of type /problems/not-connected says that it is not. stopping, the "
        + "last: the service was asked to stop, and is not to be started again for the sake of this stream; data is {}."

    private static let enqueueDescription =
        "When the answer comes the tasks are on disk and survive any crash. A number that the session has already is "
        + "not taken twice: the answer is the id that it was given then, so that a request may be sent again."

    private static let messagesDescription =
        "Three kinds. message: data is a SessionMessage, id its number; kept, and sent again on the next connection, until "
        + "it is acknowledged or answered. progress: data is a TaskProgress, without id. caughtUp: once, "
        + "behind the messages that were kept; data is a CaughtUp. One process reads at a time: 409 "
        + "of type /problems/session-in-use. The stream ends when the service stops."

    private static let done = #"""
        "204": {"description": "Done"}
        """#
}
