/// A path of the local API, and the query behind it.
struct APIPath: Sendable {
    /// As a request line has it.
    private(set) var text = "/v1"
    private var hasQuery = false

    /// - Parameter segments: each one segment of the path, whatever characters it has: an app's id may be the path of a program.
    init(_ segments: String...) {
        for segment in segments { text += "/" + segment.percentEncoded }
    }

    /// The same with one more parameter; unchanged where there is no value.
    func query(_ name: String, _ value: String?) -> APIPath {
        guard let value else { return self }
        return appending("\(name)=\(value.percentEncoded)")
    }

    func query(_ name: String, _ value: Int64?) -> APIPath { query(name, value.map(String.init)) }

    /// A list with commas; unchanged where it is empty.
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
