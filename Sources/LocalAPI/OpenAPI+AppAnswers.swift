extension OpenAPI {
    /// Schemas of apps as they are shown to people.
    static let appSchemas = #"""
              "AppManifest": {
                "type": "object", "description": "What the desktop entry says",
                "required": ["id", "name", "entry", "command", "modes", "wakeLimit", "logLimit", "fileLocks"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/AppID"},
                  "name": {"type": "string"},
                  "entry": {"type": "string", "description": "The entry's absolute path"},
                  "command": {
                    "type": "array", "items": {"type": "string"}, "description": "Exec: program and arguments"
                  },
                  "wakeCommand": {
                    "type": "array", "items": {"type": "string"},
                    "description": "X-Nightshift-Wake: run for a wake; its exit status completes the wake"
                  },
                  "directory": {"type": "string", "description": "Where it is started; the user's home unless given"},
                  "modes": {"type": "array", "items": {"$ref": "#/components/schemas/BackgroundMode"}},
                  "wakeLimit": {"type": "number", "description": "Seconds that a background launch may take"},
                  "logLimit": {"type": "integer", "description": "Bytes of output that are kept"},
                  "snapshot": {"type": "string", "description": "A PNG file that the app keeps up to date"},
                  "backgroundPolicy": {"$ref": "#/components/schemas/BackgroundPolicy"},
                  "fileLocks": {
                    "$ref": "#/components/schemas/FileLockPolicy",
                    "description": "What becomes of it when it is to be suspended with a lock on a shared file"
                  }
                }
              },
              "AppStatus": {
                "type": "object",
                "required": [
                  "id", "name", "state", "isManaged", "isConnected", "isForceQuit", "wakes", "faults", "sessions",
                  "background"
                ],
                "properties": {
                  "id": {"$ref": "#/components/schemas/AppID"},
                  "name": {"type": "string"},
                  "manifest": {
                    "$ref": "#/components/schemas/AppManifest", "description": "Missing for a program without an entry"
                  },
                  "state": {"$ref": "#/components/schemas/AppState"},
                  "stateSince": {"type": "string", "format": "date-time"},
                  "processID": {"type": "integer"},
                  "isManaged": {
                    "type": "boolean", "description": "Whether the service launched the process and may suspend it"
                  },
                  "isConnected": {"type": "boolean", "description": "Whether the process hears of its transitions"},
                  "isForceQuit": {"type": "boolean", "description": "Whether nothing but the user launches it"},
                  "wakes": {"type": "array", "items": {"$ref": "#/components/schemas/WakeStatus"}},
                  "lastExit": {"$ref": "#/components/schemas/AppExit"},
                  "faults": {"type": "integer", "minimum": 0, "description": "Launches in a row that went wrong"},
                  "launchesPausedUntil": {
                    "type": "string", "format": "date-time", "description": "Not launched in the background before"
                  },
                  "startsPausedUntil": {
                    "type": "string", "format": "date-time",
                    "description": "Tasks that it adds in the background do not start before"
                  },
                  "snapshotTakenAt": {"type": "string", "format": "date-time"},
                  "sessions": {"type": "array", "items": {"type": "string"}, "description": "As the app calls them"},
                  "background": {"$ref": "#/components/schemas/BackgroundStatus"}
                }
              },
              "WakeStatus": {
                "type": "object", "required": ["reason"],
                "properties": {
                  "reason": {"$ref": "#/components/schemas/WakeReason"},
                  "session": {"type": "string", "description": "As the app calls it, where the reason is a session's"},
                  "key": {
                    "type": "string", "description": "What of another source it is about, such as a region's identifier"
                  },
                  "deadline": {
                    "type": "string", "format": "date-time",
                    "description": "When the app is ended unless it has completed; missing while it has not begun"
                  }
                }
              },
              "AppExit": {
                "type": "object", "required": ["time", "cause"],
                "properties": {
                  "time": {"type": "string", "format": "date-time"},
                  "cause": {"$ref": "#/components/schemas/ExitCause"},
                  "status": {"type": "integer"},
                  "signal": {"type": "integer"},
                  "detail": {"type": "string"}
                }
              },
              "AppList": {
                "type": "object", "required": ["apps"],
                "properties": {"apps": {"type": "array", "items": {"$ref": "#/components/schemas/AppStatus"}}}
              },
              "AppExplanation": {
                "type": "object", "required": ["app", "sentence", "history"],
                "properties": {
                  "app": {"$ref": "#/components/schemas/AppStatus"},
                  "sentence": {"type": "string", "description": "The answer in a person's words"},
                  "endedBy": {"type": "string", "description": "What will change it: a time or an event"},
                  "history": {"type": "array", "items": {"$ref": "#/components/schemas/JournalEntry"}}
                }
              }
        """#

    /// Schemas of what the process of an app hears.
    static let processSchemas = #"""
              "ProcessHello": {
                "type": "object", "required": ["app", "isInstalled", "isManaged", "state"],
                "properties": {
                  "app": {"$ref": "#/components/schemas/AppID"},
                  "isInstalled": {
                    "type": "boolean", "description": "Without a desktop entry nothing launches it in the background"
                  },
                  "isManaged": {
                    "type": "boolean", "description": "Whether the service launched it and may suspend it"
                  },
                  "state": {"$ref": "#/components/schemas/AppState"},
                  "clock": {
                    "type": "string",
                    "description": "A file of 8 bytes to map: nanoseconds of CLOCK_MONOTONIC at which background time is over; -1 - n: n are left and time stands still; 9223372036854775807: no limit. Missing where there is never one"
                  },
                  "channel": {
                    "type": "string",
                    "description": "Names this stream. A request of the process that carries it in the header field Nightshift-Channel is answered 409, /problems/not-connected, once another stream has taken its place, also by a service that was started since"
                  }
                }
              },
              "ProcessCommand": {
                "type": "object", "required": ["number", "action"],
                "properties": {
                  "number": {"type": "integer", "description": "Grows with every command to the process"},
                  "action": {"$ref": "#/components/schemas/CommandAction"},
                  "state": {"$ref": "#/components/schemas/AppState", "description": "For enter: the new state"},
                  "session": {"type": "string", "description": "For handleEvents: as the app calls it"},
                  "through": {
                    "type": "integer",
                    "description": "For handleEvents: the session's last message that belongs to it; for handleWake: the number of the wake, the same when it comes again"
                  },
                  "source": {
                    "$ref": "#/components/schemas/WakeSource", "description": "For handleWake: what the app is woken for"
                  },
                  "key": {
                    "type": "string",
                    "description": "For handleWake: what of the source it is about, such as a region's identifier"
                  },
                  "payload": {
                    "type": "string", "contentEncoding": "base64",
                    "description": "For handleWake: what the source has to say, in its own form"
                  },
                  "limit": {"type": "number", "description": "Seconds within which it has to be acknowledged"}
                }
              },
              "SessionAttachment": {
                "type": "object", "required": ["session", "nextTaskIdentifier"],
                "properties": {
                  "session": {"$ref": "#/components/schemas/SessionID"},
                  "nextTaskIdentifier": {"type": "integer", "minimum": 1}
                }
              },
              "SessionTask": {
                "type": "object", "required": ["task"],
                "properties": {
                  "task": {"$ref": "#/components/schemas/TaskStatus"},
                  "clientData": {"type": "string", "description": "What the app's library noted with the task"},
                  "resumedAt": {
                    "type": "integer", "description": "From which byte a task made from resume data went on, once it has"
                  },
                  "cookies": {
                    "type": "array", "description": "The Set-Cookie fields of its response and of redirects on the way",
                    "items": {
                      "type": "object", "required": ["url", "value"],
                      "properties": {"url": {"type": "string"}, "value": {"type": "string"}}
                    }
                  }
                }
              },
              "SessionTaskPage": {
                "type": "object", "required": ["tasks"],
                "properties": {
                  "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/SessionTask"}},
                  "next": {
                    "$ref": "#/components/schemas/TaskID", "description": "The following page's after; missing on the last"
                  }
                }
              },
              "SessionMessage": {
                "type": "object", "required": ["id", "kind", "task"],
                "properties": {
                  "id": {"type": "integer", "description": "Grows; the event's id"},
                  "kind": {"$ref": "#/components/schemas/MessageKind"},
                  "task": {"$ref": "#/components/schemas/SessionTask"},
                  "challenge": {"$ref": "#/components/schemas/Challenge"}
                }
              },
              "CaughtUp": {
                "type": "object", "required": ["through"],
                "properties": {
                  "through": {"type": "integer", "description": "Every message up to this one that is kept has been sent"}
                }
              },
              "Challenge": {
                "type": "object",
                "required": ["method", "host", "port", "scheme", "isProxy", "previousFailureCount"],
                "properties": {
                  "method": {"$ref": "#/components/schemas/ChallengeMethod"},
                  "host": {"type": "string"},
                  "port": {"type": "integer"},
                  "scheme": {"type": "string", "description": "http or https"},
                  "realm": {"type": "string"},
                  "isProxy": {"type": "boolean"},
                  "previousFailureCount": {"type": "integer", "minimum": 0},
                  "certificates": {
                    "type": "array", "items": {"type": "string"},
                    "description": "The server's chain in DER, base64, its own certificate first"
                  },
                  "reason": {"type": "string", "description": "Why the system does not trust the server"},
                  "response": {
                    "$ref": "#/components/schemas/ResponseSummary",
                    "description": "The response that asks; absent where the question is about the connection"
                  }
                }
              }
        """#
}
