import Foundation
package import NightshiftAPI

/// One event of a `text/event-stream`.
package struct ServerSentEvent: Hashable, Sendable {
    package var name: String
    /// The last id that the stream sent before the end of this event.
    package var id: String?
    package var data: String

    package init(name: String, id: String?, data: String) {
        self.name = name
        self.id = id
        self.data = data
    }
}

/// A parser that splits the bytes of an event stream into events. The division of the bytes into chunks does not
/// matter.
///
/// The parser follows the HTML standard, section 9.2.6: lines end with LF, CR or CR LF. A blank line ends an event. An
/// event without data is ignored. An id applies to all events until the next id.
package struct ServerSentEventParser: Sendable {
    private var line: [UInt8] = []
    private var lastByteWasReturn = false
    private var isFirstLine = true
    private var name = ""
    private var data: String?
    private var id: String?

    package init() {}

    /// Returns the events that are complete after `bytes`.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            defer { lastByteWasReturn = byte == 0x0D }
            if byte == 0x0A && lastByteWasReturn { continue }
            guard byte == 0x0A || byte == 0x0D else {
                line.append(byte)
                continue
            }
            if let event = endLine() { events.append(event) }
            line.removeAll(keepingCapacity: true)
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isFirstLine = false
        if line.isEmpty { return endEvent() }
        let field: ArraySlice<UInt8>
        var value: ArraySlice<UInt8> = []
        if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            field = line[..<colon]
            value = line[(colon + 1)...]
            if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        } else {
            field = line[...]
        }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: field, as: UTF8.self) {
        case "event": name = text
        case "data": data = data.map { $0 + "\n" + text } ?? text
        case "id": if !value.contains(0) { id = text }
        // Ignored lines are comments, which keep the connection open, `retry`, and unknown fields.
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> ServerSentEvent? {
        defer {
            name = ""
            data = nil
        }
        guard let data else { return nil }
        return ServerSentEvent(name: name.isEmpty ? "message" : name, id: id, data: data)
    }
}

extension ServerSentEvent {
    /// Returns the event as a value; nil if this program does not know the type of event.
    package func serviceEvent() throws -> ServiceEvent? {
        let bytes = Data(data.utf8)
        return switch name {
        case "journal": .journal(try JSON.decode(JournalEntry.self, from: bytes))
        case "progress": .progress(try JSON.decode(TaskProgress.self, from: bytes))
        case "reset": .reset(lastEntry: try JSON.decode(StreamReset.self, from: bytes).lastEntry)
        default: nil
        }
    }
}
