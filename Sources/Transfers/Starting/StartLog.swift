import CNightshift
import Foundation
import Glibc
package import NightshiftAPI
import Synchronization

/// Which tasks are under way, in a file that outlives the process however it ends.
///
/// Written without a sync: what a process has written is there after its death, and after a power cut nobody is to blame.
/// Without the file (no space, an error) nothing is known, and nothing is held against anybody. Thread-safe.
package final class StartLog: Sendable {
    /// The state in which the last process ended.
    package struct Legacy: Sendable, Hashable {
        /// The signal by which a fault of its own ended it; nil where it stopped in order, or was ended from outside.
        package var fault: Int32?
        /// Tasks that were under way, the one that began last first.
        package var underWay: [TaskID]

        package init(fault: Int32? = nil, underWay: [TaskID] = []) {
            self.fault = fault
            self.underWay = underWay
        }
    }

    private struct State {
        /// -1 without a file.
        var descriptor: Int32
        var places: [TaskID: Int] = [:]
        var free: [Int] = []
        var next = 0
        var sequence: Int64 = 0
    }

    package let legacy: Legacy
    private let state: Mutex<State>

    /// Takes over the file at `path`, which is made where it is not there.
    package init(path: String, bootID: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        legacy = Self.read(descriptor, bootID: bootID)
        state = Mutex(State(descriptor: descriptor))
        guard descriptor >= 0 else { return }
        var bytes = [UInt8](repeating: 0, count: Self.length)
        let mark = Self.mark(bootID)
        bytes.replaceSubrange(Self.markPlace..<Self.markPlace + mark.count, with: mark)
        ftruncate(descriptor, 0)
        _ = pwrite(descriptor, bytes, bytes.count, 0)
    }

    /// Ends all writing: the service has stopped.
    package func close() {
        let descriptor = state.withLock { state in
            defer { state.descriptor = -1 }
            return state.descriptor
        }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Has every fault of this process noted before it ends it. Once, by the process whose only service this is.
    package func catchFaults() {
        // A descriptor of its own, which stays open as long as the process may fault.
        let own = state.withLock { fcntl($0.descriptor, F_DUPFD_CLOEXEC, 0) }
        if own >= 0 { nightshift_note_faults(own, Int64(Self.faultPlace)) }
    }

    /// Notes a fault as the handler does.
    package func noteFault(_ signal: Int32) {
        state.withLock { state in
            _ = withUnsafeBytes(of: signal) { pwrite(state.descriptor, $0.baseAddress, $0.count, Self.faultPlace) }
        }
    }

    /// The task is under way from here on, or something of it was changed that may be what goes wrong.
    func begin(_ task: TaskID) {
        state.withLock { state in
            state.sequence += 1
            if let place = state.places[task] ?? state.free.popLast() ?? (state.next < Self.capacity ? state.next : nil)
            {
                state.next = max(state.next, place + 1)
                state.places[task] = place
                Self.write(state.descriptor, place, [task.rawValue, state.sequence])
            }
        }
    }

    func end(_ task: TaskID) {
        state.withLock { state in
            guard let place = state.places.removeValue(forKey: task) else { return }
            state.free.append(place)
            Self.write(state.descriptor, place, [0, 0])
        }
    }

    private static func write(_ descriptor: Int32, _ place: Int, _ words: [Int64]) {
        // A task that was under way at the fault stays so, whatever this process still does while it is being ended.
        guard nightshift_fault_is_noted() == 0 else { return }
        _ = words.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, headLength + place * entryLength)
        }
    }

    private static func read(_ descriptor: Int32, bootID: String) -> Legacy {
        var bytes = [UInt8](repeating: 0, count: length)
        guard descriptor >= 0, pread(descriptor, &bytes, length, 0) == length else { return Legacy() }
        let mark = mark(bootID)
        // Of another boot: its end was the machine's.
        guard Array(bytes[markPlace..<markPlace + mark.count]) == mark else { return Legacy() }
        return bytes.withUnsafeBytes { bytes in
            let signal = bytes.loadUnaligned(fromByteOffset: faultPlace, as: Int32.self)
            let entries = (0..<capacity).map { place in
                let start = headLength + place * entryLength
                return (
                    task: bytes.loadUnaligned(fromByteOffset: start, as: Int64.self),
                    sequence: bytes.loadUnaligned(fromByteOffset: start + 8, as: Int64.self)
                )
            }
            let underWay = entries.filter { $0.task > 0 }.sorted { $0.sequence > $1.sequence }
            return Legacy(fault: signal > 0 ? signal : nil, underWay: underWay.map { TaskID($0.task) })
        }
    }

    /// A kind of file, and the boot it is of.
    private static func mark(_ bootID: String) -> [UInt8] {
        Array(("nightshift-1 " + bootID).utf8.prefix(headLength - markPlace))
    }

    private static let faultPlace = 0
    private static let markPlace = 8
    private static let headLength = 128
    private static let entryLength = 16
    /// More than run and finish at once.
    private static let capacity = 1_024
    private static let length = headLength + capacity * entryLength
}
