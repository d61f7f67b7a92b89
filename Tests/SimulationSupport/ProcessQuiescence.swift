import Foundation
import Glibc
import Synchronization
import TestSupport

/// A detector of the time at which nothing runs in this process, so that virtual time may advance.
///
/// The detector reads the state of every thread twice. Threads that slept both times, and were not scheduled in
/// between, were all asleep at the same time, so that only an outside event could wake one. A thread that waits for a
/// disk does not count as asleep. The detector works only in a process that does nothing else, so each simulation has
/// its own process.
package enum ProcessQuiescence {
    private static let requests = Requests()

    /// Waits until every thread except the observer sleeps.
    package static func wait() async {
        await withCheckedContinuation { requests.add($0) }
    }

    /// The pending requests, and the thread that observes the others. This thread is not one of Swift's pool, whose
    /// threads must be free to sleep.
    private final class Requests: Sendable {
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        private let semaphore = DispatchSemaphore(value: 0)

        init() {
            let thread = Thread { self.serve() }
            thread.name = "quiescence"
            thread.start()
        }

        func add(_ continuation: CheckedContinuation<Void, Never>) {
            waiting.withLock { $0.append(continuation) }
            semaphore.signal()
        }

        private func serve() {
            let observer = ThreadObserver()
            while true {
                semaphore.wait()
                guard let continuation = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
                observer.waitForQuiescence()
                continuation.resume()
            }
        }
    }
}

/// A reader of the kernel's information about this process's threads, which runs on a separate thread.
private struct ThreadObserver {
    private let ownThread: String

    init() {
        var buffer = [UInt8](repeating: 0, count: 256)
        let length = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink("/proc/thread-self", $0, bytes.count) } ?? 0
        }
        let path = String(decoding: buffer.prefix(max(0, length)), as: UTF8.self)
        ownThread = path.split(separator: "/").last.map(String.init) ?? ""
    }

    func waitForQuiescence() {
        var last = snapshot()
        while true {
            let next = snapshot()
            if let last, let next, last == next { return }
            last = next
            if next == nil {
                blockThread(
                    for: .microseconds(50), because: "Nothing announces that a thread has gone to sleep.")
            }
        }
    }

    /// Returns the number of times each thread was scheduled, or nil if a thread runs, is about to run, or waits for a
    /// disk.
    private func snapshot() -> [String: [UInt8]]? {
        guard let directory = opendir("/proc/self/task") else { return nil }
        defer { closedir(directory) }
        var switches: [String: [UInt8]] = [:]
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.first != ".", name != ownThread else { continue }
            // If a thread has ended in the meantime, the next snapshot shows that.
            guard let status = Self.read("/proc/self/task/\(name)/status"), let state = status.state,
                state == UInt8(ascii: "S") || state == UInt8(ascii: "I")
            else { return nil }
            switches[name] = status.switches
        }
        return switches
    }

    private static func read(_ path: String) -> (state: UInt8?, switches: [UInt8])? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: 1) { buffer in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count - 1)
            guard count > 0 else { return nil }
            buffer[count] = 0
            let text = UnsafeRawBufferPointer(rebasing: buffer[...count])
            guard let state = find("State:\t", in: text), let switches = find("voluntary_ctxt_switches:", in: text)
            else { return nil }
            return (text[state], Array(text[switches...]))
        }
    }

    /// Returns the offset after the first occurrence of `word` in a text that ends with a zero byte.
    private static func find(_ word: String, in text: UnsafeRawBufferPointer) -> Int? {
        guard let base = text.baseAddress?.assumingMemoryBound(to: CChar.self), let place = strstr(base, word)
        else { return nil }
        return UnsafePointer(place) - base + word.utf8.count
    }
}
