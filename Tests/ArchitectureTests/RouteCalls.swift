/// The calls that each route of the local API makes to the service's features, as far as its text shows them.
struct RouteCalls: Equatable {
    /// The line on which the route, or a function shared by routes, starts.
    var line: Int
    /// The calls, such as `apps.launch`, in the order of the text.
    var calls: [String]

    /// The names under which `Routes` stores the features.
    static let parts = ["service", "apps", "refresh", "operations", "device"]

    /// Whether the route does more than translate: it makes several calls, or bypasses an operation.
    var isMoreThanTranslation: Bool {
        calls.count > 1
            || ["operations.transfers", "operations.apps", "operations.refresh"].contains(where: calls.contains)
    }

    /// Returns every route and function of a file.
    static func all(in source: SwiftSource) -> [RouteCalls] {
        var found: [RouteCalls] = []
        for (index, line) in source.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.contains("Route(.") || line.contains("Route(process: .") || line.contains("func ") {
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
