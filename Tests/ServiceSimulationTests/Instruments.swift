import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Synchronization
import TestSupport
import Transfers

/// A source of random numbers from one seed, shared by all parts of a world.
final class SharedRandom: Sendable {
    private let generator: Mutex<SplitMix64>

    private let fixedJitter: Double?

    /// - Parameter jitter: a fixed jitter for the service's pauses, or nil to draw one each time.
    init(seed: UInt64, jitter: Double? = nil) {
        generator = Mutex(SplitMix64(seed: seed))
        fixedJitter = jitter
    }

    /// Returns the jitter that the service uses for its next pause.
    func jitter() -> Double { fixedJitter ?? fraction() }

    /// Returns a random number from 0 up to, but not including, 1.
    func fraction() -> Double {
        generator.withLock { Double($0.next() >> 11) / Double(1 << 53) }
    }

    func number(_ range: ClosedRange<Int>) -> Int {
        generator.withLock { Int.random(in: range, using: &$0) }
    }

    func chance(_ probability: Double) -> Bool { fraction() < probability }

    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[number(0...elements.count - 1)]
    }
}

/// A recorder of requests. It checks each request against the limits when the request is sent.
final class RequestRecorder: Sendable {
    private struct State {
        var violations: [String] = []
        var maximumTransfers = 32
    }

    private let state = Mutex(State())

    // These fields are known to be harmless, so the service also sends them to other origins.

    /// The field that carries the name of a request's session.
    static let sessionField = "Save-Data"
    /// The field that carries the mark of a task in its requests.
    static let markField = "Prefer"
    /// The field that carries the number of connections that the task of a request may have.
    static let connectionsField = "DNT"

    func note(_ begun: ScriptedTransport.Begun, _ underWay: [ScriptedTransport.Begun]) {
        let session = begun.request.headers.first(Self.sessionField)
        let lane = underWay.filter {
            $0.origin == begun.origin && $0.request.headers.first(Self.sessionField) == session
        }
        let mark = begun.request.headers.first(Self.markField)
        let twins = underWay.filter { $0.request.headers.first(Self.markField) == mark }
        // A download of the command line may use more connections than an app's session has.
        let ofSession = session == SessionID.terminal.rawValue ? Limits.connectionsOfOneDownload : 6
        let allowed = Self.asked(begun) ?? ofSession
        let openEnded = twins.filter { $0.request.headers.first("Range")?.hasSuffix("-") ?? true }
        let transfers = Set(underWay.map { $0.request.headers.first(Self.markField) ?? $0.request.url })
        state.withLock { state in
            if transfers.count > state.maximumTransfers {
                state.violations.append("\(transfers.count) transfers run where \(state.maximumTransfers) may.")
            }
            // A task that requests this number of connections is exempt from its session's limit. Other tasks are not.
            let asked = Dictionary(lane.map { ($0.request.headers.first(Self.markField), Self.asked($0) ?? 1) }) { $1 }
            let connections = ofSession + asked.values.reduce(0) { $0 + $1 - 1 }
            if lane.count > connections {
                state.violations.append("\(lane.count) exchanges of a lane run where \(connections) may.")
            }
            if mark != nil, twins.count > allowed || openEnded.count > 1 {
                state.violations.append("Task \(mark ?? "") has \(twins.count) connections where \(allowed) may be.")
            }
        }
    }

    /// Returns the number of connections that the task requests, or nil if the service decides.
    private static func asked(_ begun: ScriptedTransport.Begun) -> Int? {
        begun.request.headers.first(connectionsField).map { Int($0) } ?? 1
    }

    func setMaximumTransfers(_ count: Int) {
        state.withLock { $0.maximumTransfers = count }
    }

    func takeViolations() -> [String] {
        state.withLock { state in
            defer { state.violations = [] }
            return state.violations
        }
    }
}

/// A recorder of the service's reports about discretionary work.
final class ActivityRecorder: Sendable {
    private let state = Mutex<[TransferActivity]>([])

    func note(_ activity: TransferActivity) {
        state.withLock { $0.append(activity) }
    }

    var all: [TransferActivity] { state.withLock { $0 } }

    /// Whether there was discretionary work, with one value for each reported change.
    var phases: [Bool] { all.map { $0.discretionary > 0 } }
}

/// A count of the open file descriptors of this process.
enum OpenFiles {
    static func all() -> [(descriptor: Int32, path: String)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { name in
            guard let number = Int32(name),
                let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            else { return nil }
            return (number, path)
        }
    }

    static func count(below directory: String) -> Int {
        all().count { $0.path.hasPrefix(directory) }
    }
}
