import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Regions of a script under a walk that a real gpsd tells, at twenty times its speed.
@Suite(.timeLimit(.minutes(20))) struct RegionWalkTests {
    private static let id = "org.example.Walker"
    private static let home = (latitude: 52.52, longitude: 13.405)
    /// Seconds of the walk for which the device is on one side of the boundary: a minute as the test sees it.
    private static let stay = 1_200

    /// Five hundred metres away, and at home, in turn; round a block each time, as unsure as receivers are between houses.
    private static func walk() -> [(latitude: Double, longitude: Double)] {
        var random = SplitMix64(seed: 6)
        return (0..<2 * stay).map { second in
            let round = Double(second) / 160 * 2 * .pi
            let away = second < stay ? 500.0 : 0
            let north = away + 40 * sin(round) + Double.random(in: -8...8, using: &random)
            let east = 40 * cos(round) + Double.random(in: -8...8, using: &random)
            return (
                home.latitude + north / 111_195,
                home.longitude + east / (111_195 * cos(home.latitude * .pi / 180))
            )
        }
    }

    @Test func `R6: On a jittered walk a script is woken once for each crossing, also where the service is killed`()
        async throws
    {
        let receiver = try FakeReceiver(walk: Self.walk())
        try await receiver.start()
        defer { receiver.stop() }
        let service = try Service(environment: ["NIGHTSHIFT_GPSD": "127.0.0.1:\(receiver.port)"])
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await service.start()
        let told = service.scratch.path("told")
        let script = try service.scratch.write(
            """
            line=$(cat "$NIGHTSHIFT_PAYLOAD") && printf '%s\\n' "$line" >>'\(told)'
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
        for command in [
            ["app", "install", entry], ["app", "location", Self.id, "--always"],
            ["region", "add", "home", "\(Self.home.latitude),\(Self.home.longitude)", "150", "--app", Self.id],
        ] {
            let outcome = try await service.cli(command)
            try #require(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        }
        // A service that dies before it has seen the end of a wake begins it once more, with the same event.
        func kinds() throws -> [LocationEvent.Kind] {
            guard let lines = try? String(contentsOfFile: told, encoding: .utf8) else { return [] }
            var events: [LocationEvent] = []
            for line in lines.split(separator: "\n") {
                for event in try JSON.decode([LocationEvent].self, from: Data(line.utf8)) where events.last != event {
                    events.append(event)
                }
            }
            return events.map(\.kind)
        }
        for count in 1...2 {
            try await eventually("crossing \(count)", within: .seconds(400)) { try kinds().count >= count }
            try await service.kill()
            try await service.start()
        }
        let kinds = try kinds()
        // On which side the walk is met first is chance; from there on each crossing is the other one.
        #expect(zip(kinds, kinds.dropFirst()).allSatisfy { $0 != $1 }, "\(kinds)")
        let status: AppLocationStatus = try await service.api.get("/v1/location/\(Self.id)")
        #expect(status.regions.first?.crossings == kinds.count, "\(status) \(kinds)")
    }
}
