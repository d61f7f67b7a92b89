import NightshiftAPI

extension OpenAPI {
    static let devicePaths = #"""
            "/v1/device": {
              "get": {
                "operationId": "getDevice", "tags": ["device"],
                "summary": "What the device says, who says it, and what the service makes of it",
                "responses": {\#(deviceAnswer), \#(problems())}
              },
              "patch": {
                "operationId": "changeDevice", "tags": ["device"],
                "summary": "Change the policy, or let values stand in place of what the device says",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/DeviceChange"},
                    "example": {"overrides": {"power": "battery", "idle": "yes"}}
                  }}
                },
                "responses": {\#(deviceAnswer), \#(problems(413, 415, 422))}
              }
            },
            "/v1/device/doze": {
              "post": {
                "operationId": "requestDoze", "tags": ["device"], "summary": "Ask for doze, a window, or the end of doze, now",
                "description": "409 says what keeps the device from it: it is plugged in and in use, or held awake.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/DozeRequest"}, "example": {"phase": "dozing"}
                  }}
                },
                "responses": {\#(deviceAnswer), \#(problems(409, 413, 415, 422))}
              }
            }
        """#

    private static let deviceAnswer = #"""
        "200": {
                    "description": "The device",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceStatus"}}}
                  }
        """#

    /// Closed vocabularies and values of the device.
    static let deviceValueSchemas = #"""
              "PowerSource": {"type": "string", "enum": ["external", "battery"]},
              "BatteryWarning": {"type": "string", "enum": ["none", "discharging", "low", "critical", "action"]},
              "NetworkConnectivity": {"type": "string", "enum": ["unknown", "none", "portal", "limited", "full"]},
              "NetworkKind": {"type": "string", "enum": ["wired", "wifi", "cellular", "bluetooth", "vpn", "other"]},
              "DeviceKey": {
                "type": "string",
                "enum": [
                  "power", "battery", "warning", "lowPower", "network", "connectivity", "interface", "expensive",
                  "constrained", "networkName", "idle", "sleeping", "freeBytes"
                ]
              },
              "DeviceValueSource": {
                "type": "string",
                "enum": [
                  "assumed", "UPower", "power-profiles-daemon", "NetworkManager", "logind", "kernel", "override", "trace"
                ]
              },
              "DozePhase": {"type": "string", "enum": ["awake", "dozing", "window"]},
              "AwakeReason": {
                "type": "string", "enum": ["inUse", "externalPower", "held", "settling", "requested"]
              },
              "WindowReason": {"type": "string", "enum": ["maintenance", "deviceWoke", "appWoken", "requested"]},
              "BackgroundPolicy": {
                "type": "string", "pattern": "^(contiguous|opportunistic)(:[0-9]+(\\.[0-9]+)?)?$",
                "description": "contiguous (600 s, the device held awake) or opportunistic (180 s, while it is awake anyway), with :SECONDS (10 to 3600) if wanted"
              }
        """#

    /// Schemas of what is sent about the device. Null is the same as no key, but for overrides.
    static let deviceRequestSchemas = #"""
              "DeviceChange": {
                "type": "object", "additionalProperties": false,
                "properties": {
                  "backgroundPolicy": {"anyOf": [{"$ref": "#/components/schemas/BackgroundPolicy"}, {"type": "null"}]},
                  "expirationLead": {
                    "type": ["number", "null"], "minimum": \#(DeviceSettings.leadAllowed.lowerBound),
                    "maximum": \#(DeviceSettings.leadAllowed.upperBound),
                    "description": "Seconds between the expiration handlers and the end of background time"
                  },
                  "overrides": {
                    "type": ["object", "null"], "additionalProperties": false,
                    "description": "Values in place of what the device says, in the form they are shown in; null takes one away",
                    "properties": {
                      \#(overrideProperties)
                    }
                  }
                }
              },
              "DozeRequest": {
                "type": "object", "additionalProperties": false, "required": ["phase"],
                "properties": {"phase": {"$ref": "#/components/schemas/DozePhase"}}
              }
        """#

    private static let overrideProperties = DeviceKey.allCases.map { key in
        #""\#(key.rawValue)": {"type": ["string", "null"], "description": "\#(key.grammar)"}"#
    }.joined(separator: ",\n                      ")

    /// Schemas of the device as it is shown.
    static let deviceSchemas = #"""
              "NetworkConditions": {
                "type": "object", "required": ["isAvailable", "connectivity", "kind", "isExpensive", "isConstrained"],
                "properties": {
                  "isAvailable": {"type": "boolean", "description": "Whether some interface beyond loopback can be used"},
                  "connectivity": {"$ref": "#/components/schemas/NetworkConnectivity"},
                  "kind": {"$ref": "#/components/schemas/NetworkKind"},
                  "isExpensive": {"type": "boolean", "description": "It costs by the byte"},
                  "isConstrained": {"type": "boolean", "description": "It is to carry as little as possible"},
                  "name": {"type": "string", "description": "Another one is another network"}
                }
              },
              "DeviceConditions": {
                "type": "object",
                "required": ["power", "batteryWarning", "isLowPower", "network", "isIdle", "isSleeping"],
                "properties": {
                  "power": {"$ref": "#/components/schemas/PowerSource"},
                  "batteryPercentage": {"type": "number", "minimum": 0, "maximum": 100},
                  "batteryWarning": {"$ref": "#/components/schemas/BatteryWarning"},
                  "isLowPower": {"type": "boolean", "description": "The user asked the device to save power"},
                  "network": {"$ref": "#/components/schemas/NetworkConditions"},
                  "isIdle": {"type": "boolean", "description": "Nobody uses the device"},
                  "isSleeping": {"type": "boolean", "description": "The machine is about to sleep, or asleep"},
                  "freeBytes": {"type": "integer", "minimum": 0}
                }
              },
              "DeviceValue": {
                "type": "object", "required": ["key", "value", "source"],
                "properties": {
                  "key": {"$ref": "#/components/schemas/DeviceKey"},
                  "value": {"type": "string"},
                  "source": {"$ref": "#/components/schemas/DeviceValueSource"}
                }
              },
              "DeviceProvider": {
                "type": "object", "required": ["name", "isPresent"],
                "properties": {
                  "name": {"$ref": "#/components/schemas/DeviceValueSource"},
                  "isPresent": {"type": "boolean"},
                  "detail": {"type": "string", "description": "Why it is not there, or what is odd about it"}
                }
              },
              "DozeStatus": {
                "type": "object", "required": ["phase", "since"],
                "properties": {
                  "phase": {"$ref": "#/components/schemas/DozePhase"},
                  "since": {"type": "string", "format": "date-time"},
                  "awakeReason": {
                    "$ref": "#/components/schemas/AwakeReason", "description": "What keeps it out of doze"
                  },
                  "windowReason": {"$ref": "#/components/schemas/WindowReason"},
                  "until": {
                    "type": "string", "format": "date-time",
                    "description": "When the next window opens, or the present one closes, at the latest"
                  }
                }
              },
              "AwakeHolder": {
                "type": "object", "required": ["app", "tasks", "since"],
                "properties": {
                  "app": {"$ref": "#/components/schemas/AppID"},
                  "tasks": {"type": "array", "items": {"type": "string"}, "description": "Names of background tasks"},
                  "since": {"type": "string", "format": "date-time"}
                }
              },
              "DeviceSettings": {
                "type": "object", "required": ["backgroundPolicy", "expirationLead", "overrides"],
                "properties": {
                  "backgroundPolicy": {"$ref": "#/components/schemas/BackgroundPolicy"},
                  "expirationLead": {"type": "number"},
                  "overrides": {"type": "object", "additionalProperties": {"type": "string"}}
                }
              },
              "DeviceStatus": {
                "type": "object", "required": ["conditions", "values", "providers", "doze", "holders", "settings"],
                "properties": {
                  "conditions": {"$ref": "#/components/schemas/DeviceConditions"},
                  "values": {"type": "array", "items": {"$ref": "#/components/schemas/DeviceValue"}},
                  "providers": {"type": "array", "items": {"$ref": "#/components/schemas/DeviceProvider"}},
                  "doze": {"$ref": "#/components/schemas/DozeStatus"},
                  "holders": {
                    "type": "array", "items": {"$ref": "#/components/schemas/AwakeHolder"},
                    "description": "Apps that keep the device awake"
                  },
                  "settings": {"$ref": "#/components/schemas/DeviceSettings"}
                }
              }
        """#
}
