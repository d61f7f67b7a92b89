import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Transfers

/// A checker of the invariants, which runs whenever the service is idle.
struct Inspector {
    private var verified: [String: String] = [:]
    /// The paths of files whose tasks report that they are web pages.
    private var pages: Set<String> = []
    /// Whether only the service changes partial files, so that rows always describe them correctly.
    var filesAreUntouched = true

    mutating func inspect(_ world: World) async {
        for violation in world.requests.takeViolations() { world.fail(violation) }
        let now = world.now
        guard let page = try? await world.service.tasks(TaskQuery(limit: Limits.pageSize)),
            let records = try? await world.store.read({ transaction in
                try transaction.tasks(session: nil, states: nil, after: nil, limit: Limits.pageSize)
            })
        else { return world.fail("The tasks cannot be listed.") }
        let byID = Dictionary(uniqueKeysWithValues: page.tasks.map { ($0.id, $0) })
        for id in world.ledger.entries.keys where byID[id] == nil { world.fail("Task \(id) is lost.") }
        for status in page.tasks { check(status, page.tasks, now, world) }
        for record in records { check(record, now, world) }
        checkRunning(page.tasks, world)
        checkFolder(world)
        if world.nextEvent == nil, world.moment.conditions.network.isAvailable,
            let stuck = page.tasks.first(where: { !$0.state.isTerminal && $0.state != .suspended })
        {
            world.fail(
                "Nothing will ever happen, and task \(stuck.id) is \(stuck.state): \(String(describing: stuck.wait))")
        }
    }

    private mutating func check(_ status: TaskStatus, _ tasks: [TaskStatus], _ now: ClockReading, _ world: World) {
        let isHeldBack = status.state == .suspended && status.wait?.reason == .serviceFault
        if (status.wait != nil) != (status.state == .waiting || isHeldBack) {
            world.fail("Task \(status.id) is \(status.state) with the wait \(String(describing: status.wait)).")
        }
        if let until = status.wait?.until, until.timeIntervalSince1970 < now.wallSeconds - 0.001 {
            world.fail("Task \(status.id) waits until a time that is past: \(String(describing: status.wait)).")
        }
        if status.wait?.reason == .starting {
            world.fail("Task \(status.id) is about to start, and nothing happens (\(Self.digest(status, tasks))).")
        }
        guard let entry = world.ledger.entries[status.id] else { return }
        if entry.isSuspended, status.state != .suspended, !status.state.isTerminal, status.state != .finishing {
            world.fail("Task \(status.id) was suspended and is \(status.state).")
        }
        if let end = entry.end {
            if end.state != status.state || end.file != status.file || end.endedAt != status.endedAt {
                world.fail("Task \(status.id) had ended as \(end) and is \(status).")
            }
        } else if status.state.isTerminal {
            world.ledger.entries[status.id]?.end = status
        }
        if status.state == .completed, status.kind == .download { checkWhole(status, entry, world) }
    }

    /// Returns a summary of all tasks that have not ended, with this task marked.
    private static func digest(_ status: TaskStatus, _ tasks: [TaskStatus]) -> String {
        tasks.filter { !$0.state.isTerminal }.map { other in
            let mark = other.id == status.id ? "*" : ""
            return
                "\(mark)\(other.id) \(other.session) \(other.url.dropFirst(7)) \(other.wait?.reason.rawValue ?? other.state.rawValue)"
        }.joined(separator: ", ")
    }

    private mutating func checkWhole(_ status: TaskStatus, _ entry: Ledger.Entry, _ world: World) {
        guard let file = status.file else { return world.fail("Task \(status.id) is complete without a file.") }
        if let destination = entry.destination, destination != file {
            world.fail("Task \(status.id) went to \(file) instead of \(destination).")
        }
        // The status omits the query of a URL, since the query may grant access.
        let own = world.ledger.laterURLs[entry.mark, default: []].union([entry.url])
            .filter { Redaction.url($0) == status.url }
        // A web page that was saved instead of the file matches no version of the file, and the task's remark says so.
        if status.response?.remark == .page { pages.insert(file) }
        checkFile(file, world.ledger.mirrors[entry.mark, default: []].union(own), world)
    }

    /// Checks that a file under its final name is exactly one version that was served.
    private mutating func checkFile(_ path: String, _ urls: Set<String>, _ world: World) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return world.fail("\(path) is not there.") }
        let identity =
            "\(information.st_ino) \(information.st_size) \(information.st_mtim.tv_sec) \(information.st_mtim.tv_nsec)"
        guard verified[path] != identity, !pages.contains(path) else { return }
        let same = urls.flatMap { world.transport.served($0) }.filter { version in
            (try? version.content.firstMismatch(inFileAt: path)) == .some(.none)
        }
        if !same.isEmpty {
            verified[path] = identity
        } else {
            world.fail("\(path) with \(information.st_size) bytes is none of what was served of \(urls.sorted()).")
        }
    }

    /// Checks that every file in the download folder is complete.
    private mutating func checkFolder(_ world: World) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: world.downloads)) ?? []
        where !name.hasPrefix(".") {
            guard let url = world.ledger.urls[name] else {
                world.fail("Nobody asked for a file named \(name).")
                continue
            }
            let others = world.ledger.laterURLs[name, default: []].union(world.ledger.mirrors[name, default: []])
            checkFile("\(world.downloads)/\(name)", others.union([url]), world)
        }
    }

    private func check(_ record: TaskRecord, _ now: ClockReading, _ world: World) {
        if (record.endedAt != nil) != record.state.isTerminal {
            world.fail("\(record.id): endedAt and \(record.state)")
        }
        if record.deadline != nil, record.timeLeft != nil { world.fail("\(record.id) has a deadline and time left.") }
        if record.state == .running { world.fail("\(record.id) is stored as running.") }
        guard filesAreUntouched, !record.state.isTerminal, let partial = record.partial else { return }
        let path = record.publication.map { access($0.from, F_OK) == 0 ? $0.from : $0.to } ?? partial.path
        var information = stat()
        let size = lstat(path, &information) == 0 ? Int64(information.st_size) : 0
        // Between the rename and its commit the bytes are already under their final name.
        if partial.synced > size {
            world.fail(
                "Task \(record.id) (\(record.state)) claims \(partial.synced) synced bytes of \(size) in \(path).")
        }
        if record.received > size, partial.bootID == now.bootID {
            world.fail("Task \(record.id) (\(record.state)) claims \(record.received) bytes of \(size) in \(path).")
        }
    }

    private func checkRunning(_ tasks: [TaskStatus], _ world: World) {
        let marks = Set(world.transport.underWay.compactMap { $0.request.headers.first(RequestRecorder.markField) })
        for (id, entry) in world.ledger.entries where entry.isSuspended && marks.contains(entry.mark) {
            world.fail("Task \(id) is suspended, but its exchange continues.")
        }
        let running = tasks.count { $0.state == .running }
        if running > marks.count, world.transport.underWay.count < running {
            world.fail("\(running) tasks are said to run and \(world.transport.underWay.count) do.")
        }
    }
}
