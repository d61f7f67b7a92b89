import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// An app in a home directory in which no service runs and none can be started.

/// A delegate of many tasks.
private final class Crowd: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // This is unchecked, as in an app, because only the delegate queue changes its state.
    let ends = Outcome<[String]>("the end of every task")
    private let count: Int
    private var ended: [String] = []

    init(_ count: Int) {
        self.count = count
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        ended.append(error.map { "\($0)" } ?? task.taskDescription ?? "nobody")
        if ended.count == count { ends.give(ended.sorted()) }
    }
}

/// The names of the tasks. If the program waited 5 s for each, it could not print all of them within a minute.
private let names = (10..<30).map { "waiting-\($0)" }

/// Runs the app of the situation below if the process was started as that app, and ends the process.
func appWithoutService() async {
    guard ProcessInfo.processInfo.arguments.contains("without-service") else { return }
    let crowd = Crowd(names.count)
    let session = URLSession(
        configuration: .background(withIdentifier: "without-service"), delegate: crowd, delegateQueue: nil)
    let tasks = names.map { name in
        let task = session.downloadTask(with: Origin.file(name))
        task.taskDescription = name
        return task
    }
    for task in tasks { task.resume() }
    print(tasks.allSatisfy { $0.state == .running } ? "resumed" : "not running")
    fflush(nil)
    do {
        let ends = try await crowd.ends.value()
        print(ends == names ? "ended" : "\(ends)")
    } catch {
        print("\(error)")
    }
    fflush(nil)
    exit(0)
}

func withoutService() async {
    await situation("an app without a service does not wait, and continues when the service starts") {
        let environment = ProcessInfo.processInfo.environment
        let home = try unwrap(environment["NIGHTSHIFT_HOME"], "home") + Origin.identifier("-without")
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let variables = [
            "HOME": home, "NIGHTSHIFT_HOME": home, "PATH": "/nonexistent", "ORIGIN_PORT": Origin.port,
        ]
        let app = try Program(
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), ["without-service"],
            environment: variables, errors: "\(home).errors", lines: 2)
        defer { app.stop() }
        try expectEqual(try await app.lines[0].value(), "resumed")
        let said = try String(contentsOfFile: "\(home).errors", encoding: .utf8)
        try expectEqual(said.components(separatedBy: "The service cannot be reached.").count, 2)
        try expect(said.contains("nightshift doctor") && said.contains("nightshiftd was not found"), said)
        // The service is started only now.
        let service = try Program(
            "/usr/bin/timeout", ["300", try unwrap(environment["SERVICE"], "service's path")], environment: variables,
            errors: "\(home).log")
        defer { service.stop() }
        try expectEqual(try await app.lines[1].value(), "ended")
    }
}
