import CNightshift
import Dispatch
import Executors
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The file systems other than the service's own. Each has separate threads, so that a file system that does not
/// respond does not block the others.
///
/// The service's own file system contains the state directory. The service cannot work without it, so calls to it are
/// made directly. Every call to another file system goes through ``run(_:_:_:_:late:)`` or ``post(_:_:_:_:)``, or is
/// made on the transport's thread for that file system.
package final class FileSystems: Sendable {
    /// The queues of one file system. Work on one file always goes to the same queue, which preserves its order.
    package enum Work: Hashable, CaseIterable, Sendable {
        /// The queue that opens, truncates, closes and removes partial files.
        case files
        case sync
        /// The queue that moves finished files to their final names.
        case finish
        case hash
        /// The queue that inspects and copies files to upload.
        case source
        /// The queue of short lookups; see ``answer(_:_:)``.
        case look
    }

    private struct State: Sendable {
        var watch = HangWatch()
        var queues: [FileSystemKey: [Work: WorkQueue]] = [:]
        var waiting: [Int: @Sendable () -> Void] = [:]
        var lastWaiter = 0
        /// Whether the service is stopping, and so no longer waits for calls.
        var hasGivenUp = false
    }

    private struct Mounts: Sendable {
        var table: MountTable?
        /// A descriptor that becomes readable when the mounts change.
        var descriptor: Int32 = -1
        var own: String?
        /// The devices of the service's own file system and of the file systems on the path to it. The service cannot
        /// work without these.
        var trusted: Set<String> = []
        /// Recent results by path. They are cached because many files go to the same directory.
        var known: [String: FileSystemKey?] = [:]
        /// The time at which ``known`` was last cleared, in boot seconds.
        var knownSince = 0.0
    }

    private let state = Mutex(State())
    private let mounts = Mutex(Mounts())
    private let home: String
    private let mountInfo: String
    private let now: @Sendable () -> Double
    /// A callback for two events: a call begins while no other call could become overdue, and a silent file system
    /// responds again.
    private let changed: @Sendable (Change) -> Void

    package static func bootSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    package enum Change: Sendable {
        case callBegan
        case answersAgain
    }

    /// The maximum number of file systems that have separate threads at the same time. Further file systems share these
    /// threads.
    static let maximumPlaces = 16

    /// Creates the file systems of a service.
    ///
    /// - Parameters:
    ///   - home: a directory on the service's own file system. It does not have to exist yet.
    ///   - mountInfo: a file in the format of proc_pid_mountinfo(5).
    ///   - now: returns the boot seconds.
    package init(
        home: String, mountInfo: String = "/proc/self/mountinfo", now: @escaping @Sendable () -> Double = bootSeconds,
        changed: @escaping @Sendable (Change) -> Void = { _ in }
    ) {
        self.home = home
        self.mountInfo = mountInfo
        self.now = now
        self.changed = changed
    }

    deinit {
        mounts.withLock { if $0.descriptor >= 0 { close($0.descriptor) } }
    }

    // MARK: - Lookup

    /// Returns the file system of an absolute path; nil for the service's own file system. Never blocks.
    ///
    /// A change of the mounts takes effect at once. A change of a symbolic link takes effect after at most ``knownFor``
    /// seconds.
    package func place(of path: String) -> FileSystemKey? {
        let time = now()
        return mounts.withLock { mounts in
            let isChanged = refresh(&mounts)
            if isChanged || mounts.known.count >= Self.mostKnown || time - mounts.knownSince >= Self.knownFor {
                mounts.known = [:]
                mounts.knownSince = time
            }
            if let known = mounts.known[path] { return known }
            let place = find(path, &mounts)
            mounts.known[path] = .some(place)
            return place
        }
    }

    /// The number of seconds for which a result is cached.
    static let knownFor = 0.5
    private static let mostKnown = 64

    private func find(_ path: String, _ mounts: inout Mounts) -> FileSystemKey? {
        guard let table = mounts.table else { return nil }
        let own = mounts.own ?? findOwn(table, &mounts)
        let device = table.device(following: path, isTrusted: mounts.trusted.contains, readLink: Self.readLink)
        guard let device, device != own else { return nil }
        return FileSystemKey(device: device)
    }

    /// Returns the file system of a path; nil for a file system that the service cannot work without. These are the
    /// service's own, and the ones on the path to it.
    private func untrustedPlace(of path: String) -> FileSystemKey? {
        guard let place = place(of: path) else { return nil }
        return mounts.withLock { $0.trusted.contains(place.device) } ? nil : place
    }

    /// Finds the service's own file system and the file systems on the path to it.
    private func findOwn(_ table: MountTable, _ mounts: inout Mounts) -> String? {
        var passed: Set<String> = []
        let own = table.device(
            following: home,
            isTrusted: {
                passed.insert($0)
                return true
            }, readLink: Self.readLink)
        mounts.own = own
        mounts.trusted = own.map { passed.union([$0]) } ?? passed
        return own
    }

    /// Reads the mounts if they have changed.
    ///
    /// - Returns: whether the mounts were read.
    private func refresh(_ mounts: inout Mounts) -> Bool {
        if mounts.descriptor < 0 {
            mounts.descriptor = open(mountInfo, O_RDONLY | O_CLOEXEC)
            guard mounts.descriptor >= 0 else { return false }
        } else {
            var poll = pollfd(fd: mounts.descriptor, events: Int16(POLLPRI), revents: 0)
            guard Glibc.poll(&poll, 1, 0) != 0 || mounts.table == nil else { return false }
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        lseek(mounts.descriptor, 0, SEEK_SET)
        while true {
            let count = read(mounts.descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        mounts.table = MountTable(parsing: String(decoding: bytes, as: UTF8.self))
        return true
    }

    private static func readLink(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            return count > 0
                ? String(
                    decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]), as: UTF8.self)
                : nil
        }
    }

    // MARK: - Calls

    /// Runs `body` on a thread of the file system, after all earlier work of the same queue.
    ///
    /// - Parameters:
    ///   - path: the path that `body` works on. It is shown to people.
    ///   - late: a closure that receives the result of `body` if it arrives after the service has given up waiting.
    /// - Returns: nil if the service stops before `body` returns.
    package func run<Value: Sendable>(
        _ place: FileSystemKey, _ work: Work, _ path: String, _ body: @escaping @Sendable () -> Value,
        late: @escaping @Sendable (Value) -> Void = { _ in }
    ) async -> Value? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let number = state.withLock { state -> Int? in
                guard !state.hasGivenUp else { return nil }
                state.lastWaiter += 1
                state.waiting[state.lastWaiter] = { continuation.resume(returning: nil) }
                return state.lastWaiter
            }
            guard let number else { return continuation.resume(returning: nil) }
            post(place, work, path) { [self] in
                let value = body()
                let isAwaited = state.withLock { $0.waiting.removeValue(forKey: number) != nil }
                if isAwaited { continuation.resume(returning: value) } else { late(value) }
            }
        }
    }

    /// Schedules `body` on a thread of the file system, and returns at once.
    package func post(
        _ place: FileSystemKey, _ work: Work, _ path: String, _ body: @escaping @Sendable () -> Void
    ) {
        queue(place, work).add { [self] in
            let call = begin(place, path)
            body()
            end(call)
        }
    }

    /// Runs a short lookup of a path, and waits briefly for its result.
    ///
    /// A lookup on a file system that the service cannot work without runs on the caller's thread.
    ///
    /// - Returns: nil if the file system does not respond within ``timeout``, or if another call to it has already
    ///   taken that long.
    package func answer<Value: Sendable>(_ path: String, _ body: @escaping @Sendable () -> Value) -> Value? {
        guard let place = untrustedPlace(of: path) else { return body() }
        let time = now()
        let oldest = state.withLock { $0.watch.oldest(of: place) }
        if let oldest, time - oldest >= Self.timeout { return nil }
        let answer = Answer<Value>()
        post(place, .look, path) { answer.give(body()) }
        return answer.take(within: Self.timeout)
    }

    /// The timeout of a short lookup, in seconds.
    package static let timeout: Double = 1

    /// Records the start of a call that runs on another thread.
    package func begin(_ place: FileSystemKey, _ path: String) -> HangWatch.Call {
        let time = now()
        let (call, isFirst) = state.withLock { state in
            let isFirst = state.watch.nextDeadline(now: time) == nil
            return (state.watch.begin(place, path, now: time), isFirst)
        }
        if isFirst { changed(.callBegan) }
        return call
    }

    package func end(_ call: HangWatch.Call) {
        let time = now()
        if state.withLock({ $0.watch.end(call, now: time) }) { changed(.answersAgain) }
    }

    /// Resumes all callers that wait for a call, because the service is stopping.
    package func giveUp() {
        let waiting = state.withLock { state in
            state.hasGivenUp = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for resume in waiting.values { resume() }
    }

    private func queue(_ place: FileSystemKey, _ work: Work) -> WorkQueue {
        state.withLock { state in
            if state.queues[place] == nil, state.queues.count >= Self.maximumPlaces {
                // File systems that are repeatedly mounted and unmounted leave unused queues.
                for (place, queues) in state.queues where queues.values.allSatisfy(\.isIdle) {
                    state.queues[place] = nil
                }
            }
            let owner =
                state.queues[place] != nil || state.queues.count < Self.maximumPlaces
                ? place : state.queues.keys.min { $0.device < $1.device } ?? place
            let queue = state.queues[owner]?[work] ?? WorkQueue()
            state.queues[owner, default: [:]][work] = queue
            return queue
        }
    }

    // MARK: - Silence

    package func look() -> [FileSystemKey] {
        let time = now()
        return state.withLock { $0.watch.look(now: time) }
    }

    package var nextDeadline: Double? {
        let time = now()
        return state.withLock { $0.watch.nextDeadline(now: time) }
    }

    package func silence(of place: FileSystemKey?) -> HangWatch.Silence? {
        guard let place else { return nil }
        let time = now()
        return state.withLock { $0.watch.silence(of: place, now: time) }
    }

    package var silences: [FileSystemKey: HangWatch.Silence] {
        let time = now()
        return state.withLock { $0.watch.silences(now: time) }
    }
}

/// A result that may arrive after the caller has stopped waiting for it.
private final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ new: Value) {
        value.withLock { $0 = new }
        isGiven.signal()
    }

    func take(within seconds: Double) -> Value? {
        _ = isGiven.wait(timeout: .now() + seconds)
        return value.withLock { $0 }
    }
}
