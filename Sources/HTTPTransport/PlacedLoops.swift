import Mounts
import NightshiftCurl
import Transfers

/// The loops, and so the threads, that carry the bodies of file systems other than the service's own: one for each, made with its
/// first exchange.
///
/// There are at most ``maximum``. One without exchanges makes room for another file system; where all have some, the file systems
/// beyond share them.
struct PlacedLoops: Sendable {
    /// The index of a loop.
    struct Slot: Hashable, Sendable {
        fileprivate let place: FileSystemKey
    }

    private struct Entry: Sendable {
        let loop: CurlLoop
        /// Exchanges that it carries now.
        var running = 0
    }

    private var entries: [FileSystemKey: Entry] = [:]

    static let maximum = 8

    var all: [CurlLoop] { entries.values.map(\.loop) }

    /// The loop that carries the bodies of a file system; nil where none does.
    func loop(of place: FileSystemKey) -> CurlLoop? {
        entries[place]?.loop ?? (entries.count < Self.maximum ? nil : entries[sharedSlot(for: place)]?.loop)
    }

    /// The loop for one exchange more, which is to be told of its end, and one that has made room and is to be shut down.
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

    /// The same for each exchange of a file system as long as the loops are the same.
    private func sharedSlot(for place: FileSystemKey) -> FileSystemKey {
        let keys = entries.keys.sorted { $0.device < $1.device }
        let sum = place.device.utf8.reduce(0) { $0 &+ Int($1) }
        return keys[sum % keys.count]
    }
}
