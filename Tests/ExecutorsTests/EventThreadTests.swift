import Executors
import Glibc
import Synchronization
import TestSupport
import Testing

/// Tests of the timers and of sleeping tasks.
@Suite(.timeLimit(.minutes(20))) struct EventThreadTests {
    private let clock = ContinuousClock()

    @Test func `A timer never fires early, and fires once`() async throws {
        let fired = Watched<[(Int, Duration)]>([])
        let delays = (0..<200).map { _ in Int.random(in: 0...100) }
        let start = clock.now
        for (number, delay) in delays.enumerated() {
            EventThread.shared.add(after: .milliseconds(delay)) {
                let time = ContinuousClock.now - start
                fired.update { $0.append((number, time)) }
            }
        }
        try await fired.wait(for: "all timers") { $0.count >= delays.count }
        let all = fired.read { $0 }
        #expect(all.map(\.0).sorted() == Array(delays.indices))
        for (number, time) in all { #expect(time >= .milliseconds(delays[number])) }
    }

    @Test func `A cancelled timer does not fire, and later ones do`() async throws {
        let fired = Watched<[Int]>([])
        let first = EventThread.shared.add(after: .milliseconds(200)) { fired.update { $0.append(1) } }
        let second = EventThread.shared.add(after: .seconds(3_600)) { fired.update { $0.append(2) } }
        EventThread.shared.add(after: .milliseconds(201)) { fired.update { $0.append(3) } }
        EventThread.shared.cancel(first)
        EventThread.shared.cancel(second)
        try await fired.wait(for: "the third timer") { !$0.isEmpty }
        #expect(fired.read { $0 } == [3])
    }

    @Test func `A task sleeps for its time`() async throws {
        let start = clock.now
        try await EventThread.shared.wait(for: .milliseconds(30))
        #expect(clock.now - start >= .milliseconds(30))
        try await EventThread.shared.wait(for: .zero)
        try await EventThread.shared.wait(for: .seconds(-1))
    }

    @Test(arguments: [false, true]) func `A cancellation ends a sleep`(isEarly: Bool) async throws {
        let task = Task {
            if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
            try await EventThread.shared.wait(for: .seconds(3_600))
        }
        if !isEarly { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `Sleeps that are cancelled while they begin and end lose no task`() async {
        let ended = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<2_000 {
                group.addTask {
                    let task = Task { try await EventThread.shared.wait(for: .microseconds(Int.random(in: 0...300))) }
                    if Bool.random() { task.cancel() }
                    return (try? await task.value) == nil || true
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(ended == 2_000)
    }

    @Test func `A descriptor is watched until its handler returns false, and is then closed`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let count = Watched(0)
        let isWatched = EventThread.shared.watch(reader) {
            var byte: UInt8 = 0
            _ = read(reader, &byte, 1)
            return count.update {
                $0 += 1
                return $0 < 2
            }
        }
        #expect(isWatched)
        for expected in 1...2 {
            #expect(write(writer, "x", 1) == 1)
            try await count.wait(for: "event \(expected)") { $0 == expected }
        }
        try await eventually("the end of the descriptor") {
            var polled = pollfd(fd: writer, events: 0, revents: 0)
            return poll(&polled, 1, 0) == 1 && Int32(polled.revents) & POLLERR != 0
        }
        close(writer)
    }

    @Test func `A descriptor that cannot be watched is refused`() {
        // A regular file is always readable, so epoll(7) refuses it.
        let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        #expect(file >= 0)
        #expect(!EventThread.shared.watch(file) { true })
    }
}
