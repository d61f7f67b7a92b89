import COpenAPI
import Foundation
import NightshiftAPI

/// The description of the API in OpenAPI 3.1, `Sources/COpenAPI/openapi.json`: served at `/v1/openapi.json`, and the
/// source of which keys requests may have. The tests hold it to the routes, to the types and to the limits.
enum OpenAPI {
    /// The whole document, where the program has it: a constant, valid as long as the program runs.
    static var document: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: nightshift_openapi_bytes(), count: nightshift_openapi_count())
    }

    /// The schemas by name, as the document has them.
    static let schemas: [String: Schema] = {
        struct Document: Decodable {
            struct Components: Decodable { var schemas: [String: Schema] }
            var components: Components
        }
        do {
            return try JSONDecoder().decode(Document.self, from: Data(document)).components.schemas
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
