import NightshiftAPI

extension OpenAPI {
    /// Closed vocabularies and values of apps.
    static let appValueSchemas = #"""
              "AppID": {
                "type": "string", "minLength": 1, "maxLength": \#(Limits.pathLength),
                "pattern": "^[^\\u0000-\\u001f\\u007f]+$",
                "description": "The desktop-file id of its entry, or the absolute path of its program without one"
              },
              "AppState": {"type": "string", "enum": ["notRunning", "inactive", "active", "background", "suspended"]},
              "BackgroundMode": {
                "type": "string", "enum": ["transfer", "fetch", "remote-notification", "location", "processing"]
              },
              "WakeSource": {
                "type": "string", "enum": ["session", "fetch", "push", "region", "significantChange", "processing"]
              },
              "WakeReason": {
                "type": "string",
                "enum": [
                  "sessionEvents", "challenge", "delayedRequest", "fetch", "push", "region", "significantChange",
                  "processing"
                ]
              },
              "ExitCause": {
                "type": "string",
                "enum": [
                  "exited", "failed", "signalled", "unseen", "quit", "forceQuit", "killed", "launchTimeout",
                  "backgroundTimeout", "eventsOverdue", "fetchOverdue", "pushOverdue", "locationOverdue",
                  "processingOverdue", "taskOverdue", "fileLock", "launchFailed"
                ]
              },
              "CommandAction": {
                "type": "string", "enum": ["enter", "handleEvents", "handleWake", "snapshot", "expire", "terminate"]
              },
              "MessageKind": {"type": "string", "enum": ["resumed", "ended", "challenge", "delayedRequest"]},
              "ChallengeMethod": {"type": "string", "enum": ["basic", "digest", "clientCertificate", "serverTrust"]},
              "AnswerDisposition": {
                "type": "string",
                "enum": [
                  "useCredential", "performDefaultHandling", "rejectProtectionSpace", "cancel", "continueLoading"
                ]
              }
        """#

    /// Schemas of what people and processes send about apps. Null is the same as no key.
    static let appRequestSchemas = #"""
              "InstallRequest": {
                "type": "object", "additionalProperties": false, "required": ["entry"],
                "properties": {
                  "entry": {
                    "type": "string", "maxLength": \#(Limits.pathLength), "pattern": "^/",
                    "description": "The absolute path of a desktop entry"
                  }
                }
              },
              "LaunchRequest": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "background": {
                    "type": ["boolean", "null"], "description": "Without the user seeing it, as a wake does"
                  },
                  "arguments": {
                    "type": ["array", "null"], "items": {"type": "string", "pattern": "^[^\\u0000]*$"},
                    "description": "Behind the arguments of the entry"
                  }
                }
              },
              "QuitRequest": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "force": {
                    "type": ["boolean", "null"],
                    "description": "Its transfers are cancelled, and nothing but the user launches it"
                  }
                }
              },
              "CommandAcknowledgement": {
                "type": "object", "additionalProperties": false, "required": ["command"],
                "properties": {"command": {\#(number), "description": "The command's number; one that was acknowledged before changes nothing"}}
              },
              "ProcessStateChange": {
                "type": "object", "additionalProperties": false, "required": ["state"],
                "properties": {"state": {"type": "string", "enum": ["active", "inactive", "background"]}}
              },
              "SessionEnqueueRequest": {
                "type": "object", "additionalProperties": false, "required": ["tasks"],
                "properties": {
                  "tasks": {
                    "type": "array", "minItems": 1, "maxItems": \#(Limits.tasksPerRequest),
                    "items": {"$ref": "#/components/schemas/SessionTaskRequest"}
                  }
                }
              },
              "SessionTaskRequest": {
                "type": "object", "additionalProperties": false, "required": ["taskIdentifier", "request"],
                "properties": {
                  "taskIdentifier": {
                    "type": "integer", "format": "int64", "minimum": 1, "maximum": \#(Limits.taskIdentifier),
                    "description": "The app's number for it, unique in the session"
                  },
                  "request": {"$ref": "#/components/schemas/TaskRequest"},
                  "clientData": {
                    "type": ["string", "null"], "maxLength": \#(Limits.clientDataLength),
                    "description": "Given back with the task; nobody else reads it"
                  },
                  "asksBeforeBeginning": {
                    "type": ["boolean", "null"], "description": "Whether the app is asked when the begin date has come"
                  },
                  "sourceDescriptor": {
                    "type": ["integer", "null"], "minimum": 0, "maximum": 2147483647,
                    "description": "A descriptor by which the calling process has the source open: a copy is made from there before the answer, and the file may go"
                  }
                }
              },
              "MessageAcknowledgement": {
                "type": "object", "additionalProperties": false, "required": ["messages"],
                "properties": {
                  "messages": {"type": "array", "maxItems": \#(Limits.tasksPerRequest), "items": {\#(number)}}
                }
              },
              "MessageAnswer": {
                "type": "object", "additionalProperties": false, "required": ["message", "disposition"],
                "properties": {
                  "message": {\#(number), "description": "The id of the message that asks"},
                  "disposition": {"$ref": "#/components/schemas/AnswerDisposition"},
                  "credential": {
                    "anyOf": [{"$ref": "#/components/schemas/Credential"}, {"type": "null"}],
                    "description": "For Basic and Digest"
                  },
                  "clientCertificate": {"type": ["string", "null"], "description": "A PEM file's absolute path"},
                  "clientKey": {"type": ["string", "null"], "description": "Where the key is not in that file"},
                  "request": {
                    "anyOf": [{"$ref": "#/components/schemas/TaskRequest"}, {"type": "null"}],
                    "description": "With continueLoading: URL, method and header fields in place of the task's own"
                  },
                  "clientData": {"type": ["string", "null"], "maxLength": \#(Limits.clientDataLength)}
                }
              }
        """#

    private static let number = #"""
        "type": "integer", "format": "int64", "minimum": -9223372036854775808, "maximum": 9223372036854775807
        """#
}
