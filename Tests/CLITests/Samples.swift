import Foundation
import NightshiftAPI
import Synchronization

@testable import CLI

/// Values with fixed times, so that printed text does not change.
enum Samples {
    static let now = Date(timeIntervalSince1970: 1_795_262_400)  // 2026-11-21 12:00:00 UTC
    static let times = TimeText(now: now, timeZone: .gmt)

    static func ago(_ seconds: Double) -> Date { now.addingTimeInterval(-seconds) }

    static func running(_ id: Int64 = 12) -> TaskStatus {
        var task = TaskStatus(
            id: TaskID(id), session: .terminal, taskIdentifier: id, kind: .download, method: "GET",
            url: "https://files.example/pub/film%20one.mkv?token=1", state: .running, priority: 0.5,
            createdAt: ago(400))
        task.startedAt = ago(390)
        task.deadline = now.addingTimeInterval(604_400)
        task.countOfBytesReceived = 734_003_200
        task.countOfBytesExpectedToReceive = 1_610_612_736
        task.bytesPerSecond = 12_582_912
        task.attempts = 2
        task.destination = Destination(directory: "/home/ada/Downloads")
        task.response = ResponseSummary(status: 206, headers: [], httpVersion: "1.1")
        return task
    }

    static func waiting(_ id: Int64 = 13) -> TaskStatus {
        var task = running(id)
        task.url = "https://nxdomain.example/data.tar"
        task.state = .waiting
        task.bytesPerSecond = nil
        task.countOfBytesReceived = 0
        task.countOfBytesExpectedToReceive = -1
        task.response = nil
        task.wait = Wait(
            reason: .retry, since: ago(4), until: now.addingTimeInterval(4), detail: "attempt 3 of nxdomain.example")
        task.lastError = TransferFailure(.cannotResolveHost, "nxdomain.example has no address")
        return task
    }

    static func completed(_ id: Int64 = 14) -> TaskStatus {
        var task = running(id)
        task.state = .completed
        task.bytesPerSecond = nil
        task.endedAt = ago(3)
        task.countOfBytesReceived = 1_610_612_736
        task.file = "/home/ada/Downloads/film one.mkv"
        task.verified = ["sha-256"]
        return task
    }

    static func failed(_ id: Int64 = 15) -> TaskStatus {
        var task = running(id)
        task.state = .failed
        task.bytesPerSecond = nil
        task.endedAt = ago(3)
        task.error = TransferFailure(.httpStatus, "The server answered 404 Not Found.", status: 404)
        return task
    }

    /// Returns a task that waits because another task did not find the host.
    static func heldByHost(_ id: Int64) -> TaskStatus {
        var task = running(id)
        task.state = .waiting
        task.bytesPerSecond = nil
        let failure = TransferFailure(.cannotResolveHost, "The address of nxdomain.example could not be found.")
        task.wait = Wait(
            reason: .hostBackoff, since: ago(20), until: now.addingTimeInterval(84), detail: failure.message,
            failure: failure)
        return task
    }

    static func entry(_ id: Int64, _ decision: Decision, task: Int64, secondsAgo: Double = 10) -> JournalEntry {
        JournalEntry(id: id, time: ago(secondsAgo), decision: decision, task: TaskID(task))
    }

    static let status = ServiceStatus(
        version: "0.1.0", processID: 4711, startedAt: ago(7_300), home: "/home/ada/.local/state/nightshift",
        networkAvailable: true, settings: ServiceSettings(rateLimit: 2_097_152, maximumTransfers: 16),
        tasks: ["running": 2, "waiting": 7, "completed": 40], bytesPerSecond: 2_000_000, lastJournalEntry: 100,
        pausedHosts: [PausedHost(origin: "https://files.example:443", until: now.addingTimeInterval(30))])
}

/// Collects the output of a command.
final class Ear: Sendable {
    private let data = Mutex(Data())

    var text: String { data.withLock { String(decoding: $0, as: UTF8.self) } }

    func output(isTerminal: Bool = false) -> Output {
        Output(isTerminal: isTerminal) { bytes in self.data.withLock { $0 += bytes } }
    }
}
