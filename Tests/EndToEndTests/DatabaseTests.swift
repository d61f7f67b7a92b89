import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the service refuses an unreadable database with a clear message and does not change it.
@Suite struct DatabaseTests {
    @Test("B1: A service refuses a database of a newer version and does not change it")
    func newer() async throws {
        let service = try await stopped()
        let change = try await ChildProcess.run(
            "sqlite3", [service.paths.database.path, "INSERT INTO grdb_migrations VALUES ('9999 from the future')"])
        #expect(change.code == 0, "\(change.errors)")
        try await expectRefusal(service, "newer")
    }

    @Test("B1: A service refuses a damaged database and does not change it")
    func garbage() async throws {
        let service = try await stopped()
        try overwrite(service.paths.database.path, at: 0, with: [UInt8](repeating: 0x5A, count: 512))
        try await expectRefusal(service, service.paths.database.path)
    }

    @Test("B1: A service never mistakes a database damaged in the middle for one with fewer tasks")
    func damagedPages() async throws {
        let service = try Service()
        try await service.start()
        var request = TaskRequest.download("http://127.0.0.1:9/", to: service.scratch.path("to"))
        request.suspended = true
        let ids = try await service.api.enqueue(Array(repeating: request, count: 500))
        #expect(ids.count == 500)
        try await stop(service)
        let path = service.paths.database.path
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        try overwrite(path, at: 4_096, with: [UInt8](repeating: 0xFF, count: size - 4_096))
        try await expectRefusal(service, path)
    }

    @Test("B1: An unreadable row does not affect other rows, is reported, and can be removed")
    func unreadableRow() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/file", .seeded(size: 100_000, seed: 3))
        try await service.start()
        let ids = try await service.api.enqueue(
            (0..<3).map { number in
                var request = TaskRequest.download(
                    origin.url("/file"), to: service.scratch.path("to"), named: "\(number)")
                request.suspended = true
                return request
            })
        try await stop(service)
        let change = try await ChildProcess.run(
            "sqlite3",
            [
                service.paths.database.path,
                "UPDATE tasks SET state = 'waiting', request = 'gone', deadline = 1, loosens_at = 1 WHERE id = \(ids[1])",
            ])
        #expect(change.code == 0, "\(change.errors)")
        try await service.start()
        let list = try await service.cli(["list", "--all"])
        #expect(list.code == 0)
        #expect(list.output.contains("\(ids[0])") && list.output.contains("\(ids[2])"), "\(list.output)")
        #expect(list.errors.contains("transfer \(ids[1]) cannot be read"), "\(list.errors)")
        #expect(try await service.api.get("/v1/tasks", as: TaskPage.self).unreadable?.map(\.id) == [ids[1]])
        await #expect(throws: Problem.self) { try await service.api.task(ids[1]) }
        #expect(try await service.cli(["doctor"]).output.contains("nightshift remove \(ids[1])"))
        for id in [ids[0], ids[2]] { try await service.api.send("POST", "/v1/tasks/\(id)/resume") }
        for id in [ids[0], ids[2]] { #expect(try await service.waitForEnd(id).state == .completed) }
        #expect(try await service.cli(["remove", "\(ids[1])"]).code == 0)
        #expect(try await service.api.get("/v1/tasks", as: TaskPage.self).unreadable == nil)
    }

    @Test(
        "B1: The service reports an unreadable record of an app, device or session, and still works",
        arguments: [#"{"x":1}"#, "gone"])
    func unreadableParts(text: String) async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/file", .seeded(size: 100_000, seed: 3))
        let id = "org.example.Torn"
        let entry = try service.scratch.write(
            "[Desktop Entry]\nType=Application\nName=Torn\nExec=/bin/true\nX-Nightshift-BackgroundModes=fetch\n",
            to: "\(id).desktop")
        try await service.start()
        #expect(try await service.cli(["app", "install", entry]).code == 0)
        // This command writes an app record.
        #expect(try await service.cli(["app", "policy", id, "contiguous"]).code == 0)
        #expect(try await service.cli(["device", "set", "power=battery"]).code == 0)
        try await stop(service)
        let change = try await ChildProcess.run(
            "sqlite3",
            [
                service.paths.database.path,
                "INSERT OR REPLACE INTO apps (id, record) VALUES ('\(id)', '\(text)');"
                    + "UPDATE device SET settings = '\(text)', doze = '\(text)';"
                    + "UPDATE sessions SET settings = '{\"idleTimeout\":\"x\"}'",
            ])
        #expect(change.code == 0, "\(change.errors)")
        try await service.start()
        // The service does not use the app, but keeps its row.
        let apps = try await service.api.get("/v1/apps", as: AppList.self)
        #expect(apps.apps.isEmpty && apps.unreadable?.map(\.id.rawValue) == [id])
        #expect(try await service.cli(["app", "list"]).errors.contains("nightshift app remove \(id)"))
        #expect(try await service.cli(["app", "launch", id]).errors.contains("cannot be read"))
        let doctor = try await service.cli(["doctor"]).output
        #expect(doctor.contains("nightshift app remove \(id)") && doctor.contains("the defaults are used"), "\(doctor)")
        #expect(try await service.api.get("/v1/device", as: DeviceStatus.self).settings == DeviceSettings())
        let sessions = try await service.api.get("/v1/sessions", as: SessionList.self).sessions
        #expect(sessions.map(\.id) == [.terminal] && sessions[0].unreadable != nil)
        let journal = try await service.api.get("/v1/journal", as: JournalPage.self).entries
        #expect(journal.filter { $0.decision == .unreadable }.count == 4)
        // The defaults apply to new tasks.
        let task = try await service.api.enqueue(
            TaskRequest.download(origin.url("/file"), to: service.scratch.path("to")))
        #expect(try await service.waitForEnd(task).state == .completed)
        try await stop(service)
        let kept = try await ChildProcess.run(
            "sqlite3", [service.paths.database.path, "SELECT record FROM apps; SELECT settings FROM device"])
        #expect(kept.output == "\(text)\n\(text)\n")
        // You can repair the record, and the service keeps the stored device state.
        try await service.start()
        #expect(try await service.cli(["app", "remove", id]).code == 0)
        #expect(try await service.api.get("/v1/apps", as: AppList.self).unreadable == nil)
        #expect(try await service.api.get("/v1/apps", as: AppList.self).apps.map(\.id.rawValue) == [id])
        #expect(try await service.cli(["device", "set", "power=battery"]).code == 0)
        #expect(try await service.api.get("/v1/device", as: DeviceStatus.self).unreadable == nil)
        try await stop(service)
        let replaced = try await ChildProcess.run(
            "sqlite3", [service.paths.database.path, "SELECT replaced_settings FROM device"])
        #expect(replaced.output == "\(text)\n")
    }

    @Test("B1: A service refuses an emptied database")
    func emptied() async throws {
        let service = try await stopped()
        #expect(truncate(service.paths.database.path, 0) == 0)
        try await expectRefusal(service, service.paths.database.path)
    }

    @Test("B1: A service refuses to start after its database has disappeared")
    func vanished() async throws {
        let service = try await stopped()
        for name in service.names(in: service.paths.state.path) where name.hasPrefix("nightshift.sqlite") {
            try FileManager.default.removeItem(atPath: "\(service.paths.state.path)/\(name)")
        }
        try await expectRefusal(service, service.paths.database.path)
        #expect(!FileManager.default.fileExists(atPath: service.paths.database.path))
    }

    /// Returns a service that was used and has exited.
    private func stopped() async throws -> Service {
        let service = try Service()
        try await service.start()
        var request = TaskRequest.download("http://127.0.0.1:9/", to: service.scratch.path("to"))
        request.suspended = true
        _ = try await service.api.enqueue(request)
        try await stop(service)
        return service
    }

    /// Stops the service and checkpoints everything into the database's main file. Content in SQLite's log would hide
    /// damage to that file.
    private func stop(_ service: Service) async throws {
        #expect(try await service.stop() == .code(0))
        let checkpoint = try await ChildProcess.run(
            "sqlite3", [service.paths.database.path, "PRAGMA wal_checkpoint(TRUNCATE)"])
        #expect(checkpoint.code == 0, "\(checkpoint.errors)")
    }

    private func expectRefusal(
        _ service: Service, _ words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try files(service)
        let outcome = try await ChildProcess.run(
            Programs.daemon, environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(30))
        #expect(outcome.exit == .code(6), "\(outcome)", sourceLocation: sourceLocation)
        #expect(outcome.errors.contains(words), "\(outcome.errors)", sourceLocation: sourceLocation)
        #expect(try files(service) == before, sourceLocation: sourceLocation)
    }

    /// Returns the bytes of all files that hold state. The index of SQLite's log holds none, because SQLite rebuilds it
    /// when needed.
    private func files(_ service: Service) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in service.names(in: service.paths.state.path)
        where name.hasPrefix("nightshift.sqlite") && !name.hasSuffix("-shm") {
            let bytes = try fileBytes("\(service.paths.state.path)/\(name)")
            // An empty log is equivalent to a missing one.
            if !(name.hasSuffix("-wal") && bytes.isEmpty) { found[name] = bytes }
        }
        return found
    }

    private func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else { throw SystemError("pwrite") }
    }
}
