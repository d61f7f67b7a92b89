import Foundation
import Glibc
import TestSupport
import Testing

@testable import Device

/// Tests of the thread that the device's loops run on.
@Suite struct PollThreadTests {
    private typealias Recorded = PollThread<String, String>

    private let log = Watched<[String]>([])

    /// Returns a thread whose loop records its calls.
    private func makeThread(
        buffering: AsyncStream<String>.Continuation.BufferingPolicy = .unbounded, reading descriptor: Int32? = nil,
        timeout: Double? = nil
    ) -> Recorded {
        Recorded("recording", buffering: buffering) { [log] thread in
            RecordingLoop(thread, log, reading: descriptor, timeout: timeout)
        }
    }

    @Test func `The loop begins with the orders that were sent before the start`() async throws {
        let thread = makeThread()
        thread.send("one")
        thread.send("two")
        #expect(!thread.isRunning && log.read(\.isEmpty))
        thread.start()
        defer { thread.stop() }
        #expect(thread.isRunning)
        try await log.wait(for: "the beginning") { $0.last == "begin one two" }
    }

    @Test func `A second start has no effect`() async throws {
        let thread = makeThread()
        thread.start()
        thread.start()
        thread.stop()
        thread.start()
        try await log.wait(for: "the end") { $0.contains("end") }
        #expect(log.read { $0.filter { $0 == "made" } }.count == 1)
    }

    @Test func `A thread that was stopped before its start does not start`() {
        let thread = makeThread()
        thread.stop()
        thread.start()
        #expect(!thread.isRunning && !thread.send("late"))
    }

    @Test func `Orders reach the loop in order, and each of them once`() async throws {
        let thread = makeThread()
        thread.start()
        defer { thread.stop() }
        let orders = (0..<200).map(String.init)
        for order in orders { thread.send(order) }
        try await log.wait(for: "the last order") { $0.last?.hasSuffix(" 199") == true }
        let words = log.read { $0.dropFirst().flatMap { $0.split(separator: " ").map(String.init) } }
        #expect(words.filter { Int($0) != nil } == orders)
    }

    @Test func `A wake-up without an order runs the loop`() async throws {
        let thread = makeThread()
        thread.start()
        defer { thread.stop() }
        try await log.wait(for: "the beginning") { $0.last == "begin" }
        thread.wake()
        try await log.wait(for: "the wake-up") { $0.last == "wake" }
    }

    @Test func `A readable source wakes the thread, and the loop learns which source it is`() async throws {
        let pipe = Pipe()
        let thread = makeThread(reading: pipe.fileHandleForReading.fileDescriptor)
        thread.start()
        defer { thread.stop() }
        try await log.wait(for: "the beginning") { $0.last == "begin" }
        pipe.fileHandleForWriting.write(Data([1]))
        try await log.wait(for: "the source") { $0.last == "wake, readable" }
    }

    @Test func `A deadline wakes the thread, but not before it has passed`() async throws {
        let thread = makeThread(timeout: 0.05)
        thread.start()
        defer { thread.stop() }
        try await log.wait(for: "the deadline") { $0.contains { $0.hasPrefix("wake") } }
        #expect(log.read { $0.contains("wake, due") && !$0.contains("wake") })
    }

    @Test func `The stream delivers the events in order and ends with the thread`() async {
        let thread = makeThread()
        thread.publish("one")
        thread.publish("two")
        thread.stop()
        thread.publish("late")
        var events: [String] = []
        for await event in thread.events { events.append(event) }
        #expect(events == ["one", "two"])
    }

    @Test func `A stream with room for one event keeps the last one`() async {
        let thread = makeThread(buffering: .bufferingNewest(1))
        for event in ["one", "two", "three"] { thread.publish(event) }
        thread.stop()
        var events: [String] = []
        for await event in thread.events { events.append(event) }
        #expect(events == ["three"])
    }

    /// The first order keeps the loop busy until the thread is stopped.
    @Test func `The loop ends with the orders that it has not received yet, and refuses later ones`() async throws {
        let thread = makeThread()
        thread.start()
        thread.send("block")
        try await log.wait(for: "the first order") { $0.last?.hasSuffix("block") == true }
        #expect(thread.send("last"))
        thread.stop()
        #expect(!thread.send("late") && !thread.isRunning)
        log.update { $0.append("continue") }
        try await log.wait(for: "the end") { $0.contains("end last") }
    }

    @Test func `A thread that was stopped ends and releases its loop`() async throws {
        weak var released: Recorded?
        do {
            let thread = makeThread()
            released = thread
            thread.start()
            try await log.wait(for: "the beginning") { $0.last == "begin" }
            thread.stop()
        }
        try await log.wait(for: "the release") { $0.last == "released" }
        try await eventually("the end of the thread") { released == nil }
    }
}

/// A loop that records its calls. It waits for the entry "continue" when it receives the order "block".
private final class RecordingLoop: PollLoop {
    private let thread: PollThread<String, String>
    private let log: Watched<[String]>
    private let descriptor: Int32?
    private(set) var deadline: Double?

    init(
        _ thread: PollThread<String, String>, _ log: Watched<[String]>, reading descriptor: Int32?, timeout: Double?
    ) {
        self.thread = thread
        self.log = log
        self.descriptor = descriptor
        deadline = timeout.map { now + $0 }
        record("made", [])
    }

    deinit {
        record("released", [])
    }

    var sources: [pollfd] { [pollfd(reading: nil), pollfd(reading: descriptor)] }

    func begin(_ orders: [String]) {
        record("begin", orders)
        blockIfOrdered(orders)
    }

    func wake(_ isReady: [Bool], _ orders: [String]) {
        let isReadable = isReady == [false, true]
        if isReadable, let descriptor {
            var byte: UInt8 = 0
            _ = read(descriptor, &byte, 1)
        }
        let isDue = deadline.map { $0 <= now } == true
        if isDue { deadline = nil }
        record("wake" + (isReadable ? ", readable" : "") + (isDue ? ", due" : ""), orders)
        blockIfOrdered(orders)
    }

    private func blockIfOrdered(_ orders: [String]) {
        guard orders.contains("block") else { return }
        _ = log.block(until: .now + .seconds(20)) { $0.contains("continue") }
    }

    func end(_ orders: [String]) {
        record("end", orders)
    }

    private func record(_ call: String, _ orders: [String]) {
        log.update { $0.append(([call] + orders).joined(separator: " ")) }
    }
}
