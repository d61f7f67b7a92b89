import Mounts
import NightshiftCurl
import Transfers

/// The loops, and so the threads, that move bodies to and from file systems other than the service's own. Each of these
/// file systems gets one loop, which is created for its first exchange.
///
/// There are at most ``maximum`` loops. A loop without exchanges is replaced when another file system needs a loop. If
/// all loops have exchanges, further file systems share them.
struct PlacedLoops: Sendable {
    /// The position of a loop in this table.
    struct Slot: Hashable, Sendable {
        fileprivate let place: FileSystemKey
    }

    private struct Entry: Sendable {
        let loop: CurlLoop
        /// The number of exchanges in progress on this loop.
        var running = 0
    }

    private var entries: [FileSystemKey: Entry] = [:]

    static let maximum = 8

    var all: [CurlLoop] { entries.values.map(\.loop) }

    /// Returns the loop for a file system; nil if the file system has no loop.
    func loop(of place: FileSystemKey) -> CurlLoop? {
        entries[place]?.loop ?? (entries.count < Self.maximum ? nil : entries[sharedSlot(for: place)]?.loop)
    }

    /// Returns the loop for a new exchange. The caller must call ``end(in:)`` after the exchange, and must shut down
    /// `unused`, which is the loop that was replaced.
    mutating func begin(at place: FileSystemKey, limit: CommonLimit) -> (Slot, CurlLoop, unused: CurlLoop?) {
        var unused: CurlLoop?
        if entries[place] == nil, entries.count >= Self.maximum,
            let idle = entries.first(where: { $0.value.running == 0 })
        {
            entries[idle.key] = nil
            unused = idle.value.loop
        }
        let key = entries[place] != nil || entries.count < Self.maximum ? place : sharedSlot(for: place)
        var entry = entries[key] ?? Entry(loop: CurlLoop(limit: limit))
        entry.running += 1
        entries[key] = entry
        return (Slot(place: key), entry.loop, unused)
    }

    mutating func end(in slot: Slot) {
        entries[slot.place]?.running -= 1
    }

    /// Returns the slot that a file system shares with another. The slot stays the same as long as the set of loops
    /// stays the same.
    private func sharedSlot(for place: FileSystemKey) -> FileSystemKey {
        let keys = entries.keys.sorted { $0.device < $1.device }
        let sum = place.device.utf8.reduce(0) { $0 &+ Int($1) }
        return keys[sum % keys.count]
    }
}
