import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Synchronization
import TestSupport
import Transfers

/// Random numbers from one seed, for everybody.
final class SharedRandom: Sendable {
    private let generator: Mutex<SplitMix64>

    private let fixedJitter: Double?

    /// - Parameter jitter: what the service gets for its pauses, where it is to be known.
    init(seed: UInt64, jitter: Double? = nil) {
        generator = Mutex(SplitMix64(seed: seed))
        fixedJitter = jitter
    }

    /// What the service takes for random.
    func jitter() -> Double { fixedJitter ?? fraction() }

    /// 0..<1.
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

/// The requests that went out, checked against the limits as they go.
final class RequestRecorder: Sendable {
    private struct State {
        var violations: [String] = []
        var maximumTransfers = 32
        var connections = 6
    }

    private let state = Mutex(State())

    // Fields that are known to be harmless: they go along to another origin.

    /// The field by which a request tells its session.
    static let sessionField = "Save-Data"
    /// The field by which a request tells its task's mark.
    static let markField = "Prefer"
    /// The field by which a request tells how many connections its task may have.
    static let connectionsField = "DNT"

    func note(_ begun: ScriptedTransport.Begun, _ underWay: [ScriptedTransport.Begun]) {
        let session = begun.request.headers.first(Self.sessionField)
        let lane = underWay.filter {
            $0.origin == begun.origin && $0.request.headers.first(Self.sessionField) == session
        }
        let mark = begun.request.headers.first(Self.markField)
        let twins = underWay.filter { $0.request.headers.first(Self.markField) == mark }
        let allowed = Self.asked(begun) ?? 6
        let openEnded = twins.filter { $0.request.headers.first("Range")?.hasSuffix("-") ?? true }
        let transfers = Set(underWay.map { $0.request.headers.first(Self.markField) ?? $0.request.url })
        state.withLock { state in
            if transfers.count > state.maximumTransfers {
                state.violations.append("\(transfers.count) transfers run where \(state.maximumTransfers) may.")
            }
            // Who asks for so many is not held to what its session allows; others are.
            let asked = Dictionary(lane.map { ($0.request.headers.first(Self.markField), Self.asked($0) ?? 1) }) { $1 }
            let connections = state.connections + asked.values.reduce(0) { $0 + $1 - 1 }
            if lane.count > connections {
                state.violations.append("\(lane.count) exchanges of a lane run where \(connections) may.")
            }
            if mark != nil, twins.count > allowed || openEnded.count > 1 {
                state.violations.append("Task \(mark ?? "") has \(twins.count) connections where \(allowed) may be.")
            }
        }
    }

    /// How many connections its task asks for; nil leaves it to the service.
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

/// What a service says of discretionary work.
final class ActivityRecorder: Sendable {
    private let state = Mutex<[TransferActivity]>([])

    func note(_ activity: TransferActivity) {
        state.withLock { $0.append(activity) }
    }

    var all: [TransferActivity] { state.withLock { $0 } }

    /// Whether there was something to do, each time that changed.
    var phases: [Bool] { all.map { $0.discretionary > 0 } }
}

/// The descriptors of this process.
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
