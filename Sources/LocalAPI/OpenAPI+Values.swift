import NightshiftAPI

extension OpenAPI {
    /// Schemas of plain values and closed vocabularies.
    static let valueSchemas = #"""
              "TaskID": {
                "type": "integer", "format": "int64", "minimum": 1, "maximum": 9223372036854775807,
                "description": "Never given twice"
              },
              "SessionID": {
                "type": "string", "minLength": 1, "maxLength": \#(Limits.sessionIdentifierLength),
                "pattern": "^[^\\u0000-\\u001f\\u007f]+$",
                "description": "No control characters, at most \#(Limits.sessionIdentifierLength) bytes of UTF-8"
              },
              "TaskKind": {"type": "string", "enum": ["download", "upload"]},
              "TaskState": {
                "type": "string",
                "enum": ["suspended", "waiting", "running", "finishing", "completed", "failed", "cancelled"]
              },
              "WaitReason": {
                "type": "string",
                "enum": [
                  "starting", "connectionLimit", "serviceLimit", "beginDate", "retry", "retryAfter", "hostBackoff",
                  "network", "diskSpace", "smallerFirst", "othersFirst", "answer", "relaunchDelay", "expensiveNetwork",
                  "constrainedNetwork", "cellularNetwork", "externalPower", "battery", "discretionary", "doze", "sleeping",
                  "serviceFault", "doubtfulAnswer", "portal"
                ]
              },
              "Decision": {
                "type": "string",
                "enum": [
                  "serviceStarted", "serviceStopping", "networkLost", "networkReturned", "hostPaused", "accepted",
                  "started", "continued", "restarted", "reconnected", "divided", "undivided", "mirrorDropped",
                  "mirrorAsked", "uploadKept", "uploadContinued", "uploadRestarted", "held", "suspended", "resumed", "changed",
                  "finishing", "completed", "failed", "cancelled", "removed", "asked", "answered", "appInstalled",
                  "appRemoved", "appLaunched", "appAdopted", "appEntered", "appWoken", "appWakeCompleted",
                  "appLaunchPaused", "appEnded", "appHoldsLock", "backgroundTaskBegan", "backgroundTaskEnded",
                  "backgroundTaskRefused", "backgroundTimeExpiring", "backgroundTimeStopped", "backgroundTimeResumed",
                  "stintBegan", "stintEnded", "deviceChanged", "deviceHeldAwake", "deviceReleased", "deviceSlept",
                  "deviceWoke", "dozeBegan", "dozeEnded", "windowOpened", "windowClosed", "networkChanged",
                  "conditionsLoosened", "conditionsLifted", "retargeted", "serviceFault", "unreadable", "retried"
                ]
              },
              "TransferFailureCode": {
                "type": "string",
                "enum": [
                  "cannotResolveHost", "cannotConnect", "connectionLost", "idleTimeout", "truncated", "tlsFailure",
                  "proxyFailure", "protocolError", "serverUnavailable", "resourceChanged", "diskFull", "inputOutput",
                  "badURL", "unsupportedURL", "httpStatus", "tooManyRedirects", "redirectRefused", "untrustedServer",
                  "clientCertificate", "checksumMismatch", "sourceChanged", "sourceMissing", "destinationUnavailable",
                  "tooLarge", "timedOut", "cancelled", "forceQuit", "internalFault"
                ]
              },
              "CredentialScheme": {"type": "string", "enum": ["any", "basic", "digest"]},
              "ChecksumAlgorithm": {"type": "string", "enum": ["md5", "sha-1", "sha-256", "sha-384", "sha-512"]},
              "TLSVersion": {"type": "string", "enum": ["1.2", "1.3"]},
              "RetryPolicy": {
                "type": "string", "enum": ["never", "transientResponses"],
                "description": "never: a response is the result. transientResponses: 408, 425, 429 and 5xx are tried again"
              },
              "ResumptionProtocol": {
                "type": "string", "enum": ["draft", "tus", "plain"],
                "description": "draft: draft-ietf-httpbis-resumable-upload where the server speaks it. tus: tus 1.0.0. plain: not at all"
              },
              "SnapshotPolicy": {
                "type": "string", "enum": ["reflink", "copy"],
                "description": "reflink: where the file system makes a copy without copying bytes. copy: in any case"
              },
              "FormField": {
                "type": "object", "additionalProperties": false, "required": ["name"],
                "description": "A text (value) or a file (source)",
                "properties": {
                  "name": {"type": "string", "minLength": 1},
                  "value": {"type": ["string", "null"]},
                  "source": {
                    "type": ["string", "null"], "maxLength": \#(Limits.pathLength), "pattern": "^/",
                    "description": "Absolute path of a file"
                  },
                  "fileName": {
                    "type": ["string", "null"], "description": "What the server is told that the file is called"
                  },
                  "contentType": {"type": ["string", "null"]}
                }
              },
              "HeaderField": {
                "type": "object", "additionalProperties": false, "required": ["name", "value"],
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}}
              },
              "Credential": {
                "type": "object", "additionalProperties": false, "required": ["user", "password"],
                "description": "For Basic or Digest, sent to the request's own origin only; never shown again",
                "properties": {
                  "user": {"type": "string"},
                  "password": {"type": "string"},
                  "scheme": {"anyOf": [{"$ref": "#/components/schemas/CredentialScheme"}, {"type": "null"}]}
                }
              },
              "Destination": {
                "type": "object", "additionalProperties": false, "required": ["directory"],
                "properties": {
                  "directory": {
                    "type": "string", "maxLength": \#(Limits.pathLength), "pattern": "^/", "description": "An absolute path"
                  },
                  "filename": {
                    "type": ["string", "null"], "description": "Without one, taken from the response or the URL"
                  },
                  "overwrite": {
                    "type": ["boolean", "null"],
                    "description": "Whether a file of that name is replaced; otherwise the next free name is taken"
                  }
                }
              },
              "Checksum": {
                "type": "object", "additionalProperties": false, "required": ["algorithm", "hex"],
                "properties": {
                  "algorithm": {"$ref": "#/components/schemas/ChecksumAlgorithm"},
                  "hex": {
                    "type": "string", "minLength": 32, "maxLength": 128, "pattern": "^[0-9a-f]+$",
                    "description": "As many digits as the algorithm has"
                  }
                }
              },
              "TLSSettings": {
                "type": "object", "additionalProperties": false,
                "description": "Paths of PEM files, and the versions that are spoken with the server",
                "properties": {
                  "certificateAuthority": {
                    "type": ["string", "null"], "description": "Trusted in place of the system's"
                  },
                  "clientCertificate": {"type": ["string", "null"]},
                  "clientKey": {"type": ["string", "null"]},
                  "minimumVersion": {"anyOf": [{"$ref": "#/components/schemas/TLSVersion"}, {"type": "null"}]},
                  "maximumVersion": {"anyOf": [{"$ref": "#/components/schemas/TLSVersion"}, {"type": "null"}]}
                }
              }
        """#
}
