import CNightshift
import Dispatch
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The file systems other than the service's own, each with threads of its own, so that one that does not answer stops nobody else.
///
/// The file system of the state directory is the service's own: nothing works without it, and calls to it are made where they are
/// needed. Every call to another one is made in ``run(_:_:_:_:late:)`` or ``post(_:_:_:_:)``, or on the transport's thread for it.
package final class FileSystems: Sendable {
    /// The queues of one file system. What concerns the same files has the same queue, and so its order.
    package enum Work: Hashable, CaseIterable, Sendable {
        /// Opening, cutting, closing and removing partial files.
        case files
        case sync
        /// Giving files their names.
        case finish
        case hash
        /// Looking at files to upload, and copying them.
        case source
        /// Short looks; see ``answer(_:_:)``.
        case look
    }

    private struct State: Sendable {
        var watch = HangWatch()
        var queues: [FileSystemKey: [Work: CallQueue]] = [:]
        var waiting: [Int: @Sendable () -> Void] = [:]
        var lastWaiter = 0
        /// Whether the service stops, and waits for nobody.
        var hasGivenUp = false
    }

    private struct Mounts: Sendable {
        var table: MountTable?
        /// Becomes readable when the mounts change.
        var descriptor: Int32 = -1
        var own: String?
        /// The file systems that the way to the service's own leads through.
        var trusted: Set<String> = []
        /// Recent answers by path: many files go to one directory.
        var known: [String: FileSystemKey?] = [:]
        /// Boot seconds of the oldest of ``known``.
        var knownSince = 0.0
    }

    private let state = Mutex(State())
    private let mounts = Mutex(Mounts())
    private let home: String
    private let mountInfo: String
    private let now: @Sendable () -> Double
    /// Called when a call begins and none was watched, and when a silent file system answers again.
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

    /// File systems with threads of their own at once; others share these.
    static let maximumPlaces = 16

    /// - Parameters:
    ///   - home: a directory on the service's own file system; it does not have to exist yet.
    ///   - mountInfo: a file in the format of proc_pid_mountinfo(5).
    ///   - now: boot seconds.
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

    // MARK: - Which

    /// The file system that an absolute path lies on; nil for the service's own. Never blocks.
    ///
    /// A change of mounts is seen at once, one of a symbolic link after ``knownFor`` at most.
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

    /// Seconds.
    static let knownFor = 0.5
    private static let mostKnown = 64

    private func find(_ path: String, _ mounts: inout Mounts) -> FileSystemKey? {
        guard let table = mounts.table else { return nil }
        let own = mounts.own ?? findOwn(table, &mounts)
        let device = table.device(following: path, isTrusted: mounts.trusted.contains, readLink: Self.readLink)
        guard let device, device != own else { return nil }
        return FileSystemKey(device: device)
    }

    /// The file system that a path lies on, unless the service cannot do without it: its own, and those on the way there.
    private func untrustedPlace(of path: String) -> FileSystemKey? {
        guard let place = place(of: path) else { return nil }
        return mounts.withLock { $0.trusted.contains(place.device) } ? nil : place
    }

    /// Finds the service's own file system, and those that it cannot be reached without.
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

    /// Reads the mounts where they have changed.
    ///
    /// - Returns: whether they were read.
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

    /// Runs `body` on a thread of the file system, after everything that was given to the same queue before.
    ///
    /// - Parameters:
    ///   - path: what `body` works on, for people.
    ///   - late: takes what `body` returns after the service has given up.
    /// - Returns: nil where the service stops before there was an answer.
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

    /// Has `body` run on a thread of the file system; returns at once.
    package func post(
        _ place: FileSystemKey, _ work: Work, _ path: String, _ body: @escaping @Sendable () -> Void
    ) {
        queue(place, work).run { [self] in
            let call = begin(place, path)
            body()
            end(call)
        }
    }

    /// Takes a short look at a path, and waits for it a moment.
    ///
    /// Calls to file systems that the service cannot do without are made on the caller's thread.
    ///
    /// - Returns: nil where the file system has not answered within ``patience``, or another look at it is waiting for that long.
    package func answer<Value: Sendable>(_ path: String, _ body: @escaping @Sendable () -> Value) -> Value? {
        guard let place = untrustedPlace(of: path) else { return body() }
        let time = now()
        let oldest = state.withLock { $0.watch.oldest(of: place) }
        if let oldest, time - oldest >= Self.patience { return nil }
        let answer = Answer<Value>()
        post(place, .look, path) { answer.give(body()) }
        return answer.take(within: Self.patience)
    }

    /// Seconds that a short look may take.
    package static let patience: Double = 1

    /// A call begins that is made on another thread.
    package func begin(_ place: FileSystemKey, _ path: String) -> HangWatch.Call {
        let time = now()
        let (call, isFirst) = state.withLock { state in
            let isFirst = state.watch.nextLook(now: time) == nil
            return (state.watch.begin(place, path, now: time), isFirst)
        }
        if isFirst { changed(.callBegan) }
        return call
    }

    package func end(_ call: HangWatch.Call) {
        let time = now()
        if state.withLock({ $0.watch.end(call, now: time) }) { changed(.answersAgain) }
    }

    /// Lets everybody go who waits for a call: the service stops.
    package func giveUp() {
        let waiting = state.withLock { state in
            state.hasGivenUp = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for resume in waiting.values { resume() }
    }

    private func queue(_ place: FileSystemKey, _ work: Work) -> CallQueue {
        state.withLock { state in
            if state.queues[place] == nil, state.queues.count >= Self.maximumPlaces {
                // What is mounted and unmounted again and again leaves queues behind that nobody uses.
                for (place, queues) in state.queues where queues.values.allSatisfy(\.isIdle) {
                    state.queues[place] = nil
                }
            }
            let owner =
                state.queues[place] != nil || state.queues.count < Self.maximumPlaces
                ? place : state.queues.keys.min { $0.device < $1.device } ?? place
            let queue = state.queues[owner]?[work] ?? CallQueue()
            state.queues[owner, default: [:]][work] = queue
            return queue
        }
    }

    // MARK: - Silence

    package func look() -> [FileSystemKey] {
        let time = now()
        return state.withLock { $0.watch.look(now: time) }
    }

    package var nextLook: Double? {
        let time = now()
        return state.withLock { $0.watch.nextLook(now: time) }
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

/// A value that comes later, or too late.
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

/// A queue whose calls may never return: it has a thread while it has something to do, which nobody else needs.
private final class CallQueue: Sendable {
    private struct State: Sendable {
        var calls: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    var isIdle: Bool { state.withLock { !$0.isRunning } }

    func run(_ call: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.calls.append(call)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { start() }
    }

    private func start() {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let context = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                nightshift_name_thread("nightshift-files")
                // Signals belong to the program. A fault is handled by the thread that causes it.
                var signals = sigset_t()
                sigfillset(&signals)
                for fault in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigdelset(&signals, fault) }
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                Unmanaged<CallQueue>.fromOpaque(context).takeRetainedValue().drain()
                return nil
            }, context.toOpaque())
        guard result != 0 else { return }
        // Too many threads, for now: libdispatch has some of its own.
        context.release()
        DispatchQueue.global().async { self.drain() }
    }

    private func drain() {
        while let call = next() { call() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard !state.calls.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.calls.removeFirst()
        }
    }
}
