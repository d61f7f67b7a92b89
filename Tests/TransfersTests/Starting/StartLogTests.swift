import Clock
import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Transfers

/// Tests that the next process finds exactly the tasks that were running.
@Suite struct StartLogTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path("starts") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var underWay: [TaskID] { StartLog(path: path, bootID: "boot-1").legacy.underWay.map(\.task) }

    @Test func `The next run finds the tasks that were running, the most recent first`() {
        let log = StartLog(path: path, bootID: "boot-1")
        #expect(log.legacy == .init())
        for number in 1...5 { log.begin(TaskID(Int64(number)), at: 10, faults: 0) }
        log.end(TaskID(2))
        log.begin(TaskID(6), at: 10, faults: 0)
        // The task changes during the run.
        log.begin(TaskID(1), at: 10, faults: 0)
        #expect(underWay == [1, 6, 5, 4, 3].map { TaskID($0) })
        // This process has taken over the log file.
        #expect(underWay == [])
    }

    @Test func `Each run finds the same crash in the log until one of the runs takes over the log`() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7), at: 10, faults: 0)
        log.noteFault(SIGTRAP, at: 10)
        let legacy = StartLog.Legacy(fault: SIGTRAP, underWay: [.init(TaskID(7))])
        // The process was killed before it had taken over the log.
        #expect(StartLog(path: path, bootID: "boot-1").legacy == legacy)
        let next = StartLog(path: path, bootID: "boot-1")
        #expect(next.legacy == legacy)
        next.takeOver()
        next.begin(TaskID(8), at: 20, faults: 0)
        next.takeOver()
        #expect(underWay == [TaskID(8)])
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init())
    }

    @Test func `A crash during start-up does not count against the tasks of the previous, killed run`() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7), at: 10, faults: 0)
        let next = StartLog(path: path, bootID: "boot-1")
        next.noteFault(SIGSEGV, at: 11)
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init(fault: SIGSEGV))
    }

    @Test func `A crash log contains the running time and earlier crashes of each task`() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7), at: 10, faults: 3)
        log.begin(TaskID(8), at: 12.5, faults: 0)
        // A change does not count as a new start.
        log.begin(TaskID(7), at: 20, faults: 3)
        log.noteFault(SIGILL, at: 30)
        let underWay: [StartLog.Attempt] = [
            .init(TaskID(7), seconds: 20, faults: 3), .init(TaskID(8), seconds: 17.5),
        ]
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init(fault: SIGILL, underWay: underWay))
    }

    @Test func `An overwritten log reports each task at most once, and ignores invalid task numbers`() throws {
        let log = StartLog(path: path, bootID: "boot-1")
        for number in 1...2 { log.begin(TaskID(Int64(number)), at: 10, faults: 0) }
        log.noteFault(SIGILL, at: 30)
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let entries = [1, 5, Int64.max, .max, 1, 6, .min, .max] as [Int64]
        try file.seek(toOffset: 128)
        try file.write(contentsOf: entries.withUnsafeBytes { Data($0) })
        try file.close()
        let legacy = StartLog(path: path, bootID: "boot-1").legacy
        #expect(legacy.underWay.map(\.task) == [TaskID(1)])
        let (_, findings) = StartTrials.examine(legacy, known: [:])
        #expect(findings.counted.keys.sorted() == [TaskID(1)])
    }

    @Test func `A crash of an earlier boot does not count against any task`() {
        let log = StartLog(path: path, bootID: "boot-1")
        log.begin(TaskID(7), at: 10, faults: 0)
        log.noteFault(SIGSEGV, at: 10)
        #expect(StartLog(path: path, bootID: "boot-2").legacy == .init())
    }

    @Test(arguments: [0, 3, 129, 20_000]) func `A log in an unknown format reports no crash`(count: Int) throws {
        try directory.write([UInt8](repeating: 0xA5, count: count), to: "starts")
        #expect(StartLog(path: path, bootID: "boot-1").legacy == .init())
    }

    @Test func `The service works without a log if the log cannot be created`() {
        let log = StartLog(path: directory.path("missing/starts"), bootID: "boot-1")
        log.begin(TaskID(1), at: 10, faults: 0)
        log.noteFault(SIGILL, at: 10)
        log.takeOver()
        log.end(TaskID(1))
        log.close()
        #expect(log.legacy == .init())
    }

    @Test func `Entries beyond the capacity do not overwrite older ones`() {
        let log = StartLog(path: path, bootID: "boot-1")
        for number in 1...3_000 { log.begin(TaskID(Int64(number)), at: 10, faults: 0) }
        for number in 1...3_000 where number != 7 { log.end(TaskID(Int64(number))) }
        log.begin(TaskID(5_000), at: 10, faults: 0)
        #expect(underWay == [TaskID(5_000), TaskID(7)])
    }

    /// A test with real crashes, in separate processes.
    @Test func `A trap is recorded and still ends the process`() async throws {
        let file = "/tmp/nightshift-start-log-\(getpid())"
        defer { unlink(file) }
        await #expect(processExitsWith: .failure) {
            let log = StartLog(path: "/tmp/nightshift-start-log-\(getppid())", bootID: "boot-1")
            log.begin(TaskID(3), at: SystemClock().now().bootSeconds, faults: 0)
            log.catchFaults()
            let number: Int? = CommandLine.arguments.isEmpty ? 1 : nil
            print(number!)  // The value is nil, so this traps.
        }
        let legacy = StartLog(path: file, bootID: "boot-1").legacy
        #expect(legacy.fault != nil && legacy.underWay.map(\.task) == [TaskID(3)], "\(legacy)")
        // The handler uses the same clock as attempts. Without a time, or with another clock, the result would be zero
        // or days.
        #expect(legacy.underWay.allSatisfy { (0..<3_600).contains($0.seconds) && $0.seconds > 0 }, "\(legacy)")
    }
}
