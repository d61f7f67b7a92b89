extension OpenAPI {
    /// Schemas of tasks as they are shown.
    static let taskSchemas = #"""
              "TaskStatus": {
                "type": "object",
                "required": [
                  "id", "session", "taskIdentifier", "kind", "method", "url", "state", "priority", "createdAt",
                  "countOfBytesReceived", "countOfBytesExpectedToReceive", "countOfBytesSent",
                  "countOfBytesExpectedToSend", "attempts", "restarts", "verified"
                ],
                "properties": {
                  "id": {"$ref": "#/components/schemas/TaskID"},
                  "session": {"$ref": "#/components/schemas/SessionID"},
                  "taskIdentifier": {"type": "integer", "minimum": 1, "description": "Unique in the session"},
                  "kind": {"$ref": "#/components/schemas/TaskKind"},
                  "method": {"type": "string"},
                  "url": {"type": "string", "description": "As it is requested, without user name and password"},
                  "currentURL": {"type": "string", "description": "Where redirects have led, if anywhere else"},
                  "state": {"$ref": "#/components/schemas/TaskState"},
                  "wait": {
                    "$ref": "#/components/schemas/Wait", "description": "Present exactly while the state is waiting"
                  },
                  "priority": {"type": "number", "minimum": 0, "maximum": 1},
                  "rateLimit": {"type": "integer"},
                  "description": {"type": "string"},
                  "createdAt": {"type": "string", "format": "date-time"},
                  "startedAt": {"type": "string", "format": "date-time"},
                  "endedAt": {"type": "string", "format": "date-time"},
                  "earliestBeginDate": {"type": "string", "format": "date-time"},
                  "deadline": {
                    "type": "string", "format": "date-time", "description": "When the resource timeout ends the task"
                  },
                  "countOfBytesReceived": {"type": "integer", "minimum": 0},
                  "countOfBytesExpectedToReceive": {"type": "integer", "minimum": -1},
                  "countOfBytesSent": {"type": "integer", "minimum": 0},
                  "countOfBytesExpectedToSend": {"type": "integer", "minimum": -1},
                  "countOfBytesClientExpectsToSend": {"type": "integer"},
                  "countOfBytesClientExpectsToReceive": {"type": "integer"},
                  "bytesPerSecond": {"type": "number", "description": "Over the last seconds; present while running"},
                  "connections": {
                    "type": "integer", "minimum": 1, "description": "That fetch it; present while a download is running"
                  },
                  "attempts": {"type": "integer", "minimum": 0, "description": "Exchanges begun"},
                  "restarts": {
                    "type": "integer", "minimum": 0,
                    "description": "How often bytes were thrown away: the remote file had changed, or the server had lost an upload"
                  },
                  "response": {"$ref": "#/components/schemas/ResponseSummary"},
                  "informationalResponse": {
                    "$ref": "#/components/schemas/ResponseSummary",
                    "description": "The last interim response (1xx but 100) to the request under way"
                  },
                  "upload": {
                    "$ref": "#/components/schemas/UploadStatus",
                    "description": "What the server keeps of an upload that can be continued"
                  },
                  "rules": {
                    "$ref": "#/components/schemas/TransferRules",
                    "description": "What it needs of power and network; missing where it takes anything"
                  },
                  "source": {"type": "string"},
                  "destination": {"$ref": "#/components/schemas/Destination"},
                  "file": {"type": "string", "description": "Where the finished file is"},
                  "checksum": {"$ref": "#/components/schemas/Checksum"},
                  "verified": {
                    "type": "array", "items": {"type": "string"}, "description": "Digests that were compared and right"
                  },
                  "lastError": {
                    "$ref": "#/components/schemas/TransferFailure", "description": "Also of a task that goes on"
                  },
                  "error": {"$ref": "#/components/schemas/TransferFailure", "description": "Why it failed"},
                  "resumeData": {"type": "string", "description": "What a cancelled task continues from"}
                }
              },
              "UploadStatus": {
                "type": "object", "required": ["resumption", "countOfBytesAcknowledged"],
                "properties": {
                  "resumption": {"$ref": "#/components/schemas/ResumptionProtocol"},
                  "interopVersion": {"type": "integer", "description": "Upload-Draft-Interop-Version, in the draft"},
                  "countOfBytesAcknowledged": {"type": "integer", "minimum": 0},
                  "expiresAt": {"type": "string", "format": "date-time"}
                }
              },
              "ResponseSummary": {
                "type": "object", "required": ["status", "headers", "httpVersion"],
                "properties": {
                  "status": {"type": "integer"},
                  "headers": {"type": "array", "items": {"$ref": "#/components/schemas/HeaderField"}},
                  "httpVersion": {"type": "string", "description": "1.0, 1.1, 2 or 3"}
                }
              },
              "TaskProgress": {
                "type": "object",
                "required": [
                  "id", "countOfBytesReceived", "countOfBytesExpectedToReceive", "countOfBytesSent",
                  "countOfBytesExpectedToSend", "bytesPerSecond"
                ],
                "properties": {
                  "id": {"$ref": "#/components/schemas/TaskID"},
                  "countOfBytesReceived": {"type": "integer", "minimum": 0},
                  "countOfBytesExpectedToReceive": {"type": "integer", "minimum": -1},
                  "countOfBytesSent": {"type": "integer", "minimum": 0},
                  "countOfBytesExpectedToSend": {"type": "integer", "minimum": -1},
                  "bytesPerSecond": {"type": "number"}
                }
              },
              "TransferFailure": {
                "type": "object", "required": ["code", "message"],
                "properties": {
                  "code": {"$ref": "#/components/schemas/TransferFailureCode"},
                  "message": {"type": "string"},
                  "status": {"type": "integer", "description": "The HTTP status, where a response is the cause"}
                }
              },
              "Wait": {
                "type": "object", "required": ["reason", "since"],
                "properties": {
                  "reason": {"$ref": "#/components/schemas/WaitReason"},
                  "since": {"type": "string", "format": "date-time"},
                  "until": {
                    "type": "string", "format": "date-time", "description": "Missing where an event ends the wait"
                  },
                  "detail": {"type": "string"},
                  "count": {
                    "type": "integer", "minimum": 2,
                    "description": "Attempts in a row that have ended in such a wait; missing for one"
                  }
                }
              },
              "JournalEntry": {
                "type": "object", "required": ["id", "time", "decision"],
                "properties": {
                  "id": {"type": "integer", "description": "Grows with every entry"},
                  "time": {"type": "string", "format": "date-time"},
                  "decision": {"$ref": "#/components/schemas/Decision"},
                  "task": {"$ref": "#/components/schemas/TaskID"},
                  "app": {"$ref": "#/components/schemas/AppID"},
                  "wait": {"$ref": "#/components/schemas/Wait"},
                  "error": {"$ref": "#/components/schemas/TransferFailure"},
                  "detail": {"type": "string"},
                  "inputs": {
                    "type": "object", "additionalProperties": {"type": "string"},
                    "description": "What was looked at, value by value"
                  }
                }
              }
        """#

    /// Schemas of whole answers.
    static let messageSchemas = #"""
              "EnqueueResponse": {
                "type": "object", "required": ["ids"],
                "properties": {"ids": {"type": "array", "items": {"$ref": "#/components/schemas/TaskID"}}}
              },
              "RetryResponse": {
                "type": "object", "required": ["count", "refused"],
                "properties": {
                  "count": {"type": "integer", "description": "Tasks whose wait after a failure was ended"},
                  "refused": {"type": "array", "items": {"$ref": "#/components/schemas/RefusedTask"}}
                }
              },
              "RefusedTask": {
                "type": "object", "required": ["id", "problem"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/TaskID"},
                  "problem": {"$ref": "#/components/schemas/Problem"}
                }
              },
              "TaskActionAnswer": {
                "type": "object", "required": ["results"],
                "properties": {
                  "results": {
                    "type": "array", "items": {"$ref": "#/components/schemas/TaskActionResult"},
                    "description": "For each task, in the order of the request"
                  }
                }
              },
              "TaskActionResult": {
                "type": "object", "required": ["id"],
                "description": "The task as it is now, or why it was refused; neither for one that was removed",
                "properties": {
                  "id": {"$ref": "#/components/schemas/TaskID"},
                  "task": {"$ref": "#/components/schemas/TaskStatus"},
                  "problem": {"$ref": "#/components/schemas/Problem"}
                }
              },
              "TaskPage": {
                "type": "object", "required": ["tasks"],
                "properties": {
                  "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/TaskStatus"}},
                  "unreadable": {
                    "type": "array", "items": {"$ref": "#/components/schemas/UnreadableTask"},
                    "description": "Tasks in between of which nothing can be told; they can be removed"
                  },
                  "next": {
                    "$ref": "#/components/schemas/TaskID", "description": "The following page's after; missing on the last"
                  }
                }
              },
              "UnreadableTask": {
                "type": "object", "required": ["id", "reason"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/TaskID"},
                  "reason": {"type": "string"}
                }
              },
              "JournalPage": {
                "type": "object", "required": ["entries"],
                "properties": {
                  "entries": {"type": "array", "items": {"$ref": "#/components/schemas/JournalEntry"}},
                  "next": {"type": "integer", "description": "The following page's after; missing on the last"}
                }
              },
              "SessionList": {
                "type": "object", "required": ["sessions"],
                "properties": {
                  "sessions": {"type": "array", "items": {"$ref": "#/components/schemas/SessionStatus"}}
                }
              },
              "SessionStatus": {
                "type": "object", "required": ["id", "settings", "activeTasks", "tasks"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/SessionID"},
                  "app": {"$ref": "#/components/schemas/AppID", "description": "The app it belongs to"},
                  "name": {"type": "string", "description": "What that app calls it"},
                  "settings": {"$ref": "#/components/schemas/SessionSettings"},
                  "activeTasks": {"type": "integer", "minimum": 0, "description": "Tasks that have not ended"},
                  "tasks": {"type": "integer", "minimum": 0}
                }
              },
              "ServiceStatus": {
                "type": "object",
                "required": [
                  "version", "processID", "startedAt", "home", "networkAvailable", "settings", "tasks",
                  "bytesPerSecond", "lastJournalEntry", "pausedHosts"
                ],
                "properties": {
                  "version": {"type": "string"},
                  "processID": {"type": "integer"},
                  "startedAt": {"type": "string", "format": "date-time"},
                  "home": {"type": "string"},
                  "networkAvailable": {"type": "boolean"},
                  "settings": {"$ref": "#/components/schemas/ServiceSettings"},
                  "tasks": {
                    "type": "object", "description": "How many tasks, by state",
                    "propertyNames": {"$ref": "#/components/schemas/TaskState"},
                    "additionalProperties": {"type": "integer", "minimum": 0}
                  },
                  "bytesPerSecond": {"type": "number"},
                  "lastJournalEntry": {"type": "integer"},
                  "pausedHosts": {"type": "array", "items": {"$ref": "#/components/schemas/PausedHost"}}
                }
              },
              "PausedHost": {
                "type": "object", "required": ["origin", "until"],
                "properties": {
                  "origin": {"type": "string", "description": "Scheme, host and port"},
                  "until": {"type": "string", "format": "date-time"}
                }
              },
              "Explanation": {
                "type": "object", "required": ["task", "sentence", "history"],
                "properties": {
                  "task": {"$ref": "#/components/schemas/TaskStatus"},
                  "sentence": {"type": "string", "description": "The answer in a person's words"},
                  "endedBy": {"type": "string", "description": "What will change it: a time or an event"},
                  "history": {"type": "array", "items": {"$ref": "#/components/schemas/JournalEntry"}}
                }
              },
              "StreamReset": {
                "type": "object", "required": ["lastEntry"], "properties": {"lastEntry": {"type": "integer"}}
              },
              "Problem": {
                "type": "object", "required": ["type", "title", "status"],
                "description": "Problem details (RFC 9457)",
                "properties": {
                  "type": {"type": "string", "format": "uri-reference"},
                  "title": {"type": "string"},
                  "status": {"type": "integer", "minimum": 400, "maximum": 599},
                  "detail": {"type": "string"},
                  "pointer": {"type": "string", "description": "Which part of the body is meant (RFC 6901)"},
                  "code": {
                    "$ref": "#/components/schemas/TransferFailureCode"
                  }
                }
              }
        """#
}
