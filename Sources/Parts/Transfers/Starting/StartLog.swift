import CNightshift
import Foundation
import Glibc
package import NightshiftAPI
import Synchronization

/// A log of the running tasks, in a file that survives the process even if the process crashes.
///
/// The log is written without a sync. Data that a process has written survives its crash, and a power cut is not caused
/// by a task. If the file cannot be written (no space, an error), no task becomes a crash suspect. Thread-safe.
package final class StartLog: Sendable {
    /// The state in which the previous process of the service ended.
    package struct Legacy: Sendable, Hashable {
        /// The signal of the crash that ended the process; nil if the process stopped in order or was killed from
        /// outside.
        package var fault: Int32?
        /// The tasks that were running, the latest start first, each only once.
        package var underWay: [Attempt]

        package init(fault: Int32? = nil, underWay: [Attempt] = []) {
            self.fault = fault
            self.underWay = underWay
        }
    }

    /// A task that was running when the process ended.
    package struct Attempt: Sendable, Hashable {
        package var task: TaskID
        /// The number of seconds that the task had been running at the crash; 0 without a crash.
        package var seconds: Double
        /// The number of earlier crashes during which the task was running.
        package var faults: Int

        package init(_ task: TaskID, seconds: Double = 0, faults: Int = 0) {
            self.task = task
            self.seconds = seconds
            self.faults = faults
        }
    }

    private struct State {
        /// The open file; -1 without a file.
        var descriptor: Int32
        /// Whether the file still contains the log of the previous process.
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
        /// The start in boot nanoseconds.
        var began: Int64
    }

    package let legacy: Legacy
    private let state: Mutex<State>
    private let bootID: String

    /// Opens the file at `path`, creates it if needed, and takes it over unless it records a crash.
    ///
    /// A recorded crash stays in the file until ``takeOver()``, so that it is not lost if this process is killed
    /// earlier.
    package init(path: String, bootID: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        legacy = Self.read(descriptor, bootID: bootID)
        self.bootID = bootID
        state = Mutex(State(descriptor: descriptor))
        // If this process crashes before it runs a task, the next one must not find tasks of an earlier process in the
        // file.
        if legacy.fault == nil { takeOver() }
    }

    /// Begins to use the file for this process, after the log of the previous process was stored elsewhere.
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

    /// Ends all writing, because the service has stopped.
    package func close() {
        let descriptor = state.withLock { state in
            defer { state.descriptor = -1 }
            return state.descriptor
        }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Installs handlers that record each crash of this process before the process ends. Called once, by a process with
    /// only one service.
    package func catchFaults() {
        // This separate descriptor stays open as long as the process can crash.
        let own = state.withLock { fcntl($0.descriptor, F_DUPFD_CLOEXEC, 0) }
        if own >= 0 { nightshift_note_faults(own, Int64(Self.faultPlace)) }
    }

    /// Records a crash in the same way as the signal handler does.
    package func noteFault(_ signal: Int32, at bootSeconds: Double) {
        state.withLock { state in
            let words = [Int64(signal), Self.nanoseconds(bootSeconds)]
            _ = words.withUnsafeBytes { pwrite(state.descriptor, $0.baseAddress, $0.count, Self.faultPlace) }
        }
    }

    /// Records that the task is running, or that the task was changed in a way that could cause a crash.
    ///
    /// - Parameter faults: the number of earlier crashes during which the task was running.
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
        // A task that was running at the crash stays in the log, even if this process still ends work for it.
        guard !state.holdsLegacy, nightshift_fault_is_noted() == 0 else { return }
        _ = words.withUnsafeBytes {
            pwrite(state.descriptor, $0.baseAddress, $0.count, headLength + place * entryLength)
        }
    }

    private static func read(_ descriptor: Int32, bootID: String) -> Legacy {
        var bytes = [UInt8](repeating: 0, count: length)
        guard descriptor >= 0, pread(descriptor, &bytes, length, 0) == length else { return Legacy() }
        let mark = mark(bootID)
        // The log was written during another boot, so the machine ended that process.
        guard Array(bytes[markPlace..<markPlace + mark.count]) == mark else { return Legacy() }
        return bytes.withUnsafeBytes { bytes in
            func word(_ place: Int) -> Int64 { bytes.loadUnaligned(fromByteOffset: place, as: Int64.self) }
            let signal = Int32(truncatingIfNeeded: word(faultPlace))
            let endedAt = Double(word(faultPlace + 8))
            let entries = (0..<capacity).map { headLength + $0 * entryLength }.filter { word($0) > 0 }
            // A file that was overwritten may contain a task twice.
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

    /// Returns the bytes that identify the file format and the boot.
    private static func mark(_ bootID: String) -> [UInt8] {
        Array(("nightshift-2 " + bootID).utf8.prefix(headLength - markPlace))
    }

    private static func nanoseconds(_ bootSeconds: Double) -> Int64 { Int64(saturating: bootSeconds * 1e9) }

    /// The offset of the two words that the handler writes: the signal, and boot nanoseconds.
    private static let faultPlace = 0
    private static let markPlace = 16
    private static let headLength = 128
    private static let entryLength = 32
    /// The number of entries in the log. It exceeds the number of tasks that can run and finish at the same time.
    private static let capacity = 1_024
    private static let length = headLength + capacity * entryLength
    /// The largest plausible number of crashes. A larger number comes from a damaged file.
    private static let mostFaults: Int64 = 1_000_000
}
