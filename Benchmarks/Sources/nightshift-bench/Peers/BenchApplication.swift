import Foundation
import Glibc

/// The app `bench-app`, installed in a service.
struct BenchApplication {
    let bench: Bench
    let service: Service
    let id: String

    /// - Parameter modes: the background modes for which the app may be woken.
    func install(_ arguments: String, modes: String) throws {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "bench-app")
        let entry = "\(bench.disk.path)/\(id).desktop"
        let text = """
            [Desktop Entry]
            Type=Application
            Name=Bench
            Exec=\(program.path) \(arguments)
            X-Nightshift-BackgroundModes=\(modes);

            """
        try text.write(toFile: entry, atomically: true, encoding: .utf8)
        try service.ask(["app", "install", entry])
    }

    /// The lines that the app has printed.
    func log() -> [String] {
        let path = "\(service.home)/state/apps/\(id).log"
        return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    func wait(_ what: String, _ seconds: Double, until isSo: () throws -> Bool) throws {
        let start = Instant()
        while try !isSo() {
            guard start.elapsed < seconds else { throw BenchError("\(what) did not happen in \(seconds) s") }
            usleep(5_000)
        }
    }

    func state() throws -> String {
        try service.client().require("GET", "/v1/apps/\(id)").json()["state"] as? String ?? ""
    }
}
