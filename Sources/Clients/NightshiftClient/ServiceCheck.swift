import Foundation

/// The check of `nightshiftd check`: whether the service could start.
package enum ServiceCheck {
    /// Runs the check, and returns the reason why the service could not start. Returns nil if it could, or if the
    /// program is of a version without this check. The check changes nothing.
    package static func failure(of daemon: String, environment: [String: String]) -> String? {
        guard let result = try? ProgramResult.of(daemon, ["check"], environment: environment),
            reasons.contains(result.status), !result.output.isEmpty
        else { return nil }
        let prefix = "nightshiftd: "
        return result.output.split(separator: "\n")
            .map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : String($0) }
            .joined(separator: "\n")
    }

    /// The exit statuses of a service that cannot start: configuration, directories, database.
    private static let reasons: Set<Int32> = [2, 5, 6]
}
