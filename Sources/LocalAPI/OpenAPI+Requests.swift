import NightshiftAPI

extension OpenAPI {
    /// Schemas of what clients send. Null is the same as no key.
    static let requestSchemas = #"""
              "EnqueueRequest": {
                "type": "object", "additionalProperties": false, "required": ["tasks"],
                "properties": {
                  "session": {
                    "anyOf": [{"$ref": "#/components/schemas/SessionID"}, {"type": "null"}],
                    "description": "'terminal' unless given; made with default settings where it does not exist"
                  },
                  "app": {
                    "anyOf": [{"$ref": "#/components/schemas/AppID"}, {"type": "null"}],
                    "description": "The app for which this is done: session is then what it calls its session"
                  },
                  "tasks": {
                    "type": "array", "minItems": 1, "maxItems": \#(Limits.tasksPerRequest),
                    "items": {"$ref": "#/components/schemas/TaskRequest"}
                  }
                }
              },
              "TaskRequest": {
                "type": "object", "additionalProperties": false,
                "description": "What is not given is taken from the session",
                "properties": {
                  "kind": {
                    "anyOf": [{"$ref": "#/components/schemas/TaskKind"}, {"type": "null"}],
                    "description": "download unless given"
                  },
                  "url": {
                    "type": ["string", "null"],
                    "description": "http or https; encoded as browsers do; not needed with resumeData"
                  },
                  "method": {
                    "type": ["string", "null"], "minLength": 1, "maxLength": 32, "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
                    "description": "GET for downloads, POST for forms, PUT for other uploads unless given"
                  },
                  "headers": {
                    "type": ["array", "null"], "maxItems": \#(Limits.headerFields),
                    "items": {"$ref": "#/components/schemas/HeaderField"}
                  },
                  "body": {
                    "type": ["string", "null"], "contentEncoding": "base64",
                    "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
                    "description": "What a download sends along, at most \#(Limits.downloadBody) bytes; not with GET and HEAD"
                  },
                  "credential": {"anyOf": [{"$ref": "#/components/schemas/Credential"}, {"type": "null"}]},
                  "source": {
                    "type": ["string", "null"], "maxLength": \#(Limits.pathLength), "pattern": "^/",
                    "description": "Absolute path of the file to upload"
                  },
                  "form": {
                    "type": ["array", "null"], "minItems": 1, "maxItems": \#(Limits.formFields),
                    "items": {"$ref": "#/components/schemas/FormField"},
                    "description": "The fields of a form to upload (multipart/form-data), in place of source"
                  },
                  "resumption": {
                    "anyOf": [{"$ref": "#/components/schemas/ResumptionProtocol"}, {"type": "null"}],
                    "description": "How an upload may be continued after a break; draft unless given"
                  },
                  "snapshot": {
                    "anyOf": [{"$ref": "#/components/schemas/SnapshotPolicy"}, {"type": "null"}],
                    "description": "Whether the service keeps a copy of what is uploaded; reflink unless given"
                  },
                  "handlesCookies": {
                    "type": ["boolean", "null"],
                    "description": "Whether cookies that redirects set go along to where these lead: to the host that set them, or below it"
                  },
                  "destination": {
                    "anyOf": [{"$ref": "#/components/schemas/Destination"}, {"type": "null"}],
                    "description": "Without one the service keeps the file until its owner fetches or removes it"
                  },
                  "checksum": {"anyOf": [{"$ref": "#/components/schemas/Checksum"}, {"type": "null"}]},
                  "mirrors": {
                    "type": ["array", "null"], "maxItems": \#(Limits.mirrors),
                    "items": {"type": "string", "maxLength": \#(Limits.urlLength)},
                    "description": "Other URLs of the file; used where size and a strong validator, or the checksum, agree"
                  },
                  "connections": {
                    "type": ["integer", "null"], "minimum": 1, "maximum": \#(Limits.connectionsPerTask),
                    "description": "Found by measuring, within what the session allows, unless given"
                  },
                  "priority": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "0.5 unless given"},
                  "rateLimit": {
                    "type": ["integer", "null"], "format": "int64", "minimum": 1, "maximum": 9223372036854775807,
                    "description": "Bytes per second; unlimited unless given"
                  },
                  "earliestBeginDate": {"type": ["string", "null"], "format": "date-time"},
                  "idleTimeout": {\#(timeout), "description": "Seconds without a byte until a retry"},
                  "resourceTimeout": {\#(timeout), "description": "Seconds until the task fails"},
                  "countOfBytesClientExpectsToSend": \#(byteCount),
                  "countOfBytesClientExpectsToReceive": \#(byteCount),
                  "description": {"type": ["string", "null"], "maxLength": \#(Limits.descriptionLength)},
                  "retryPolicy": {"anyOf": [{"$ref": "#/components/schemas/RetryPolicy"}, {"type": "null"}]},
                  "failsOnHTTPError": {
                    "type": ["boolean", "null"],
                    "description": "Whether a final status outside 200-299 fails the task instead of being its result"
                  },
                  "proxy": {
                    "type": ["string", "null"],
                    "description": "http://..., https://... or socks5h://...; empty forbids one"
                  },
                  "tls": {"anyOf": [{"$ref": "#/components/schemas/TLSSettings"}, {"type": "null"}]},
                  "isDiscretionary": {
                    "type": ["boolean", "null"], "description": "Waits for a good moment"
                  },
                  "allowsCellularAccess": {"type": ["boolean", "null"]},
                  "allowsExpensiveNetworkAccess": {"type": ["boolean", "null"]},
                  "allowsConstrainedNetworkAccess": {"type": ["boolean", "null"]},
                  "requiresExternalPower": {"type": ["boolean", "null"]},
                  "minimumBattery": {
                    "type": ["number", "null"], "minimum": 0, "maximum": 100,
                    "description": "Percent below which it does not run on battery"
                  },
                  "suspended": {"type": ["boolean", "null"], "description": "Whether it waits to be resumed"},
                  "resumeData": {
                    "type": ["string", "null"], "description": "The token of a cancelled task, used up by this"
                  }
                }
              },
              "TaskChange": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "priority": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
                  "rateLimit": {
                    "type": ["integer", "null"], "format": "int64", "minimum": 0, "maximum": 9223372036854775807,
                    "description": "Bytes per second; 0 is none"
                  },
                  "description": {"type": ["string", "null"], "maxLength": \#(Limits.descriptionLength)}
                }
              },
              "RetargetRequest": {
                "type": "object", "additionalProperties": false, "required": ["url"],
                "properties": {
                  "url": {"type": "string", "description": "http or https; encoded as browsers do"},
                  "headers": {
                    "type": ["array", "null"], "maxItems": \#(Limits.headerFields),
                    "items": {"$ref": "#/components/schemas/HeaderField"},
                    "description": "In place of all fields of the task; unless given they stay, secret ones within an origin"
                  },
                  "credential": {
                    "anyOf": [{"$ref": "#/components/schemas/Credential"}, {"type": "null"}],
                    "description": "Unless given it stays, within an origin"
                  },
                  "clientData": {
                    "type": ["string", "null"], "maxLength": \#(Limits.clientDataLength),
                    "description": "What the task's library notes with it from now on"
                  }
                }
              },
              "TaskActionRequest": {
                "type": "object", "additionalProperties": false, "required": ["action", "tasks"],
                "properties": {
                  "action": {
                    "type": "string", "enum": ["suspend", "resume", "cancel", "remove", "change"],
                    "description": "'remove' is for tasks that have ended; 'change' needs the key of that name"
                  },
                  "tasks": {
                    "type": "array", "minItems": 1, "maxItems": \#(Limits.tasksPerAction), "uniqueItems": true,
                    "items": {"$ref": "#/components/schemas/TaskID"}
                  },
                  "producingResumeData": {
                    "type": ["boolean", "null"],
                    "description": "With 'cancel': keeps the bytes and answers with tokens to continue from, where servers allow it"
                  },
                  "change": {
                    "anyOf": [{"$ref": "#/components/schemas/TaskChange"}, {"type": "null"}],
                    "description": "With 'change', and only there: what changes, also while tasks run"
                  }
                }
              },
              "RetryRequest": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "tasks": {
                    "type": ["array", "null"], "minItems": 1, "maxItems": \#(Limits.tasksPerRequest),
                    "items": {"$ref": "#/components/schemas/TaskID"},
                    "description": "All that wait after a failure unless given"
                  }
                }
              },
              "CancelRequest": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "producingResumeData": {
                    "type": ["boolean", "null"],
                    "description": "Keeps the bytes and answers with a token to continue from, where the server allows it"
                  }
                }
              },
              "ServiceSettings": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "rateLimit": {
                    "type": ["integer", "null"], "format": "int64", "minimum": 0, "maximum": 9223372036854775807,
                    "description": "Bytes per second, all transfers together; 0 is none"
                  },
                  "maximumTransfers": {
                    "type": ["integer", "null"], "minimum": 1, "maximum": 256, "description": "Transfers that run at once"
                  }
                }
              },
              "SessionSettings": {
                "type": "object", "additionalProperties": false,
                "description": "What a session gives its tasks where they say nothing themselves",
                "properties": {
                  "headers": {
                    "type": ["array", "null"], "maxItems": \#(Limits.headerFields),
                    "items": {"$ref": "#/components/schemas/HeaderField"}, "default": []
                  },
                  "httpMaximumConnectionsPerHost": {
                    "type": ["integer", "null"], "minimum": 1, "maximum": 9223372036854775807, "default": 6,
                    "description": "More than \#(Limits.connectionsPerHost) are taken for so many"
                  },
                  "idleTimeout": {\#(timeout), "default": 60},
                  "resourceTimeout": {\#(timeout), "default": 604800},
                  "retryPolicy": {
                    "anyOf": [{"$ref": "#/components/schemas/RetryPolicy"}, {"type": "null"}], "default": "never"
                  },
                  "failsOnHTTPError": {"type": ["boolean", "null"], "default": false},
                  "proxy": {"type": ["string", "null"]},
                  "tls": {"anyOf": [{"$ref": "#/components/schemas/TLSSettings"}, {"type": "null"}]},
                  "isDiscretionary": {
                    "type": ["boolean", "null"], "default": false, "description": "Waits for a good moment"
                  },
                  "allowsCellularAccess": {"type": ["boolean", "null"], "default": true},
                  "allowsExpensiveNetworkAccess": {"type": ["boolean", "null"], "default": true},
                  "allowsConstrainedNetworkAccess": {"type": ["boolean", "null"], "default": true},
                  "requiresExternalPower": {"type": ["boolean", "null"], "default": false},
                  "minimumBattery": {
                    "type": ["number", "null"], "minimum": 0, "maximum": 100, "default": 0,
                    "description": "Percent below which it does not run on battery"
                  },
                  "sessionSendsLaunchEvents": {
                    "type": ["boolean", "null"], "default": true,
                    "description": "Whether the app is woken for its events; for sessions of apps only"
                  }
                }
              }
        """#

    private static let timeout = #"""
        "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": \#(Int(saturating: Limits.longestTimeout))
        """#

    private static let byteCount = #"""
        {
                    "type": ["integer", "null"], "format": "int64", "minimum": -1, "maximum": 9223372036854775807,
                    "description": "-1 is not known"
                  }
        """#
}
