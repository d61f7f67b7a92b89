import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of `IdleHint`, whose change logind does not announce when a user logs in or out on a terminal.
@Suite(.timeLimit(.minutes(20))) struct LogindIdleTests {
    @Test(arguments: [("SessionNew", true), ("SessionRemoved", false)])
    func `The observer asks logind again when a session begins or ends`(signal: String, isIdle: Bool) async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus, parameters: #"{"IdleHint": \#(isIdle)}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.wait(.idle, is: isIdle ? "yes" : "no", from: .logind)
        try await logind.setUnannounced(["IdleHint": "b \(!isIdle)"])
        try await logind.emit(signal, "s c1", "o /org/freedesktop/login1/session/c1")
        try await device.wait(.idle, is: isIdle ? "no" : "yes", from: .logind)
    }

    @Test(arguments: [true, false])
    func `A refreshed report contains values that changed without an announcement`(isIdle: Bool) async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus, parameters: #"{"IdleHint": \#(isIdle)}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        try await logind.setUnannounced(["IdleHint": "b \(!isIdle)"])
        #expect(device[.idle] == (isIdle ? "yes" : "no"))
        await device.monitor.refresh()
        #expect(device[.idle] == (isIdle ? "no" : "yes") && device.source(.idle) == .logind)
    }

    @Test func `A logind that does not answer a refresh does not make the device idle`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus, parameters: #"{"IdleHint": true}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.wait(.idle, is: "yes", from: .logind)
        logind.freeze(true)
        await device.monitor.refresh()
        #expect(device[.idle] == "no" && device.source(.idle) == .assumed)
        logind.freeze(false)
        try await device.wait(.idle, is: "yes", from: .logind)
    }

    @Test func `A refresh returns without logind, without a bus, before the start and after the end`() async throws {
        let bus = try await PrivateBus.started()
        let alone = try WatchedMonitor(on: bus)
        try await alone.waitUntilSettled()
        await alone.monitor.refresh()
        alone.monitor.shutdown()
        await alone.monitor.refresh()
        let nowhere = try DeviceMonitor(.system(address: "unix:path=/nowhere/at/all"), freeSpaceOf: "/")
        await nowhere.refresh()
        nowhere.start()
        await nowhere.refresh()
        #expect(nowhere.report.conditions.isIdle == false)
        nowhere.shutdown()
    }

    @Test func `A refresh waits for the answer to a request sent after it`() {
        var observer = BusObserver()
        _ = observer.connected(now: 0)
        for service in BusService.allCases {
            _ = observer.handle(.owner(service, service == .logind ? ":1.1" : nil), now: 0)
        }
        let idle = ["IdleHint": BusValue.truth(true)]
        #expect(observer.isRefreshed, "nothing counts that could be old")
        _ = observer.handle(.properties(.logind, number: 1, .success(idle)), now: 0)
        #expect(observer.handle(.sessionsChanged(sender: ":1.9"), now: 1) == [], "an impostor's")
        let asked = observer.handle(.sessionsChanged(sender: ":1.1"), now: 1)
        #expect(asked == [.send(.properties(.logind, number: 2))] && !observer.isRefreshed)
        #expect(observer.refresh(now: 2) == [.send(.properties(.logind, number: 3))])
        _ = observer.handle(.properties(.logind, number: 2, .success(idle)), now: 2)
        #expect(!observer.isRefreshed, "the answer may be from before the question")
        _ = observer.handle(.properties(.logind, number: 3, .success(idle)), now: 3)
        #expect(observer.isRefreshed)
        _ = observer.refresh(now: 10)
        observer.tick(now: 10 + BusObserver.timeout)
        #expect(!observer.isRefreshed, "overdue, and what it said before counts still")
        observer.tick(now: 10 + 2 * BusObserver.timeout)
        #expect(observer.isRefreshed && observer[.logind].properties == nil)
    }
}
