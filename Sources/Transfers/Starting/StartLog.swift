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
        /// What was under way, the one that began last first; no task is there twice.
        package var underWay: [Attempt]

        package init(fault: Int32? = nil, underWay: [Attempt] = []) {
            self.fault = fault
            self.underWay = underWay
        }
    }

    /// A task that was under way when the process ended.
    package struct Attempt: Sendable, Hashable {
        package var task: TaskID
        /// For how long it had been, at the fault; 0 where there was none.
        package var seconds: Double
        /// At how many faults it had been under way before.
        package var faults: Int

        package init(_ task: TaskID, seconds: Double = 0, faults: Int = 0) {
            self.task = task
            self.seconds = seconds
            self.faults = faults
        }
    }

    private struct State {
        /// -1 without a file.
        var descriptor: Int32
        /// Whether the file still says what the last process left.
        var holdsLegacy = true
        var places: [TaskID: Place] = [:]
        var free: [Int] = []
        var next = 0
        var sequence: Int64 = 0

        mutating func freePlace() -> Int? {
            if let place = free.popLast() { return place }
            guard next < StartLog.capacity else { return nil }
            next += 1
            return next - 1
        }
    }

    private struct Place {
        var index: Int
        /// Boot nanoseconds.
        var began: Int64
    }

    package let legacy: Legacy
    private let state: Mutex<State>
    private let bootID: String

    /// Opens the file at `path`, which is made where it is not there, and takes it over where it tells of no fault.
    ///
    /// A fault stays in it until ``takeOver()``: a process that is killed before that has lost nothing.
    package init(path: String, bootID: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        legacy = Self.read(descriptor, bootID: bootID)
        self.bootID = bootID
        state = Mutex(State(descriptor: descriptor))
        // A fault before anything is under way must not find what others left.
        if legacy.fault == nil { takeOver() }
    }

    /// What the last process left is written down elsewhere: from here on the file is this process's own.
    package func takeOver() {
        state.withLock { state in
            guard state.descriptor >= 0, state.holdsLegacy else { return }
            var bytes = [UInt8](repeating: 0, count: Self.length)
            let mark = Self.mark(bootID)
            bytes.replaceSubrange(Self.markPlace..<Self.markPlace + mark.count, with: mark)
            ftruncate(state.descriptor, 0)
            _ = pwrite(state.descriptor, bytes, bytes.count, 0)
            state.holdsLegacy = false
        }
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
    package func noteFault(_ signal: Int32, at bootSeconds: Double) {
        state.withLock { state in
            let words = [Int64(signal), Self.nanoseconds(bootSeconds)]
            _ = words.withUnsafeBytes { pwrite(state.descriptor, $0.baseAddress, $0.count, Self.faultPlace) }
        }
    }

    /// The task is under way from here on, or something of it was changed that may be what goes wrong.
    ///
    /// - Parameter faults: at how many it was under way before.
    func begin(_ task: TaskID, at bootSeconds: Double, faults: Int) {
        state.withLock { state in
            state.sequence += 1
            let began = Self.nanoseconds(bootSeconds)
            guard let place = state.places[task] ?? state.freePlace().map({ Place(index: $0, began: began) }) else {
                return
            }
            state.places[task] = place
            Self.write(state, place.index, [task.rawValue, state.sequence, place.began, Int64(faults)])
        }
    }

    func end(_ task: TaskID) {
        state.withLock { state in
            guard let place = state.places.removeValue(forKey: task) else { return }
            state.free.append(place.index)
            Self.write(state, place.index, [0, 0, 0, 0])
        }
    }

    private static func write(_ state: State, _ place: Int, _ words: [Int64]) {
        // A task that was under way at the fault stays so, whatever this process still does while it is being ended.
        guard !state.holdsLegacy, nightshift_fault_is_noted() == 0 else { return }
        _ = words.withUnsafeBytes {
            pwrite(state.descriptor, $0.baseAddress, $0.count, headLength + place * entryLength)
        }
    }

    private static func read(_ descriptor: Int32, bootID: String) -> Legacy {
        var bytes = [UInt8](repeating: 0, count: length)
        guard descriptor >= 0, pread(descriptor, &bytes, length, 0) == length else { return Legacy() }
        let mark = mark(bootID)
        // Of another boot: its end was the machine's.
        guard Array(bytes[markPlace..<markPlace + mark.count]) == mark else { return Legacy() }
        return bytes.withUnsafeBytes { bytes in
            func word(_ place: Int) -> Int64 { bytes.loadUnaligned(fromByteOffset: place, as: Int64.self) }
            let signal = Int32(truncatingIfNeeded: word(faultPlace))
            let endedAt = Double(word(faultPlace + 8))
            let entries = (0..<capacity).map { headLength + $0 * entryLength }.filter { word($0) > 0 }
            // A file that was written over may tell of a task twice.
            var seen: Set<Int64> = []
            let latest = entries.sorted { word($0 + 8) > word($1 + 8) }.filter { seen.insert(word($0)).inserted }
            let underWay = latest.map { entry in
                Attempt(
                    TaskID(word(entry)), seconds: signal > 0 ? max(0, endedAt - Double(word(entry + 16))) / 1e9 : 0,
                    faults: Int(min(max(0, word(entry + 24)), mostFaults)))
            }
            return Legacy(fault: signal > 0 ? signal : nil, underWay: underWay)
        }
    }

    /// A kind of file, and the boot it is of.
    private static func mark(_ bootID: String) -> [UInt8] {
        Array(("nightshift-2 " + bootID).utf8.prefix(headLength - markPlace))
    }

    private static func nanoseconds(_ bootSeconds: Double) -> Int64 { Int64(saturating: bootSeconds * 1e9) }

    /// The handler's two words: signal, and boot nanoseconds.
    private static let faultPlace = 0
    private static let markPlace = 16
    private static let headLength = 128
    private static let entryLength = 32
    /// More than run and finish at once.
    private static let capacity = 1_024
    private static let length = headLength + capacity * entryLength
    /// No file tells of more, whatever was written over.
    private static let mostFaults: Int64 = 1_000_000
}
