import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Transfers

/// The next process finds the tasks that were under way, and only those.
@Suite struct StartLogTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path("starts") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func theNextOneFindsWhatWasUnderWayLastFirst() {
        let log = StartLog(path: path, bootID: "boot-1")
        #expect(log.legacy == .init())
        for number in 1...5 { log.begin(TaskID(Int64(number))) }
        log.end(TaskID(2))
        log.begin(TaskID(6))
        // Changed while it is under way.
        log.begin(TaskID(1))
        #expect(
            StartLog(path: path, bootID: "boot-1").legacy == .init(underWay: [1, 6, 5, 4, 3].map { TaskID($0) }))
        // Which has taken the file over.
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init())
    }

    @Test func aFaultIsFoundOnce() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7))
        log.noteFault(SIGTRAP)
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init(fault: SIGTRAP, underWay: [TaskID(7)]))
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init())
    }

    @Test func anotherBootHoldsNothingAgainstAnybody() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7))
        log.noteFault(SIGSEGV)
        #expect(StartLog(path: path, bootID: "boot-2").legacy == .init())
    }

    @Test(arguments: [0, 3, 129, 20_000]) func whatIsNoneOfItsFilesSaysNothing(count: Int) throws {
        try directory.write([UInt8](repeating: 0xA5, count: count), to: "starts")
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init())
    }

    @Test func withoutAFileItDoesNoHarm() {
        let log = StartLog(path: directory.path("missing/starts"), bootID: "boot-1")
        log.begin(TaskID(1))
        log.noteFault(SIGILL)
        log.end(TaskID(1))
        log.close()
        #expect(log.legacy == .init())
    }

    @Test func moreThanItHasRoomForAreNotWrittenOver() {
        let log = StartLog(path: path, bootID: "boot-1")
        for number in 1...3_000 { log.begin(TaskID(Int64(number))) }
        for number in 1...3_000 where number != 7 { log.end(TaskID(Int64(number))) }
        log.begin(TaskID(5_000))
        #expect(StartLog(path: path, bootID: "boot-1").legacy.underWay == [TaskID(5_000), TaskID(7)])
    }

    /// Real faults, in processes of their own.
    @Test func aTrapIsNotedAndTheProcessEndsOfIt() async throws {
        let file = "/tmp/nightshift-start-log-\(getpid())"
        defer { unlink(file) }
        await #expect(processExitsWith: .failure) {
            let log = StartLog(path: "/tmp/nightshift-start-log-\(getppid())", bootID: "boot-1")
            log.begin(TaskID(3))
            log.catchFaults()
            let number: Int? = CommandLine.arguments.isEmpty ? 1 : nil
            print(number!)  // nil, which traps
        }
        let legacy = StartLog(path: file, bootID: "boot-1").legacy
        #expect(legacy.fault != nil && legacy.underWay == [TaskID(3)], "\(legacy)")
    }
}
