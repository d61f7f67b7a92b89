import Foundation

/// A real gpsd whose receiver is simulated by gpsfake. The receiver repeats a walk at more than its real speed.
///
/// It ends with ``stop()``, with this object, or with this process.
package final class FakeReceiver: Sendable {
    package let port: UInt16
    /// The seconds between two sentences.
    private let pause: Double
    private let directory: TemporaryDirectory
    private let running = Watched<ChildProcess?>(nil)

    /// The accuracy in metres that gpsd derives from the precision (HDOP) of a receiver outdoors.
    package static let accuracy = 17.1

    /// - Parameters:
    ///   - walk: latitudes and longitudes, one for each second of the walk.
    ///   - speed: the seconds of the walk that pass in one second.
    package init(walk: [(latitude: Double, longitude: Double)], speed: Double = 7, port: UInt16? = nil) throws {
        self.port = try port ?? freePort()
        pause = 1 / (speed * Double(Self.sentencesOfSecond))
        directory = try TemporaryDirectory()
        let sentences = walk.enumerated().flatMap { Self.sentences($0.element, second: $0.offset) }
        try directory.write(sentences.joined(), to: "walk.nmea")
    }

    deinit {
        stop()
    }

    /// Starts gpsd and gpsfake. Returns when gpsd knows the receiver.
    ///
    /// gpsfake registers its receiver as soon as gpsd's control socket has a name. If gpsd does not listen on it yet,
    /// gpsfake silently continues without a receiver (`DaemonInstance` in gps/fake.py, 3.22). In that case both are
    /// started again.
    package func start() async throws {
        for number in 1...Self.mostStarts {
            do {
                return try await startOnce()
            } catch is WaitedTooLong where number < Self.mostStarts {
                stop()
            }
        }
    }

    private func startOnce() async throws {
        var environment = ProcessInfo.processInfo.environment
        environment["TMPDIR"] = directory.path
        // This is the system's own Python, which has python3-gps.
        let process = try ChildProcess(
            "/usr/bin/gpsfake",
            arguments: ["-q", "-c", String(pause), "-P", String(port), directory.path("walk.nmea")],
            environment: environment, errors: .inherit)
        running.update { $0 = process }
        try await eventually(
            "gpsd, of Debian's packages gpsd, gpsd-clients and python3-gps", within: .seconds(5)
        ) {
            if let exit = process.exit { throw CannotRun("gpsfake", ended: exit) }
            return hasDevice()
        }
    }

    /// Returns whether gpsd reports a receiver.
    private func hasDevice() -> Bool {
        guard let socket = try? Socket.connected(to: .ipv4, port: port), socket.send("?DEVICES;\n") else {
            return false
        }
        defer { socket.close() }
        var answer = ""
        while !answer.contains("\"DEVICES\""), socket.wait(for: Int32(POLLIN), milliseconds: 2_000) > 0 {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = buffer.withUnsafeMutableBytes { socket.receive(into: $0) }
            guard let count, count > 0 else { break }
            answer += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        return answer.contains("\"path\"")
    }

    /// Ends gpsd together with its receiver.
    package func stop() {
        let process = running.update { process in
            defer { process = nil }
            return process
        }
        // On SIGTERM gpsfake also ends gpsd.
        process?.stop(SIGTERM)
    }

    private static let sentencesOfSecond = 3
    private static let mostStarts = 4

    /// Returns the sentences for one second: the dimensions of the fix, its precision, and the location twice.
    private static func sentences(_ place: (latitude: Double, longitude: Double), second: Int) -> [String] {
        let time = String(format: "12%02d%02d.00", second / 60 % 60, second % 60)
        let text = "\(angle(place.latitude, 2, "NS")),\(angle(place.longitude, 3, "EW"))"
        return [
            "GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.8,0.9,1.5",
            "GPRMC,\(time),A,\(text),2.7,0.0,051125,,,A",
            "GPGGA,\(time),\(text),1,08,0.9,40.0,M,45.0,M,,",
        ].map { sentence in
            String(format: "$%@*%02X\r\n", sentence, sentence.utf8.reduce(0, ^))
        }
    }

    /// Returns an angle in degrees and minutes, such as `5231.2000,N`.
    private static func angle(_ degrees: Double, _ digits: Int, _ sides: String) -> String {
        let whole = abs(degrees).rounded(.down)
        let minutes = (abs(degrees) - whole) * 60
        return String(format: "%0\(digits)d%07.4f", Int(whole), minutes) + ","
            + String(degrees < 0 ? sides.suffix(1) : sides.prefix(1))
    }
}
