import Foundation
import NightshiftClient

/// Opens an address in the browser of the user's choice, by `xdg-open`.
struct BrowserOpener {
    var searchPath: String
    var environment: [String: String]

    /// How long `xdg-open` may take to say that there is no browser. Where it turns into the browser itself, it says nothing.
    private static let patience = Duration.seconds(3)

    /// False where no browser was opened.
    func open(_ address: String, log: String) async throws -> Bool {
        guard let program else { return false }
        let process = try DetachedProcess(program: program, arguments: [address], environment: environment, log: log)
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline {
            if let status = process.exitStatus { return status == 0 }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private var program: String? {
        searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/xdg-open" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
