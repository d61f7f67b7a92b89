import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of transfers that wait for power and networks, as mocked services on a private bus report them (T3, T8).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ConditionTests {
    private let content = Content.seeded(size: 1 << 20, seed: 12)

    /// Returns a service that gets its power and network states from mocks.
    private func served() async throws -> (service: Service, bus: PrivateBus, origin: OriginServer) {
        let bus = try await PrivateBus.started()
        let service = try Service(environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        let origin = try OriginServer(sendBuffer: 65_536)
        origin.serve("/file", Resource(content: content))
        return (service, bus, origin)
    }

    private func request(
        _ service: Service, _ origin: OriginServer, _ change: (inout TaskRequest) -> Void
    ) -> TaskRequest {
        var request = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        change(&request)
        return request
    }

    @Test func `T3: A discretionary transfer waits on a low battery until UPower reports a charger`()
        async throws
    {
        let (service, bus, origin) = try await served()
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        try await service.start()
        let device = try await service.device(set: ["battery": "20"])
        #expect(device.conditions.power == .battery)
        #expect(device.values.first { $0.key == .power }?.source == .upower)
        let id = try await service.api.enqueue(request(service, origin) { $0.isDiscretionary = true })
        try await service.wait(id, for: "a good moment") { $0.wait?.reason == .discretionary }
        #expect(origin.requests.isEmpty)
        let why = try await service.cli(["why", "\(id)"]).output
        #expect(why.contains("good conditions"), "\(why)")
        try await upower.set(["OnBattery": "b false"])
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.lastError == nil)
        let journal = try await service.cli(["journal", "--since", "all"]).output
        #expect(journal.contains("power: battery → external"), "\(journal)")
    }

    @Test func `T3: A transfer stops when external power is lost, keeps its bytes and continues later`() async throws {
        let (service, bus, origin) = try await served()
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": false}"#)
        let gate = Gate()
        origin.serve("/file", Resource(content: content, behaviours: [.holdFrom(300_000, gate)]))
        try await service.start()
        let id = try await service.api.enqueue(request(service, origin) { $0.requiresExternalPower = true })
        try await service.wait(id, for: "some bytes") { $0.countOfBytesReceived >= 300_000 }
        try await upower.set(["OnBattery": "b true"])
        let waiting = try await service.wait(id, for: "power") { $0.wait?.reason == .externalPower }
        #expect(waiting.countOfBytesReceived >= 300_000)
        gate.open()
        try await upower.set(["OnBattery": "b false"])
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.restarts == 0)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        let range = try #require(origin.requests.last?.fields.first("Range"))
        #expect(range != "bytes=0-", "\(range)")
    }

    @Test func `L4: A contiguous command holds a logind lock for exactly as long as it runs`() async throws {
        let (service, bus, _) = try await served()
        let logind = try await MockService(.logind, on: bus)
        try await service.start()
        #expect(try await service.cli(["device", "policy", "contiguous"]).exit == .code(0))
        let ready = service.scratch.path("ready")
        let run = try service.startCLI(
            ["task", "run", "--name", "backup", "--", "sh", "-c", "touch \(ready); read line < \(ready).gate"],
            output: service.scratch.path("run"))
        #expect(mkfifo(ready + ".gate", 0o600) == 0)
        try await eventually("a lock") {
            let calls = try await logind.call("org.freedesktop.DBus.Mock", "GetMethodCalls", ["s", "Inhibit"])
            return calls.contains("backup") && calls.contains("sleep:idle")
        }
        #expect(try await service.device().holders.first?.tasks == ["backup"])
        try Data("go\n".utf8).write(to: URL(filePath: ready + ".gate"))
        #expect(try await run.waitForExit() == .code(0))
        try await eventually("nobody who holds it awake") { try await service.device().holders.isEmpty }
    }

    @Test func `T8: The service notices the machine's sleep, and doctor names missing services`() async throws {
        let (service, bus, _) = try await served()
        let logind = try await MockService(.logind, on: bus)
        try await service.start()
        try await logind.emit("PrepareForSleep", "b true")
        try await eventually("sleep") { try await service.device().conditions.isSleeping }
        try await logind.emit("PrepareForSleep", "b false")
        try await eventually("waking") { try await !service.device().conditions.isSleeping }
        let journal = try await service.cli(["journal", "--since", "all"]).output
        #expect(journal.contains(Decision.deviceSlept.sentence) && journal.contains(Decision.deviceWoke.sentence))
        let doctor = try await service.cli(["doctor"]).output
        #expect(doctor.contains("without UPower"), "\(doctor)")
    }

    @Test func `T3: A transfer waits for the conditions in get's arguments`() async throws {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        origin.serve("/file", Resource(content: content))
        try await service.start()
        try await service.device(set: ["expensive": "yes"])
        let to = service.scratch.path("to")
        try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: false)
        let said = try await service.cli(["get", "--detach", "--no-expensive", "-d", to, origin.url("/file")])
        let id = try #require(Int64(said.output.trimmingCharacters(in: .whitespacesAndNewlines)).map { TaskID($0) })
        // The loopback network is never expensive.
        #expect(try await service.waitForEnd(id).state == .completed)
        let power = try await service.cli(
            ["get", "--detach", "--external-power", "--minimum-battery", "50", "-d", to, origin.url("/file")])
        let second = try #require(
            Int64(power.output.trimmingCharacters(in: .whitespacesAndNewlines)).map { TaskID($0) })
        #expect(try await service.waitForEnd(second).state == .completed, "it is plugged in")
        try await service.device(set: ["power": "battery", "battery": "20"])
        let third = try await service.cli(
            ["get", "--detach", "--minimum-battery", "50", "-d", to, origin.url("/file")])
        let waiting = try #require(
            Int64(third.output.trimmingCharacters(in: .whitespacesAndNewlines)).map { TaskID($0) })
        try await service.wait(waiting, for: "battery") { $0.wait?.reason == .battery }
        let why = try await service.cli(["why", "\(waiting)"]).output
        #expect(why.contains("20 %") && why.contains("50 %"), "\(why)")
        #expect(try await service.cli(["device", "unset", "--all"]).exit == .code(0))
        #expect(try await service.waitForEnd(waiting).state == .completed)
    }
}
