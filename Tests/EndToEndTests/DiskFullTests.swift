import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of disks that fill up and get free space again.
@Suite(.serialized, .enabled(if: Machine.canMount, "needs root to mount small file systems")) struct DiskFullTests {
    @Test("T2: Only the tasks that write to a full disk wait")
    func fullDestination() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let small = try await Mount.memory(megabytes: 24)
        try await service.start()
        let (large, other) = (Content.seeded(size: 40 << 20, seed: 1), Content.seeded(size: 2 << 20, seed: 2))
        origin.serve("/large", Resource(content: large))
        origin.serve("/unknown", Resource(content: large, behaviours: [.chunked()]))
        origin.serve("/other", Resource(content: other))
        let waiting = try await service.api.enqueue([
            .download(origin.url("/large"), to: small.path, named: "large"),
            .download(origin.url("/unknown"), to: small.path, named: "unknown"),
        ])
        for id in waiting {
            try await service.wait(id, for: "a wait for space") { $0.wait?.reason == .diskSpace }
            // The service rechecks the free space from time to time.
            try await eventually("an explanation that says so") {
                let why = try await service.cli(["why", "\(id)"])
                return why.code == 0 && why.output.contains("space")
            }
        }
        let living = try await service.api.enqueue(.download(origin.url("/other"), to: service.scratch.path("to")))
        #expect(try await service.waitForEnd(living).state == .completed)
        #expect(service.names(in: small.path).allSatisfy { $0.hasPrefix(".nightshift-") }, "no name before it is whole")
        // The tasks still wait for space after a restart of the service.
        try await service.kill()
        try await service.start()
        for id in waiting {
            try await service.wait(id, for: "a wait for space") { $0.wait?.reason == .diskSpace }
        }
        try await small.resize(megabytes: 200)
        for id in waiting {
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed)
            #expect(try large.firstMismatch(inFileAt: task.file ?? "") == nil)
        }
        #expect(service.names(in: small.path) == ["large", "unknown"])
    }

    @Test(
        "The error for a disk with too little space says how much is free",
        .enabled(if: Machine.hasLoopDevices, "needs root, mkfs.ext4 and a free loop device"), .timeLimit(.minutes(20)))
    func roomThatThereIs() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        // This file system cannot reserve space for the whole file. The service therefore reserves as much as possible.
        let small = try await Mount.ext4(megabytes: 48)
        try await service.start()
        origin.serve("/large", Resource(content: Content.seeded(size: 100 << 20, seed: 1)))
        let id = try await service.api.enqueue(.download(origin.url("/large"), to: small.path, named: "large"))
        try await service.wait(id, for: "a wait for space") { $0.wait?.reason == .diskSpace }
        let message = try #require(try await service.api.task(id).lastError?.message)
        let sizes = message.matches(of: /([0-9.]+) MiB/).compactMap { Double($0.1) }
        #expect(sizes.first == 100 && sizes.last ?? 0 > 16, "\(message)")
    }

    @Test("T2: The service loses no data while its database's disk is full, and then continues")
    func fullHome() async throws {
        let small = try await Mount.memory(megabytes: 12)
        let (service, origin) = (try Service(home: small.path + "/home"), try OriginServer(sendBuffer: 65_536))
        try await service.start()
        let content = Content.seeded(size: 30 << 20, seed: 1)
        let gate = Gate()
        origin.serve("/f", Resource(content: content, behaviours: [.holdFrom(20 << 20, gate)]))
        let directory = service.scratch.path("to")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var accepted = [try await service.api.enqueue(.download(origin.url("/f"), to: directory, named: "f"))]
        try await service.wait(accepted[0], for: "20 MiB") { $0.countOfBytesReceived >= 20 << 20 }
        try fill(small.path)
        // The service accepts tasks or refuses them with an error, and loses no accepted task.
        var refusals = 0
        for number in 0..<200 {
            origin.serve("/s\(number)", .text("small \(number)"))
            var request = TaskRequest.download(origin.url("/s\(number)"), to: directory, named: "s\(number)")
            request.description = String(repeating: "x", count: 4_000)
            do {
                accepted.append(try await service.api.enqueue(request))
            } catch let problem as Problem {
                #expect(problem.status == 503, "\(problem)")
                refusals += 1
            }
        }
        #expect(refusals > 0, "the disk was full")
        #expect(try await service.api.status().processID == service.process?.pid, "reading still works")
        gate.open()
        try FileManager.default.removeItem(atPath: small.path + "/ballast")
        for id in accepted {
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed, "\(task)")
        }
        #expect(try content.firstMismatch(inFileAt: directory + "/f") == nil)
        origin.serve("/later", .text("later"))
        let later = try await service.api.enqueue(.download(origin.url("/later"), to: directory, named: "later"))
        #expect(try await service.waitForEnd(later).state == .completed)
        try await service.kill()
        try await service.start()
        #expect(try await service.api.tasks().count == accepted.count + 1)
    }

    @Test("T2: A service without disk space to start reports that, and starts once there is space")
    func fullAtStart() async throws {
        let small = try await Mount.memory(megabytes: 8)
        let service = try Service(home: small.path + "/home")
        try await service.start()
        var request = TaskRequest.download("http://127.0.0.1:9/", to: service.scratch.path("to"))
        request.suspended = true
        let ids = try await service.api.enqueue(Array(repeating: request, count: 100))
        try await service.kill()
        try fill(small.path)
        let process = try service.spawn()
        try await eventually("an answer or an end", within: .seconds(30)) {
            if process.exit != nil { return true }
            return (try? await service.api.status()) != nil
        }
        if let exit = process.exit {
            #expect(exit == .code(6) || exit == .code(5), "\(exit)")
            #expect(service.log.contains("full") || service.log.contains("space"), "\(service.log)")
        }
        try await service.kill()
        try FileManager.default.removeItem(atPath: small.path + "/ballast")
        try await service.start()
        #expect(Set(try await service.api.tasks().map(\.id)) == Set(ids))
    }

    /// Fills the file system until no byte is free.
    private func fill(_ path: String) throws {
        let descriptor = open(path + "/ballast", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError("open \(path)/ballast") }
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 1, count: 65_536)
        while write(descriptor, bytes, bytes.count) > 0 {}
        guard errno == ENOSPC else { throw SystemError("write \(path)/ballast") }
    }

    @Test("T5: The service reports missing space for an upload's copy at once, with the sizes")
    func fullCopies() async throws {
        let small = try await Mount.memory(megabytes: 40)
        let service = try Service(home: small.path + "/home")
        try await service.start()
        let source = try service.scratch.write([UInt8](repeating: 7, count: 30 << 20), to: "source")
        var request = TaskRequest.upload(source, to: "http://127.0.0.1:9/up")
        request.snapshot = .copy
        do {
            _ = try await service.api.enqueue(request)
            Issue.record("30 MiB have no room in 40 MiB beside what the service keeps for itself")
        } catch let problem as Problem {
            #expect(problem.status == 422 && problem.pointer == "/tasks/0/source")
            let detail = problem.detail ?? ""
            #expect(detail.contains("too little free space") && detail.contains("needs 30.0 MiB"), "\(detail)")
        }
        #expect(service.names(in: service.paths.sources.path).isEmpty)
        try FileManager.default.removeItem(atPath: source)
        let less = try service.scratch.write([UInt8](repeating: 7, count: 1 << 20), to: "less")
        var smaller = TaskRequest.upload(less, to: "http://127.0.0.1:9/up")
        smaller.snapshot = .copy
        _ = try await service.api.enqueue(smaller)
        #expect(service.names(in: service.paths.sources.path).count == 1)
    }
}
