import Foundation
import Mounts
package import NightshiftAPI
import Runtime
import Store

/// Reports about apps, for people to read.
extension AppService {
    func status(_ id: AppID) async throws(Problem) -> AppStatus {
        await part.written(hooks) { $0.concern(id) }
        let machine = machine(id)
        let record = machine.record
        let manifest = manifest(id)
        var status = AppStatus(
            id: id, name: manifest?.name ?? id.programName, state: record.state,
            background: machine.background(now: now))
        status.manifest = manifest
        status.stateSince = Date(timeIntervalSince1970: record.stateSince)
        status.processID = record.process?.processID
        status.isManaged = machine.isManaged
        status.isConnected = machine.isConnected
        status.isForceQuit = record.isForceQuit
        status.wakes = machine.wakes(now: now)
        status.lastExit = record.lastExit
        status.faults = record.faults
        status.launchesPausedUntil = machine.launchesPausedUntil(now: now).map(Date.init(timeIntervalSince1970:))
        status.startsPausedUntil = machine.startsPausedUntil(now: now).map(Date.init(timeIntervalSince1970:))
        status.snapshotTakenAt =
            record.snapshotTakenAt.map(Date.init(timeIntervalSince1970:)) ?? modificationDate(manifest?.snapshot)
        do {
            status.sessions = try await store.read { try $0.sessionNames(of: id) }
        } catch {
            throw .unavailable(error.message)
        }
        return status
    }

    /// Returns the app's state, the reason for it, and the journal entries that led to it.
    package func explain(_ id: AppID) async throws(Problem) -> AppExplanation {
        try requireApp(id)
        let status = try await status(id)
        let history: [JournalEntry]
        do {
            history = try await store.read { try $0.history(of: id, limit: 50) }
        } catch {
            throw .unavailable(error.message)
        }
        let (sentence, endedBy) = status.explanation
        return AppExplanation(app: status, sentence: sentence, endedBy: endedBy, history: history)
    }

    /// Returns the files with the app's output, the older file first. One of them may not exist.
    ///
    /// They contain all output that the app wrote before the call, unless the app writes faster than its log keeper.
    package func logFiles(_ id: AppID) async throws(Problem) -> [String] {
        try requireApp(id)
        let path = logPath(id)
        guard AppOutput.halves(path).contains(where: FileManager.default.fileExists) else {
            throw .notFound("\(id) has no log: it has written nothing, or the service has not launched it yet.")
        }
        let output = AppOutput(environment.paths, app: id, log: path, limit: 0)
        let end = ContinuousClock.now + Self.longestReading
        while !output.isRead, ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil {}
        return AppOutput.halves(path)
    }

    /// The timeout for the log keeper to finish writing. A stopped keeper must not block readers of the log.
    private static let longestReading: Duration = .milliseconds(500)

    /// Returns the path of the app's snapshot.
    package func snapshotFile(_ id: AppID) throws(Problem) -> String {
        try requireApp(id)
        let candidates = [path(id, "png"), manifest(id)?.snapshot].compactMap(\.self)
        for path in candidates {
            guard let isThere = environment.entries.fileSystems.answer(path, { Self.isThere(path) }) else {
                throw .unavailable("The file system of \(path) does not respond.")
            }
            if isThere { return path }
        }
        throw .notFound("There is no snapshot of \(id) yet.")
    }

    /// Whether the file exists and is readable. This reads one byte, because some file systems report files that they
    /// cannot read.
    private static func isThere(_ path: String) -> Bool {
        FileLook.read(path)
        return FileManager.default.fileExists(atPath: path)
    }

    /// Returns the modification date of a file; nil if the file does not exist or its file system does not respond.
    private func modificationDate(_ path: String?) -> Date? {
        guard let path else { return nil }
        return environment.entries.fileSystems.answer(path) {
            (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        } ?? nil
    }
}

extension AppID {
    /// The last component of the program's path; the id if the app is not a program.
    fileprivate var programName: String {
        isProgram ? String(rawValue.split(separator: "/").last ?? "") : rawValue
    }
}

extension AppStatus {
    /// A sentence for people about the app's current state, and the event that will end that state.
    fileprivate var explanation: (sentence: String, endedBy: String?) {
        let reasons = wakes.map(\.sentence).joined(separator: " ")
        switch state {
        case .active, .inactive:
            return ("It runs in the foreground.", "you")
        case .background:
            guard !wakes.isEmpty else {
                guard background.tasks.isEmpty else { return backgroundWork }
                return isManaged
                    ? ("It runs in the background and is about to be suspended.", "the service's next step")
                    : ("It runs in the background. The service did not launch it and never suspends it.", "you")
            }
            let until = wakes.compactMap(\.deadline).min()
            return (
                "It was woken in the background. \(reasons)",
                until.map { "its completion, or its time limit at \($0.formatted(.iso8601))" } ?? "its completion"
            )
        case .suspended:
            guard !wakes.isEmpty else {
                return ("It is suspended: in memory, without CPU time.", "you opening it, or an event of its sessions")
            }
            return (
                "It is suspended. It cannot receive events, because it does not link the library. \(reasons)",
                "'nightshift app quit \(id)'"
            )
        case .notRunning:
            let last = lastExit.map { " Last time: \($0.cause.sentence)" } ?? ""
            if isForceQuit {
                return ("You force-quit it, so nothing launches it in the background.", "you starting it")
            }
            guard !wakes.isEmpty else { return ("It is not running.\(last)", nil) }
            guard manifest != nil else {
                return ("It has no desktop entry, so nothing can launch it. \(reasons)", "you starting it by hand")
            }
            if let until = launchesPausedUntil {
                let failures = faults == 1 ? "its last launch failed" : "failed \(faults) times in a row"
                return (
                    "It should be woken, but \(failures), so its next launch is delayed.\(last) \(reasons)",
                    "time, at \(until.formatted(.iso8601))"
                )
            }
            return ("It is about to be launched in the background. \(reasons)", "the service's next step")
        }
    }

    /// The explanation for an app that has open background tasks and runs or is frozen by doze.
    private var backgroundWork: (sentence: String, endedBy: String?) {
        let names = background.tasks.prefix(3).map(\.name).joined(separator: ", ")
        let more = background.tasks.count > 3 ? " and \(background.tasks.count - 3) more" : ""
        guard let remaining = background.remaining else {
            return (
                "It has background tasks: \(names)\(more). The service did not launch it and never suspends it.",
                "the end of its tasks, or you"
            )
        }
        let left = "\(Int(saturating: remaining.rounded())) s of its background time are left (\(background.policy))."
        guard !background.standsStill else {
            return (
                "It has background tasks: \(names)\(more). The device dozes, so it is frozen. \(left)",
                "the next maintenance window, you opening it, or an event of its sessions"
            )
        }
        return (
            "It has background tasks: \(names)\(more). \(left)", "the end of its tasks, or of its background time"
        )
    }
}
