import Executors
import Quiescence

/// A detector of the time at which nothing runs in this process, so that virtual time may advance.
///
/// It counts the work of Swift's pool, of Dispatch queues and of the service's threads. It works only in a process that
/// does nothing else.
package enum ProcessQuiescence {
    /// Counts all work that begins from now on. It is called before a service is created.
    package static func begin() {
        WorkQueue.useDispatch()
        quiescence_begin()
    }

    /// Waits until no work is left.
    package static func wait() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            quiescence_wait(
                { context in
                    guard let context else { return }
                    unsafeBitCast(context, to: UnsafeContinuation<Void, Never>.self).resume()
                }, unsafeBitCast(continuation, to: UnsafeMutableRawPointer.self))
        }
    }
}
