import Apps
import Foundation
import NIOCore
import NightshiftAPI
import Sessions
import Transfers

/// An event that a stream can send.
protocol StreamedEvent: Sendable {
    /// Returns the serialized event (HTML standard, section 9.2).
    func frame() throws -> ByteBuffer

    /// Whether a stream of these events sends final events and ends before the server stops.
    static var endsBeforeTheServer: Bool { get }
}

extension StreamedEvent {
    static var endsBeforeTheServer: Bool { false }

    func frame(_ name: String, id: Int64? = nil, _ data: some Encodable) throws -> ByteBuffer {
        var buffer = ByteBuffer()
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        // The encoder writes JSON without line breaks.
        buffer.writeBytes(try JSON.encode(data))
        buffer.writeString("\n\n")
        return buffer
    }
}

extension ServiceEvent: StreamedEvent {
    func frame() throws -> ByteBuffer {
        switch self {
        case .journal(let entry): try frame(name, id: entry.id, entry)
        case .progress(let progress): try frame(name, progress)
        case .reset(let lastEntry): try frame(name, id: lastEntry, StreamReset(lastEntry: lastEntry))
        }
    }
}

extension SessionEvent: StreamedEvent {
    func frame() throws -> ByteBuffer {
        switch self {
        case .message(let message): try frame("message", id: message.id, message)
        case .progress(let progress): try frame("progress", progress)
        case .caughtUp(let through): try frame("caughtUp", CaughtUp(through: through))
        }
    }
}

extension LocationUpdate: StreamedEvent {
    func frame() throws -> ByteBuffer { try frame("update", self) }
}

extension ProcessEvent: StreamedEvent {
    static var endsBeforeTheServer: Bool { true }

    func frame() throws -> ByteBuffer {
        switch self {
        case .hello(let hello): try frame("hello", hello)
        case .command(let command): try frame("command", command)
        case .refresh(let notice): try frame("refresh", notice)
        case .location(let notice): try frame("location", notice)
        case .push(let notice): try frame("push", notice)
        case .stopping: try frame("stopping", [String: String]())
        }
    }
}
