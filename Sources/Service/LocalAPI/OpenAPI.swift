import COpenAPI
import Foundation
import NightshiftAPI

/// The description of the API in OpenAPI 3.1, `Sources/API/COpenAPI/openapi.json`. It is served at `/v1/openapi.json`, and
/// defines the allowed keys of requests. Tests compare it with the routes, the types and the limits.
enum OpenAPI {
    /// The bytes of the whole document in the program's memory. They are constant and valid as long as the program
    /// runs.
    static var document: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: nightshift_openapi_bytes(), count: nightshift_openapi_count())
    }

    /// The schemas of the document by name.
    static let schemas: [String: Schema] = {
        struct Document: Decodable {
            struct Components: Decodable { var schemas: [String: Schema] }
            var components: Components
        }
        do {
            return try JSONDecoder().decode(Document.self, from: Data(document)).components.schemas
        } catch {
            // Parsing cannot fail, because the document is a constant of this program and the tests parse it.
            preconditionFailure("The OpenAPI document cannot be read: \(error)")
        }
    }()

    /// Returns the schema of a type that is the body of a request.
    static func requestSchema(for name: String) throws -> Schema {
        guard let schema = schemas[name] else {
            throw LocalAPIError(.system, "There is no schema for \(name).")
        }
        return schema
    }
}
