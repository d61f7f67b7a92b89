import Foundation
import NightshiftAPI
import NightshiftClient

/// What an app's delegates have heard of location, beside the service: noted when they have returned and before that is
/// acknowledged, so that nobody hears an event twice, whoever dies in between.
///
/// Only one process of an app hears its events. A file of a few lines, without a place in it.
struct HeardEvents: Sendable {
    private let file: String

    /// Events of which the service may not know yet that they were heard: one of each region, and a change.
    private static let most = Limits.regions + 1

    /// Nil where the app's name is too long for that of a file: it may hear an event twice.
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

    /// With the time, since a state that was begun anew counts its wakes from the beginning.
    private static func line(_ event: LocationEvent, _ wake: Int64) -> String {
        "\(wake) \(event.kind.rawValue) \(Int64(saturating: event.time.timeIntervalSince1970 * 1_000))"
    }
}
