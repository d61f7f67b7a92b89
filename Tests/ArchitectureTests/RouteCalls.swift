/// What each route of the local API asks of the parts behind it, as far as its text shows.
struct RouteCalls: Equatable {
    /// The line on which the route, or a function that routes share, begins.
    var line: Int
    /// What is called, such as `apps.launch`, in the order of the text.
    var calls: [String]

    /// Under which names `Routes` holds the parts.
    static let parts = ["service", "apps", "refresh", "operations", "device"]

    /// Whether this is more than a translation: more than one call, or a way around an operation.
    var isMoreThanTranslation: Bool {
        calls.count > 1
            || ["operations.transfers", "operations.apps", "operations.refresh"].contains(where: calls.contains)
    }

    /// Every route and function of a file.
    static func all(in source: SwiftSource) -> [RouteCalls] {
        var found: [RouteCalls] = []
        for (index, line) in source.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.contains("Route(.") || line.contains("func ") {
                found.append(RouteCalls(line: index + 1, calls: []))
            }
            guard !found.isEmpty else { continue }
            for match in line.matches(of: /(?:^|[^\w.])(\w+)\.(\w+)/) where parts.contains(String(match.output.1)) {
                found[found.count - 1].calls.append("\(match.output.1).\(match.output.2)")
            }
        }
        return found
    }
}
