import Foundation
import NightshiftAPI

/// The description of the API in OpenAPI 3.1: served at `/v1/openapi.json`, and the source of which keys requests may
/// have. The tests hold it to the routes and to the types.
enum OpenAPI {
    /// The whole document.
    static let document = #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "Nightshift",
            "version": "\#(NightshiftVersion.current)",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "\#(introduction)"
          },
          "servers": [{"url": "http://localhost", "description": "The user's Unix socket, nightshift/nightshift.sock"}],
          "tags": [\#(tags)],
          "paths": {
        \#(servicePaths),
        \#(sessionPaths),
        \#(taskPaths),
        \#(taskActionPaths),
        \#(eventPaths),
        \#(appPaths),
        \#(appActionPaths),
        \#(processPaths),
        \#(backgroundTaskPaths),
        \#(processSessionPaths),
        \#(devicePaths)
          },
          "components": {
            "parameters": {
        \#(parameters)
            },
            "responses": {
        \#(responses)
            },
            "schemas": {
        \#(valueSchemas),
        \#(appValueSchemas),
        \#(backgroundValueSchemas),
        \#(deviceValueSchemas),
        \#(requestSchemas),
        \#(appRequestSchemas),
        \#(backgroundRequestSchemas),
        \#(deviceRequestSchemas),
        \#(taskSchemas),
        \#(messageSchemas),
        \#(appSchemas),
        \#(processSchemas),
        \#(backgroundSchemas),
        \#(deviceSchemas)
            }
          }
        }
        """#

    private static let introduction =
        "A per-user background transfer service. What has been answered is on disk. Times are RFC 3339 in UTC, sizes "
        + "are bytes, durations seconds. Keys and query parameters that are not listed here are refused. In requests "
        + "null is the same as leaving the key out. Errors are problem details (RFC 9457). Requests with an Origin "
        + "field or a Host other than localhost or nightshift are refused."

    private static let tags = #"""
        {"name": "tasks"}, {"name": "sessions"}, {"name": "events"}, {"name": "apps"}, {"name": "device"},
        {"name": "process", "description": "For the process of an app: the service knows it by who has connected"},
        {"name": "service"}
        """#

    /// The problem responses of an operation, to stand behind its own; 400, 403, 431 and 503 come with each.
    static func problems(_ statuses: Int...) -> String {
        (statuses + [400, 403, 431, 503]).sorted().compactMap { status in
            problemNames[status].map { ##""\##(status)": {"$ref": "#/components/responses/\##($0)"}"## }
        }.joined(separator: ",\n          ")
    }

    static let problemNames = [
        400: "BadRequest", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 413: "TooLarge",
        415: "UnsupportedMediaType", 422: "Invalid", 429: "TooMany", 431: "HeadersTooLarge", 503: "Unavailable",
    ]

    /// The schemas by name, as the document has them.
    static let schemas: [String: Schema] = {
        struct Document: Decodable {
            struct Components: Decodable { var schemas: [String: Schema] }
            var components: Components
        }
        do {
            return try JSONDecoder().decode(Document.self, from: Data(document.utf8)).components.schemas
        } catch {
            // The document is a constant of this program, which the tests have read.
            preconditionFailure("The OpenAPI document cannot be read: \(error)")
        }
    }()

    /// The schema of a type that requests have as their body.
    static func requestSchema(for name: String) throws -> Schema {
        guard let schema = schemas[name] else {
            throw LocalAPIError(.system, "There is no schema for \(name).")
        }
        return schema
    }
}
