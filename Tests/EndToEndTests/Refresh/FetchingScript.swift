import Foundation
import NightshiftAPI
import TestSupport

/// An installed program that fetches without the library, and a service. All are real processes, which end with this
/// object.
final class FetchingScript: Sendable {
    static let id = AppID(rawValue: "org.example.Feed")

    let service: Service

    /// - Parameter service: the service to use; nil for a separate one.
    init(service: Service? = nil) throws {
        self.service = try service ?? Service()
    }

    deinit {
        ProcessSweep(home: service.home).sweep(first: service.process)
    }

    var api: ServiceAPI { service.api }

    /// Starts the service and installs an app whose wakes run `script`, which finds its own folder as `$FOLDER`.
    /// Fetches start only on request. Otherwise the planner might fetch for an unknown app at once or hours later,
    /// depending on the time of day.
    ///
    /// - Parameter keys: lines that are added to the end of the desktop entry.
    func install(_ script: String, modes: String = "fetch;", keys: String = "X-Nightshift-FetchInterval=minimum")
        async throws
    {
        if service.process == nil { try await service.start() }
        let folder = service.scratch.path
        let program = try service.scratch.write("FOLDER=\(folder)\n\(script)\n", to: "fetch")
        let entry = try service.scratch.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Feed
            Exec=sleep 1000
            X-Nightshift-Wake=sh \(program)
            X-Nightshift-BackgroundModes=\(modes)
            \(keys)
            """, to: "\(Self.id).desktop")
        try await switchRefresh(on: false)
        try await api.post("/v1/apps", InstallRequest(entry: entry), as: AppStatus.self)
    }

    /// Sets whether the service starts fetches on its own. Otherwise only requested fetches start.
    func switchRefresh(on isOn: Bool) async throws {
        try await api.send("PATCH", "/v1/refresh", Data(#"{"isOn": \#(isOn)}"#.utf8))
    }

    func refresh() async throws -> AppRefreshStatus { try await api.get("/v1/refresh/\(Self.id)") }

    func status() async throws -> AppStatus { try await api.get("/v1/apps/\(Self.id)") }

    /// Makes the app fetch now.
    @discardableResult
    func fetchNow() async throws -> AppRefreshStatus {
        try JSON.decode(AppRefreshStatus.self, from: try await api.send("POST", "/v1/refresh/\(Self.id)/fetch"))
    }

    /// Suspends until this many fetches have ended, and returns them.
    @discardableResult
    func ended(_ count: Int, within bound: Duration = .seconds(60)) async throws -> [FetchRecord] {
        var last: AppRefreshStatus?
        do {
            try await eventually("\(count) fetches that have ended", within: bound) {
                guard let status = try? await refresh() else { return false }
                last = status
                return status.fetches.filter { $0.ended != nil }.count >= count
            }
        } catch is WaitedTooLong {
            throw InVain(description: "of \(count) fetches: \(last.map { "\($0)" } ?? "nothing")\n\(service.log)")
        }
        return last?.fetches ?? []
    }

    /// Returns the text that the script has written under this name.
    func text(_ name: String) -> String? { try? String(contentsOfFile: service.scratch.path(name), encoding: .utf8) }

    struct InVain: Error, CustomStringConvertible {
        let description: String
    }
}
