import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of a network that comes and goes. Tasks survive this or say why they wait.
@Suite struct NetworkTests {
    @Test("T8: A broken connection costs only the bytes in transit")
    func cutConnections() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let proxy = try ChaosProxy(
            to: origin.port, conditions: .init(bytesPerSecond: 4 << 20, cuts: .init(seed: 8, meanBytes: 2 << 20)))
        try await service.start()
        let content = Content.seeded(size: 16 << 20, seed: 8)
        origin.serve("/file", Resource(content: content))
        var request = TaskRequest.download(proxy.url("/file"), to: service.scratch.path("to"))
        // With several connections, the service closes some itself.
        request.connections = 1
        let task = try await service.waitForEnd(try await service.api.enqueue(request))
        #expect(task.state == .completed)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        #expect(task.restarts == 0)
        let totals = proxy.totals
        #expect(totals.cuts > 0)
        // The service only fetches bytes again that were in transit. One KiB allows for the head of each response.
        #expect(
            totals.bytesDown <= content.size + totals.bytesCutOff + Int64(totals.connections) << 10, "\(totals)")
    }

    @Test("T8: The service uses a network route again that disappeared and came back")
    func downAndUp() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let proxy = try ChaosProxy(to: origin.port, conditions: .init(bytesPerSecond: 64 << 10))
        try await service.start()
        let content = Content.seeded(size: 12 << 20, seed: 9)
        origin.serve("/file", Resource(content: content))
        let id = try await service.api.enqueue(.download(proxy.url("/file"), to: service.scratch.path("to")))
        try await service.wait(id, for: "some bytes") { $0.countOfBytesReceived > 100_000 }
        proxy.stopAccepting()
        proxy.killConnections()
        try await eventually("a wait that is explained") {
            let why = try await service.api.why(id)
            return [.hostBackoff, .retry].contains(why.task.wait?.reason) && why.endedBy != nil
                && why.task.lastError?.code == .cannotConnect
        }
        proxy.change { $0.bytesPerSecond = nil }
        try proxy.startAccepting()
        let task = try await service.waitForEnd(id)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        #expect(task.restarts == 0)
    }

    @Test("T8: A task waits for a server that is not running yet")
    func refusedThenThere() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let content = Content.seeded(size: 100_000, seed: 3)
        origin.serve("/file", Resource(content: content))
        origin.stopListening()
        try await service.start()
        let id = try await service.api.enqueue(.download(origin.url("/file"), to: service.scratch.path("to")))
        let refused = try await service.wait(id, for: "a refused connection") { $0.lastError?.code == .cannotConnect }
        #expect(refused.state == .waiting || refused.state == .running)
        #expect(refused.error == nil, "network trouble never reaches the owner before the resource timeout")
        try origin.startListening()
        #expect(try await service.waitForEnd(id).state == .completed)
    }

    @Test("T8: The service abandons a route after the idle timeout if no data arrives on it")
    func blackHole() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let proxy = try ChaosProxy(to: origin.port, conditions: .init(bytesPerSecond: 64 << 10))
        try await service.start()
        let content = Content.seeded(size: 8 << 20, seed: 4)
        origin.serve("/file", Resource(content: content))
        var request = TaskRequest.download(proxy.url("/file"), to: service.scratch.path("to"))
        request.idleTimeout = 1
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "some bytes") { $0.countOfBytesReceived > 100_000 }
        proxy.change { $0.isBlackHole = true }
        try await service.wait(id, for: "an idle timeout") { $0.lastError?.code == .idleTimeout }
        proxy.change { $0 = ChaosProxy.Conditions() }
        let task = try await service.waitForEnd(id)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        #expect(task.restarts == 0)
    }

    @Test("T8: The resource timeout ends a task that never succeeds, even across a restart")
    func resourceTimeout() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/file", .seeded(size: 1 << 20, seed: 4, .stallAfter(1_000)))
        try await service.start()
        var request = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        request.resourceTimeout = 4
        let id = try await service.api.enqueue(request)
        try await origin.waitForRequest(for: "/file")
        try await service.kill()
        try await service.start()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .failed)
        #expect(task.error?.code == .timedOut)
        #expect(service.names(in: service.scratch.path("to")) == [])
    }

    @Test("T6: A batch of a thousand small files saves each file under its own name")
    func manySmallFiles() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let directory = service.scratch.path("to")
        let contents = (0..<1_000).map { number in
            Content.bytes(Array("file \(number) ".utf8) + [UInt8](repeating: 7, count: number * 20))
        }
        for (number, content) in contents.enumerated() { origin.serve("/\(number)", Resource(content: content)) }
        let ids = try await service.api.enqueue(
            contents.indices.map { .download(origin.url("/\($0)"), to: directory, named: "\($0).bin") })
        #expect(Set(ids).count == 1_000)
        try await eventually("the end of a thousand tasks", within: .seconds(120)) {
            try await service.api.status().tasks["completed"] == 1_000
        }
        for (number, content) in contents.enumerated() {
            #expect(try content.firstMismatch(inFileAt: "\(directory)/\(number).bin") == nil, "\(number).bin")
        }
        #expect(service.names(in: directory).count == 1_000)
        #expect(service.partialFiles == [])
    }

    @Test("T6: A URL outside ASCII is sent as browsers do, and its file name is readable")
    func nonASCII() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let content = Content.bytes(Array("grüezi".utf8))
        origin.serve("/%E5%A4%9C%E7%8F%AD/caf%C3%A9.txt", Resource(content: content))
        let id = try await service.api.enqueue(
            .download(origin.url("/夜班/café.txt"), to: service.scratch.path("mañana"), named: nil))
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed)
        #expect(task.file == service.scratch.path("mañana/café.txt"))
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
    }
}
