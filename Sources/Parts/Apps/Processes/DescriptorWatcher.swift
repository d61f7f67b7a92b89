import CNightshift
import Executors
import Glibc
import Synchronization

/// A thread that sleeps until a watched descriptor becomes readable, and then calls a closure.
///
/// The thread retains the closure until ``stop()``.
final class DescriptorWatcher: Sendable {
    private let epoll: Int32
    private let wakeup: Int32
    private let thread = Mutex<pthread_t?>(nil)

    /// The state that the thread and the watcher share.
    private final class Body: Sendable {
        let epoll: Int32
        let onReadable: @Sendable (UInt64) -> Void

        init(epoll: Int32, onReadable: @escaping @Sendable (UInt64) -> Void) {
            self.epoll = epoll
            self.onReadable = onReadable
        }
    }

    /// The token of ``wakeup``. All other tokens are larger.
    private static let stopToken: UInt64 = 0

    init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeup = eventfd(0, Int32(EFD_CLOEXEC))
        precondition(epoll >= 0 && wakeup >= 0, "no descriptors are left for watching processes")
        _ = add(wakeup, token: Self.stopToken)
    }

    deinit {
        close(wakeup)
        close(epoll)
    }

    /// Watches a descriptor until it becomes readable, or, with `notices`, for notifications of a kernel file. `token`
    /// must not be 0.
    func add(_ descriptor: Int32, token: UInt64, notices: Bool = false) -> Bool {
        let events = notices ? EPOLLPRI.rawValue : EPOLLIN.rawValue
        var event = epoll_event(events: events, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    /// Stops watching a descriptor. Callers must call this before they close the descriptor.
    func remove(_ descriptor: Int32) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Ends the thread and waits for its end. Callers must not call this on that thread.
    func stop() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        eventfd_write(wakeup, 1)
        pthread_join(thread, nil)
    }

    /// Starts the thread. Callers must call this once.
    ///
    /// The thread calls `onReadable` with the token of each readable descriptor, until the descriptor is removed.
    func start(_ onReadable: @escaping @Sendable (UInt64) -> Void) {
        let body = Body(epoll: epoll, onReadable: onReadable)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(body)
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                nightshift_name_thread("nightshift-apps")
                ThreadStart.leaveSignals()
                DescriptorWatcher.run(Unmanaged<Body>.fromOpaque(context).takeRetainedValue())
                return nil
            }, context.toOpaque())
        precondition(
            result == 0, "the thread that watches processes could not be started: \(String(cString: strerror(result)))")
        self.thread.withLock { $0 = thread }
    }

    private static func run(_ body: Body) {
        var events = [epoll_event](repeating: epoll_event(), count: 16)
        while true {
            let count = epoll_wait(body.epoll, &events, Int32(events.count), -1)
            guard count >= 0 else {
                precondition(errno == EINTR, "epoll_wait: \(String(cString: strerror(errno)))")
                continue
            }
            for event in events[..<Int(count)] {
                if event.data.u64 == stopToken { return }
                body.onReadable(event.data.u64)
            }
        }
    }
}
