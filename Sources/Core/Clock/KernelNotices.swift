import Foundation
import Glibc

/// Streams for kernel descriptors that block until an event.
///
/// One thread blocks in the kernel for the life of the process. It does not poll, and its only cost is its stack.
package enum KernelNotices {
    package static func stream(
        named name: String, open: @Sendable () -> Int32, wait: @escaping @Sendable (Int32) -> Int32
    ) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let descriptor = open()
        guard descriptor >= 0 else {
            continuation.finish()
            return stream
        }
        let thread = Thread {
            while wait(descriptor) == 0 {
                if case .terminated = continuation.yield() { break }
            }
            continuation.finish()
            close(descriptor)
        }
        thread.name = name
        thread.stackSize = 64 << 10
        thread.start()
        return stream
    }
}
