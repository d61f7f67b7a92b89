import Foundation
import NightshiftAPI
import NightshiftClient

/// A file with the location events that an app's delegates have received. The library in the app's process stores the
/// file. Each event is written after the delegates have returned, and before the event is acknowledged to the service.
/// Therefore, no event is delivered twice, even if the app or the service ends in between.
///
/// Only one process of an app receives the app's events. The file has a few lines and contains no locations.
struct HeardEvents: Sendable {
    private let file: String

    /// The maximum number of recorded events. There can be one unacknowledged event for each region, and one for a
    /// significant change.
    private static let most = Limits.regions + 1

    /// Determines the file of an app. Returns nil if the app's name is too long for a file name. Such an app may
    /// receive an event twice.
    init?(_ paths: ServicePaths, of app: AppID) {
        let name = app.rawValue.percentEncoded
        guard name.utf8.count <= 250, name.contains(where: { $0 != "." }) else { return nil }
        let folder = paths.state.appending(path: "heard", directoryHint: .isDirectory)
        file = folder.appending(path: name).path(percentEncoded: false)
    }

    func contains(_ event: LocationEvent, wake: Int64) -> Bool { lines.contains(Self.line(event, wake)) }

    func note(_ event: LocationEvent, wake: Int64) {
        let text = (lines + [Self.line(event, wake)]).suffix(Self.most).map { $0 + "\n" }.joined()
        try? FileManager.default.createDirectory(
            at: URL(filePath: file).deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try? Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
    }

    private var lines: [String] {
        String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    /// Returns the line of an event. The line includes the event's time, because a service that has lost its state
    /// numbers wakes from 1 again.
    private static func line(_ event: LocationEvent, _ wake: Int64) -> String {
        "\(wake) \(event.kind.rawValue) \(Int64(saturating: event.time.timeIntervalSince1970 * 1_000))"
    }
}
