import Device
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the bus (missing, late, lost and restored) and of the inhibitor lock.
@Suite(.timeLimit(.minutes(20))) struct BusTests {
    @Test func `Without a bus the monitor assumes values and reports the missing bus`() async throws {
        let bus = try PrivateBus()
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        let detail = try #require(device.provider(.upower)?.detail)
        #expect(detail.contains("system bus at \(bus.address)"))
        #expect(detail.contains("No such file or directory"))
        #expect(device.source(.power) == .assumed)
        #expect(device.source(.network) == .kernel)
    }

    @Test func `The monitor finds a bus that starts later`() async throws {
        let bus = try PrivateBus()
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        try await bus.start()
        try await device.wait(.upower, isPresent: false, detail: "not running")
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        try await device.wait(.power, is: "battery", from: .upower)
        withExtendedLifetime(upower) {}
    }

    @Test func `The monitor finds a bus in a directory that is created later`() async throws {
        let directory = try TemporaryDirectory()
        let bus = try await PrivateBus.started()
        let device = try WatchedMonitor(.system(address: "unix:path=\(directory.path)/run/dbus/a%20bus"))
        try await device.waitUntilSettled()
        try FileManager.default.createDirectory(
            atPath: directory.path("run/dbus"), withIntermediateDirectories: true)
        let socket = bus.address.dropFirst("unix:path=".count)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("run/dbus/a bus"), withDestinationPath: String(socket))
        try await device.wait(.upower, isPresent: false, detail: "not running")
    }

    @Test func `The monitor uses a lost bus again when the bus returns`() async throws {
        let bus = try await PrivateBus.started()
        let device = try WatchedMonitor(on: bus)
        for _ in 1...3 {
            let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
            try await device.wait(.power, is: "battery", from: .upower)
            bus.stop()
            try await device.wait(.upower, isPresent: false, detail: "cannot connect to the system bus")
            // The last values stay valid for a while.
            try await device.wait(.power, is: "external", from: .assumed)
            try await bus.start()
            withExtendedLifetime(upower) {}
        }
    }

    /// The socket of this bus accepts connections, but never answers.
    @Test func `A bus that does not answer does not delay the report`() async throws {
        let bus = try await PrivateBus.started()
        bus.freeze(true)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        #expect(device.source(.power) == .assumed)
        #expect(device.provider(.upower)?.detail == "the bus has not answered")
        bus.freeze(false)
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        try await device.wait(.power, is: "battery", from: .upower)
        withExtendedLifetime(upower) {}
    }

    @Test func `The monitor holds the inhibitor lock exactly as long as requested`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus)
        let device = try WatchedMonitor(on: bus)
        #expect(try await logind.inhibitors().isEmpty)
        device.monitor.holdAwake("music is made")
        try await eventually("the lock") {
            try await logind.inhibitors() == [#""sleep:idle" "Nightshift" "music is made" "block""#]
        }
        device.monitor.holdAwake("a book is read")
        try await eventually("the other lock alone") {
            try await logind.inhibitors() == [#""sleep:idle" "Nightshift" "a book is read" "block""#]
        }
        device.monitor.holdAwake(nil)
        try await eventually("its end") { try await logind.inhibitors().isEmpty }
    }

    @Test func `The monitor releases the inhibitor lock when it ends`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus)
        let device = try WatchedMonitor(on: bus)
        device.monitor.holdAwake("a test")
        try await eventually("the lock") { try await logind.inhibitors().count == 1 }
        device.monitor.shutdown()
        try await eventually("its end") { try await logind.inhibitors().isEmpty }
    }

    @Test func `The monitor takes the inhibitor lock again when logind returns`() async throws {
        let bus = try await PrivateBus.started()
        let device = try WatchedMonitor(on: bus)
        device.monitor.holdAwake("a test")
        try await device.waitUntilSettled()
        #expect(device.provider(.logind)?.detail == "not running")
        for _ in 1...2 {
            let logind = try await MockService(.logind, on: bus)
            try await eventually("the lock") { try await logind.inhibitors().count == 1 }
            logind.stop()
            try await device.wait(.logind, isPresent: false)
        }
        bus.stop()
        try await device.wait(.logind, isPresent: false, detail: "cannot connect to the system bus")
        try await bus.start()
        let logind = try await MockService(.logind, on: bus)
        try await eventually("the lock") { try await logind.inhibitors().count == 1 }
    }

    @Test func `The monitor reports a refused inhibitor lock, which does not affect device values`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.bareLogind, on: bus)
        try await logind.add(["IdleHint": "b false", "PreparingForSleep": "b false"])
        let device = try WatchedMonitor(on: bus)
        device.monitor.holdAwake("a test")
        try await device.wait(
            .logind, isPresent: true,
            detail: "sleep cannot be prevented (the answer was the error org.freedesktop.DBus.Error")
        #expect(device[.idle] == "no" && device.source(.idle) == .logind)
        device.monitor.holdAwake(nil)
        try await device.wait(for: "a logind without reproach") { report in
            report.providers.contains(DeviceProvider(name: .logind, isPresent: true, detail: nil))
        }
    }

    @Test func `Overrides take effect at once`() async throws {
        let bus = try await PrivateBus.started()
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        let device = try WatchedMonitor(on: bus, overrides: [.power: "external", .battery: "a lot"])
        #expect(device[.power] == "external" && device.source(.power) == .override)
        try await device.waitUntilSettled()
        #expect(device[.power] == "external" && device.source(.power) == .override)
        #expect(device[.battery] == "none" && device.source(.battery) == .upower, "no value of its key")
        device.monitor.setOverrides([.idle: "yes"])
        #expect(device[.power] == "battery" && device.source(.power) == .upower)
        #expect(device[.idle] == "yes" && device.source(.idle) == .override)
        try await device.wait(.idle, is: "yes", from: .override)
        withExtendedLifetime(upower) {}
    }

    @Test func `The monitor announces only changes of the report`() async throws {
        let bus = try await PrivateBus.started()
        let upower = try await MockService(.upower, on: bus)
        let profiles = try await MockService(.powerProfiles, on: bus)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        // The monitor announces changes one after the other, so a change from the start cannot follow that of the
        // override.
        device.monitor.setOverrides([.constrained: "yes"])
        try await device.wait(.constrained, is: "yes", from: .override)
        let before = device.announcements.read { $0 }
        try await upower.set(["OnBattery": "b false"])
        try await upower.set(["LidIsClosed": "b true"])
        device.monitor.setOverrides([.constrained: "yes"])
        try await profiles.set(["ActiveProfile": "s power-saver"])
        try await device.wait(.lowPower, is: "yes", from: .powerProfiles)
        try await device.announcements.wait(for: "one announcement") { $0 > before }
        #expect(device.announcements.read { $0 } == before + 1)
    }

    @Test func `The stream of changes ends with the monitor`() async throws {
        let bus = try await PrivateBus.started()
        let monitor = try DeviceMonitor(.system(address: bus.address), freeSpaceOf: "/", overrides: [:])
        monitor.start()
        monitor.shutdown()
        for await _ in monitor.changes {}
        #expect(monitor.report.conditions.power == .external)
    }

    @Test func `The monitor's threads do not wake up while nothing happens`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus)
        let upower = try await MockService(.upower, on: bus)
        await #expect(processExitsWith: .success) { [address = bus.address as String] in
            let others = Set(ThreadActivity.read().keys)
            let monitor = try DeviceMonitor(.system(address: address), freeSpaceOf: "/", overrides: [:])
            let absent = try DeviceMonitor(
                .system(address: "unix:path=/nowhere/at/all"), freeSpaceOf: "/", overrides: [:])
            monitor.start()
            absent.start()
            monitor.holdAwake("a test")
            try blockUntil("everybody's answer") { monitor.report.isSettled && absent.report.isSettled }
            // The answer about the inhibitor lock comes last.
            try ThreadActivity.blockUntilAsleep(for: .seconds(1), besides: others)
            let before = ThreadActivity.read(besides: others)
            blockThread(for: .seconds(2), because: "That nobody wakes is seen only over time.")
            let after = ThreadActivity.read(besides: others)
            #expect(monitor.report.isSettled && monitor.report.conditions.power == .external)
            #expect(before.count >= 2, "One thread listens for each monitor.")
            #expect(before == after)
            withExtendedLifetime((monitor, absent)) {}
        }
        withExtendedLifetime((logind, upower)) {}
    }
}

extension MockService {
    /// The locks in logind's mock: `what`, `who`, `why` and `mode` of each.
    func inhibitors() async throws -> [String] {
        // a(ssssuu) 1 "sleep:idle" "Nightshift" "why" "block" 1000 123456
        let printed = try await call("org.freedesktop.login1.Manager", "ListInhibitors")
        let words = printed.split(separator: " ", maxSplits: 2).dropFirst(2).joined()
        return words.split(separator: " 1000 123456").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
    }
}
