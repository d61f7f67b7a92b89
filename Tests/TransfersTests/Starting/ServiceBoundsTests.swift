import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Tests of the limits of the service, and of its life cycle.
@Suite struct ServiceBoundsTests {
    private static func moment(_ change: (inout DeviceConditions) -> Void) -> DeviceState {
        var conditions = DeviceConditions()
        change(&conditions)
        return DeviceState(conditions: conditions)
    }

    private static let local: TaskRecord = {
        var record = TaskMachineTests.record()
        record.origin = "http://127.0.0.1:80"
        return record
    }()

    @Test func `The service can reach only this machine while it has no network`() {
        let bounds = ServiceBounds(Self.moment { $0.network.isAvailable = false })
        #expect(bounds.hold(TaskMachineTests.record()) == .network)
        #expect(bounds.hold(Self.local) == nil)
    }

    @Test func `A captive portal blocks every network except this machine's own`() {
        let bounds = ServiceBounds(Self.moment { $0.network.connectivity = .portal })
        #expect(bounds.isBehindPortal(TaskMachineTests.record()))
        #expect(!bounds.isBehindPortal(Self.local))
        #expect(!ServiceBounds(DeviceState()).isBehindPortal(TaskMachineTests.record()))
    }

    @Test func `The service asks only a few reachable servers at a time to delete uploads`() {
        var bounds = ServiceBounds(Self.moment { $0.network.isAvailable = false })
        let record = TaskMachineTests.record()
        var begun = bounds.beginCancellation(of: record)
        #expect(!begun)
        bounds.moment = Self.moment { $0.network.isAvailable = true }
        for _ in 0..<CancellationRequests.limit {
            begun = bounds.beginCancellation(of: record)
            #expect(begun)
        }
        begun = bounds.beginCancellation(of: record)
        #expect(!begun)
        bounds.endCancellation()
        begun = bounds.beginCancellation(of: Self.local)
        #expect(begun)
    }

    @Test func `A service that is stopped during its recovery does not start running`() {
        let now = TaskMachineTests.start
        var life = ServiceLife(startedAt: now)
        #expect(!life.isRunning && !life.isStopping && life.startedAt == now)
        life.begin()
        #expect(life.isRunning && !life.isStopping)
        life = ServiceLife(startedAt: now)
        let isFirst = life.stop()
        life.begin()
        let isSecond = life.stop()
        #expect(isFirst && !isSecond && life.isStopping)
    }
}
