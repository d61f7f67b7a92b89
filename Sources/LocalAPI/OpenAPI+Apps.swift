extension OpenAPI {
    static let appPaths = #"""
            "/v1/apps": {
              "get": {
                "operationId": "listApps", "tags": ["apps"], "summary": "All apps",
                "description": "Those with a desktop entry of this service's, and programs that have sessions or are connected.",
                "responses": {
                  "200": {
                    "description": "The apps",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AppList"}}}
                  },
                  \#(problems())
                }
              },
              "post": {
                "operationId": "installApp", "tags": ["apps"], "summary": "Install a desktop entry",
                "description": "The entry is checked, then copied to the user's applications; one of the same name is replaced.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/InstallRequest"},
                    "example": {"entry": "/home/ada/photos/org.example.Photos.desktop"}
                  }}
                },
                "responses": {\#(appAnswer), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/apps/{id}": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "get": {
                "operationId": "getApp", "tags": ["apps"], "summary": "One app",
                "responses": {\#(appAnswer), \#(problems(404, 422))}
              },
              "patch": {
                "operationId": "changeApp", "tags": ["apps"], "summary": "The user's word on an app",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/AppChange"},
                    "example": {"backgroundPolicy": "contiguous"}
                  }}
                },
                "responses": {
                  "200": {
                    "description": "The app",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AppStatus"}}}
                  },
                  \#(problems(404, 413, 415, 422))
                }
              },
              "delete": {
                "operationId": "removeApp", "tags": ["apps"], "summary": "Remove an app's desktop entry",
                "responses": {
                  "204": {"description": "The entry is gone"},
                  \#(problems(404, 409, 422))
                }
              }
            },
            "/v1/apps/{id}/why": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "get": {
                "operationId": "explainApp", "tags": ["apps"], "summary": "Why an app is in its state",
                "responses": {
                  "200": {
                    "description": "The reason, what will end it, and the last decisions",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AppExplanation"}}}
                  },
                  \#(problems(404, 422))
                }
              }
            },
            "/v1/apps/{id}/log": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "get": {
                "operationId": "getAppLog", "tags": ["apps"],
                "summary": "What the app has written to its standard output and error",
                "description": "\#(logDescription)",
                "parameters": [
                  {
                    "name": "after", "in": "query", "description": "Bytes to leave out at the beginning",
                    "schema": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9223372036854775807}
                  },
                  {
                    "name": "limit", "in": "query", "description": "Bytes at most; all unless given",
                    "schema": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9223372036854775807}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The bytes",
                    "headers": {"Content-Length": {"schema": {"type": "integer"}}},
                    "content": {"text/plain": {"schema": {}}}
                  },
                  \#(problems(404, 409, 422))
                }
              }
            },
            "/v1/apps/{id}/snapshot": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "get": {
                "operationId": "getSnapshot", "tags": ["apps"], "summary": "The app's last picture of itself",
                "responses": {
                  "200": {
                    "description": "The picture; the app's status says when it was taken",
                    "headers": {"Content-Length": {"schema": {"type": "integer"}}},
                    "content": {"image/png": {"schema": {}}}
                  },
                  \#(problems(404, 409, 422))
                }
              }
            }
        """#

    static let appActionPaths = #"""
            "/v1/apps/{id}/launch": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "post": {
                "operationId": "launchApp", "tags": ["apps"], "summary": "Start an app as the user would",
                "description": "Ends a force quit.",
                "requestBody": {
                  "required": false,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/LaunchRequest"}, "example": {"background": true}
                  }}
                },
                "responses": {\#(appAnswer), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/apps/{id}/activate": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "post": {
                "operationId": "activateApp", "tags": ["apps"], "summary": "The app came to the front",
                "responses": {\#(appAnswer), \#(problems(404, 409, 422))}
              }
            },
            "/v1/apps/{id}/background": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "post": {
                "operationId": "backgroundApp", "tags": ["apps"], "summary": "The app left the front",
                "responses": {\#(appAnswer), \#(problems(404, 409, 422))}
              }
            },
            "/v1/apps/{id}/quit": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "post": {
                "operationId": "quitApp", "tags": ["apps"], "summary": "Ask an app to end itself",
                "requestBody": {
                  "required": false,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/QuitRequest"}, "example": {"force": true}
                  }}
                },
                "responses": {\#(appAnswer), \#(problems(404, 409, 413, 415, 422))}
              }
            },
            "/v1/apps/{id}/kill": {
              "parameters": [{"$ref": "#/components/parameters/AppID"}],
              "post": {
                "operationId": "killApp", "tags": ["apps"], "summary": "End an app's process as a crash would",
                "responses": {\#(appAnswer), \#(problems(404, 409, 422))}
              }
            }
        """#

    private static let logDescription =
        "Only the end is kept: at most twice the entry's limit, in two halves of which the older one goes when there is too much. A "
        + "reader that follows asks with after for a place before what it has, and looks whether that is still there."

    private static let appAnswer = #"""
        "200": {
                    "description": "The app as it is now",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AppStatus"}}}
                  }
        """#
}
