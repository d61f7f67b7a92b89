import NightshiftAPI

extension OpenAPI {
    static let backgroundTaskPaths = #"""
            "/v1/process/background-tasks": {
              "post": {
                "operationId": "beginBackgroundTask", "tags": ["process"],
                "summary": "The calling process's app has work to finish",
                "description": "With the answer it is not suspended while the task is open and background time lasts. The same number again is the same task. 409 of type /problems/no-background-time says why there is none.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/BackgroundTaskRequest"},
                    "example": {"number": 1, "name": "Saving the drawing"}
                  }}
                },
                "responses": {"204": {"description": "It has begun"}, \#(problems(404, 409, 413, 415, 422, 429))}
              }
            },
            "/v1/process/background-tasks/{number}": {
              "parameters": [{
                "name": "number", "in": "path", "required": true, "description": "As the process has numbered it",
                "schema": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9223372036854775807}
              }],
              "delete": {
                "operationId": "endBackgroundTask", "tags": ["process"], "summary": "The work is done",
                "description": "The app may be suspended from now on. A number that is not open changes nothing.",
                "responses": {"204": {"description": "It has ended"}, \#(problems(404, 409, 422))}
              }
            }
        """#

    static let backgroundValueSchemas = #"""
              "FileLockPolicy": {"type": "string", "enum": ["warn", "terminate"]},
              "PolicySource": {"type": "string", "enum": ["device", "manifest", "app"]},
              "StintEnd": {"type": "string", "enum": ["suspended", "foreground", "ended", "terminated"]}
        """#

    static let backgroundRequestSchemas = #"""
              "BackgroundTaskRequest": {
                "type": "object", "additionalProperties": false, "required": ["number", "name"],
                "properties": {
                  "number": {
                    "type": "integer", "format": "int64", "minimum": 1, "maximum": 9223372036854775807,
                    "description": "The process's own, unique in it"
                  },
                  "name": {
                    "type": "string", "minLength": 1, "maxLength": \#(Limits.backgroundTaskNameLength),
                    "description": "For people: what the time is needed for"
                  }
                }
              },
              "AppChange": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "backgroundPolicy": {
                    "type": ["string", "null"],
                    "pattern": "^(default|(contiguous|opportunistic)(:[0-9]+(\\.[0-9]+)?)?)$",
                    "description": "A BackgroundPolicy for this app, or default: its manifest's, else the device's"
                  }
                }
              }
        """#

    static let backgroundSchemas = #"""
              "TransferRules": {
                "type": "object",
                "required": [
                  "discretion", "allowsCellularAccess", "allowsExpensiveNetworkAccess",
                  "allowsConstrainedNetworkAccess", "requiresExternalPower", "minimumBattery"
                ],
                "properties": {
                  "discretion": {"$ref": "#/components/schemas/Discretion"},
                  "allowsCellularAccess": {"type": "boolean"},
                  "allowsExpensiveNetworkAccess": {"type": "boolean"},
                  "allowsConstrainedNetworkAccess": {"type": "boolean"},
                  "requiresExternalPower": {"type": "boolean"},
                  "minimumBattery": {"type": "integer", "minimum": 0, "maximum": 100}
                }
              },
              "Discretion": {
                "type": "string", "enum": ["none", "relaxed", "full"],
                "description": "How good a moment it waits for; less as its time runs out"
              },
              "BackgroundStatus": {
                "type": "object", "required": ["policy", "policySource", "standsStill", "tasks", "stints"],
                "properties": {
                  "policy": {"$ref": "#/components/schemas/BackgroundPolicy"},
                  "policySource": {"$ref": "#/components/schemas/PolicySource"},
                  "remaining": {"type": "number", "description": "Seconds left; missing where there is no limit"},
                  "standsStill": {"type": "boolean", "description": "Whether it waits for a window of doze"},
                  "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/BackgroundTaskStatus"}},
                  "stints": {
                    "type": "array", "items": {"$ref": "#/components/schemas/BackgroundStint"},
                    "description": "Its last times in the background, oldest first"
                  }
                }
              },
              "BackgroundTaskStatus": {
                "type": "object", "required": ["name", "since"],
                "properties": {"name": {"type": "string"}, "since": {"type": "string", "format": "date-time"}}
              },
              "BackgroundStint": {
                "type": "object", "required": ["began", "seconds", "windows", "heldAwake", "tasks", "wakes"],
                "properties": {
                  "began": {"type": "string", "format": "date-time"},
                  "ended": {"type": "string", "format": "date-time"},
                  "seconds": {"type": "number", "description": "That counted"},
                  "windows": {"type": "integer", "minimum": 0, "description": "Windows of doze in which it ran"},
                  "heldAwake": {"type": "boolean", "description": "Whether the device was held awake for it"},
                  "tasks": {"type": "array", "items": {"type": "string"}},
                  "wakes": {"type": "array", "items": {"$ref": "#/components/schemas/WakeReason"}},
                  "end": {"$ref": "#/components/schemas/StintEnd"}
                }
              }
        """#
}
