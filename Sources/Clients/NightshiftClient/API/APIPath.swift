/// A path of the local API with its query.
struct APIPath: Sendable {
    /// The path and the query in the form for the request line.
    private(set) var text = "/v1"
    private var hasQuery = false

    /// Creates a path from its segments.
    ///
    /// - Parameter segments: The segments of the path. They may contain any characters, because the id of an app may be
    ///   the path of a program.
    init(_ segments: String...) {
        for segment in segments { text += "/" + segment.percentEncoded }
    }

    /// Returns the path with one more parameter, or unchanged if the value is nil.
    func query(_ name: String, _ value: String?) -> APIPath {
        guard let value else { return self }
        return appending("\(name)=\(value.percentEncoded)")
    }

    func query(_ name: String, _ value: Int64?) -> APIPath { query(name, value.map(String.init)) }

    /// Returns the path with a comma-separated list as a parameter, or unchanged if the list is empty.
    func query(_ name: String, list: [String]) -> APIPath {
        guard !list.isEmpty else { return self }
        return appending("\(name)=" + list.map(\.percentEncoded).joined(separator: ","))
    }

    private func appending(_ parameter: String) -> APIPath {
        var path = self
        path.text += (hasQuery ? "&" : "?") + parameter
        path.hasQuery = true
        return path
    }
}
