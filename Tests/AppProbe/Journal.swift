import Foundation
import Synchronization

/// The journal of a probe. It writes each line immediately, with one `write`, so that an ending process does not lose a
/// line.
final class Journal: Sendable {
    private let descriptor: Int32
    private let count = Mutex(0)

    init(_ path: String) {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }

    func note(_ sighting: Sighting) {
        var sighting = sighting
        sighting.process = getpid()
        sighting.isOnMainThread = Thread.isMainThread
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        sighting.awakeSeconds = Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
        count.withLock { count in
            count += 1
            sighting.number = count
            guard let json = try? JSONEncoder().encode(sighting) else { return }
            let line = Array(json) + [UInt8(ascii: "\n")]
            _ = write(descriptor, line, line.count)
        }
    }

    func note(_ event: Sighting.Event, _ fill: (inout Sighting) -> Void = { _ in }) {
        var sighting = Sighting(event)
        fill(&sighting)
        note(sighting)
    }
}
