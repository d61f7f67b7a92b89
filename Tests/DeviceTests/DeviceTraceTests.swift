import Device
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of a trace that replaces the device.
@Suite(.timeLimit(.minutes(20))) struct DeviceTraceTests {
    @Test func `The monitor plays a trace in real time`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(
            """
            {"at": 0, "device": {"power": "battery", "battery": "50"}}

            {"at": 0.2, "device": {"idle": "yes"}}
            {"at": 0.2, "device": {"battery": "49.5"}}
            {"at": 0.3, "bytesPerSecond": 1000}
            {"at": 0.4, "device": {"battery": "none"}}
            """, to: "trace.jsonl")
        let device = try WatchedMonitor(.trace(path: path), overrides: [.lowPower: "yes"])
        let begin = ContinuousClock.now
        try await device.wait(.power, is: "battery", from: .trace)
        try await device.wait(.idle, is: "yes", from: .trace)
        #expect(ContinuousClock.now - begin > .milliseconds(150))
        #expect(device[.lowPower] == "yes" && device.source(.lowPower) == .override)
        try await device.wait(.battery, is: "none", from: .trace)
        #expect(ContinuousClock.now - begin > .milliseconds(350))
        #expect(device.source(.network) == .assumed && device.source(.freeBytes) == .assumed)
        #expect(device.monitor.report.providers == [DeviceProvider(name: .trace, isPresent: true)])
        #expect(device.monitor.report.isSettled)
    }

    @Test func `The monitor assumes values before the first line of a trace`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(#"{"at": 3600, "device": {"power": "battery"}}"#, to: "trace.jsonl")
        let device = try WatchedMonitor(.trace(path: path))
        #expect(device.source(.power) == .assumed)
        try await device.waitUntilSettled()
        #expect(device.source(.power) == .assumed)
    }

    @Test(arguments: [
        (#"{"at": 1, "device": {"idle": "yes"}}"# + "\n" + #"{"at": 0.5, "device": {"idle": "no"}}"#, "line 2: "),
        ("\n\nnot JSON", "line 3: "),
        (#"{"at": 0, "device": {"power": "steam"}}"#, "line 1: power must be external or battery, not 'steam'"),
    ])
    func `The error about an unreadable trace line names the path and the reason`(_ text: String, _ reason: String)
        throws
    {
        let directory = try TemporaryDirectory()
        let path = try directory.write(text, to: "trace.jsonl")
        let error = #expect(throws: UnreadableTrace.self) {
            _ = try DeviceMonitor(.trace(path: path), freeSpaceOf: "/", overrides: [:])
        }
        #expect(error?.description.hasPrefix("\(path): \(reason)") == true, "\(error?.description ?? "nothing")")
    }

    @Test func `A missing trace file is named in the error`() {
        let error = #expect(throws: UnreadableTrace.self) {
            _ = try DeviceMonitor(.trace(path: "/nowhere/at/all"), freeSpaceOf: "/", overrides: [:])
        }
        #expect(error?.path == "/nowhere/at/all")
    }
}
