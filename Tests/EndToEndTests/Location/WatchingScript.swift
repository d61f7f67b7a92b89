import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// An app that is a script and monitors a region around ``BlockWalk/home``. It records the events that start it, and
/// records the end of each event once a gate is open.
struct WatchingScript {
    static let id = "org.example.Walker"
    let service: Service

    /// Installs the script. The user allows the service to wake it at any time.
    init(on service: Service) async throws {
        self.service = service
        try service.scratch.write("", to: "gate")
        let script = try service.scratch.write(
            """
            news=$(cat "$NIGHTSHIFT_PAYLOAD") || exit 1
            echo $$ >'\(service.scratch.path("new"))' && mv '\(service.scratch.path("new"))' '\(service.scratch.path("process"))'
            printf '%s\\n' "$news" >>'\(service.scratch.path("begun"))'
            while [ ! -e '\(service.scratch.path("gate"))' ]; do sleep 0.05; done
            printf '%s\\n' "$news" >>'\(service.scratch.path("done"))'
            """, to: "woken")
        let entry = try service.scratch.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Walker
            Exec=sleep 60
            X-Nightshift-Wake=sh \(script)
            X-Nightshift-LocationReason=It counts the times that you come home.

            """, to: "\(Self.id).desktop")
        let (home, radius) = (BlockWalk.home, Int(saturating: BlockWalk.radius))
        for command in [
            ["app", "install", entry], ["app", "location", Self.id, "--always"],
            ["region", "add", "home", "\(home.latitude),\(home.longitude)", "\(radius)", "--app", Self.id],
        ] {
            let outcome = try await service.cli(command)
            try #require(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        }
    }

    func closeGate() throws { try FileManager.default.removeItem(atPath: service.scratch.path("gate")) }

    func openGate() throws { try service.scratch.write("", to: "gate") }

    /// The events for which the script's processes were started, in order.
    func begun() throws -> [LocationEvent] { try events("begun") }

    /// The events that the processes have finished.
    func done() throws -> [LocationEvent] { try events("done") }

    /// Returns whether the last of the script's processes is running.
    func isAlive() throws -> Bool {
        let text = try String(contentsOfFile: service.scratch.path("process"), encoding: .utf8)
        return LiveProcess(try #require(pid_t(text.dropLast()))).isAlive
    }

    private func events(_ name: String) throws -> [LocationEvent] {
        guard let lines = try? String(contentsOfFile: service.scratch.path(name), encoding: .utf8) else { return [] }
        // The last line may still be incomplete.
        return try lines.split(separator: "\n", omittingEmptySubsequences: false).dropLast().flatMap {
            try JSON.decode([LocationEvent].self, from: Data($0.utf8))
        }
    }

    func status() async throws -> AppLocationStatus { try await service.api.get("/v1/location/\(Self.id)") }
}

extension Service {
    /// Returns the number of wakes on disk that no app has completed.
    func wakesOnDisk() async throws -> Int {
        let outcome = try await ChildProcess.run(
            "sqlite3", ["-readonly", "-cmd", ".timeout 10000", paths.database.path, "SELECT count(*) FROM wakes"])
        return try #require(Int(outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(outcome.errors)")
    }

    /// Sets the device's location to this many metres north of ``BlockWalk/home``.
    func move(metres: Double) async throws {
        let place = BlockWalk.place(east: 0, north: metres)
        let change = DeviceChange(overrides: [.location: "\(place.latitude),\(place.longitude),5"])
        try await api.send("PATCH", "/v1/device", try JSON.encode(change))
    }
}
