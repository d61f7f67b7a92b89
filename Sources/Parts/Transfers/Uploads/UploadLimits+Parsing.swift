package import NightshiftAPI
package import Store

extension UploadLimits {
    /// Parses the field. Returns nil if the field is missing or must be ignored because it is not a dictionary, or
    /// because a known member is not a valid size.
    package init?(headers: [HeaderField]) {
        guard let members = StructuredField.dictionary(headers.all("Upload-Limit")) else { return nil }
        var sizes: [String: Int64] = [:]
        for key in Self.keys {
            guard let value = members[key] else { continue }
            guard case .integer(let size) = value, size >= 0 else { return nil }
            sizes[key] = size
        }
        guard sizes["max-append-size"] != 0 else { return nil }
        self.init()
        maxSize = sizes["max-size"]
        minSize = sizes["min-size"]
        maxAppendSize = sizes["max-append-size"]
        minAppendSize = sizes["min-append-size"]
        maxAge = sizes["max-age"] ?? sizes["expires"]
    }

    /// The keys of the members. `expires` was the name of the lifetime until draft -05.
    private static let keys = [
        "max-size", "min-size", "max-append-size", "min-append-size", "max-age", "expires",
    ]
}
