extension OpenAPI {
    static let taskPaths = #"""
            "/v1/tasks": {
              "post": {
                "operationId": "enqueue", "tags": ["tasks"], "summary": "Accept tasks, all or none",
                "description": "When the answer comes the tasks are on disk and survive any crash.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/EnqueueRequest"},
                    "example": {
                      "tasks": [{
                        "url": "https://example.org/debian.iso",
                        "destination": {"directory": "/home/ada/Downloads"},
                        "retryPolicy": "transientResponses", "failsOnHTTPError": true
                      }]
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
              },
              "get": {
                "operationId": "listTasks", "tags": ["tasks"], "summary": "Tasks in the order of their ids",
                "parameters": [
                  {"$ref": "#/components/parameters/Tasks"},
                  {"$ref": "#/components/parameters/Session"},
                  {
                    "name": "state", "in": "query", "description": "Only tasks in one of these states",
                    "style": "form", "explode": false,
                    "schema": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/TaskState"}},
                    "example": ["waiting", "running"]
                  },
                  {
                    "name": "after", "in": "query", "description": "Only ids greater than this: the last page's next",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  },
                  {"$ref": "#/components/parameters/Limit"}
                ],
                "responses": {
                  "200": {
                    "description": "One page",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TaskPage"}}}
                  },
                  \#(problems(404, 422))
                }
              }
            },
            "/v1/tasks/{id}": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "get": {
                "operationId": "getTask", "tags": ["tasks"], "summary": "One task",
                "responses": {\#(taskAnswer), \#(problems(404))}
              },
              "patch": {
                "operationId": "changeTask", "tags": ["tasks"], "summary": "Change what is given, also while it runs",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/TaskChange"}, "example": {"priority": 0.9}
                  }}
                },
                "responses": {\#(taskAnswer), \#(problems(404, 409, 413, 415, 422))}
              },
              "delete": {
                "operationId": "removeTask", "tags": ["tasks"],
                "summary": "Forget a task that has ended, with what the service still keeps for it",
                "responses": {
                  "204": {"description": "The task is gone"},
                  \#(problems(404, 409))
                }
              }
            }
        """#

    static let taskActionPaths = #"""
            "/v1/tasks/{id}/suspend": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "post": {
                "operationId": "suspendTask", "tags": ["tasks"], "summary": "Hold a task; its bytes are kept",
                "responses": {\#(taskAnswer), \#(problems(404, 409))}
              }
            },
            "/v1/tasks/{id}/resume": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "post": {
                "operationId": "resumeTask", "tags": ["tasks"], "summary": "Let a suspended task go on",
                "responses": {\#(taskAnswer), \#(problems(404, 409))}
              }
            },
            "/v1/tasks/{id}/retry": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "post": {
                "operationId": "retryTask", "tags": ["tasks"], "summary": "Try a task again now that waits after a failure",
                "description": "\#(retrying)",
                "responses": {\#(taskAnswer), \#(problems(404, 409))}
              }
            },
            "/v1/retry": {
              "post": {
                "operationId": "retry", "tags": ["tasks"], "summary": "Try many tasks again, or all that wait after a failure",
                "description": "\#(retrying)",
                "requestBody": {
                  "required": false,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/RetryRequest"}, "example": {"tasks": [17, 18]}
                  }}
                },
                "responses": {
                  "200": {
                    "description": "How many waited, and which cannot be tried again",
                    "content": {"application/json": {
                      "schema": {"$ref": "#/components/schemas/RetryResponse"}, "example": {"count": 2, "refused": []}
                    }}
                  },
                  \#(problems(413, 415, 422))
                }
              }
            },
            "/v1/tasks/{id}/retarget": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "post": {
                "operationId": "retargetTask", "tags": ["tasks"], "summary": "Give a task another URL; its bytes are kept",
                "description": "\#(retargeting)",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/RetargetRequest"},
                    "example": {"url": "https://cdn.example.org/debian.iso?signature=4711"}
                  }}
                },
                "responses": {\#(taskAnswer), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/tasks/{id}/cancel": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "post": {
                "operationId": "cancelTask", "tags": ["tasks"], "summary": "End a task",
                "requestBody": {
                  "required": false,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/CancelRequest"},
                    "example": {"producingResumeData": true}
                  }}
                },
                "responses": {\#(taskAnswer), \#(problems(404, 409, 413, 415))}
              }
            },
            "/v1/actions": {
              "post": {
                "operationId": "act", "tags": ["tasks"], "summary": "Do one thing to many tasks",
                "description": "What is refused for one task does not keep it from the others.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/TaskActionRequest"},
                    "example": {"action": "resume", "tasks": [17, 18, 19]}
                  }}
                },
                "responses": {
                  "200": {
                    "description": "What has come of it, task by task",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TaskActionAnswer"}}}
                  },
                  \#(problems(404, 409, 413, 415, 422))
                }
              }
            },
            "/v1/tasks/{id}/why": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "get": {
                "operationId": "explainTask", "tags": ["tasks"], "summary": "Why a task is in its state",
                "responses": {
                  "200": {
                    "description": "The reason, what will end it, and the last decisions",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Explanation"}}}
                  },
                  \#(problems(404))
                }
              }
            },
            "/v1/tasks/{id}/content": {
              "parameters": [{"$ref": "#/components/parameters/TaskID"}],
              "get": {
                "operationId": "getContent", "tags": ["tasks"],
                "summary": "The bytes the service keeps: a download without destination, an upload's response",
                "responses": {
                  "200": {
                    "description": "The bytes",
                    "headers": {"Content-Length": {"schema": {"type": "integer"}}},
                    "content": {"application/octet-stream": {"schema": {}}}
                  },
                  \#(problems(404, 409))
                }
              }
            }
        """#

    private static let retrying =
        "Ends the waits after failures and every pause on the way to the tasks' origins, also one that a server asked for "
        + "(Retry-After). What runs, or waits for something else, is left as it is."

    private static let retargeting =
        "For one that has not ended, or that has failed: then it waits again. The bytes here are kept where the same strong "
        + "entity tag proves that they belong to the file there, or its length agrees and the last 65536 bytes here, "
        + "fetched again and compared. Secrets go along within an origin only."

    private static let taskAnswer = #"""
        "200": {
                    "description": "The task as it is now",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TaskStatus"}}}
                  }
        """#
}
