import Foundation
import NightshiftAPI

/// Checks bodies with ``JSONCheck`` against the schema of the request.
enum BodyCheck {
    static func check(_ data: Data, against schema: Schema) throws(Problem) {
        guard let found = JSONCheck.finding(in: data, against: schema) else { return }
        if found.isValue { throw .invalid(found.detail, pointer: JSONPointer.string(found.path)) }
        throw .badRequest(found.detail, pointer: JSONPointer.string(found.path))
    }
}

extension Schema: JSONShape {
    var resolved: Schema { resolved(in: OpenAPI.schemas) }
}
